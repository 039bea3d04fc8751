import PealSQLite
import Testing

@Suite struct ErrorTests {
    let scratch = Scratch()

    @Test(arguments: [
        ("SELECT * FROM f WHERE f MATCH ?1", "sesame\""), ("SELECT * FROM f WHERE f MATCH ?1", "sesame:x"),
        ("SELECT json_extract('{}', ?1)", "sesame"), ("SELECT json(?1)", "sesame"),
        ("INSERT INTO t(u) VALUES(?1)", "sesame"), ("INSERT INTO t(c) VALUES(?1)", "sesame"),
        ("INSERT INTO t(n) VALUES(?1)", "sesame"), ("INSERT INTO t(id) VALUES(?1)", "sesame"),
    ])
    func `no error quotes a bound value`(sql: String, value: String) throws {
        let connection = try Connection(path: ":memory:")
        try connection.execute(
            """
            CREATE VIRTUAL TABLE f USING fts5(body);
            CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, c TEXT CHECK (length(c) < 2), n INTEGER) STRICT;
            INSERT INTO t(id, u) VALUES(1, 'sesame')
            """)
        let statement = try connection.prepare(sql)
        statement.bind(1, value)
        do throws(SQLiteError) {
            try statement.run()
            Issue.record("no error")
        } catch {
            #expect(!"\(error) \(error.message)".contains("sesame"))
            #expect(error.sql == sql)
        }
    }

    @Test func `a code is seen through its extension`() throws {
        let connection = try Connection(path: ":memory:")
        try connection.execute("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)")
        let error = try #require(failure(connection, "INSERT INTO t VALUES(1)"))
        #expect(error.code == .constraintUnique)
        #expect(error.code.primary == .constraint)
        #expect(error.isCode(.constraint) && error.isCode(.constraintUnique) && !error.isCode(.busy))
        #expect(error.message == "UNIQUE constraint failed: t.a")
        #expect(SQLiteError.Code.newerVersion.primary == .newerVersion)
    }

    @Test func `a full file is a typed error, undoes its transaction and heals`() throws {
        let connection = try Connection(path: scratch.path("a"))
        try connection.execute("CREATE TABLE t(v); INSERT INTO t VALUES(1); PRAGMA max_page_count = 20")
        let error = failure { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in
                for _ in 0..<100 { try connection.execute("INSERT INTO t VALUES(zeroblob(4000))") }
            }
        }
        #expect(error?.code == .full)
        #expect(!connection.isInTransaction)
        #expect(try connection.count("t") == 1)
        try connection.execute("PRAGMA max_page_count = 1000; INSERT INTO t VALUES(zeroblob(100000))")
        #expect(try connection.integrityProblems() == [])
    }

    @Test func `a body that goes on after its transaction was undone cannot commit`() throws {
        let connection = try Connection(path: ":memory:")
        try connection.execute("CREATE TABLE t(a UNIQUE)")
        let error = failure { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in
                try connection.execute("INSERT INTO t VALUES(1)")
                #expect(failure(connection, "INSERT OR ROLLBACK INTO t VALUES(1)")?.code == .constraintUnique)
            }
        }
        #expect(error?.code == .aborted)
        #expect(try connection.count("t") == 0)
    }

    @Test func `a damaged file is found`() throws {
        do {
            let connection = try Connection(path: scratch.path("a"))
            try connection.execute(
                """
                CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t(b);
                WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000)
                INSERT INTO t SELECT x, hex(randomblob(20)) FROM n
                """)
            #expect(try connection.integrityProblems() == [])
            #expect(try connection.integrityProblems(quick: true) == [])
            try connection.checkpoint(.truncate)
        }
        scratch.put([UInt8](repeating: 0xAA, count: 4_096), into: "a", at: 4_096)
        let connection = try Connection(path: scratch.path("a"))
        do throws(SQLiteError) {
            #expect(try connection.integrityProblems() != [])
        } catch {
            #expect(error.isCode(.corrupt))
        }
    }
}
