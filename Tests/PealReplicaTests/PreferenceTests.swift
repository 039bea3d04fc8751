import PealModel
import PealSQLite
import Testing

@testable import PealReplica

@Suite struct Preferences {
    private func started() throws -> (Folder, Replica, TestHub) {
        let folder = Folder()
        var hub = TestHub()
        hub.publish()
        hub.setCatalogue()
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        return (folder, replica, hub)
    }

    private func choose(_ channel: String, _ enabled: Bool) -> PealModel.Operation {
        .preference(category: "a", channel: channel, enabled: enabled)
    }

    private func shown(_ replica: Replica) throws -> [String: Bool] {
        Dictionary(uniqueKeysWithValues: try replica.preferences().map { ($0.key.channel, $0.enabled) })
    }

    @Test func `a choice shows at once and offline, is announced, and its echo changes nothing`() throws {
        var (folder, replica, hub) = try started()
        #expect(try shown(replica) == ["email": true, "push": false])
        var announced = 0
        replica.onCommit = { change in if change.preferences { announced += 1 } }
        try replica.enqueue(choose("email", false))
        try replica.enqueue(choose("sms", true))
        #expect(announced == 2)
        let pending = try replica.preferences()
        #expect(try shown(replica) == ["email": false, "push": false, "sms": true])
        let reader = try ReplicaReader(path: folder.file())
        #expect(try reader.preferences() == pending)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        #expect(try replica.preferences() == pending)
        #expect(try replica.connection.int("SELECT count(*) FROM preference WHERE overlay IS NOT NULL") == 0)
    }

    @Test func `somebody's opt-out that was not seen wins over a pending on, and shows`() throws {
        var (folder, replica, hub) = try started()
        try replica.enqueue(choose("email", true))
        hub.other(choose("email", false), observed: 0)
        try replica.pull(hub)
        #expect(try shown(replica)["email"] == false)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try shown(replica)["email"] == false)
        #expect(try replica.outbox().isEmpty, "superseded is no dead letter")
        _ = folder
    }

    @Test func `a required channel is on whatever is pending, and a refused off is a dead letter`() throws {
        var (folder, replica, hub) = try started()
        try replica.enqueue(choose("email", false))
        hub.setCatalogue(required: true)
        try replica.pull(hub)
        #expect(try shown(replica)["email"] == true)
        #expect(try replica.preferences()[0].required)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.outbox().first?.outcome?.code == .denied)
        #expect(try shown(replica)["email"] == true)
        _ = folder
    }

    @Test func `a choice that is taken back or discarded shows no more`() throws {
        let (folder, replica, hub) = try started()
        let uid = try replica.enqueue(choose("push", true), hold: 5_000)
        #expect(try shown(replica)["push"] == true)
        #expect(try replica.undo(uid))
        #expect(try shown(replica) == ["email": true, "push": false])
        _ = (folder, hub)
    }

    @Test func `a fact shows once it is queued, and of each kind the first`() throws {
        var (folder, replica, hub) = try started()
        let item = hub.items[0]
        let answer = Array(#"{"choice":"b"}"#.utf8)[...]
        try replica.enqueue(.track(item: item, event: "answered", data: answer))
        try replica.enqueue(.track(item: item, event: "answered", data: nil))
        #expect(try replica.facts(of: item).map(\.data) == [answer])
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        #expect(try replica.facts(of: item) == hub.state.facts[item])
        hub.other(.delete(items: [item]))
        try replica.pull(hub)
        #expect(try replica.facts(of: item).isEmpty)
        #expect(try replica.connection.int("SELECT count(*) FROM fact") == 0)
        _ = folder
    }

    @Test func `what no hub takes is refused at once`() throws {
        let (folder, replica, hub) = try started()
        let device = try folder.open("device", identity: .device(id: nil))
        let large = Array(("\"" + String(repeating: "x", count: Limits.factData) + "\"").utf8)[...]
        func code(_ replica: Replica, _ operation: PealModel.Operation) -> ReplicaError.Code? {
            #expect(throws: ReplicaError.self) { try replica.enqueue(operation) }?.code
        }
        #expect(code(replica, choose("", true)) == .invalid)
        #expect(code(device, choose("email", true)) == .invalid)
        #expect(code(replica, .track(item: hub.items[0], event: "delivered", data: nil)) == .invalid)
        #expect(code(replica, .track(item: hub.items[0], event: "answered", data: large)) == .tooLarge)
    }

    @Test func `the statements find their rows by an index`() throws {
        let (folder, replica, hub) = try started()
        for sql in [
            "SELECT cell FROM preference WHERE category = ?1 AND channel = ?2 AND cell IS NOT NULL",
            "SELECT event, time, data FROM fact WHERE position = ?1", "SELECT body FROM catalogue WHERE one = 1",
            "DELETE FROM fact WHERE position = ?1",
        ] {
            let plan = try replica.connection.queryPlan(sql)
            #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH"), "\(plan)")
        }
        _ = (folder, hub)
    }
}
