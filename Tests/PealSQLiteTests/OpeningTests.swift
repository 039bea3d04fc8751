import PealSQLite
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite struct OpeningTests {
    let scratch = Scratch()

    private func opening(
        _ path: String, readOnly: Bool = false, creates: Bool = true
    ) -> SQLiteError? {
        failure { () throws(SQLiteError) in
            var options = Connection.Options()
            options.readOnly = readOnly
            options.creates = creates
            _ = try Connection(path: path, options: options)
        }
    }

    @Test func `a missing file is made only where that is asked for`() {
        #expect(opening(scratch.path("a"), creates: false)?.isCode(.cantOpen) == true)
        #expect(opening(scratch.path("a"), readOnly: true)?.isCode(.cantOpen) == true)
        #expect(!scratch.exists("a"))
        #expect(opening(scratch.path("a")) == nil)
        #expect(scratch.exists("a"))
    }

    @Test func `a missing folder is an error that says so`() {
        let error = opening(scratch.path("no/a"))
        #expect(error?.code == .cantOpen)
        #expect(error?.message.contains("No such file") == true)
    }

    @Test func `a file that is no database is refused and stays as it was`() {
        scratch.put([UInt8](repeating: 0x41, count: 8_192), into: "a")
        #expect(opening(scratch.path("a"))?.code == .notADatabase)
        #expect(opening(scratch.path("a"), readOnly: true)?.code == .notADatabase)
        #expect(scratch.size("a") == 8_192)
        #expect(!scratch.exists("a-wal"))
    }

    @Test func `a read-only connection reads and does not write`() throws {
        let writer = try Connection(path: scratch.path("a"))
        try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
        var options = Connection.Options()
        options.readOnly = true
        let reader = try Connection(path: scratch.path("a"), options: options)
        #expect(reader.isReadOnly && !writer.isReadOnly)
        #expect(try reader.count("t") == 1)
        #expect(failure(reader, "INSERT INTO t VALUES(2)")?.isCode(.readOnly) == true)
        #expect(!reader.isInTransaction)
    }

    @Test func `a file without the right to write is refused instead of opened for reading`() async {
        await #expect(processExitsWith: .success) {
            let scratch = Scratch()
            do { _ = try Connection(path: scratch.path("a")) }
            chmod(scratch.path("a"), 0o444)
            chmod(scratch.directory, 0o777)
            let isRoot = geteuid() == 0
            if isRoot { precondition(seteuid(65_534) == 0) }
            // The directory is removed by who made it.
            defer { if isRoot { seteuid(0) } }
            let error = failure { () throws(SQLiteError) in _ = try Connection(path: scratch.path("a")) }
            precondition(error?.code == .readOnly, "\(String(describing: error))")
        }
    }

    @Test func `the file, its log and its index have mode 0600 whatever the umask`() async {
        await #expect(processExitsWith: .success) {
            for mask: mode_t in [0, 0o022, 0o277] {
                let scratch = Scratch()
                umask(mask)
                let connection = try Connection(path: scratch.path("a"))
                try connection.execute("CREATE TABLE t(a)")
                for name in ["a", "a-wal", "a-shm"] {
                    precondition(scratch.mode(name) == 0o600, "\(name) \(String(describing: scratch.mode(name)))")
                }
            }
        }
    }

    @Test func `an existing file keeps its mode`() {
        #expect(opening(scratch.path("a")) == nil)
        chmod(scratch.path("a"), 0o640)
        #expect(opening(scratch.path("a")) == nil)
        #expect(scratch.mode("a") == 0o640)
    }

    @Test func `a database in memory makes no file`() throws {
        let connection = try Connection(path: ":memory:")
        try connection.execute("CREATE TABLE t(a)")
        #expect(try connection.count("t") == 0)
        #expect(access(":memory:", F_OK) != 0)
    }

    @Test func `the settings are what the options say`() throws {
        var options = Connection.Options()
        options.pageSize = 8_192
        options.synchronous = .normal
        options.cacheKiB = 512
        options.checkpointPages = 77
        let connection = try Connection(path: scratch.path("a"), options: options)
        let expected: [(String, Int64)] = [
            ("page_size", 8_192), ("synchronous", 1), ("cache_size", -512), ("wal_autocheckpoint", 77),
            ("foreign_keys", 1), ("mmap_size", 0), ("busy_timeout", 5_000), ("trusted_schema", 0),
        ]
        for (name, value) in expected { #expect(try connection.int("PRAGMA \(name)") == value, "\(name)") }
        try connection.setSynchronous(.extra)
        #expect(try connection.int("PRAGMA synchronous") == 3)
        try connection.execute("CREATE TABLE t(a)")
        #expect(scratch.exists("a-wal"))
    }

    @Test func `a string in double quotes is a missing column`() throws {
        #expect(failure(try Connection(path: ":memory:"), "SELECT \"text\"")?.code == .sql)
    }

    @Test func `many may make and open one new file at once`() throws {
        for _ in 0..<10 {
            let scratch = Scratch()
            let path = scratch.path("a")
            let failures = Mutex<[SQLiteError]>([])
            let executors = (0..<8).map { ConnectionExecutor(name: "open-\($0)") }
            for executor in executors {
                executor.post {
                    do throws(SQLiteError) {
                        let connection = try Connection(path: path)
                        try connection.transaction { () throws(SQLiteError) in
                            try connection.execute("CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES(1)")
                        }
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                }
            }
            for executor in executors { executor.stop() }
            #expect(failures.withLock { $0 } == [])
            #expect(try Connection(path: path).count("t") == 8)
        }
    }

    #if os(Linux)
        @Test func `a second connection does not drop the first one's locks on the file`() throws {
            let first = try Connection(path: scratch.path("a"))
            try first.execute("CREATE TABLE t(a)")
            let inode = try #require(scratch.inode("a"))
            let before = Self.locks(on: inode)
            #expect(before > 0)
            let second = try Connection(path: scratch.path("a"))
            // Other processes' locks come and go, and the kernel may skip a line while they do; one that is dropped never comes back.
            #expect((0..<100).contains { _ in Self.locks(on: inode) >= before })
            withExtendedLifetime((first, second)) {}
        }

        private static func locks(on inode: UInt64) -> Int {
            guard let file = fopen("/proc/locks", "r") else { return -1 }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 512)
            var count = 0
            while fgets(&line, 512, file) != nil {
                let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                let words = text.split(separator: " ")
                guard words.count > 5, words[1] == "POSIX", words[4] == "\(getpid())" else { continue }
                if words[5].hasSuffix(":\(inode)") { count += 1 }
            }
            return count
        }
    #endif
}
