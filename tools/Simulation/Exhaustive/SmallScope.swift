import PealHub
import PealHubMemory
import PealModel
import PealReplica

/// Explores every state of a ``SmallWorld`` within bounds: each act of either device at any moment, each frame early or late, each
/// connection cut at any moment, with resends after it. Each state is visited once.
final class SmallScope {
    /// How large the worlds are.
    struct Bounds {
        var acts: Int
        var cuts: Int
        /// The kinds of acts, the first of ``SmallWorld/Act``.
        var kinds = SmallWorld.Act.allCases.count
        /// States at most.
        var limit = Int.max
    }

    /// What was seen.
    struct Outcome: Equatable {
        var states = 0
        var transitions = 0
        /// States in which nothing is under way and nobody may act any more.
        var ends = 0
        /// What is wrong, and how it came about.
        var failure: String?
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private let bounds: Bounds
    let hub: MemoryHubStore
    let reader: any HubReader
    let clock = Clock()
    let options: ReplicaOptions
    var project = ProjectKey(row: 0)
    var item = ItemID(high: 0, low: 0)
    var inbox = InboxKey(row: 0)

    /// The one clock, and random bits that depend on who draws them for what, not on the way there.
    final class Clock: @unchecked Sendable {
        // The explorer has one thread.
        var now: Milliseconds = 0
        var random = SimRandom(seed: 0)
    }

    private static let start: Milliseconds = 1_800_000_000_000

    init(_ bounds: Bounds) throws(HubStoreError) {
        self.bounds = bounds
        let clock = clock
        var options = ReplicaOptions()
        options.clock = ReplicaClock(wall: { clock.now }, boot: { clock.now }, bootID: { "boot" })
        options.random = { clock.random.next() }
        self.options = options
        hub = MemoryHubStore(retention: Retention()) { clock.random.next() }
        reader = try hub.makeReader()
    }

    /// Visits all.
    func explore() -> Outcome {
        var outcome = Outcome()
        do {
            var stack = [try beginning()]
            var known: Set<Int> = [stack[0].fingerprint]
            while let world = stack.popLast() {
                outcome.states += 1
                if world.isQuiet {
                    try checkQuiet(world)
                    if world.actsLeft == 0 { outcome.ends += 1 }
                }
                for move in world.possible {
                    if case .act(_, let act) = move, act.rawValue >= bounds.kinds { continue }
                    outcome.transitions += 1
                    let next = try step(world, move)
                    if known.insert(next.fingerprint).inserted { stack.append(next) }
                }
                if outcome.states >= bounds.limit { break }
            }
        } catch {
            outcome.failure = "\(error)"
        }
        return outcome
    }

    /// Both devices are connected and have the item.
    private func beginning() throws -> SmallWorld {
        clock.now = Self.start
        try hub.begin()
        project =
            try hub.createProject(instance: "i", apiKey: "key", secret: "s", requiresHMAC: false, now: clock.now).key
        try hub.commit()
        let ends = (0..<2).map { device in
            clock.random = SimRandom(seed: UInt64(device) + 1_000)
            let replica = MemoryReplica(
                identity: .user(externalID: "u", email: nil), project: "key", options: options)
            return SmallWorld.End(
                file: replica.state, driver: SessionDriver(seed: 1, proof: Proof()))
        }
        var world = SmallWorld(hub: hub.snapshot(), ends: ends, actsLeft: 0, cutsLeft: 0)
        for device in 0..<2 { try drive(&world, device) { $0.start() } }
        try settle(&world)
        hub.restore(world.hub)
        try hub.begin()
        let published = try hub.publish(
            PublishRequest(
                project: project, name: "p", body: ItemBody(title: "t", sent: clock.now),
                recipients: [.init(identity: UserIdentity(externalID: "u"))]), now: clock.now)
        try hub.commit()
        inbox = published.appended[0].inbox
        guard case .item(let id, _, _) = try Entry(published.appended[0].bytes[...]).kind else {
            throw Failure(description: "no item")
        }
        item = id
        world.hub = hub.snapshot()
        try take(published.appended, &world)
        try settle(&world)
        world.moves = []
        world.actsLeft = bounds.acts
        world.cutsLeft = bounds.cuts
        return world
    }

    private func settle(_ world: inout SmallWorld) throws {
        while let move = world.possible.first { world = try step(world, move) }
    }

    // MARK: Moves

