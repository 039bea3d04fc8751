import Glibc
import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// What is made of a damaged file, and of one that somebody may not see (docs/inspector.md).
@Suite struct RepairTests {
    private func options(_ bench: Specimens) -> ReplicaOptions {
        var options = ReplicaOptions()
        options.clock = bench.clock.clock
        let random = SeededSource(9)
        options.random = { random.next() }
        return options
    }

    private func reader(_ path: String, _ bench: Specimens) throws -> ReplicaReader {
        try ReplicaReader(inspecting: path, clock: bench.clock.clock)
    }

    private func edit(_ path: String, _ sql: String) throws { try Connection(path: path).execute(sql) }

    /// Overwrites the first page of a table or an index.
    private func breakRoot(_ name: String, _ path: String) throws {
        let root = try Connection(path: path).int("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
        var bytes = Bytes.read(path)
        bytes.replaceSubrange(
            Int(root - 1) * 4_096..<Int(root) * 4_096, with: [UInt8](repeating: 0xA5, count: 4_096))
        Bytes.write(path, bytes)
    }

    @Test func `a good file comes out as it went in, and needs no snapshot`() throws {
        let bench = try Specimens()
        let path = try bench.still()
        let before = try reader(path, bench)
        let target = bench.folder.file("mended")
        let found = try before.repair(to: target, options: options(bench))
        #expect(found.isWhole && !found.wantsSnapshot && found.voided.isEmpty && found.setAside == 0)
        let after = try reader(target, bench)
        #expect(try after.verify().isClean)
        let outboxes = (try after.outbox(), try before.outbox())
        #expect(outboxes.0 == outboxes.1)
        #expect(after.inspectItems(limit: 1_000).rows == before.inspectItems(limit: 1_000).rows)
        #expect(after.inspectActs(.journal, limit: 1_000).rows == before.inspectActs(.journal, limit: 1_000).rows)
        let cursors = (try after.inspect().cursor, try before.inspect().cursor)
        #expect(cursors.0 == cursors.1)
        var status = stat()
        #expect(stat(target, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(throws: ReplicaError.self) { try before.repair(to: target, options: options(bench)) }
    }

    @Test func `an index that is broken costs nothing`() throws {
        let bench = try Specimens()
        let path = try bench.still()
        try breakRoot("item_category", path)
        try breakRoot("tally", path)
        let target = bench.folder.file("mended")
        let found = try reader(path, bench).repair(to: target, options: options(bench))
        #expect(found.isWhole && !found.wantsSnapshot)
        #expect(try reader(target, bench).verify().isClean)
    }

    @Test func `a page of items that is lost costs what stood on it, and the hub's snapshot brings it back`() throws {
        var bench = try Specimens()
        let path = try bench.still()
        let acts = try reader(path, bench).outbox()
        // A leaf in the middle of the table of items.
        let leaf = try #require(try Self.leafOfItems(path))
        var bytes = Bytes.read(path)
        bytes.replaceSubrange((leaf - 1) * 4_096..<leaf * 4_096, with: [UInt8](repeating: 0xA5, count: 4_096))
        Bytes.write(path, bytes)
        let target = bench.folder.file("mended")
        let found = try reader(path, bench).repair(to: target, options: options(bench))
        let kept = try #require(found.tables.first { $0.name == "item" })
        #expect(kept.rows > 150 && kept.rows < 200 && kept.problem != nil, "\(kept)")
        #expect(found.wantsSnapshot && found.voided.isEmpty && found.acts == acts.count)
        #expect(try reader(target, bench).outbox() == acts)
        #expect(Bytes.read(path) == bytes)

        let replica = try bench.folder.open("mended", clock: bench.clock)
        let id = try replica.replicaID()
        #expect(try replica.connect(bench.hub).repair, "a snapshot is asked for")
        let page = bench.hub.page(id: 1, limit: 1_000, first: true)
        _ = try replica.stage(page)
        #expect(try replica.failedChecks() == [])
        #expect(try replica.sumDifference(to: bench.hub) == nil)
        try replica.push(to: &bench.hub)
        try replica.pull(bench.hub)
        #expect(try replica.outbox().allSatisfy { $0.state == .dead })
        #expect(try replica.replicaID() == id, "and no new id is taken")
    }

    /// The page of a leaf that holds items, by what stands in it.
    private static func leafOfItems(_ path: String) throws -> Int? {
        let bytes = Bytes.read(path)
        let wanted = Array("a title 100".utf8)
        for page in 0..<bytes.count / 4_096 where bytes[page * 4_096] == 0x0D {
            let slice = bytes[page * 4_096..<(page + 1) * 4_096]
            for start in slice.indices.dropLast(wanted.count) where slice[start] == wanted[0] {
                if slice[start..<start + wanted.count].elementsEqual(wanted) { return page + 1 }
            }
        }
        return nil
    }

    @Test func `sent acts that cannot be read back go as voids, and those behind them go on`() throws {
        var bench = try Specimens(items: 12)
        let path = try bench.still()
        let sent = try reader(path, bench).outbox().filter { $0.state == .sent }.compactMap(\.n)
        #expect(sent.count >= 3)
        try edit(path, "DELETE FROM outbox WHERE n IN (\(sent[0]), \(sent[2]))")
        let target = bench.folder.file("mended")
        let found = try reader(path, bench).repair(to: target, options: options(bench))
        #expect(found.voided == [sent[0], sent[2]])
        let replica = try bench.folder.open("mended", clock: bench.clock)
        #expect(try replica.failedChecks() == [])
        let id = try replica.replicaID()
        try replica.connect(bench.hub)
        let push = try #require(try replica.nextPush())
        #expect(push.mutations.map(\.n) == sent)
        for mutation in push.mutations { bench.hub.process(mutation, by: id) }
        try replica.pull(bench.hub)
        #expect(try replica.outbox().allSatisfy { $0.state == .dead })
        #expect(try replica.replicaID() == id)
    }

    @Test func `a file that does not say whose it is cannot be repaired, and says so`() throws {
        let bench = try Specimens(items: 12)
        let path = try bench.still()
        try breakRoot("replica", path)
        let target = bench.folder.file("mended")
        do throws(ReplicaError) {
            _ = try reader2(path, bench).repair(to: target, options: options(bench))
            Issue.record("it was repaired")
        } catch {
            #expect(error.code == .corrupt && error.message.contains("whose file this is"))
        }
        #expect(access(target, F_OK) != 0 && access(target + ".partial", F_OK) != 0)
    }

    private func reader2(_ path: String, _ bench: Specimens) throws(ReplicaError) -> ReplicaReader {
        try ReplicaReader(inspecting: path, clock: bench.clock.clock)
    }

    @Test
    func `whichever page is lost, what is made of the file opens, keeps every act that could be read, and checks`()
        throws
    {
        let bench = try Specimens()
        let path = try bench.still()
        let whole = Bytes.read(path)
        let acts = try reader(path, bench).outbox().count
        let target = bench.folder.file("mended")
        var repaired = 0
        for page in 1..<whole.count / 4_096 {
            var bytes = whole
            bytes.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: [UInt8](repeating: 0xA5, count: 4_096))
            Bytes.write(path, bytes)
            guard let found = try? reader(path, bench).repair(to: target, options: options(bench)) else { continue }
            repaired += 1
            let verified = try reader(target, bench).verify()
            let failed = verified.checks.filter(\.isFailure).map(\.name)
            // What a snapshot brings is all that may be missing.
            #expect(
                failed.allSatisfy { ["registers", "marks", "readIsSeen", "overlay"].contains($0) },
                "page \(page + 1): \(failed)")
            #expect(failed.isEmpty || found.wantsSnapshot, "page \(page + 1): \(failed)")
            let outbox = try #require(found.tables.first { $0.name == "outbox" })
            #expect(!outbox.isWhole || outbox.rows == acts, "page \(page + 1)")
            #expect(Bytes.read(path) == bytes)
            Replica.remove(target)
        }
        #expect(repaired > whole.count / 4_096 * 3 / 4, "\(repaired)")
    }

    // MARK: Redaction

    @Test func `a redacted copy holds no content, and shows and proves the same`() throws {
        let bench = try Specimens()
        let path = try bench.still()
        let original = try reader(path, bench)
        let target = bench.folder.file("redacted")
        let tables = try original.redact(to: target)
        #expect(tables.filter { !$0.isWhole } == [])
        let bytes = Bytes.read(target)
        let text = String(decoding: bytes, as: UTF8.self)
        // Of the schema there is text, too, and in that the word `project`.
        let words = [
            "a title", "a text", "order:", "billing", "alice", "Push", "required for this", "\u{0}project",
            "project\u{0}",
            "}project", "projectinbox",
        ]
        let shown = words.filter { text.contains($0) }
        #expect(shown == [])
        let copy = try reader(target, bench)
        #expect(try copy.verify().isClean)
        let counts = (try copy.counts(), try original.counts())
        #expect(counts.0 == counts.1)
        #expect(
            copy.inspectItems(limit: 1_000).rows.map {
                "\($0.base) \($0.logged) \($0.shown) \($0.overlay) \($0.version)"
            }
                == original.inspectItems(limit: 1_000).rows.map {
                    "\($0.base) \($0.logged) \($0.shown) \($0.overlay) \($0.version)"
                }
        )
        for place in [InspectedAct.Place.outbox, .dead, .journal] {
            #expect(
                copy.inspectActs(place, limit: 1_000).rows.map {
                    "\($0.uid) \($0.n ?? 0) \($0.name) \($0.outcome?.code as Any)"
                }
                    == original.inspectActs(place, limit: 1_000).rows.map {
                        "\($0.uid) \($0.n ?? 0) \($0.name) \($0.outcome?.code as Any)"
                    })
        }
        #expect(
            copy.inspectEntries(limit: 1_000).rows.map(\.position)
                == original.inspectEntries(limit: 1_000).rows.map(\.position))
        let fields = (try copy.explain(number: 9)?.fields, try original.explain(number: 9)?.fields)
        #expect(fields.0 == fields.1)
        let sessions = (try copy.inspectSessions(), try original.inspectSessions())
        #expect(sessions.0 == sessions.1)
    }

    @Test func `what is wrong with a file is wrong with its redacted copy`() throws {
        let bench = try Specimens(items: 12)
        for (name, sql) in [
            ("sum", "UPDATE replica SET sum = sum + 1"), ("tally", "UPDATE tally SET unread = unread + 1"),
            ("bodies", "UPDATE item SET body = '{' WHERE position = 3"),
            ("outbox", "UPDATE outbox SET op = '{' WHERE state = 2"),
        ] {
            let path = try bench.still()
            try edit(path, sql)
            let target = bench.folder.file("redacted")
            _ = try reader(path, bench).redact(to: target)
            #expect(try reader(target, bench).verify()[name]?.isFailure == true, "\(name)")
            Replica.remove(target)
        }
    }
}
