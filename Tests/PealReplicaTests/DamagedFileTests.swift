import Glibc
import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// Files as support gets them: cut off, overwritten, without their log. The inspector says what is wrong, changes nothing and leaves nothing.
@Suite struct DamagedFileTests {
    @Test func `a good file has nothing wrong with it in any view`() throws {
        let bench = try Specimens()
        #expect(EveryView.ask(try bench.still(), bench.clock) == [])
    }

    @Test func `a file that is cut off at any of 64 places is said to be cut off, and stays as it is`() throws {
        let bench = try Specimens()
        let whole = Bytes.read(try bench.still())
        let path = bench.folder.file("cut")
        for place in 0..<64 {
            // Some on the border of a page, most within one.
            let size = place % 8 == 0 ? (whole.count * place / 64) / 4_096 * 4_096 : whole.count * place / 64
            Bytes.write(path, whole[..<size])
            let before = try bench.files()
            let problems = EveryView.ask(path, bench.clock)
            #expect(!problems.isEmpty, "nothing is wrong with \(size) of \(whole.count) bytes")
            if size >= 4_096 { #expect(problems[0].contains("is cut off"), "\(size): \(problems)") }
            #expect(try bench.files() == before, "\(size)")
        }
    }

    @Test
    func `of a small file that is cut off is read what is there, although its schema is not, and what is lost is said`()
        throws
    {
        let bench = try Specimens(items: 1)
        // As it was made, page for page: VACUUM gives each table another place.
        bench.folder.copy("replica", to: "closed")
        try Connection(path: bench.folder.file("closed")).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let whole = Bytes.read(bench.folder.file("closed"))
        let root = try Connection(path: bench.folder.file("closed")).int(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'outbox'")
        let path = bench.folder.file("cut")
        for size in stride(from: 12 * 4_096, to: whole.count, by: 4_096) {
            for more in [0, 1_000] {
                Bytes.write(path, whole[..<(size + more)])
                let reader = try ReplicaReader(inspecting: path, clock: bench.clock.clock)
                #expect(reader.problems.first?.contains("is cut off") == true)
                let tables = FileSurvey(path).tables
                #expect(tables.first { $0.name == "replica" }?.rows == 1 && tables.contains { $0.name == "session" })
                // A lost page is not an empty one: acts that are gone are said to be gone.
                let mended = try reader.repair(to: bench.folder.file("mended"))
                let outbox = try #require(mended.tables.first { $0.name == "outbox" })
                if more == 0 { #expect(outbox.isWhole == (size >= Int(root) * 4_096), "\(size)") }
                Replica.remove(bench.folder.file("mended"))
            }
        }
        #expect(FreshPages(bench.folder.path) != nil)
    }

    @Test(arguments: [UInt8(0xA5), 0])
    func `each page overwritten in turn is found, and the file stays as it is`(filling: UInt8) throws {
        let bench = try Specimens()
        let whole = Bytes.read(try bench.still())
        let path = bench.folder.file("overwritten")
        for page in 0..<whole.count / 4_096 {
            var bytes = whole
            bytes.replaceSubrange(
                page * 4_096..<(page + 1) * 4_096, with: [UInt8](repeating: filling, count: 4_096))
            Bytes.write(path, bytes)
            let problems = EveryView.ask(path, bench.clock)
            #expect(!problems.isEmpty, "page \(page + 1) is \(filling) and nothing is said")
            #expect(Bytes.read(path) == bytes)
        }
        #expect(try bench.files()["overwritten-wal"] == nil && bench.files()["overwritten-shm"] == nil)
    }

    @Test func `bytes that are changed anywhere trap nothing`() throws {
        let bench = try Specimens(items: 40)
        let whole = Bytes.read(try bench.still())
        let path = bench.folder.file("changed")
        for seed in seeds(60) {
            var random = Seeded(UInt64(seed))
            var bytes = whole
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            Bytes.write(path, bytes)
            EveryView.ask(path, bench.clock)
            if let reader = try? ReplicaReader(inspecting: path, clock: bench.clock.clock) {
                _ = try? reader.redact(to: bench.folder.file("copy"))
                var options = ReplicaOptions()
                options.clock = bench.clock.clock
                _ = try? reader.repair(to: bench.folder.file("mended"), options: options)
                for name in ["copy", "mended"] {
                    if access(bench.folder.file(name), F_OK) == 0 {
                        EveryView.ask(bench.folder.file(name), bench.clock)
                    }
                    Replica.remove(bench.folder.file(name))
                }
            }
            #expect(Bytes.read(path) == bytes, "seed \(seed)")
        }
    }

    // MARK: Logs

    @Test func `a file whose log is missing says so where that can be known`() throws {
        let bench = try Specimens()
        let live = bench.folder.file("replica")
        // Everything but the first page stands in the log.
        let lone = bench.folder.file("lone")
        Bytes.write(lone, Bytes.read(live).prefix(4_096))
        #expect(FileSurvey(lone).problems.first?.isEmpty == false)
        #expect(throws: ReplicaError.self) { try ReplicaReader(inspecting: lone) }
        // The index tells that there was a log.
        let indexed = try bench.still("indexed")
        Bytes.write(indexed + "-shm", [UInt8](repeating: 0, count: 32_768))
        let reader = try ReplicaReader(inspecting: indexed, clock: bench.clock.clock)
        #expect(reader.problems.count == 1 && reader.problems[0].contains("indexed-wal is not"))
        #expect(try reader.verify()["file"]?.isFailure == true)
        #expect(reader.inspectItems().rows.count == 50, "and what is there is shown")
        // Nothing tells it here, so it is a note.
        let still = try ReplicaReader(inspecting: bench.still(), clock: bench.clock.clock)
        #expect(still.problems.isEmpty && still.notes.count == 1 && still.notes[0].contains("copy"))
    }

    @Test func `a log without its index is read with the file, and nothing is left beside them`() throws {
        let bench = try Specimens()
        bench.folder.copy("replica", to: "copy")
        let path = bench.folder.file("copy")
        let before = try bench.files()
        let reader = try ReplicaReader(inspecting: path, clock: bench.clock.clock)
        #expect(reader.access == .copied)
        #expect(reader.problems.isEmpty)
        #expect(try reader.verify().isClean)
        #expect(try reader.inspect().path == path)
        #expect(try reader.inspect().outbox[.sent] ?? 0 > 0, "what only the log has is there")
        #expect(try bench.files() == before)
    }

    @Test func `a log that is damaged in its middle is said to be`() throws {
        let bench = try Specimens(items: 40)
        bench.folder.copy("replica", to: "copy")
        let path = bench.folder.file("copy")
        let log = Bytes.read(path + "-wal")
        #expect(log.count > 20 * 4_120)
        var damaged = log
        damaged[32 + 10 * 4_120 + 500] ^= 1
        Bytes.write(path + "-wal", damaged)
        #expect(FileSurvey(path).problems.contains { $0.contains("damaged at frame 11") })
        damaged = log
        damaged[3] = 9
        Bytes.write(path + "-wal", damaged)
        #expect(FileSurvey(path).problems.contains { $0.contains("does not begin as") })
        Bytes.write(path + "-wal", log[..<20])
        #expect(FileSurvey(path).problems.contains { $0.contains("first 32 bytes") })
        Bytes.write(path + "-wal", log[..<(log.count - 100)])
        #expect(FileSurvey(path).problems.isEmpty, "a write that was not finished is no damage")
        #expect(FileSurvey(path).notes.contains { $0.contains("ends within a transaction") })
    }

    @Test func `a live file is read in place while somebody writes, and shows what is committed`() throws {
        let folder = Folder()
        var hub = TestHub()
        for _ in 0..<5 { hub.publish() }
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        let reader = try ReplicaReader(inspecting: folder.file())
        #expect(reader.access == .live)
        #expect(reader.inspectItems().rows.map(\.base.position) == [5, 4, 3, 2, 1])
        hub.publish()
        try replica.pull(hub)
        #expect(reader.inspectItems().rows.count == 6)
        #expect(try reader.verify().isClean)
        try replica.enqueue(.seen(items: [hub.items[0]]))
        #expect(reader.inspectActs(.outbox).rows.count == 1)
        #expect(!reader.hasChanged)
    }

    @Test func `a file that somebody opens while it is looked at as one that nobody has is said to have changed`()
        throws
    {
        let bench = try Specimens(items: 40)
        let path = try bench.still()
        let reader = try ReplicaReader(inspecting: path, clock: bench.clock.clock)
        #expect(reader.access == .still && !reader.hasChanged)
        let replica = try bench.folder.open("still", clock: bench.clock)
        try replica.enqueue(.seen(items: [bench.hub.items[0]]))
        #expect(reader.hasChanged)
    }
}