    private func step(_ before: SmallWorld, _ move: SmallWorld.Move) throws -> SmallWorld {
        var world = before
        world.moves.append(move)
        clock.now = Self.start + 1_000 * Milliseconds(world.made.count)
        do {
            switch move {
            case .act(let device, let act): try perform(act, device, &world)
            case .up(let device):
                let frame = world.ends[device].socket.up.removeFirst()
                let actions = world.ends[device].socket.session.received(frame, now: 0)
                try carryOut(actions, device, \.socket, &world)
            case .lateUp(let device):
                guard var late = world.ends[device].late else { break }
                let frame = late.up.removeFirst()
                let actions = late.session.received(frame, now: 0)
                world.ends[device].late = late
                try carryOut(actions, device, \.late!, &world)
                if world.ends[device].late?.up.isEmpty ?? false { world.ends[device].late = nil }
            case .down(let device): try receive(device, &world)
            case .cut(let device, let late):
                world.cutsLeft -= 1
                let old = world.ends[device].socket
                if late { world.ends[device].late = old }
                try closed(CloseCode(rawValue: 1006), device, &world)
            }
            try check(before, world)
        } catch {
            throw Failure(description: "\(error) after: \(world.moves.map(\.description).joined(separator: "; "))")
        }
        return world
    }

    private func perform(_ act: SmallWorld.Act, _ device: Int, _ world: inout SmallWorld) throws {
        world.actsLeft -= 1
        world.ends[device].acts += 1
        clock.now += 1_000
        clock.random = SimRandom(seed: UInt64(device * 100 + world.ends[device].acts))
        let replica = open(world, device)
        let seen = replica.cursor.position
        let uid = try replica.enqueue(act.operation(item, upTo: seen), observed: replica.view, hold: 0)
        world.made[uid] = SmallOracle.Made(device: device, operation: act, seen: seen, time: clock.now)
        close(replica, device, &world)
        try drive(&world, device) { $0.outboxChanged() }
    }

    /// The device's end of it.
    private func receive(_ device: Int, _ world: inout SmallWorld) throws {
        guard let output = world.ends[device].socket.session.nextOutput() else { return }
        switch output {
        case .frame(let frame): try drive(&world, device) { $0.received(frame, bytes: 1) }
        case .entries(let position, _, _):
            hub.restore(world.hub)
            let entries = try reader.entries(of: inbox, after: position, maxCount: .max, maxBytes: .max)
            let standing = try reader.sum(of: inbox)
            guard let last = entries.last, let session = world.ends[device].socket.session.session else { return }
            world.ends[device].socket.session.sent(to: last.position, bytes: 1, now: 0)
            let batch = Batch(
                session: session, from: position, to: last.position, chain: last.chain,
                entries: entries.map { $0.bytes[...] }, sum: standing.sum)
            try drive(&world, device) { $0.received(.batch(batch), bytes: 1) }
        }
    }

    func open(_ world: SmallWorld, _ device: Int) -> MemoryReplica {
        let replica = MemoryReplica(file: MemoryReplica.File(world.ends[device].file), options: options)
        replica.session = world.ends[device].memory
        return replica
    }

    private func close(_ replica: MemoryReplica, _ device: Int, _ world: inout SmallWorld) {
        world.ends[device].file = replica.state
        world.ends[device].memory = replica.session
    }

    private func drive(
        _ world: inout SmallWorld, _ device: Int, _ input: (inout DeviceSession) -> [DeviceSession.Action]
    ) throws {
        let replica = open(world, device)
        let result = world.ends[device].driver.drive(replica, input)
        close(replica, device, &world)
        if let failure = result.failure { throw failure }
        try perform(result.effects, device, &world)
    }

    private func perform(_ effects: [SessionDriver.Effect], _ device: Int, _ world: inout SmallWorld) throws {
        for effect in effects {
            switch effect {
            case .connect:
                world.ends[device].socket = SmallWorld.Socket()
                try drive(&world, device) { $0.opened() }
            case .send(.got): break
            case .send(let frame): world.ends[device].socket.up.append(frame)
            case .close(let code, _): try closed(code, device, &world)
            case .status(.stopped(let code, let reason)):
                throw Failure(description: "device \(device) stopped: \(code.rawValue) \(reason)")
            case .diverged(let divergence): throw Failure(description: "device \(device): \(divergence)")
            case .swapped, .quarantined, .fetchToken, .wake, .stage, .forked:
                throw Failure(description: "device \(device): \(effect)")
            case .schedule, .cancel, .status, .report: break
            }
        }
    }

    /// A connection is over; the next one is made at once.
    private func closed(_ code: CloseCode, _ device: Int, _ world: inout SmallWorld) throws {
        world.ends[device].socket = SmallWorld.Socket()
        let replica = open(world, device)
        let result = world.ends[device].driver.closed(replica, code: code, reason: "")
        close(replica, device, &world)
        if let failure = result.failure { throw failure }
        try perform(result.effects, device, &world)
        try drive(&world, device) { $0.fired(.reconnect) }
    }
}
