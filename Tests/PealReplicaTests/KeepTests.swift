import PealModel
import Testing

@testable import PealReplica

/// Letting go of the oldest read items (docs/sync.md section 8).
struct KeepTests {
    private let folder = Folder()

    private func connected(_ hub: TestHub, _ keep: KeepLimits) throws -> Replica {
        let replica = try folder.open(keep: keep)
        try replica.connect(hub)
        try replica.pull(hub)
        return replica
    }

    private func titles(_ replica: Replica) throws -> [Position] {
        try replica.page(DeliveredQuery(), limit: 100).items.map(\.number)
    }

    @Test func `the oldest read items go, unread ones and those with a waiting act stay`() throws {
        var hub = TestHub()
        for number in 1...8 { hub.publish("item \(number)") }
        let replica = try connected(hub, KeepLimits(items: 3))
        // Read: 1 and 4 by name; 2 only in the outbox; 3 and 5 not at all.
        try replica.enqueue(.read(items: [hub.items[0], hub.items[3]], on: true, passive: false))
        try replica.push(to: &hub)
        try replica.pull(hub)
        try replica.enqueue(.read(items: [hub.items[1]], on: true, passive: false))
        let before = try replica.counts()
        #expect(try replica.letGo() == 2)
        #expect(try titles(replica) == [8, 7, 6, 5, 3, 2])
        #expect(try replica.item(hub.items[0]) == nil)
        #expect(try replica.counts() == Counts(total: 6, unread: before.unread, unseen: before.unseen))
        #expect(try replica.letGo() == 0, "there is nothing more")
        #expect(try replica.sum() == replica.computedSum())
        let found = try replica.verify()
        #expect(found.isClean, "\(found.checks.filter(\.isFailure))")
    }

    @Test func `what a mark covers goes, but not what it spared`() throws {
        var hub = TestHub()
        for number in 1...6 { hub.publish("item \(number)") }
        let replica = try connected(hub, KeepLimits(items: 2))
        hub.other(.mark(.read, upTo: 6))
        hub.other(.read(items: [hub.items[1]], on: false, passive: false))
        try replica.pull(hub)
        #expect(try replica.letGo() == 3)
        #expect(try titles(replica) == [6, 5, 2])
    }

    @Test func `read items beyond an age go`() throws {
        var hub = TestHub()
        hub.publish("old")
        hub.publish("old and unread")
        hub.other(.read(items: [hub.items[0]], on: true, passive: false))
        hub.now += 10 * 86_400_000
        hub.publish("new")
        hub.other(.read(items: [hub.items[2]], on: true, passive: false))
        let replica = try connected(hub, KeepLimits(age: 7 * 86_400_000))
        #expect(try replica.letGo() == 1)
        #expect(try titles(replica) == [4, 2])
    }

    @Test func `an item that is unread again wants a snapshot, which brings its body back`() throws {
        var hub = TestHub()
        for number in 1...4 { hub.publish("item \(number)") }
        hub.other(.mark(.read, upTo: 4))
        let replica = try connected(hub, KeepLimits(items: 1))
        #expect(try replica.letGo() == 3)
        hub.other(.read(items: [hub.items[1]], on: true, passive: false))
        #expect(try replica.pull(hub).wantsSnapshot == false, "still read")
        hub.other(.read(items: [hub.items[1]], on: false, passive: false))
        #expect(try replica.pull(hub).wantsSnapshot)
        // Durable: the next session loads it, also of another process.
        let again = try folder.open(keep: KeepLimits(items: 1))
        #expect(try again.connect(hub).repair)
        _ = try again.stage(hub.page(id: UInt64(hub.head), first: true))
        #expect(try titles(again) == [4, 3, 2, 1])
        #expect(try again.item(hub.items[1])?.decodeBody().title == "item 2")
        #expect(try again.item(hub.items[1])?.read == false)
        #expect(try again.letGo() == 2)
        #expect(try titles(again) == [4, 2])
        #expect(try again.sum() == again.computedSum())
    }
}
