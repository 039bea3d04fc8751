import PealSQLite
import Synchronization
import Testing

@Suite struct TransactionTests {
    let scratch = Scratch()

    private struct Stop: Error, Equatable { let cause: SQLiteError.Code? }

    private func open(timeout: Int32 = 5_000) throws(SQLiteError) -> Connection {
        var options = Connection.Options()
        options.busyTimeoutMilliseconds = timeout
        options.synchronous = .normal
        let connection = try Connection(path: scratch.path("a"), options: options)
        try connection.execute("CREATE TABLE IF NOT EXISTS t(a)")
        return connection
    }

    @Test func `a transaction commits what its body did and hands over its result`() throws {
        let connection = try open()
        let result = try connection.transaction { () throws(SQLiteError) -> Int in
            #expect(connection.isInTransaction)
            try connection.execute("INSERT INTO t VALUES(1)")
            return 7
        }
        #expect(result == 7)
        #expect(!connection.isInTransaction)
        #expect(try open().count("t") == 1)
    }

    @Test func `a throw undoes the transaction and arrives in its own type`() throws {
        let connection = try open()
        do throws(Stop) {
            try connection.transaction(.immediate, failure: { Stop(cause: $0.code) }) { () throws(Stop) in
                #expect(failure(connection, "INSERT INTO t VALUES(1)") == nil)
                throw Stop(cause: nil)
            }
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == Stop(cause: nil))
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.count("t") == 0)
    }

    @Test func `a commit that fails undoes the transaction`() throws {
        let connection = try open()
        try connection.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY);
            CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)
            """)
        let error = failure { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in try connection.execute("INSERT INTO c VALUES(1)") }
        }
        #expect(error?.isCode(.constraint) == true)
        #expect(!connection.isInTransaction)
        #expect(try connection.count("c") == 0)
    }

    @Test func `nested savepoints undo only what is theirs`() throws {
        let connection = try open()
        func insert(_ value: Int) throws(SQLiteError) { try connection.execute("INSERT INTO t VALUES(\(value))") }
        try connection.transaction { () throws(SQLiteError) in
            try insert(1)
            try connection.savepoint { () throws(SQLiteError) in
                try insert(2)
                let inner = failure { () throws(SQLiteError) in
                    try connection.savepoint { () throws(SQLiteError) in
                        try insert(4)
                        throw SQLiteError(.sql, "on purpose")
                    }
                }
                #expect(inner?.message == "on purpose")
                try insert(8)
            }
        }
        #expect(try connection.int("SELECT sum(a) FROM t") == 11)
    }

    @Test func `a savepoint outside a transaction is one`() throws {
        let connection = try open()
        try connection.savepoint { () throws(SQLiteError) in try connection.execute("INSERT INTO t VALUES(1)") }
        #expect(!connection.isInTransaction)
        #expect(try open().count("t") == 1)
    }

    @Test func `a writer in the way is a typed error after the timeout, not before`() throws {
        let first = try open()
        let second = try open(timeout: 120)
        try first.transaction { () throws(SQLiteError) in
            let clock = ContinuousClock()
            let begin = clock.now
            let error = failure { () throws(SQLiteError) in
                try second.transaction { () throws(SQLiteError) -> Void in Issue.record("two writers") }
            }
            #expect(error?.isCode(.busy) == true)
            #expect(clock.now - begin >= .milliseconds(100))
            #expect(!second.isInTransaction)
        }
        try second.transaction { () throws(SQLiteError) in try second.execute("INSERT INTO t VALUES(1)") }
    }

    @Test func `an immediate transaction waits for the writer before it`() throws {
        let first = try open()
        let executor = ConnectionExecutor(name: "second")
        let isReady = Mutex(false)
        let outcome = Mutex<String?>(nil)
        let path = scratch.path("a")
        try first.transaction { () throws(SQLiteError) in
            try first.execute("INSERT INTO t VALUES(1)")
            executor.post {
                do throws(SQLiteError) {
                    let second = try Connection(path: path)
                    isReady.withLock { $0 = true }
                    try second.transaction { () throws(SQLiteError) in try second.execute("INSERT INTO t VALUES(2)") }
                    outcome.withLock { $0 = "committed" }
                } catch {
                    outcome.withLock { $0 = "\(error)" }
                }
            }
            #expect(waits { isReady.withLock { $0 } })
            #expect(outcome.withLock { $0 } == nil)
        }
        executor.stop()
        #expect(outcome.withLock { $0 } == "committed")
        #expect(try first.count("t") == 2)
    }

    @Test func `a deferred transaction reads one state while others write`() throws {
        let reader = try open()
        let writer = try open()
        try reader.transaction(.deferred) { () throws(SQLiteError) in
            #expect(try reader.count("t") == 0)
            try writer.execute("INSERT INTO t VALUES(1)")
            #expect(try reader.count("t") == 0)
            #expect(failure(reader, "INSERT INTO t VALUES(2)")?.code == .busySnapshot)
        }
        #expect(try reader.count("t") == 1)
    }

    @Test func `the data version moves with another connection's commit only`() throws {
        let reader = try open()
        let writer = try open()
        let first = try reader.dataVersion()
        try reader.execute("INSERT INTO t VALUES(1)")
        #expect(try reader.dataVersion() == first)
        try writer.execute("INSERT INTO t VALUES(2)")
        #expect(try reader.dataVersion() != first)
    }

    @Test func `a checkpoint empties the log, and says so where a reader is in the way`() throws {
        let writer = try open(timeout: 20)
        let reader = try open()
        try writer.execute("INSERT INTO t VALUES(1)")
        try reader.transaction(.deferred) { () throws(SQLiteError) in
            _ = try reader.count("t")
            try writer.execute("INSERT INTO t VALUES(2)")
            try writer.checkpoint(.passive)
            let error = failure { () throws(SQLiteError) in try writer.checkpoint(.truncate) }
            #expect(error?.isCode(.busy) == true)
        }
        try writer.checkpoint(.truncate)
        #expect(scratch.size("a-wal") == 0)
    }

    @Test func `a transaction within a transaction traps`() async {
        await #expect(processExitsWith: .failure) {
            let connection = try Connection(path: ":memory:")
            try connection.transaction { () throws(SQLiteError) in
                try connection.transaction { () throws(SQLiteError) in }
            }
            preconditionDidNotTrap()
        }
    }
}
