import PealModel
import PealSQLite
import Testing

@testable import PealReplica

@Suite struct Outboxes {
    private func started(_ clock: TestClock = TestClock()) throws -> (Folder, Replica, TestHub) {
        let folder = Folder()
        var hub = TestHub()
        for index in 0..<4 { hub.publish("item \(index)") }
        let replica = try folder.open(clock: clock)
        try replica.connect(hub)
        try replica.pull(hub)
        return (folder, replica, hub)
    }

    @Test func `acts go out in their order under dense numbers, again under the same ones`() throws {
        var (folder, replica, hub) = try started()
        var uids: [UInt64] = []
        for item in hub.items { uids.append(try replica.enqueue(.seen(items: [item]))) }
        let first = try #require(try replica.nextPush(maximumCount: 2))
        #expect(first.mutations.map(\.uid) == Array(uids[..<2]))
        #expect(first.mutations.map(\.n) == [1, 2])
        #expect(first.last == 2)
        #expect(try replica.hello(proof: Proof()).outbox == 1...2)
        try replica.connect(hub)
        let again = try #require(try replica.nextPush())
        #expect(again.mutations.map(\.uid) == uids)
        #expect(again.mutations.map(\.n) == [1, 2, 3, 4])
        #expect(try replica.nextPush() == nil)
        for mutation in again.mutations { hub.process(mutation, by: try replica.replicaID()) }
        #expect(try replica.pull(hub).settledThrough == 4)
        #expect(try replica.outbox().isEmpty)
        _ = folder
    }

