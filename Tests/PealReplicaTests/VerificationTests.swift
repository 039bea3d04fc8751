import Glibc
import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// A replica with something of everything: registers, marks, an act that waits, one that is settled, one that is dead.
private struct Bench {
    let folder = Folder()
    let clock = TestClock()
    var hub = TestHub()
    let replica: Replica

    init() throws {
        replica = try folder.open(clock: clock)
        for number in 0..<8 { hub.publish(category: number % 2 == 0 ? "a" : nil) }
        hub.other(.read(items: [hub.items[1]], on: true, passive: false))
        hub.other(.archive(items: [hub.items[2]], on: true))
        hub.other(.mark(.read, upTo: 3))
        try replica.connect(hub)
        try replica.pull(hub)
        try replica.enqueue(.seen(items: [hub.items[5]]))
        try replica.push(to: &hub)
        try replica.pull(hub)
        try replica.enqueue(.read(items: [hub.items[4]], on: true, passive: false))
        _ = try replica.nextPush()
        try replica.enqueue(.archive(items: [hub.items[6]], on: true))
    }

    func edit(_ sql: String) throws { try replica.connection.execute(sql) }

    func standing(_ change: (inout HubStanding) -> Void = { _ in }) throws -> HubStanding {
        let state = hub.state
        let reference = Reference(state: state, hub: hub, now: hub.now)
        let at = try replica.cursor().position
        var standing = HubStanding(
            inbox: "inbox", epoch: hub.epoch, position: hub.head, chain: hub.chains[Int(hub.head)], sum: state.sum,
            chainAsked: at <= hub.head ? hub.chains[Int(at)] : nil, counts: reference.counts, time: hub.now)
        change(&standing)
        return standing
    }
}

