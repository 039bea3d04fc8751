import PealModel
import PealSQLite
import Testing

@testable import PealReplica

private let other = Author.replica(ReplicaID(high: 4, low: 4))
private let otherWho = Explanation.Who.replica(ReplicaID(high: 4, low: 4))

/// A replica, and a hub with five items.
private struct Bench {
    let folder = Folder()
    let clock = TestClock()
    var hub = TestHub()
    let replica: Replica

    init() throws {
        replica = try folder.open(clock: clock)
        for _ in 0..<5 { hub.publish() }
        try replica.connect(hub)
        try replica.pull(hub)
    }

    func explain(_ number: Int) throws -> Explanation {
        try #require(try replica.explain(number: Position(number)))
    }

    func field(_ name: Explanation.Field.Name, of number: Int) throws -> Explanation.Field {
        try #require(try explain(number)[name])
    }

    mutating func settle() throws {
        try replica.push(to: &hub)
        try replica.pull(hub)
    }
}

@Suite struct ExplanationTests {
    @Test func `an untouched item says so of each field`() throws {
        let bench = try Bench()
        let found = try bench.explain(3)
        #expect(found.id == bench.hub.items[2])
        #expect(found.number == 3 && found.view.position == 5)
        #expect(found.fields.map(\.name) == [.read, .seen, .archived, .deleted])
        #expect(found.fields.allSatisfy { !$0.value && $0.rule == .untouched && $0.who == nil })
        #expect(found.acts == [])
        #expect(try bench.replica.explain(bench.hub.items[2]) == found)
        #expect(try ReplicaReader(path: bench.replica.path, clock: bench.clock.clock).explain(number: 3) == found)
    }