    @Test func `a push keeps to its bytes, and one act goes whatever its size`() throws {
        let (folder, replica, _) = try started()
        let items = (0..<500).map { ItemID(high: 1, low: UInt64($0)) }
        for _ in 0..<5 { try replica.enqueue(.seen(items: items)) }
        let push = try #require(try replica.nextPush())
        #expect(push.mutations.count == 3)
        #expect(UpFrame.push(push.mutations).bytes.count <= Limits.frameUp)
        let small = try #require(try replica.nextPush(maximumBytes: 100))
        #expect(small.mutations.count == 1)
        let error = #expect(throws: ReplicaError.self) {
            try replica.enqueue(.seen(items: items + [ItemID(high: 2, low: 2)]))
        }
        #expect(error?.code == .tooLarge)
        let data = Array("\"\(String(repeating: "x", count: 66_000))\"".utf8)
        let fact = #expect(throws: ReplicaError.self) {
            try replica.enqueue(.track(item: items[0], event: "answered", data: data[...]))
        }
        #expect(fact?.code == .tooLarge)
        _ = folder
    }

    @Test func `a held act waits, can be taken back, and is released by the next one`() throws {
        let clock = TestClock()
        let (folder, replica, hub) = try started(clock)
        let held = try replica.enqueue(.delete(items: [hub.items[0]]), hold: 5_000)
        #expect(try replica.item(hub.items[0]) == nil)
        #expect(try replica.nextPush() == nil)
        #expect(try replica.nextDue() == 5_000)
        #expect(try replica.undo(held))
        #expect(try replica.item(hub.items[0]) != nil)
        #expect(try replica.outbox().isEmpty)

        let second = try replica.enqueue(.delete(items: [hub.items[0]]), hold: 5_000)
        let next = try replica.enqueue(.seen(items: [hub.items[1]]))
        #expect(try replica.undo(second) == false, "the next act released it")
        #expect(try replica.nextPush()?.mutations.map(\.uid) == [second, next])

        let third = try replica.enqueue(.delete(items: [hub.items[2]]), hold: 5_000)
        clock.advance(5_000)
        #expect(try replica.nextDue() == 0)
        #expect(try replica.nextPush()?.mutations.map(\.uid) == [third])
        _ = folder
    }

    @Test func `a clock that was set back holds nothing for ever`() throws {
        let clock = TestClock()
        let (folder, replica, hub) = try started(clock)
        try replica.enqueue(.delete(items: [hub.items[0]]), hold: 5_000)
        clock.wall -= 86_400_000
        #expect(try replica.nextPush()?.mutations.count == 1)
        try replica.resetInFlight(retryAfter: 1_000)
        clock.wall -= 86_400_000
        #expect(try replica.nextPush()?.mutations.count == 1)
        _ = folder
    }

    @Test func `a busy hub is asked again when it said so`() throws {
        let clock = TestClock()
        let (folder, replica, hub) = try started(clock)
        try replica.enqueue(.seen(items: hub.items))
        _ = try replica.nextPush()
        try replica.resetInFlight(retryAfter: 400)
        #expect(try replica.nextPush() == nil)
        #expect(try replica.nextDue() == 400)
        clock.advance(400)
        #expect(try replica.nextPush()?.mutations.map(\.n) == [1])
        #expect(try replica.outbox().first?.attempts == 0, "busy counts against nobody")
        _ = folder
    }

    @Test func `after three cuts the first in flight goes alone, and nothing blocks the rest`() throws {
        var (folder, replica, hub) = try started()
        for item in hub.items { try replica.enqueue(.seen(items: [item])) }
        for _ in 0..<3 {
            #expect(try replica.nextPush()?.suspect == false)
            try replica.sessionEnded(code: nil, reason: "cut")
            try replica.connect(hub)
        }
        let push = try #require(try replica.nextPush())
        #expect(push.suspect)
        #expect(push.mutations.map(\.n) == [1])
        hub.settle(1, by: try replica.replicaID())
        let poison = Outcome(.poison, reason: "It made the hub fail.")
        #expect(try replica.settled([Settled(n: 1, uid: push.mutations[0].uid, outcome: poison)], at: 0) == 1)
        let dead = try #require(try replica.outbox().first)
        #expect(dead.state == .dead)
        #expect(dead.outcome == poison)
        #expect(try replica.item(hub.items[0])?.seen == false, "a dead letter shows nothing")
        #expect(try replica.nextPush()?.mutations.map(\.n) == [2, 3, 4])
        _ = folder
    }

    @Test func `an answer to a resend that overtakes its entry hides nothing in between`() throws {
        var (folder, replica, hub) = try started()
        try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: false))
        let push = try #require(try replica.nextPush())
        for mutation in push.mutations { hub.process(mutation, by: try replica.replicaID()) }
        let answer = Settled(n: 1, uid: push.mutations[0].uid, outcome: .applied)
        #expect(try replica.settled([answer], at: hub.head) == 1)
        #expect(try replica.outbox().count == 1, "its entry is not folded yet")
        #expect(try replica.item(hub.items[0])?.read == true)
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        #expect(try replica.item(hub.items[0])?.read == true)
        _ = folder
    }

    @Test func `a dead letter is made again as a new act, or discarded`() throws {
        var (folder, replica, hub) = try started()
        let id = try replica.replicaID()
        for item in hub.items[..<2] { try replica.enqueue(.seen(items: [item])) }
        for mutation in try #require(try replica.nextPush()).mutations {
            let outcome = Outcome(.denied, reason: "Not allowed here.")
            hub.append(
                .act(Act(author: .replica(id), n: mutation.n, uid: mutation.uid, itime: hub.now, outcome: outcome)))
            hub.settle(mutation.n, by: id)
        }
        try replica.pull(hub)
        let letters = try replica.outbox()
        #expect(letters.map(\.state) == [.dead, .dead])
        #expect(letters[0].outcome?.reason == "Not allowed here.")
        #expect(try replica.nextPush() == nil)
        let again = try #require(try replica.retry(letters[0].id))
        #expect(again != letters[0].id)
        #expect(try replica.discard(letters[1].id))
        #expect(try replica.retry(letters[1].id) == nil)
        #expect(try replica.item(hub.items[0])?.seen == true)
        let push = try #require(try replica.nextPush())
        #expect(push.mutations.map(\.uid) == [again])
        #expect(push.mutations.map(\.n) == [3])
        #expect(try replica.discard(again) == false, "what was sent cannot be taken back")
        _ = folder
    }

    @Test func `a damaged row is set aside by itself`() throws {
        var (folder, replica, hub) = try started()
        let id = try replica.replicaID()
        var uids: [UInt64] = []
        for item in hub.items[..<3] { uids.append(try replica.enqueue(.seen(items: [item]))) }
        _ = try replica.nextPush(maximumCount: 1)
        try replica.connect(hub)
        // The first has a number, the second has none.
        try replica.connection.execute("UPDATE outbox SET op = '{\"op\":\"se' WHERE seq < 3")
        let push = try #require(try replica.nextPush())
        #expect(push.mutations.map(\.n) == [1, 2])
        #expect(push.mutations.map(\.uid) == [uids[0], uids[2]])
        guard case .void = push.mutations[0].operation else {
            Issue.record("a number that is out is voided")
            return
        }
        #expect(try replica.outbox()[1].state == .dead)
        for mutation in push.mutations { hub.process(mutation, by: id) }
        try replica.pull(hub)
        let rest = try replica.outbox()
        #expect(rest.map(\.state) == [.dead, .dead])
        #expect(rest.allSatisfy { $0.outcome?.reason?.isEmpty == false }, "each has a sentence")
        #expect(try replica.item(hub.items[2])?.seen == true)
        _ = folder
    }

    @Test func `an act says its age while the boot is the same, and the corrected wall clock after`() throws {
        let clock = TestClock(wall: 1_700_000_000_000 - 3_600_000)
        let (folder, replica, hub) = try started(clock)
        try replica.enqueue(.seen(items: [hub.items[0]]))
        clock.advance(250)
        clock.wall += 999_999
        #expect(try replica.nextPush()?.mutations[0].moment == .age(250))
        clock.wall -= 999_999
        clock.reboot()
        try replica.resetInFlight()
        // The device is an hour behind: the offset of the last welcome puts the act at the hub's time.
        let offset = hub.now - (1_700_000_000_000 - 3_600_000)
        #expect(
            try replica.nextPush()?.mutations[0].moment == .wall(1_700_000_000_000 - 3_600_000 + offset))
        _ = folder
    }

    @Test func `acts before first contact are observed at 0 and arrive`() throws {
        let folder = Folder()
        var hub = TestHub(device: true)
        let replica = try folder.open(identity: .device(id: nil))
        try replica.enqueue(.interest(name: "news", on: true))
        #expect(try replica.interests() == ["news"])
        try replica.connect(hub)
        let push = try #require(try replica.nextPush())
        #expect(push.mutations[0].observed == 0)
        hub.process(push.mutations[0], by: try replica.replicaID())
        try replica.pull(hub)
        #expect(try replica.interests() == ["news"])
        #expect(hub.state.interests() == ["news"])
    }

    @Test func `a mark reaches no further than what was looked at`() throws {
        let (folder, replica, hub) = try started()
        try replica.enqueue(.mark(.read, upTo: 4), observed: ViewPosition(position: 2, time: 0))
        #expect(try replica.counts().unread == 2)
        #expect(try replica.nextPush()?.mutations[0].operation == .mark(.read, upTo: 2))
        try replica.enqueue(.mark(.read, upTo: 1_000), observed: ViewPosition(position: 1_000, time: 0))
        #expect(try replica.nextPush()?.mutations[0].operation == .mark(.read, upTo: 4))
        _ = hub
        _ = folder
    }

    @Test func `an answer to a resend settles when the cursor is where its entry is`() throws {
        var (folder, replica, hub) = try started()
        let id = try replica.replicaID()
        try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: false))
        let mutation = try #require(try replica.nextPush()).mutations[0]
        hub.process(mutation, by: id)
        let outcome = try #require(hub.outcomes[mutation.uid])
        try replica.connect(hub, settled: [outcome])
        #expect(try replica.outbox().count == 1)
        #expect(try replica.nextPush() == nil, "what is known to have arrived is not sent again")
        #expect(try replica.item(hub.items[0])?.read == true, "nothing flickers")
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        _ = folder
    }

    @Test func `what no mutation can be is refused at once`() throws {
        let (folder, replica, hub) = try started()
        for operation: PealModel.Operation in [
            .void(reason: ""), .malformed(reason: ""), .interest(name: "x", on: true), .end, .token("t"),
        ] {
            let error = #expect(throws: ReplicaError.self) { try replica.enqueue(operation) }
            #expect(error?.code == .invalid, "\(operation.name)")
        }
        let device = try folder.open("device", identity: .device(id: nil))
        let error = #expect(throws: ReplicaError.self) { try device.enqueue(.interest(name: "not valid", on: true)) }
        #expect(error?.code == .invalid)
        _ = hub
    }

    @Test func `a second process's acts show and go out in order`() throws {
        var (folder, replica, hub) = try started()
        try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: false))
        let other = try folder.open(seed: 99)
        try other.enqueue(.read(items: [hub.items[0]], on: false, passive: false))
        try replica.enqueue(.archive(items: [hub.items[1]], on: true))
        #expect(try replica.item(hub.items[0])?.read == false)
        #expect(try other.item(hub.items[1])?.archived == true)
        #expect(try replica.nextPush()?.mutations.map(\.n) == [1, 2, 3])
        try replica.resetInFlight()
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try other.outbox().isEmpty)
        #expect(try other.item(hub.items[0])?.read == false)
    }

    @Test func `settled acts are forgotten after 30 days`() throws {
        let clock = TestClock()
        var (folder, replica, hub) = try started(clock)
        try replica.enqueue(.seen(items: hub.items))
        try replica.push(to: &hub)
        try replica.pull(hub)
        // The hub's clock counts: this device's may have jumped.
        clock.advance(2 * Limits.journalAge)
        _ = try replica.hello(proof: Proof())
        #expect(try replica.inspect().journal == 1)
        hub.now += Limits.journalAge + 1
        try replica.connect(hub)
        _ = try replica.hello(proof: Proof())
        #expect(try replica.inspect().journal == 0)
        _ = folder
    }
}
