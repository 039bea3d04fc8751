import Foundation
import PealHub
import PealModel
import PealReplica
import Testing

/// The seeds of a law: 0 to `count`, or as many as PEAL_SEEDS says.
private func seeds(_ count: UInt64) -> Range<UInt64> {
    0..<(ProcessInfo.processInfo.environment["PEAL_SEEDS"].flatMap { UInt64($0) } ?? count)
}

/// Somebody who does anything to one inbox, over a real hub store and real files.
private struct Somebody {
    let script: Script
    var random: SplitMix64
    var items: [ItemID] = []

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed &* 31 &+ 7)
        script = try Script(
            retention: Retention(entries: .random(in: 0...12, using: &random), age: .max / 4, hold: 0, period: 0))
        script.batchEntries = .random(in: 1...9, using: &random)
        script.pageRows = .random(in: 1...6, using: &random)
        for _ in 0..<3 { try publish() }
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func publish() throws { items.append(try script.publish("item \(items.count + 1)")) }

    mutating func some() -> [ItemID] {
        (0...Int.random(in: 0...2, using: &random)).map { _ in items.randomElement(using: &random)! }
    }

    mutating func operation(head: Position) -> PealModel.Operation {
        let on = Bool.random(using: &random)
        switch Int.random(in: 0..<13, using: &random) {
        case 0...3: return .read(items: some(), on: on, passive: chance(30))
        case 4, 5: return .archive(items: some(), on: on)
        case 6: return .seen(items: some())
        case 7: return .delete(items: [some()[0]])
        case 8, 9:
            return .mark(MarkKind.allCases.randomElement(using: &random)!, upTo: .random(in: 0...head, using: &random))
        case 10:
            return .track(item: some()[0], event: on ? "opened" : "clicked", data: on ? Array("{}".utf8)[...] : nil)
        default:
            return .preference(
                category: ["a", "b"].randomElement(using: &random)!, channel: on ? "email" : "push", enabled: chance(50)
            )
        }
    }

    /// An item, an act through HTTP, a retraction, a new catalogue, or trimming.
    mutating func happen() throws {
        script.pass(.random(in: 0...400, using: &random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: try publish()
        case 4...6:
            let head = try script.reader.log(of: script.inbox()).head
            let (operation, uid) = (operation(head: head), random.next())
            let observed = chance(50) ? nil : Position.random(in: 0...head, using: &random)
            try append { store, now, inbox in
                let result = try store.act(operation, uid: uid, observed: observed, in: inbox, now: now)
                return [result.catalogue, result.appended].compactMap { $0 }
            }
        case 7:
            let taken = some()
            try append { store, now, inbox in
                [try store.remove(Set(taken).sorted(), why: "retract", from: inbox, now: now)].compactMap { $0 }
            }
        case 8:
            let channels = ["email", "push"].map {
                Catalogue.Channel(
                    slug: $0, label: $0, enabled: Bool.random(using: &random), required: Bool.random(using: &random))
            }
            let project = script.project.key
            try append { store, now, inbox in
                _ = try store.setCatalogue(
                    [Catalogue.Category(slug: "a", label: "A", channels: channels)], in: project, now: now)
                return try store.bringCatalogue(to: [inbox], now: now)
            }
        default: for _ in 0..<3 { try script.commit { _ = try $0.upkeep(limit: 50, now: script.now) } }
        }
        script.run()
    }

    private func append(_ body: (SQLiteHubStore, Milliseconds, InboxKey) throws -> [Appended]) throws {
        let (now, inbox) = (script.now, try script.inbox())
        script.moved(try script.commit { try body($0, now, inbox) })
    }
}

/// What an app is shown of an inbox, but for what is pending.
private struct Shown: Equatable, CustomStringConvertible {
    var items: [String]
    var counts: Counts
    var preferences: [Preference]
    var facts: [String]

