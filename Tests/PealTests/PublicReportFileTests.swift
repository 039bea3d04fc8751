import Foundation
import PealModel
import PealReplica
import PealSQLite
import Synchronization
import Testing

/// Faults of other clients, as their users reported them: the file on the device.
@Suite struct PublicReportFile {
    /// A hub's log of single items, and its batches.
    private struct Log {
        var entries: [[UInt8]] = []

        init(_ count: Int, bytes: Int) {
            let content = String(repeating: "x", count: bytes)
            for number in 0..<count {
                let id = ItemID(time: 1_700_000_000_000 + Int64(number), counter: UInt64(number), random: 7)
                let body = ItemBody(title: "item \(number + 1)", content: content, sent: 1).bytes
                entries.append(Entry(time: 1_700_000_000_000, kind: .item(id: id, publish: "p", body: body[...])).bytes)
            }
        }

        func batch(from: Position, to: Position) -> Batch {
            Batch(
                session: 1, from: from, to: to, chain: UInt64(to),
                entries: entries[Int(from)..<Int(to)].map { $0[...] })
        }

        func welcome(_ hello: Hello) -> Welcome {
            Welcome(
                session: 1, mode: .resume, epoch: 1, inbox: "i", head: Position(entries.count), attempt: hello.attempt,
                nonce: "n", time: 1_700_000_000_000)
        }
    }

    private func scratch() throws -> String {
        let directory = NSTemporaryDirectory() + "/peal-file-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return directory
    }

    private static let mary = InboxIdentity.user(externalID: "mary", email: nil)

    @Test func `no transaction fails at once with a locked database while others read, fold, send and act on one file`()
        throws
    {
        let directory = try scratch()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/mary.peal"
        let log = Log(400, bytes: 50)
        let owner = try Replica(path: path, identity: Self.mary, project: "key")
        _ = try owner.welcomed(log.welcome(try owner.hello(proof: Proof())))
        let failures = Mutex<[String]>([])
        let done = Mutex(0)
        // Other connections, each on a thread of its own: as other processes have them.
        for worker in 0..<3 {
            Thread.detachNewThread {
                do {
                    let replica = try Replica(path: path, identity: Self.mary, project: "key")
                    for round in 0..<60 {
                        _ = try replica.counts()
                        try replica.enqueue(.mark(worker == 0 ? .seen : .read, upTo: Int64(round)))
                    }
                } catch {
                    failures.withLock { $0.append("\(worker): \(error)") }
                }
                done.withLock { $0 += 1 }
            }
        }
        var from: Position = 0
        while from < 400 {
            _ = try owner.apply(log.batch(from: from, to: from + 2))
            from += 2
            if from % 20 == 0 { _ = try owner.nextPush(maximumCount: 5) }
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while done.withLock({ $0 }) < 3, ContinuousClock.now < deadline { _ = try owner.counts() }
        #expect(failures.withLock { $0 } == [])
        #expect(try owner.outbox().count == 180)
        #expect(try owner.counts().total == 400)
        #expect(try owner.inspect(integrity: true).problems == [])
    }

    @Test
    func `a write-ahead log stays bounded over thousands of commits, although somebody reads for a while now and then`()
        throws
    {
        let directory = try scratch()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/mary.peal"
        let log = Log(2_400, bytes: 600)
        let replica = try Replica(path: path, identity: Self.mary, project: "key")
        _ = try replica.welcomed(log.welcome(try replica.hello(proof: Proof())))
        var largest: Int64 = 0
        var reader: Connection?
        for position in 0..<2_400 as Range<Position> {
            switch position % 300 {
            case 100:
                var options = Connection.Options()
                options.readOnly = true
                reader = try Connection(path: path, options: options)
                try reader?.execute("BEGIN; SELECT count(*) FROM item")
            case 200: reader = nil
            default: break
            }
            _ = try replica.apply(log.batch(from: position, to: position + 1))
            let attributes = try FileManager.default.attributesOfItem(atPath: path + "-wal")
            largest = max(largest, (attributes[.size] as? Int64) ?? .max)
        }
        // A hundred commits under a reader, and what a checkpoint waits for.
        #expect(largest < 12 * 1_024 * 1_024, "\(largest) bytes")
        #expect(try replica.counts().total == 2_400)
    }
}
