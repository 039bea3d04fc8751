import PealModel
import Testing

@testable import PealReplica

@Suite struct Echoes {
    private func started(_ count: Int = 6) throws -> (Folder, Replica, TestHub) {
        let folder = Folder()
        var hub = TestHub()
        for index in 0..<count { hub.publish("item \(index)") }
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        return (folder, replica, hub)
    }

    private func everything(_ replica: Replica) throws -> [DeliveredItem] {
        try replica.list(DeliveredQuery(archived: nil))
    }

    @Test func `an act shows at once and its echo changes nothing`() throws {
        var (folder, replica, hub) = try started()
        let items = hub.items
        let acts: [PealModel.Operation] = [
            .read(items: [items[0], items[3]], on: true, passive: false), .seen(items: [items[1]]),
            .archive(items: [items[2]], on: true), .delete(items: [items[4]]), .mark(.read, upTo: 6),
            .read(items: [items[0]], on: false, passive: false), .mark(.archive, upTo: 2),
        ]
        for (index, act) in acts.enumerated() {
            let before = try everything(replica)
            try replica.enqueue(act)
            let shown = try everything(replica)
            #expect(shown != before, "act \(index) shows")
            try replica.push(to: &hub)
            try replica.pull(hub)
            #expect(try everything(replica) == shown, "the echo of act \(index)")
            #expect(try replica.outbox().isEmpty)
        }
        _ = folder
    }

    @Test func `a pending delete stays out of sight and base deletions win over pending acts`() throws {
        var (folder, replica, hub) = try started()
        try replica.enqueue(.archive(items: [hub.items[1]], on: false))
        try replica.enqueue(.read(items: [hub.items[1]], on: true, passive: false))
        hub.append(.removed(items: [hub.items[1]], why: "retract"))
        try replica.pull(hub)
        #expect(try replica.item(hub.items[1]) == nil)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty, "gone settles an act")
        _ = folder
    }

    @Test func `an act on an item that has not arrived yet shows when it arrives`() throws {
        var (folder, replica, hub) = try started(1)
        let id = hub.publish("from a push message")
        try replica.enqueue(.read(items: [id], on: true, passive: false))
        try replica.pull(hub)
        #expect(try replica.item(id)?.read == true)
        _ = folder
    }

    @Test func `a superseded act shows what won, with the explanation in the journal`() throws {
        var (folder, replica, hub) = try started()
        let view = try replica.view()
        hub.other(.read(items: [hub.items[0]], on: false, passive: false), age: 0)
        try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: true), observed: view)
        #expect(try replica.item(hub.items[0])?.read == true)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.item(hub.items[0])?.read == false)
        #expect(try replica.outbox().isEmpty)
        #expect(try replica.inspect().journal == 1)
        _ = folder
    }

    @Test func `changes name what a commit touched`() throws {
        var (folder, replica, hub) = try started(2)
        var changes: [Change] = []
        replica.onCommit = { changes.append($0) }
        hub.publish("third")
        hub.other(.read(items: [hub.items[0]], on: true, passive: false))
        try replica.pull(hub)
        #expect(changes.count == 1)
        #expect(changes.last?.inserted == [3])
        #expect(changes.last?.changed == [1])
        #expect(changes.last?.position == 4)
        try replica.enqueue(.delete(items: [hub.items[1]]))
        #expect(changes.last?.changed == [2])
        #expect(changes.last?.outbox == true)
        try replica.enqueue(.mark(.seen, upTo: 4))
        #expect(changes.last?.everything == true)
        let count = changes.count
        #expect(try replica.apply(hub.batch(from: 0)).verdict == .ignored)
        #expect(changes.count == count, "nothing is announced that did not change")
        _ = folder
    }

    @Test func `a callback may ask the replica`() throws {
        var (folder, replica, hub) = try started(1)
        var unread: [Int64] = []
        replica.onCommit = { [unowned replica] _ in unread.append((try? replica.counts().unread) ?? -1) }
        hub.publish()
        try replica.pull(hub)
        #expect(unread == [2])
        _ = folder
    }
}