    init(_ replica: Replica, _ ids: [ItemID]) throws {
        items = try replica.page(DeliveredQuery(archived: nil), limit: 500).items.map {
            "\($0.number) \($0.id) read \($0.read) seen \($0.seen) archived \($0.archived) \(String(decoding: $0.body, as: UTF8.self))"
        }
        counts = try replica.counts()
        preferences = try replica.preferences()
        facts = try ids.flatMap { id in try replica.facts(of: id).map { "\(id) \($0.event) \($0.data ?? [])" } }
            .sorted()
    }

    var description: String { "\(counts), \(items.joined(separator: "; ")), \(preferences), \(facts)" }
}

/// Laws of docs/sync.md (its table of laws) over the hub's SQL and the device's together.
@Suite struct LawTests {
    @Test(arguments: seeds(6))
    func `a snapshot that is taken at any moment, and the log after it, are what the whole log is`(_ seed: UInt64)
        throws
    {
        var world = try Somebody(seed: seed)
        let script = world.script
        // It folds every entry, one after the other.
        let follower = try script.device("follower")
        follower.connect()
        var late: [ScriptDevice] = []
        for step in 0..<40 {
            try world.happen()
            if world.chance(15) { try follower.act(world.operation(head: follower.cursor.position)) }
            if world.chance(12) {
                let device = try script.device("late-\(late.count)")
                late.append(device)
                device.connectHeld()
                // While its pages come one by one, the world goes on; now and then it is killed in between.
                var turns = 0
                while let link = device.link, !device.driver.session.isSettled, turns < 500 {
                    turns += 1
                    if turns < 12 {
                        for _ in 0..<Int.random(in: 0...2, using: &world.random) { try world.happen() }
                    }
                    if turns < 12, world.chance(6) {
                        try device.kill()
                        device.connectHeld()
                        continue
                    }
                    if !link.deliver() { script.run() }
                }
                device.link?.isHeld = false
                script.run()
            }
            let wanted = try Shown(follower.replica, world.items)
            for device in late where device.isLive {
                #expect(try device.difference() == nil, "seed \(seed), step \(step)")
                #expect(try Shown(device.replica, world.items) == wanted, "seed \(seed), step \(step)")
            }
            #expect(try follower.difference() == nil, "seed \(seed), step \(step)")
        }
        #expect(follower.swaps.isEmpty, "seed \(seed): what is compared with is the fold of the log")
        #expect(late.contains { !$0.swaps.isEmpty } || late.count < 3, "seed \(seed): no snapshot was loaded")
    }

    @Test(arguments: seeds(10))
    func `where nothing interferes, what is shown while acts wait is what is shown when they have arrived`(
        _ seed: UInt64
    ) throws {
        var world = try Somebody(seed: seed)
        let script = world.script
        let device = try script.device("phone")
        device.connect()
        for round in 0..<6 {
            for _ in 0..<5 { try world.happen() }
            device.disconnect()
            for _ in 0..<Int.random(in: 1...8, using: &world.random) {
                let operation = world.operation(head: try device.cursor.position)
                // On what is shown now, or on a page of a while ago.
                let observed =
                    world.chance(70)
                    ? nil
                    : ViewPosition(
                        position: .random(in: 0...(try device.cursor.position), using: &world.random), time: 0)
                _ = try device.replica.enqueue(operation, observed: observed)
                script.pass(.random(in: 0...2_000, using: &world.random))
            }
            let before = try Shown(device.replica, world.items)
            // A restart computes the overlay anew.
            if world.chance(50) { try device.kill() }
            #expect(try Shown(device.replica, world.items) == before, "seed \(seed), round \(round)")
            device.connect()
            script.run()
            #expect(try device.replica.outbox().allSatisfy { $0.state == .dead }, "seed \(seed), round \(round)")
            let after = try Shown(device.replica, world.items)
            #expect(after == before, "seed \(seed), round \(round)")
            #expect(try device.difference() == nil, "seed \(seed), round \(round)")
            for letter in try device.replica.outbox() { _ = try device.replica.discard(letter.id) }
        }
    }
}
