import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// Rows that hold what no row can (docs/sync.md section 8). Values of a wrong type are tried by the fuzzers (docs/fuzzing.md).
@Suite struct DamageTests {
    private static let most = "9223372036854775807"
    private static let least = "-9223372036854775808"

    @Test(arguments: ["observed", "observed_time", "boot_time", "wall", "hold_until", "retry_at", "attempts", "n"])
    func `a number that no act can have sets it aside, and the others are sent`(column: String) throws {
        for value in [Self.most, Self.least] {
            let (folder, replica, hub) = try queued()
            try replica.connection.execute("UPDATE outbox SET \(column) = \(value) WHERE seq = 2")
            // Before it is set aside, nothing traps.
            _ = try replica.outbox()
            _ = try replica.verify()
            _ = try replica.explain(hub.items[1])
            let reopened = try folder.open()
            #expect(try reopened.outbox().map(\.state) == [.queued, .dead, .queued])
            try reopened.connect(hub)
            #expect(try reopened.nextPush()?.mutations.map(\.operation.items) == [[hub.items[0]], [hub.items[2]]])
            #expect(try reopened.outbox()[1].outcome?.reason == Replica.damagedReason)
            #expect(try reopened.verify().isClean)
        }
    }

    @Test func `a damaged act whose number is out goes as a void`() throws {
        var (folder, replica, hub) = try queued()
        _ = try replica.nextPush()
        try replica.connection.execute("UPDATE outbox SET wall = \(Self.most) WHERE seq = 2")
        let reopened = try folder.open()
        try reopened.connect(hub)
        let push = try #require(try reopened.nextPush())
        #expect(push.mutations.map(\.n) == [1, 2, 3])
        #expect(push.mutations[1].operation == .void(reason: Replica.damagedReason))
        for mutation in push.mutations { hub.process(mutation, by: try reopened.replicaID()) }
        try reopened.pull(hub)
        #expect(try reopened.outbox().map(\.state) == [.dead])
        #expect(try reopened.verify().isClean)
    }

    @Test(arguments: ["attempt", "next_n", "settled_n", "position", "time", "clock_offset", "synced", "generation"])
    func `a number that no replica can have is a damaged file, and no trap`(column: String) throws {
        for value in [Self.most, Self.least] {
            let (folder, replica, _) = try queued()
            try replica.connection.execute("UPDATE replica SET \(column) = \(value)")
            #expect(throws: ReplicaError.self) { try replica.hello(proof: Proof()) }
            #expect(throws: ReplicaError.self) { try replica.enqueue(.mark(.read, upTo: 1)) }
            _ = try? replica.page(DeliveredQuery())
            do throws(ReplicaError) {
                _ = try Replica(path: folder.file(), identity: alice, project: "project")
                Issue.record("it opens")
            } catch {
                #expect(error.code == .corrupt)
            }
        }
    }

    @Test func `a settled act that is damaged is not offered again, and the others are`() throws {
        var (folder, replica, hub) = try queued()
        let id = try replica.replicaID()
        for mutation in try #require(try replica.nextPush()).mutations { hub.process(mutation, by: id) }
        try replica.pull(hub)
        try replica.connection.execute(
            "UPDATE journal SET outcome = '{' WHERE seq = 1; UPDATE journal SET wall = \(Self.most) WHERE seq = 2")
        try replica.fork()
        #expect(try replica.outbox().map(\.operation?.items) == [[hub.items[2]]])
        _ = folder
    }

    /// Three acts that wait, on three items.
    private func queued() throws -> (Folder, Replica, TestHub) {
        let folder = Folder()
        var hub = TestHub()
        for index in 0..<3 { hub.publish("item \(index)") }
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        for item in hub.items { try replica.enqueue(.seen(items: [item])) }
        return (folder, replica, hub)
    }
}