@Suite struct VerificationTests {
    @Test func `a good file passes every check, on the replica's and on a reading connection`() throws {
        let bench = try Bench()
        let found = try bench.replica.verify()
        #expect(found.isClean)
        #expect(found.position == 12)
        #expect(
            found.checks.map(\.name) == [
                "file", "integrity", "identity", "cursor", "sum", "registers", "marks", "readIsSeen", "bodies",
                "counts",
                "tally", "overlay", "outbox", "journal", "stage",
            ])
        #expect(found.checks.allSatisfy { $0.result == .passed })
        #expect(try ReplicaReader(path: bench.replica.path, clock: bench.clock.clock).verify() == found)
        let empty = try bench.folder.open("another", clock: bench.clock)
        #expect(try empty.failedChecks() == [])
    }

    @Test(arguments: [
        ("identity", "UPDATE replica SET next_n = 0"), ("identity", "UPDATE replica SET epoch = NULL"),
        ("identity", "UPDATE replica SET identity = 'alice'"),
        ("cursor", "UPDATE replica SET position = 3"), ("cursor", "UPDATE item SET version = 99 WHERE position = 8"),
        ("cursor", "INSERT INTO raw (position, bytes) VALUES (99, x'00')"),
        ("cursor", "UPDATE outbox SET observed = 99"),
        ("sum", "DELETE FROM item WHERE position = 8"), ("sum", "UPDATE replica SET sum = sum + 1"),
        ("registers", "DELETE FROM register WHERE position = 2"),
        ("registers", "UPDATE register SET since = 99"), ("registers", "UPDATE item SET read = 1 WHERE position = 8"),
        ("registers", "INSERT INTO register SELECT 77, 0, 0, 1, 1, 'api', 1"),
        ("registers", "UPDATE register SET author = 'somebody'"),
        ("marks", "INSERT INTO mark VALUES ('read', 1, 5)"), ("marks", "INSERT INTO mark VALUES ('seen', 9, 99)"),
        ("marks", "DELETE FROM mark WHERE kind = 'seen'"), ("marks", "INSERT INTO mark VALUES ('liked', 1, 2)"),
        ("readIsSeen", "UPDATE item SET seen = 0; DELETE FROM mark WHERE kind = 'seen'"),
        ("bodies", "UPDATE item SET category = 'b' WHERE position = 1"),
        ("bodies", "UPDATE item SET body = '{' WHERE position = 1"),
        ("counts", "UPDATE item SET read = 1 WHERE position = 8"),
        ("tally", "UPDATE tally SET unseen = unseen + 1"), ("tally", "UPDATE tally SET unread = unread - 1"),
        ("tally", "DELETE FROM tally"), ("tally", "INSERT INTO tally VALUES ('a', 7, 1, 1, 1)"),
        ("overlay", "UPDATE item SET o_read = NULL, o_seen = NULL, overlaid = 0 WHERE position = 5"),
        ("overlay", "UPDATE item SET o_archived = 1, overlaid = 1 WHERE position = 8"),
        ("overlay", "UPDATE item SET o_read = 1 WHERE position = 8"),
        ("overlay", "UPDATE replica SET pending_read = 4"), ("overlay", "DELETE FROM outbox"),
        ("outbox", "UPDATE outbox SET n = 99 WHERE n IS NOT NULL"),
        ("outbox", "UPDATE outbox SET n = 7 WHERE n IS NULL"), ("outbox", "UPDATE replica SET settled_n = 2"),
        ("outbox", "UPDATE outbox SET n = NULL WHERE state = 2"),
        ("outbox", "UPDATE outbox SET state = 0 WHERE state = 2"),
        ("outbox", "UPDATE outbox SET op = '{' WHERE state = 1"),
        ("outbox", "UPDATE outbox SET state = 3 WHERE state = 1"),
        ("journal", "UPDATE journal SET uid = (SELECT uid FROM outbox LIMIT 1)"),
        ("journal", "UPDATE journal SET n = (SELECT n FROM outbox WHERE n IS NOT NULL)"),
        ("journal", "UPDATE journal SET outcome = '{}'"), ("journal", "UPDATE journal SET outcome = 'x'"),
        ("journal", "UPDATE journal SET n = 50"),
        ("stage", "INSERT INTO stage_log VALUES (4, x'00')"),
        ("stage", "INSERT INTO stage VALUES (1, 12, 12, 12, 0, 5, 0, 0, 7, 14, 0, 0, 0)"),
        ("stage", "INSERT INTO stage VALUES (1, 12, 12, 12, 0, 5, 1, 0, 7, 12, 0, 0, 0)"),
        ("stage", "INSERT INTO stage VALUES (1, 12, 12, 11, 0, 5, 0, 0, 7, 12, 0, 0, 0)"),
    ])
    func `what breaks an invariant fails its check, with evidence`(_ name: String, _ sql: String) throws {
        let bench = try Bench()
        try bench.edit(sql)
        let found = try bench.replica.verify()
        let check = try #require(found[name])
        #expect(check.isFailure, "\(found)")
        if case .failed(let evidence) = check.result {
            #expect(!evidence.isEmpty && evidence.count <= Verification.maximumEvidence)
            #expect(evidence.allSatisfy { !$0.isEmpty && !$0.contains("title") })
        }
        #expect(!found.isClean)
    }

    @Test func `a hub at the same position is compared by chain, sum and counts`() throws {
        let bench = try Bench()
        let good = try bench.replica.verify(hub: bench.standing())
        #expect(good.isClean)
        #expect(good.checks.suffix(4).map(\.name) == ["hubInbox", "hubChain", "hubSum", "hubCounts"])
        #expect(good.checks.suffix(4).allSatisfy { $0.result == .passed }, "pending acts are left out of the counts")
        func failing(_ change: (inout HubStanding) -> Void) throws -> [String] {
            try bench.replica.verify(hub: bench.standing(change)).checks.filter(\.isFailure).map(\.name)
        }
        #expect(try failing { $0.sum &+= 1 } == ["hubSum"])
        #expect(try failing { $0.counts.unread += 1 } == ["hubCounts"])
        #expect(try failing { $0.chainAsked = 1 } == ["hubChain"])
        #expect(try failing { $0.inbox = "another" } == ["hubInbox"])
        #expect(try failing { $0.epoch = 1 } == ["hubInbox"])
    }

    @Test func `a hub at another position is compared as far as that goes`() throws {
        var bench = try Bench()
        bench.hub.publish()
        let behind = try bench.replica.verify(hub: bench.standing())
        #expect(behind.isClean)
        #expect(behind["hubSum"]?.result == .skipped("the file is at 12, the hub at 13"))
        #expect(behind["hubCounts"]?.result == .skipped("the file is at 12, the hub at 13"))
        let ahead = try bench.replica.verify(
            hub: bench.standing {
                $0.position = 4
                $0.chainAsked = nil
            })
        #expect(ahead["hubChain"]?.isFailure == true)
        let trimmed = try bench.replica.verify(hub: bench.standing { $0.chainAsked = nil })
        #expect(trimmed["hubChain"]?.result == .skipped("the hub has trimmed the chain at 12"))
    }

    @Test func `a file with broken pages fails the checks that meet them, and the others still answer`() throws {
        let bench = try Bench()
        for _ in 0..<200 { _ = try bench.replica.enqueue(.seen(items: [bench.hub.items[0]])) }
        try bench.edit("PRAGMA wal_checkpoint(TRUNCATE)")
        let root = try bench.replica.connection.int("SELECT rootpage FROM sqlite_schema WHERE name = 'mark'")
        let page = try bench.replica.connection.int("PRAGMA page_size")
        bench.folder.copy("replica", to: "broken")
        let file = try #require(fopen(bench.folder.file("broken"), "r+b"))
        fseek(file, Int(page * (root - 1)), SEEK_SET)
        let noise = [UInt8](repeating: 0xA5, count: Int(page))
        fwrite(noise, 1, noise.count, file)
        fclose(file)
        let found = try ReplicaReader(path: bench.folder.file("broken"), clock: bench.clock.clock).verify()
        #expect(found["integrity"]?.isFailure == true)
        #expect(found["marks"]?.isFailure == true)
        #expect(found["sum"]?.isFailure == true)
        #expect(found["journal"]?.result == .passed)
        #expect(found["bodies"]?.result == .passed)
    }
}
