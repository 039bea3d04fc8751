import PealHub
import PealHubMemory
import PealModel
import PealReplica
import Testing

@testable import Simulation

/// A pair of replicas, a hub that both talk to, and a random driver. Every choice is made once and given to both; each draws its own
/// random bits, from the same seed.
struct ReplicaTwins {
    typealias Pair = (one: any SimulatedReplica, other: any SimulatedReplica)

    let seed: UInt64
    let factory = StoreFactory(sqlite: true)
    let clock = TwinClock()
    let hub: MemoryHubStore
    let reader: any HubReader
    let project: ProjectKey
    let identity: InboxIdentity
    var random: SimRandom
    var now: Milliseconds = 1_800_000_000_000
    var replicas: Pair
    var backup: Pair?
    var hubBackup: MemoryHubStore.State?
    /// The session that both are in.
    var live: Admitted?
    var inbox: InboxKey?
    var uids: [UInt64] = []
    var publishes = 0
    var steps = 0

    init(seed: UInt64) throws {
        self.seed = seed
        random = SimRandom(seed: seed &* 31 &+ 7)
        identity = seed % 3 == 2 ? .device(id: nil) : .user(externalID: "anna", email: nil)
        hub = MemoryHubStore(
            seed: seed,
            retention: Retention(
                entries: seed % 2 == 0 ? 4 : 1_000, age: 365 * 86_400_000, hold: 0, period: 0))
        try hub.begin()
        project =
            try hub.createProject(instance: "instance", apiKey: "key", secret: "secret", requiresHMAC: false, now: now)
            .key
        try hub.commit()
        reader = try hub.makeReader()
        replicas = (
            try SQLiteReplica(path: factory.path(), identity: identity, options: clock.options(seed)),
            MemoryReplica(identity: identity, project: "key", options: clock.options(seed))
        )
    }

    func end() { factory.close(nil) }

    mutating func chance(_ part: Int, of whole: Int) -> Bool { random.below(whole) < part }

    // MARK: Both

    /// Calls both and compares what came of it, errors included.
    @discardableResult
    func both<Value: Equatable>(
        _ what: String, _ body: (any SimulatedReplica) throws(ReplicaError) -> Value
    ) throws -> Value? {
        var results: [Result<Value, ReplicaError>] = []
        for replica in [replicas.one, replicas.other] {
            do throws(ReplicaError) {
                results.append(.success(try body(replica)))
            } catch {
                results.append(.failure(error))
            }
        }
        switch (results[0], results[1]) {
        case (.success(let left), .success(let right)):
            guard left == right else { throw Difference(self, what, left, right) }
            return left
        case (.failure(let left), .failure(let right)):
            guard left.code == right.code else { throw Difference(self, what, left, right) }
            return nil
        default: throw Difference(self, what, results[0], results[1])
        }
    }

    /// Everything that can be seen from outside.
    func compare() throws {
        try both("cursor") { (replica) throws(ReplicaError) in replica.cursor }
        try both("id") { (replica) throws(ReplicaError) in replica.replicaID }
        try both("view") { (replica) throws(ReplicaError) in replica.view }
        try both("outbox") { (replica) throws(ReplicaError) in try replica.waiting() }
        try both("dead letters") { (replica) throws(ReplicaError) in try replica.dead() }
        try both("journal") { (replica) throws(ReplicaError) in try replica.settled() }
        try both("next due") { (replica) throws(ReplicaError) in try replica.nextDue() }
        try both("snapshot request") { (replica) throws(ReplicaError) in try replica.snapshotRequest() }
        try both("what is shown") { (replica) throws(ReplicaError) in try replica.sight() }
        guard let real = replicas.one as? SQLiteReplica, let memory = replicas.other as? MemoryReplica else { return }
        let sums = (try real.replica.sum(), try real.replica.computedSum())
        let others = (memory.state.base.sum, memory.state.base.computedSum)
        guard sums == others else { throw Difference(self, "sums", sums, others) }
        let shown = memory.shown()
        let choices = Preference.all(shown.base.cells.mapValues(\.register.value), shown.base.catalogue)
        let preferences = try real.replica.preferences()
        guard preferences == choices else { throw Difference(self, "preferences", preferences, choices) }
    }