    @Test func `the last act on the item is named with its person, its moment and its entry`() throws {
        var bench = try Bench()
        bench.hub.now += 90_000
        bench.hub.other(.read(items: [bench.hub.items[0]], on: true, passive: true), age: 40_000, author: other)
        let itime = bench.hub.now - 10 - 40_000
        bench.hub.other(.archive(items: [bench.hub.items[1]], on: true), author: .api)
        try bench.replica.pull(bench.hub)
        let read = try bench.field(.read, of: 1)
        #expect(
            read
                == Explanation.Field(
                    name: .read, value: true, rule: .register, who: otherWho, acted: itime, position: 6, passive: true))
        #expect(try bench.field(.seen, of: 1).rule == .raised)
        let archived = try bench.field(.archived, of: 2)
        #expect(archived.value && archived.rule == .register && archived.who == .api && archived.position == 7)
    }

    @Test func `an act of this device is pending first, and then stands`() throws {
        var bench = try Bench()
        let acted = bench.clock.wall
        let uid = try bench.replica.enqueue(.read(items: [bench.hub.items[0]], on: true, passive: false))
        let pending = try bench.explain(1)
        #expect(pending[.read]?.value == true && pending[.read]?.rule == .pending)
        #expect(pending[.read]?.who == .thisDevice && pending[.read]?.base == false)
        #expect(pending[.seen]?.rule == .pending)
        #expect(pending.acts.map(\.fate) == [.pending(.queued)])
        #expect(pending.acts.map(\.acted) == [acted])
        try bench.settle()
        let settled = try bench.explain(1)
        #expect(settled[.read]?.rule == .register && settled[.read]?.who == .thisDevice)
        #expect(settled[.read]?.position == 6)
        #expect(settled.acts.map(\.uid) == [uid])
        #expect(settled.acts.map(\.fate) == [.stands(6)])
    }

    @Test func `marks cover, spare what was not seen, and are this device's where the journal knows them`() throws {
        var bench = try Bench()
        let ids = bench.hub.items
        bench.hub.other(.read(items: [ids[0]], on: false, passive: false), author: .api)
        bench.hub.other(.mark(.read, upTo: 3), observed: 5, author: other)
        try bench.replica.pull(bench.hub)
        let spared = try bench.field(.read, of: 1)
        #expect(!spared.value && spared.rule == .spared && spared.who == .api && spared.position == 6)
        #expect(spared.mark == Mark(upTo: 3, version: 7))
        let covered = try bench.field(.read, of: 2)
        #expect(covered.value && covered.rule == .mark && covered.who == .unknown && covered.position == 7)
        #expect(try bench.field(.seen, of: 2).rule == .mark)
        #expect(try bench.field(.read, of: 4).rule == .untouched)

        try bench.replica.enqueue(.mark(.archive, upTo: 4))
        let pending = try bench.field(.archived, of: 4)
        #expect(pending.value && pending.rule == .pendingMark && pending.who == .thisDevice)
        try bench.settle()
        let own = try bench.field(.archived, of: 4)
        #expect(own.rule == .mark && own.who == .thisDevice && own.acted != nil)
        // An act after the mark decides by itself.
        bench.hub.other(.archive(items: [ids[3]], on: false), author: other)
        try bench.replica.pull(bench.hub)
        #expect(try bench.field(.archived, of: 4).rule == .register)
        #expect(try bench.field(.archived, of: 4).mark != nil)
    }

    @Test func `who superseded an act of this device is told, and who came after it`() throws {
        var bench = try Bench()
        let id = bench.hub.items[0]
        // Concurrent, and later: the other one wins.
        try bench.replica.enqueue(.read(items: [id], on: false, passive: true))
        bench.hub.other(.read(items: [id], on: true, passive: false), author: other)
        try bench.settle()
        #expect(try bench.explain(1).acts.map(\.fate) == [.superseded(by: otherWho, at: 6)])
        #expect(try bench.field(.read, of: 1).who == otherWho)
        // Seen, so this device's next act replaces it, and is replaced in turn.
        try bench.replica.enqueue(.read(items: [id], on: false, passive: false))
        try bench.settle()
        #expect(try bench.field(.read, of: 1).who == .thisDevice)
        bench.hub.other(.read(items: [id], on: true, passive: false), author: .api)
        try bench.replica.pull(bench.hub)
        #expect(
            try bench.explain(1).acts.map(\.fate) == [
                .superseded(by: otherWho, at: 6), .replaced(by: .api, at: 9),
            ])
    }

    @Test func `an act on two items that one of them did not take is superseded there only`() throws {
        var bench = try Bench()
        let ids = bench.hub.items
        try bench.replica.enqueue(.read(items: [ids[0], ids[1]], on: false, passive: true))
        bench.hub.other(.read(items: [ids[0]], on: true, passive: false), author: other)
        bench.hub.other(.read(items: [ids[1]], on: true, passive: true), observed: 0, age: 1_000_000, author: other)
        try bench.settle()
        #expect(try bench.explain(1).acts.map(\.fate) == [.superseded(by: otherWho, at: 6)])
        #expect(try bench.explain(2).acts.map(\.fate) == [.stands(8)])
    }

    @Test func `a deleted item is explained by the acts that name it, and by nothing where there are none`() throws {
        var bench = try Bench()
        let ids = bench.hub.items
        try bench.replica.enqueue(.delete(items: [ids[0]]))
        #expect(try bench.field(.deleted, of: 1).rule == .pending)
        #expect(try bench.field(.deleted, of: 1).value)
        bench.hub.other(.delete(items: [ids[2]]), author: other)
        try bench.replica.enqueue(.read(items: [ids[1]], on: true, passive: false))
        try bench.settle()
        bench.hub.append(.removed(items: [ids[1]], why: "retract"))
        try bench.replica.pull(bench.hub)
        let own = try #require(try bench.replica.explain(ids[0]))
        #expect(own.number == nil)
        #expect(own.fields.map(\.rule) == [.gone] && own[.deleted]?.who == .thisDevice)
        #expect(own.acts.map(\.fate) == [.stands(7)])
        let retracted = try #require(try bench.replica.explain(ids[1]))
        #expect(retracted[.deleted]?.who == .unknown)
        #expect(retracted.acts.map(\.fate) == [.gone])
        #expect(try bench.replica.explain(ids[2]) == nil)
        #expect(try bench.replica.explain(number: 1) == nil)
    }

    @Test func `a dead letter says that it waits for a person`() throws {
        var bench = try Bench()
        let id = try bench.replica.replicaID()
        let uid = try bench.replica.enqueue(.seen(items: [bench.hub.items[0]]))
        let push = try #require(try bench.replica.nextPush())
        bench.hub.append(
            .act(Act(author: .replica(id), n: push.last, uid: uid, itime: 0, outcome: Outcome(.poison, reason: "no"))))
        try bench.replica.pull(bench.hub)
        #expect(try bench.explain(1).acts.map(\.fate) == [.dead(.poison)])
        #expect(try bench.field(.seen, of: 1).rule == .untouched)
    }

    @Test func `what is explained is what is shown`() throws {
        for seed in 0..<30 {
            var random = Seeded(UInt64(seed))
            var bench = try Bench()
            for _ in 0..<40 {
                let items = [bench.hub.items.randomElement(using: &random)!]
                let on = random.chance(50)
                let operations: [PealModel.Operation] = [
                    .read(items: items, on: on, passive: random.chance(30)), .archive(items: items, on: on),
                    .seen(items: items), .mark(.read, upTo: bench.hub.head / 2), .mark(.archive, upTo: 3),
                ]
                let operation = operations.randomElement(using: &random)!
                if random.chance(40) {
                    try bench.replica.enqueue(operation)
                } else {
                    bench.hub.other(
                        operation, observed: Position.random(in: 0...bench.hub.head, using: &random), author: other,
                        uid: random.next())
                }
                if random.chance(30) { try bench.replica.pull(bench.hub) }
                if random.chance(20) { try bench.settle() }
                for number in 1...5 {
                    let item = try #require(try bench.replica.item(number: Position(number)))
                    let found = try bench.explain(number)
                    #expect(found[.read]?.value == item.read, "seed \(seed)")
                    #expect(found[.seen]?.value == item.seen, "seed \(seed)")
                    #expect(found[.archived]?.value == item.archived, "seed \(seed)")
                    for field in found.fields where field.rule == .untouched { #expect(!field.value, "seed \(seed)") }
                    for field in found.fields where field.rule == .mark { #expect(field.value, "seed \(seed)") }
                    for field in found.fields where field.base != nil {
                        #expect(field.base != field.value, "seed \(seed)")
                    }
                }
            }
        }
    }
}
