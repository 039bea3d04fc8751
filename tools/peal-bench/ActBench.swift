import CPealBench
import Foundation
import PealHub
import PealModel
import PealReplica

/// What a person does, until it is durable on the device and shown: one act, and a mark over everything.
enum ActBench {
    private static let path = "/tmp/peal-bench.\(getpid())"

    // MARK: One act

    /// Wall time and CPU of single acts on 1,000 and 1,000,000 items, and C that writes the same three rows as durably.
    static func act(_ words: [String]) throws {
        defer { remove(path) }
        for size in words.isEmpty ? [1_000, 1_000_000] : words.compactMap(Int.init) {
            _ = try foldSeconds(path, Source(count: size, rows: false).frames(of: 500))
            let replica = try Replica(path: path, identity: .user(externalID: "bench", email: nil), project: "bench")
            var wall = Samples()
            var cpu = Samples()
            // Spread over the inbox, so that few acts meet the same page; each is a new choice.
            for index in 0..<500 {
                let item = Source.id(1 + index * (size / 500))
                let begin = wallNow()
                let used = cpuNow()
                try replica.enqueue(.read(items: [item], on: true, passive: false))
                cpu.values.append((cpuNow() - used) * 1e6)
                wall.values.append((wallNow() - begin) * 1_000)
            }
            var theirs = Samples(values: [Double](repeating: 0, count: 500))
            let seconds = theirs.values.withUnsafeMutableBufferPointer {
                baseline_act(path, Int32($0.count), Int64(size / 500), $0.baseAddress)
            }
            guard seconds > 0 else { throw Failure("C could not write") }
            theirs.values = theirs.values.map { $0 * 1_000 }
            print(
                String(
                    format:
                        "act on %d items, durable: p50 %.2f ms, p99 %.2f ms, CPU %.0f µs; C p50 %.2f ms, p99 %.2f ms, CPU %.0f µs; load %@",
                    size, wall.percentile(0.5), wall.percentile(0.99), cpu.percentile(0.5), theirs.percentile(0.5),
                    theirs.percentile(0.99), seconds * 1e6 / 500, load()))
        }
    }

    // MARK: A mark over everything

    /// A mark of each kind over 1,000,000 items: on the device until it is durable and list and counts show it, its entry folded
    /// and shown, and the push that commits it on the hub.
    static func mark(_ words: [String]) throws {
        let size = Int(words.first ?? "") ?? 1_000_000
        try markOnDevice(size)
        try markOnHub(size)
    }

    private static func markOnDevice(_ size: Int) throws {
        defer { remove(path) }
        _ = try foldSeconds(path, Source(count: size, rows: false).frames(of: 500))
        let replica = try openReplica(path)
        let reader = try ReplicaReader(path: path)
        _ = try look(reader)
        var position = Int64(size)
        for (n, kind) in zip([1, 2, 3] as [Int64], [MarkKind.seen, .read, .archive]) {
            let begin = wallNow()
            let uid = try replica.enqueue(.mark(kind, upTo: position))
            let durable = wallNow()
            let shown = try look(reader)
            let looked = wallNow()
            guard kind != .read || shown.unread == 0, kind != .archive || shown.total == 0 else {
                throw Failure("a mark is not shown")
            }
            _ = try replica.nextPush()
            let act = Act(
                author: .replica(try replica.replicaID()), n: n, uid: uid, itime: 1, outcome: .applied,
                effect: .mark(kind, upTo: position, except: []))
            let batch = Batch(
                session: 1, from: position, to: position + 1, chain: 1,
                entries: [Entry(time: 1_700_000_000_000, kind: .act(act)).bytes[...]])
            let folding = wallNow()
            _ = try replica.apply(batch)
            _ = try look(reader)
            let folded = wallNow()
            position += 1
            print(
                String(
                    format:
                        "mark %@ over %d items on the device: durable %.2f ms, with list and counts %.2f ms; entry folded and shown %.2f ms; load %@",
                    kind.rawValue, size, (durable - begin) * 1_000, (looked - begin) * 1_000,
                    (folded - folding) * 1_000, load()))
        }
        let rows = baseline_mark_rows(path)
        guard rows > 0 else { throw Failure("C could not update the rows") }
        print(String(format: "C, one UPDATE of a column of %d rows: %.0f ms; load %@", size, rows * 1_000, load()))
    }

    /// What a viewer asks for after a change.
    private static func look(_ reader: ReplicaReader) throws -> Counts {
        _ = try reader.page(DeliveredQuery(read: false), limit: 50)
        _ = try reader.page(DeliveredQuery(), limit: 50)
        return try reader.counts()
    }

    private static func markOnHub(_ size: Int) throws {
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try HubFile.make(in: directory, items: size, kept: 0)
        let store = try SQLiteHubStore(path: directory + "/hub.sqlite")
        try store.begin()
        guard let project = try store.projects().first?.key else { throw Failure("the hub has no project") }
        let hello = Hello(
            project: "bench", inbox: .user(externalID: "bench", email: nil), replica: ReplicaID(high: 1, low: 1),
            proof: Proof(), attempt: 1, nonce: "", cursor: Cursor(epoch: nil, position: 0, chain: 0))
        guard case .admitted(let admitted) = try store.admit(hello, project: project, now: hubTime()) else {
            throw Failure("the hub does not admit the replica")
        }
        try store.commit()
        for (n, kind) in zip([1, 2, 3] as [Int64], [MarkKind.seen, .read, .archive]) {
            let mutation = Mutation(
                n: n, uid: UInt64(n), observed: Int64(size), observedTime: hubTime(), moment: .age(0),
                operation: .mark(kind, upTo: Int64(size)))
            let begin = wallNow()
            try store.begin()
            let result = try store.push(
                [mutation], from: admitted.replica, session: admitted.welcome.session, now: hubTime())
            try store.commit()
            let seconds = wallNow() - begin
            guard result.appended.count == 1 else { throw Failure("the mark was not taken") }
            print(
                String(
                    format: "mark %@ over %d items on the hub: push durable in %.2f ms; load %@", kind.rawValue, size,
                    seconds * 1_000, load()))
        }
        try store.close()
    }

    private static func hubTime() -> Milliseconds { Milliseconds(Date().timeIntervalSince1970 * 1_000) }
}
