import Glibc
import PealModel
import PealReplica
import Synchronization

/// A hub as small as one can be: a log, the state that it folds to, and the rule.
struct TestHub {
    let epoch: UInt64
    let device: Bool
    private(set) var states: [InboxState]
    private(set) var entries: [[UInt8]] = []
    private(set) var chains: [UInt64] = [0]
    private(set) var publishes: [ItemID: (publish: String, time: Milliseconds)] = [:]
    private(set) var items: [ItemID] = []
    var now: Milliseconds = 1_700_000_000_000
    private(set) var lastN: [ReplicaID: Int64] = [:]
    private(set) var outcomes: [UInt64: Settled] = [:]
    private var counter: UInt64 = 0

    init(epoch: UInt64 = 7, device: Bool = false) {
        self.epoch = epoch
        self.device = device
        states = [InboxState(device: device)]
    }

    var state: InboxState { states[states.count - 1] }
    var head: Position { state.head }

    mutating func append(_ kind: Entry.Kind) {
        append(bytes: Entry(time: now, kind: kind).bytes, kind)
    }

    /// Appends bytes of the caller's choice; `kind` is what the state folds.
    mutating func append(bytes: [UInt8], _ kind: Entry.Kind = .unknown("new")) {
        entries.append(bytes)
        var next = state
        next.fold(Entry(time: now, kind: kind))
        states.append(next)
        chains.append(bytes.reduce(chains[chains.count - 1]) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } | 1)
        now += 10
    }

    @discardableResult
    mutating func publish(
        _ title: String = "a title", category: String? = nil, topic: String? = nil, interests: [String] = [],
        type: String = "message", content: String? = nil, expires: Milliseconds? = nil, silent: Bool = false
    ) -> ItemID {
        counter += 1
        let id = ItemID(time: now, counter: counter, random: counter &* 0x9E37_79B9)
        let body = ItemBody(
            title: title, content: content, type: type, category: category, topic: topic, interests: interests,
            sent: now,
            expires: expires, silent: silent)
        publishes[id] = ("p\(counter)", now)
        items.append(id)
        append(.item(id: id, publish: "p\(counter)", body: body.bytes[...]))
        return id
    }

    /// A next catalogue: one category with two channels.
    mutating func setCatalogue(enabled: Bool = true, required: Bool = false) {
        let channels = [
            Catalogue.Channel(slug: "email", label: "E-mail", enabled: enabled, required: required),
            Catalogue.Channel(slug: "push", label: "Push", enabled: !enabled),
        ]
        let version = (state.currentCatalogue?.version ?? 0) + 1
        append(
            .catalogue(
                Catalogue(
                    version: version, categories: [Catalogue.Category(slug: "a", label: "A", channels: channels)])))
    }

    /// Processes a mutation of a replica, with the number check and the deduplication by uid.
    @discardableResult
    mutating func process(_ mutation: Mutation, by replica: ReplicaID) -> Outcome? {
        let last = lastN[replica] ?? 0
        guard mutation.n == last + 1 else { return nil }
        lastN[replica] = mutation.n
        let outcome = act(mutation, by: .replica(replica))
        outcomes[mutation.uid] = Settled(n: mutation.n, uid: mutation.uid, outcome: outcome)
        return outcome
    }

    @discardableResult
    mutating func act(_ mutation: Mutation, by author: Author) -> Outcome {
        var act: Act
        if outcomes[mutation.uid] != nil {
            act = Act(author: author, n: mutation.n, uid: mutation.uid, itime: now, outcome: .duplicate)
        } else {
            act = Resolver.resolve(mutation, by: author, in: state, now: now)
        }
        if act.n == 0 { act.n = nil }
        append(.act(act))
        return act.outcome
    }

    /// An act of somebody else.
    @discardableResult
    mutating func other(
        _ operation: PealModel.Operation, observed: Position? = nil, age: Milliseconds = 0, author: Author = .api,
        uid: UInt64 = .random(in: 1...(.max))
    ) -> Outcome {
        act(
            Mutation(
                n: 0, uid: uid, observed: observed ?? head, observedTime: 0, moment: .age(age), operation: operation),
            by: author)
    }

    mutating func settle(_ n: Int64, by replica: ReplicaID) { lastN[replica] = n }

    func batch(from: Position, to: Position? = nil, session: UInt64 = 1) -> Batch {
        let to = to ?? head
        return Batch(
            session: session, from: from, to: to, chain: chains[Int(to)],
            entries: entries[Int(from)..<Int(to)].map { $0[...] }, sum: states[Int(to)].sum)
    }

    func welcome(
        _ hello: Hello, mode: Admission.Mode = .resume, nonce: String = "nonce", secret: String? = nil,
        settled: [Settled] = [], lastUID: UInt64? = nil
    ) -> Welcome {
        Welcome(
            session: 1, mode: mode, epoch: epoch, inbox: "inbox", head: head, lastN: lastN[hello.replica] ?? 0,
            lastUID: lastUID, settled: settled, attempt: hello.attempt, nonce: nonce, secret: secret, time: now,
            heartbeat: 30)
    }

    /// A snapshot page as of a position of the log, below `before`.
    func page(id: UInt64, at: Position? = nil, before: Position = .max, limit: Int = 10, first: Bool) -> Page {
        let at = at ?? head
        let state = states[Int(at)]
        let all = items.filter { id in
            guard let item = state.item(id) else { return false }
            return !item.deleted && item.position < before
        }
        let chosen = all.suffix(limit).reversed()
        let rows = chosen.map { id in
            SnapshotRow(
                id: id, publish: publishes[id]!.publish, time: publishes[id]!.time, body: state.bodies[id]!,
                state: state.item(id)!, facts: state.facts[id] ?? [])
        }
        return Page(
            id: id, at: at, chain: chains[Int(at)], rows: rows, after: rows.last?.state.position ?? 0,
            last: all.count <= limit,
            rest: first
                ? Page.Rest(
                    marks: state.marks, interests: state.interests().map { $0.sorted() }, preferences: state.cells,
                    catalogue: state.currentCatalogue) : nil,
            sum: all.count <= limit ? state.sum : nil)
    }
}

/// Clocks that a test moves by hand.
final class TestClock: Sendable {
    private let time: Mutex<(wall: Milliseconds, boot: Milliseconds, id: String)>

    init(wall: Milliseconds = 1_700_000_000_000) {
        time = Mutex((wall, 5_000, "boot"))
    }

    var wall: Milliseconds {
        get { time.withLock { $0.wall } }
        set { time.withLock { $0.wall = newValue } }
    }

    func advance(_ by: Milliseconds) {
        time.withLock {
            $0.wall += by
            $0.boot += by
        }
    }

    func reboot() {
        time.withLock {
            $0.boot = 0
            $0.id += "'"
        }
    }

    var clock: ReplicaClock {
        ReplicaClock(
            wall: { self.time.withLock { $0.wall } }, boot: { self.time.withLock { $0.boot } },
            bootID: { self.time.withLock { $0.id } })
    }
}

/// A seeded generator (SplitMix64).
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// The seeds of a random test: 0 to `count`, or as many as PEAL_SEEDS says.
func seeds(_ count: Int) -> Range<Int> {
    guard let text = getenv("PEAL_SEEDS"), let wanted = Int(String(cString: text)) else { return 0..<count }
    return 0..<wanted
}