    // MARK: Steps

    mutating func step() throws {
        steps += 1
        if chance(1, of: 2) { time() }
        switch random.below(26) {
        case 0..<5: try act()
        case 5: try secondThoughts()
        case 6..<9: try hello()
        case 9..<13: try pull()
        case 13, 14: try page()
        case 15..<19: try push()
        case 19: try drop()
        case 20..<23: try others()
        case 23: try upkeep()
        case 24: try processes()
        default: try damage()
        }
        try compare()
    }

    private mutating func time() {
        let passed = Milliseconds([0, 10, 700, 5_000, 40_000][random.below(5)])
        now += passed
        clock.wall += passed
        clock.boot += passed
        if chance(1, of: 40) {
            clock.bootID += 1
            clock.boot = 0
        }
        if chance(1, of: 60) { clock.wall += [-3_600_000, 3_600_000, 90_000_000][random.below(3)] }
    }

    private mutating func act() throws {
        let sight = try replicas.one.sight()
        let operation = operation(sight)
        let observed = chance(1, of: 3) ? ViewPosition(position: Position(random.below(12)), time: now - 500) : nil
        let hold: Milliseconds = chance(1, of: 5) ? 5_000 : 0
        let uid = try both("\(operation)") { (replica) throws(ReplicaError) in
            try replica.enqueue(operation, observed: observed, hold: hold)
        }
        if let uid { uids.append(uid) }
    }

    private mutating func operation(_ sight: Sight) -> PealModel.Operation {
        let on = chance(1, of: 2)
        if case .device = identity, chance(2, of: 3) {
            let names = ["sun", "moon", "rain"]
            return chance(1, of: 4)
                ? .interests(replace: Array(names.prefix(random.below(3))))
                : .interest(name: names[random.below(3)], on: on)
        }
        if case .user = identity, chance(1, of: 8) {
            return .preference(category: on ? "news" : "bills", channel: "push", enabled: chance(1, of: 2))
        }
        let some =
            sight.items.isEmpty ? [] : (0...random.below(2)).map { _ in sight.items[random.below(sight.items.count)] }
        switch random.below(12) {
        case 0..<4: return .read(items: some, on: on, passive: chance(1, of: 4))
        case 4: return .seen(items: some)
        case 5, 6: return .archive(items: some, on: on)
        case 7: return chance(1, of: 2) ? .delete(items: some) : .seen(items: some)
        case 8:
            return some.first.map { .track(item: $0, event: on ? "opened" : "clicked", data: nil) } ?? .seen(items: [])
        default: return .mark(MarkKind.allCases[random.below(3)], upTo: Position(random.below(14)))
        }
    }

    private mutating func secondThoughts() throws {
        guard !uids.isEmpty else { return }
        let dead = try replicas.one.dead()
        let uid = dead.isEmpty || chance(1, of: 2) ? uids[max(0, uids.count - 1 - random.below(4))] : dead[0]
        switch random.below(3) {
        case 0: try both("undo") { (replica) throws(ReplicaError) in try replica.undo(uid) }
        case 1: try both("discard") { (replica) throws(ReplicaError) in try replica.discard(uid) }
        default:
            let new = try both("retry") { (replica) throws(ReplicaError) in try replica.retry(uid) }
            if let new = new ?? nil { uids.append(new) }
        }
    }

    // MARK: Sessions

    func commit<Value>(_ body: () throws(HubStoreError) -> Value) throws -> Value {
        try hub.begin()
        do throws(HubStoreError) {
            let value = try body()
            try hub.commit()
            return value
        } catch {
            hub.rollback()
            throw error
        }
    }

