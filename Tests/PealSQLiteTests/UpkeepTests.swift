import PealSQLite
import Synchronization
import Testing

@Suite struct UpkeepTests {
    let scratch = Scratch()

    private func filled(pageSize: Int = 4_096) throws(SQLiteError) -> Connection {
        var options = Connection.Options()
        options.synchronous = .normal
        options.pageSize = pageSize
        let connection = try Connection(path: scratch.path("a"), options: options)
        try connection.execute(
            """
            CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t(b);
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000)
            INSERT INTO t SELECT x, hex(randomblob(30)) FROM n
            """)
        return connection
    }

    @Test(arguments: [1_024, 4_096, 16_384])
    func `a backup is whole, private and stands alone`(pageSize: Int) throws {
        let connection = try filled(pageSize: pageSize)
        var calls: [Int] = []
        try connection.backup(to: scratch.path("b"), pagesPerStep: 10) { remaining, total in
            calls.append(remaining)
            return remaining <= total
        }
        #expect(calls.count > 2)
        #expect(calls.last == 0)
        #expect(calls == calls.sorted(by: >))
        #expect(scratch.mode("b") == 0o600)
        for name in ["b-wal", "b-shm", "b.partial", "b.partial-wal", "b.partial-shm"] {
            #expect(!scratch.exists(name), "\(name)")
        }
        let copy = try Connection(path: scratch.path("b"))
        #expect(try copy.count("t") == 5_000)
        #expect(try copy.integrityProblems() == [])
    }

    @Test func `a stopped backup leaves the older one alone and nothing else`() throws {
        let connection = try filled()
        try connection.backup(to: scratch.path("b"))
        try connection.execute("DELETE FROM t WHERE a > 10")
        let error = failure { () throws(SQLiteError) in
            try connection.backup(to: scratch.path("b"), pagesPerStep: 1) { _, _ in false }
        }
        #expect(error?.code == .interrupted)
        #expect(!scratch.exists("b.partial"))
        #expect(!scratch.exists("b.partial-wal"))
        #expect(try Connection(path: scratch.path("b")).count("t") == 5_000)
        try connection.backup(to: scratch.path("b"))
        #expect(try Connection(path: scratch.path("b")).count("t") == 10)
    }

    @Test func `a backup ends although another connection writes at every step`() throws {
        let connection = try filled()
        let writer = try Connection(path: scratch.path("a"))
        var steps = 0
        try connection.backup(to: scratch.path("b"), pagesPerStep: 2) { _, _ in
            steps += 1
            return steps < 1_000 && failure(writer, "INSERT INTO t(b) VALUES('x')") == nil
        }
        let copy = try Connection(path: scratch.path("b"))
        #expect(try copy.integrityProblems() == [])
        #expect(try copy.count("t") >= 5_000)
    }

    @Test func `a look for damage asks again and again whether to go on, and can be stopped`() throws {
        let connection = try filled()
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            INSERT INTO t(b) SELECT 'x' || i FROM n
            """)
        for quick in [true, false] {
            var calls = 0
            let problems = try connection.integrityProblems(quick: quick) {
                calls += 1
                return true
            }
            #expect(problems == [] && calls > 3)
            let error = failure { () throws(SQLiteError) in
                _ = try connection.integrityProblems(quick: quick) { false }
            }
            #expect(error?.code == .interrupted)
            #expect(try connection.count("t") == 105_000)
        }
    }

    @Test func `a backup into a missing folder is a typed error`() throws {
        let connection = try filled()
        let error = failure { () throws(SQLiteError) in try connection.backup(to: scratch.path("no/b")) }
        #expect(error?.code == .cantOpen)
    }

    @Test func `a plan names the index it uses`() throws {
        let connection = try filled()
        #expect(try connection.queryPlan("SELECT a FROM t WHERE b = ?1") == ["SEARCH t USING COVERING INDEX i (b=?)"])
        #expect(try connection.queryPlan("SELECT * FROM t WHERE b || '' = ?1") == ["SCAN t"])
    }

    @Test func `another thread can stop a statement, and the connection works on`() throws {
        let connection = try filled()
        let interrupter = connection.interrupter
        let executor = ConnectionExecutor(name: "interrupt")
        let isOver = Mutex(false)
        executor.post {
            while !isOver.withLock({ $0 }) { interrupter.interrupt() }
        }
        let error = failure(
            connection, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n")
        isOver.withLock { $0 = true }
        executor.stop()
        #expect(error?.code == .interrupted)
        #expect(try connection.count("t") == 5_000)
    }

    @Test func `an interrupter neither keeps its connection open nor needs it`() throws {
        var connection: Connection? = try filled()
        let interrupter = try #require(connection).interrupter
        weak let gone = connection
        connection = nil
        #expect(gone == nil)
        #expect(!scratch.exists("a-wal"))
        interrupter.interrupt()
    }
}
