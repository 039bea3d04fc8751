import PealSQLite
import Testing

@Suite struct StatementTests {
    let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:")
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    }

    @Test func `a statement works again after its error`() throws {
        let insert = try connection.prepare("INSERT INTO t(id) VALUES(?1)")
        insert.bind(1, 1)
        try insert.run()
        do throws(SQLiteError) {
            try insert.run()
            Issue.record("it ran twice")
        } catch {
            #expect(error.isCode(.constraint))
            #expect(error.sql == "INSERT INTO t(id) VALUES(?1)")
        }
        insert.bind(1, 2)
        try insert.run()
        #expect(connection.changes == 1)
        #expect(connection.lastInsertRowID == 2)
    }

    @Test func `after the last row a statement may be bound and run again without a reset`() throws {
        let query = try connection.prepare("SELECT ?1")
        for value in 0..<3 {
            query.bind(1, value)
            #expect(try query.step() == true)
            #expect(query.int(0) == value)
            #expect(try query.step() == false)
        }
    }

    @Test func `a cached statement comes back clean, also after a throw`() throws {
        func isNull(_ value: Int?, throwing: Bool = false) throws(SQLiteError) -> Bool {
            try connection.statement("SELECT ?1 IS NULL UNION ALL SELECT 2") { (query) throws(SQLiteError) in
                if let value { query.bind(1, value) }
                let hasRow = try query.step()
                if throwing { throw SQLiteError(.sql, "on purpose") }
                return hasRow && query.bool(0)
            }
        }
        #expect(try !isNull(7))
        #expect(try isNull(nil))
        #expect(failure { () throws(SQLiteError) in _ = try isNull(7, throwing: true) }?.message == "on purpose")
        #expect(try isNull(nil))
    }

    @Test func `one text can be lent twice at once`() throws {
        func sum(_ depth: Int) throws(SQLiteError) -> Int {
            try connection.statement("SELECT ?1") { (query) throws(SQLiteError) in
                query.bind(1, depth)
                let inner = depth == 0 ? 0 : try sum(depth - 1)
                return try query.step() ? query.int(0) + inner : -1
            }
        }
        #expect(try sum(3) == 6)
    }

    @Test func `a statement outlives its connection`() throws {
        var connection: Connection? = try Connection(path: ":memory:")
        try connection?.execute("CREATE TABLE t(a); INSERT INTO t VALUES(5)")
        let query = try #require(connection).prepare("SELECT a FROM t")
        weak let gone = connection
        connection = nil
        #expect(gone == nil)
        #expect(try query.step() == true)
        #expect(query.int(0) == 5)
    }

    @Test func `a script stops at the first error and names its statement`() throws {
        let error = failure(
            connection,
            "INSERT INTO t(id) VALUES(1); -- twice\nINSERT INTO t(id) VALUES(1); INSERT INTO t(id) VALUES(2)")
        #expect(error?.isCode(.constraint) == true)
        #expect(error?.sql?.hasSuffix("INSERT INTO t(id) VALUES(1);") == true)
        #expect(try connection.count("t") == 1)
        try connection.execute("  -- nothing\n /* at all */ ; ;")
    }

    @Test func `the steps of statements are counted`() throws {
        let insert = try connection.prepare("INSERT INTO t(v) VALUES(1)")
        let before = connection.stepCount
        for _ in 0..<10 { try insert.run() }
        try connection.execute("SELECT 1; SELECT 2")
        #expect(connection.stepCount - before == 14)
    }

    @Test(arguments: ["", "-- nothing", " ; ", "SELECT 1; SELECT 2", "SELECT 1; wrong"])
    func `a text that is not exactly one statement is not prepared`(sql: String) {
        #expect(failure { () throws(SQLiteError) in _ = try connection.prepare(sql) }?.code == .sql)
    }

    @Test func `white space, comments and semicolons may follow a statement`() throws {
        let statement = try connection.prepare("SELECT 1 ; -- a comment\n ;")
        #expect(try statement.step() == true)
    }

    @Test func `a parameter that is not there traps`() async {
        await #expect(processExitsWith: .failure) {
            let statement = try Connection(path: ":memory:").prepare("SELECT ?1")
            statement.bind(2, 1)
            preconditionDidNotTrap()
        }
    }

    @Test func `a binding between two rows traps`() async {
        await #expect(processExitsWith: .failure) {
            let statement = try Connection(path: ":memory:").prepare("SELECT ?1 UNION ALL SELECT 2")
            _ = try statement.step()
            statement.bind(1, 1)
            preconditionDidNotTrap()
        }
    }

    @Test func `reading without a row traps`() async {
        await #expect(processExitsWith: .failure) {
            let statement = try Connection(path: ":memory:").prepare("SELECT 1")
            _ = statement.int(0)
            preconditionDidNotTrap()
        }
    }

    @Test func `reading past the columns traps`() async {
        await #expect(processExitsWith: .failure) {
            let statement = try Connection(path: ":memory:").prepare("SELECT 1")
            if try statement.step() { _ = statement.text(1) }
            preconditionDidNotTrap()
        }
    }
}