    private mutating func hello() throws {
        live = nil
        let said = try both("hello") { (replica) throws(ReplicaError) in
            try replica.hello(proof: Proof(), windowEntries: 8, windowBytes: 10_000)
        }
        guard let said else { return }
        switch try commit({ () throws(HubStoreError) in try hub.admit(said, project: project, now: now) }) {
        case .attemptTooLow(let last):
            try both("attempt") { (replica) throws(ReplicaError) in
                try replica.attemptRefused(last: last)
                return true
            }
        case .refused(let why): throw Difference(self, "refused", why, said)
        case .admitted(let admitted):
            inbox = admitted.inbox
            // A welcome that is lost.
            guard chance(5, of: 6) else { return }
            var welcome = admitted.welcome
            welcome.reoffer = !chance(1, of: 4)
            let said = welcome
            let check = try both("welcome \(welcome.mode)") { (replica) throws(ReplicaError) in
                try replica.welcomed(said)
            }
            if check?.fork != nil { return try fork() }
            live = admitted
            _ = try commit { () throws(HubStoreError) in
                try hub.firstFrame(admitted.replica, session: admitted.welcome.session, now: now)
            }
        }
    }

    private mutating func fork() throws {
        live = nil
        try both("fork") { (replica) throws(ReplicaError) in
            try replica.fork(to: nil)
            return true
        }
    }

    private mutating func pull() throws {
        guard let live else { return }
        let start = max(0, (try replicas.one.snapshotRequest().at ?? replicas.one.cursor.position))
        let from = chance(1, of: 8) ? max(0, start + Position(random.below(5)) - 2) : start
        let count = 1 + random.below(4)
        let entries: [LogEntry]
        do throws(HubStoreError) {
            entries = try reader.entries(of: live.inbox, after: from, maxCount: count, maxBytes: .max)
        } catch {
            self.live = nil
            return
        }
        guard let last = entries.last else { return }
        let standing = try reader.sum(of: live.inbox)
        let batch = Batch(
            session: live.welcome.session, from: from, to: last.position, chain: last.chain,
            entries: entries.map { $0.bytes[...] }, sum: standing.head == last.position ? standing.sum : nil)
        let applied = try both("batch (\(from), \(last.position)]") { (replica) throws(ReplicaError) in
            var applied = try replica.apply(batch)
            // What differs is told by the real one only.
            applied.swap?.unexplained = []
            applied.swap?.unexplainedCount = 0
            return applied
        }
        if applied?.verdict == .foreign { try fork() }
    }

    private mutating func page() throws {
        guard let live, live.welcome.mode != .resume || chance(1, of: 12) else { return }
        let request = try replicas.one.snapshotRequest()
        let page = try reader.page(of: live.inbox, request, maxRows: 1 + random.below(4), maxBytes: Limits.frameDown)
        try both("page") { (replica) throws(ReplicaError) in
            var staged = try replica.stage(page)
            staged.swap?.unexplained = []
            staged.swap?.unexplainedCount = 0
            return staged
        }
    }

    private mutating func push() throws {
        guard let live else { return }
        let count = 1 + random.below(3)
        let pushed = try both("push") { (replica) throws(ReplicaError) in
            try replica.nextPush(maximumCount: count, maximumBytes: Limits.frameUp)
        }
        // Lost on its way up.
        guard let push = pushed ?? nil, chance(5, of: 6) else { return }
        if chance(1, of: 12) { hub.fault = { (_) throws(HubStoreError) in throw HubStoreError(.invalid, "planned") } }
        let result = try commit { () throws(HubStoreError) in
            try hub.push(push.mutations, from: live.replica, session: live.welcome.session, now: now)
        }
        hub.fault = nil
        let head = try reader.log(of: live.inbox).head
        guard !result.settled.isEmpty, chance(5, of: 6) else { return }
        try both("settled") { (replica) throws(ReplicaError) in try replica.settled(result.settled, at: head) }
    }

    private mutating func drop() throws {
        if chance(1, of: 6) { return try fork() }
        if chance(1, of: 2) {
            let retryAfter: Milliseconds? = chance(1, of: 2) ? 800 : nil
            try both("reset") { (replica) throws(ReplicaError) in
                try replica.resetInFlight(retryAfter: retryAfter)
                return true
            }
        } else {
            live = nil
            try both("ended") { (replica) throws(ReplicaError) in
                try replica.sessionEnded(code: .tryAgain, reason: "")
                return true
            }
        }
    }
}

/// The two differ.
struct Difference: Error, CustomStringConvertible {
    var description: String

    init(_ twins: ReplicaTwins, _ what: String, _ left: some Any, _ right: some Any) {
        description = "seed \(twins.seed), step \(twins.steps), \(what): SQLite \(left), memory \(right)"
    }
}
