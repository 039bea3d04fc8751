import PealModel
import PealReplica

extension FuzzTarget {
    /// A replica's file of which rows hold anything: it opens, lists, sends, settles and explains, or says why not. Where only outbox
    /// and journal are hit, what is shown is shown still, a new act is taken, and every act that was not hit is sent and settles
    /// (docs/sync.md section 8). An input is up to 16 values: table, row, column, kind, value.
    package static let outbox = FuzzTarget(
        name: "outbox", seeds: OutboxFuzz.seeds,
        dictionary: JSONWords.all + ["read", "mark", "items", "applied", "code"],
        replays: 100, run: { OutboxFuzz.shared.run($0) })
}

/// The numbers of one replica, as a hub sees them.
private struct Numbers {
    enum Answer { case taken, forked, gap }

    var last: Int64
    private var known: [Int64: UInt64] = [:]

    init(last: Int64) { self.last = last }

    mutating func take(_ mutations: [Mutation]) -> Answer {
        for mutation in mutations {
            if mutation.n <= last {
                guard known[mutation.n] == mutation.uid else { return .forked }
                continue
            }
            guard mutation.n == last + 1 else { return .gap }
            last = mutation.n
            known[mutation.n] = mutation.uid
        }
        return .taken
    }
}

/// One file at a time.
private final class OutboxFuzz: @unchecked Sendable {
    // An input is run on one thread.
    static let shared = OutboxFuzz()

    private let template: [UInt8]
    private let schema: String
    /// The last number that the hub has taken.
    private let settled: Int64

    private init() {
        let path = SessionWorld.make([
            (.publish, [6]), (.start, []), (.flow, []), (.act, [0, 0, 0]), (.flow, []), (.otherAct, [2, 1, 0]),
            (.flow, []),
            (.act, [1, 1, 0]), (.act, [3, 2, 0]), (.flow, []), (.act, [0, 2, 0]), (.deliverUp, []), (.cut, []),
            (.act, [0, 3, 0]), (.act, [2, 4, 0]), (.act, [5, 0, 0]), (.act, [6, 0, 0]), (.act, [0, 5, 0]),
            (.act, [0, 1, 7]),
        ])
        settled = DamagedFile(path).settled
        schema = DamagedFile.loosen(path)
        template = FuzzFolder.content(path)
    }

    static func seeds() -> [(name: String, bytes: [UInt8])] {
        var seeds: [(name: String, bytes: [UInt8])] = [("none", [])]
        // Each column of the outbox and the journal, each kind of value.
        for table in [0, 6] as [UInt8] {
            for column in 0..<16 as Range<UInt8> {
                for kind in 0..<8 as Range<UInt8> {
                    seeds.append(("\(table)-\(column)-\(kind)", [table, 1, column, kind, 7, 1, 2, 3, 4, 5, 6, 7, 8]))
                }
            }
        }
        for table in 8..<18 as Range<UInt8> {
            for column in 0..<28 as Range<UInt8> { seeds.append(("\(table)-\(column)", [table, 0, column, 1, 6])) }
        }
        return seeds
    }

    func run(_ bytes: [UInt8]) -> String? {
        let path = FuzzFolder.file("outbox", template)
        var input = FuzzInput(bytes)
        let file = DamagedFile(path)
        for _ in 0..<16 where !input.isEmpty { file.damage(&input) }
        let intact = file.intact()
        let isOnlyOutbox = file.touched.isSubset(of: ["outbox", "journal"])
        file.restore(schema)
        let time = FuzzTime(SessionWorld.start + 1_000_000)
        do throws(ReplicaError) {
            let replica = try Replica(
                path: path, identity: FuzzDevice.user, project: "key", options: time.options)
            // Half of the inputs, because it takes as long as the rest.
            if bytes.count & 1 == 0 { look(replica) }
            if isOnlyOutbox { return try insist(replica, time, intact) }
            exercise(replica, time)
        } catch {
            if isOnlyOutbox { return "a damaged outbox stops the replica: \(error)" }
        }
        return nil
    }

    /// All that only reads.
    private func look(_ replica: Replica) {
        _ = try? replica.verify()
        _ = try? replica.inspect()
        _ = try? replica.interests()
        _ = try? replica.preferences()
        _ = try? replica.catalogue()
        for number in [1, 3] as [Position] {
            guard let item = try? replica.item(number: number) else { continue }
            _ = try? replica.facts(of: item.id)
            _ = try? replica.explain(item.id)
        }
    }

    /// What must go on.
    private func insist(
        _ replica: Replica, _ time: FuzzTime, _ intact: Set<UInt64>
    ) throws(ReplicaError) -> String? {
        _ = try replica.page(DeliveredQuery())
        _ = try replica.counts()
        _ = try replica.outbox()
        let new = try replica.enqueue(.seen(items: [ItemID(high: 1, low: 1)]))
        var sent: Set<UInt64> = []
        var hub = Numbers(last: settled)
        _ = try replica.hello(proof: Proof())
        var waits = 0
        for _ in 0..<40 where waits < 2 {
            try replica.resetInFlight(retryAfter: nil)
            guard let push = try replica.nextPush() else {
                waits += 1
                time.now += 600_001
                continue
            }
            sent.formUnion(push.mutations.map(\.uid))
            let frame = push.suspect ? UpFrame.suspect(push.mutations[0]) : .push(push.mutations)
            guard (try? UpFrame(frame.bytes[...])) == frame else { return "a push cannot be read by a hub" }
            switch hub.take(push.mutations) {
            case .taken: break
            case .forked:
                try replica.fork()
                hub = Numbers(last: 0)
                continue
            case .gap: return "a number is missing, and no hub takes what comes behind it"
            }
            _ = try replica.settled(
                push.mutations.map { Settled(n: $0.n, uid: $0.uid, outcome: Outcome(.applied)) }, at: 0)
        }
        let missing = intact.union([new]).subtracting(sent)
        if !missing.isEmpty { return "\(missing.count) acts are not sent, because others are damaged" }
        let waiting = Set(try replica.outbox().filter { $0.state != .dead }.map(\.id))
        return waiting.isDisjoint(with: intact) ? nil : "an act does not settle, because others are damaged"
    }

    /// What may fail, and must not trap.
    private func exercise(_ replica: Replica, _ time: FuzzTime) {
        _ = try? replica.page(DeliveredQuery())
        _ = try? replica.counts()
        for row in (try? replica.outbox()) ?? [] {
            _ = try? replica.retry(row.id)
            _ = try? replica.discard(row.id)
        }
        _ = try? replica.enqueue(.mark(.read, upTo: 4))
        _ = try? replica.hello(proof: Proof(), windowEntries: 1, windowBytes: 1)
        if let cursor = try? replica.cursor() {
            _ = try? replica.welcomed(
                Welcome(
                    session: 1, mode: .resume, epoch: cursor.epoch ?? 0, inbox: (try? replica.inboxID()) ?? "", head: 9,
                    attempt: 1, nonce: "n", time: time.now))
            if case .batch(var batch)? = GoldenFrames.batch, cursor.position < .max - 100, cursor.position >= 0 {
                batch.from = cursor.position
                batch.to = cursor.position + Position(batch.entries.count)
                _ = try? replica.apply(batch)
            }
        }
        if let push = try? replica.nextPush() { _ = push.mutations.count }
        _ = try? replica.nextDue()
        _ = try? replica.fork(to: nil)
        _ = try? replica.nextPush()
    }
}
