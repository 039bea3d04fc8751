import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// One random life of an inbox: a hub, this replica, and others who act on the same items.
private struct Life {
    var random: Seeded
    var hub: TestHub
    let folder = Folder()
    let clock = TestClock()
    let replica: Replica
    let id: ReplicaID
    let others: [Author] = [
        .api, .replica(ReplicaID(high: 1, low: 1)), .replica(ReplicaID(high: 2, low: 2)),
    ]
    /// Sent and not processed by the hub yet.
    var wire: [Mutation] = []

    init(seed: UInt64) throws {
        random = Seeded(seed)
        let device = random.chance(30)
        hub = TestHub(device: device)
        replica = try folder.open(
            identity: device ? .device(id: nil) : alice, clock: clock, seed: seed)
        id = try replica.replicaID()
        try replica.connect(hub)
    }

    mutating func items() -> [ItemID] {
        guard !hub.items.isEmpty else { return [] }
        return (0..<Int.random(in: 1...3, using: &random)).map { _ in hub.items.randomElement(using: &random)! }
    }

    mutating func operation() -> PealModel.Operation {
        let on = random.chance(50)
        switch Int.random(in: 0..<18, using: &random) {
        case 0...3: return .read(items: items(), on: on, passive: random.chance(40))
        case 4: return .seen(items: items())
        case 5, 6: return .archive(items: items(), on: on)
        case 7: return random.chance(30) ? .delete(items: items()) : .seen(items: items())
        case 8, 9: return .mark(.read, upTo: position())
        case 10: return .mark(random.chance(50) ? .seen : .archive, upTo: position())
        case 11...13 where !hub.device:
            return .preference(
                category: ["a", "b"].randomElement(using: &random)!,
                channel: ["email", "push"].randomElement(using: &random)!, enabled: on)
        case 14, 15:
            guard let item = items().first else { return .seen(items: []) }
            return .track(
                item: item, event: Fact.events.sorted().randomElement(using: &random)!,
                data: on ? Array("{\"n\":\(hub.head)}".utf8)[...] : nil)
        default:
            guard hub.device else { return .read(items: items(), on: on, passive: false) }
            let name = ["x", "y", "z"].randomElement(using: &random)!
            return random.chance(70) ? .interest(name: name, on: on) : .interests(replace: on ? [name, "w"] : [])
        }
    }

    mutating func position() -> Position { Position.random(in: 0...hub.head, using: &random) }

    mutating func step() throws {
        clock.advance(Int64.random(in: 0...50, using: &random))
        hub.now = max(hub.now, clock.wall)
        switch Int.random(in: 0..<20, using: &random) {
        case 0...3: publish()
        case 4...7:
            let author = others.randomElement(using: &random)!
            let observed = random.chance(60) ? hub.head : position()
            let age = Int64.random(in: 0...200, using: &random)
            hub.other(operation(), observed: observed, age: age, author: author, uid: random.next())
        case 8 where !hub.device && random.chance(25):
            hub.setCatalogue(enabled: random.chance(50), required: random.chance(40))
        case 8 where !hub.items.isEmpty && random.chance(30):
            hub.append(.removed(items: items(), why: "retract"))
        case 8...12:
            let operation = operation()
            if case .interest = operation, !hub.device { return }
            try replica.enqueue(
                operation, observed: random.chance(70) ? nil : ViewPosition(position: position(), time: 0))
        case 13, 14:
            if let push = try replica.nextPush(maximumCount: Int.random(in: 1...4, using: &random)) {
                wire += push.mutations
            }
        case 15, 16:
            while !wire.isEmpty, random.chance(70) { hub.process(wire.removeFirst(), by: id) }
        default: try pull(to: nil)
        }
    }

    mutating func publish() {
        hub.publish(
            "title \(hub.head)", category: ["a", "b", nil].randomElement(using: &random)!,
            topic: random.chance(20) ? "t" : nil,
            interests: random.chance(50) ? ["x", "y", "z"].filter { _ in random.chance(40) } : [],
            type: random.chance(20) ? "survey" : "message",
            expires: random.chance(10) ? hub.now + Int64.random(in: -100...1_000, using: &random) : nil,
            silent: random.chance(5))
    }

    mutating func pull(to target: Position?) throws {
        let cursor = try replica.cursor().position
        guard cursor < hub.head else { return }
        let to = target ?? Position.random(in: (cursor + 1)...hub.head, using: &random)
        let from = Position.random(in: max(0, cursor - 3)...cursor, using: &random)
        let applied = try replica.apply(hub.batch(from: from, to: to))
        #expect(applied.verdict == .folded)
        #expect(applied.position == to)
        #expect(applied.divergence == nil)
    }

    /// What the hub would make of the pending acts if they came now, over what the replica has folded.
    func reference() throws -> Reference {
        let cursor = try replica.cursor().position
        var state = hub.states[Int(cursor)]
        let now = max(clock.wall + (try replica.inspect().clockOffset ?? 0), try replica.view().time, hub.synced)
        for item in try replica.outbox() where item.state != .dead {
            guard let row = try replica.read({ () throws(SQLiteError) in try replica.row(item.id) }),
                let operation = item.operation
            else {
                continue
            }
            let offset = try replica.inspect().clockOffset
            let mutation = row.mutation(operation, n: 0, clock.clock, offset: offset)
            let act = Resolver.resolve(mutation, by: .replica(id), in: state, now: now)
            state.fold(Entry(time: 0, kind: .act(act)))
        }
        return Reference(state: state, hub: hub, now: now)
    }
}

extension TestHub {
    /// The time of the welcome, which is the least that a replica takes for now.
    var synced: Milliseconds { 1_700_000_000_000 }
}

@Suite struct FoldAgreement {
    @Test(arguments: seeds(40)) func `what is shown is the fold of the log with the pending acts over it`(seed: Int)
        throws
    {
        var life = try Life(seed: UInt64(seed))
        for step in 0..<120 {
            try life.step()
            guard step % 4 == 0 else { continue }
            let reference = try life.reference()
            let difference = try reference.difference(to: life.replica)
            #expect(difference == nil, "seed \(seed), step \(step)")
            if difference != nil { return }
            #expect(try life.replica.sumDifference(to: life.hub) == nil, "seed \(seed), step \(step)")
            if step % 20 == 0 {
                #expect(try life.replica.failedChecks() == [], "seed \(seed), step \(step)")
            }
        }
        // When everything has been exchanged nothing is pending and both ends show the same.
        for mutation in life.wire { life.hub.process(mutation, by: life.id) }
        try life.replica.push(to: &life.hub)
        try life.pull(to: life.hub.head)
        #expect(try life.replica.outbox().filter { $0.state != .dead }.isEmpty, "seed \(seed)")
        #expect(try life.replica.inspect().staged == nil)
        #expect(try life.replica.connection.int("SELECT count(*) FROM item WHERE overlaid = 1") == 0)
        let reference = Reference(state: life.hub.state, hub: life.hub, now: try life.reference().now)
        #expect(try reference.difference(to: life.replica) == nil, "seed \(seed), at the end")
        #expect(try life.replica.connection.integrityProblems() == [])
    }
}
