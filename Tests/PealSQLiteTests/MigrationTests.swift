import PealSQLite
import Synchronization
import Testing

@Suite struct MigrationTests {
    let scratch = Scratch()
    private static let one = Migrator.Step(version: 1, sql: "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    private static let two = Migrator.Step(version: 2, sql: "ALTER TABLE t ADD COLUMN b; UPDATE t SET b = a + 1")
    private static let old = Migrator(applicationID: 77, steps: [one])
    private static let new = Migrator(applicationID: 77, steps: [one, two])

    @Test func `an empty file gets every step, and a file of an older version the rest`() throws {
        let connection = try Connection(path: scratch.path("a"))
        try Self.old.migrate(connection)
        #expect(try connection.userVersion() == 1)
        #expect(try connection.int("PRAGMA application_id") == 77)
        try Self.new.migrate(connection)
        #expect(try connection.userVersion() == 2)
        #expect(try connection.int("SELECT b FROM t") == 2)
        let changes = try connection.int("SELECT total_changes()")
        try Self.new.migrate(connection)
        #expect(try connection.count("t") == 1)
        #expect(try connection.int("SELECT total_changes()") == changes)
    }

    @Test func `a step that fails leaves the version before it, whole`() throws {
        let connection = try Connection(path: scratch.path("a"))
        let bad = Migrator.Step(
            version: 2, sql: "CREATE TABLE u(a); INSERT INTO u VALUES(1); INSERT INTO missing VALUES(1)")
        let error = failure { () throws(SQLiteError) in
            try Migrator(applicationID: 77, steps: [Self.one, bad]).migrate(connection)
        }
        #expect(error?.code == .sql)
        #expect(try connection.userVersion() == 1)
        #expect(try connection.int("SELECT count(*) FROM sqlite_schema WHERE name = 'u'") == 0)
        #expect(!connection.isInTransaction)
        try Self.new.migrate(connection)
        #expect(try connection.userVersion() == 2)
    }

    @Test func `a file whose texts are not UTF-8 is refused`() throws {
        let connection = try Connection(path: scratch.path("a"))
        try connection.execute("PRAGMA encoding = 'UTF-16le'; PRAGMA application_id = 77; CREATE TABLE t (a TEXT)")
        let error = failure { () throws(SQLiteError) in _ = try Self.old.check(connection) }
        #expect(error?.code == .otherApplication)
    }

    @Test func `a newer file is refused, and stays; only a reader that says so may look`() throws {
        let connection = try Connection(path: scratch.path("a"))
        try Self.new.migrate(connection)
        var options = Connection.Options()
        options.readOnly = true
        let reader = try Connection(path: scratch.path("a"), options: options)
        #expect(failure { () throws(SQLiteError) in try Self.old.migrate(connection) }?.code == .newerVersion)
        for (connection, allowsNewer) in [(connection, true), (connection, false), (reader, false)] {
            let error = failure { () throws(SQLiteError) in
                _ = try Self.old.check(connection, allowsNewer: allowsNewer)
            }
            #expect(error?.code == .newerVersion)
        }
        #expect(try Self.old.check(reader, allowsNewer: true) == 2)
        #expect(try connection.userVersion() == 2)
    }

    @Test(arguments: [
        "PRAGMA application_id = 78; PRAGMA user_version = 1; CREATE TABLE x(a)",
        "CREATE TABLE x(a)", "PRAGMA user_version = 3", "PRAGMA application_id = 78",
    ])
    func `another application's file is refused and stays as it was`(sql: String) throws {
        let connection = try Connection(path: scratch.path("a"))
        try connection.execute(sql)
        let version = try connection.userVersion()
        let error = failure { () throws(SQLiteError) in try Self.old.migrate(connection) }
        #expect(error?.code == .otherApplication)
        #expect(try connection.int("SELECT count(*) FROM sqlite_schema WHERE name = 't'") == 0)
        #expect(try connection.userVersion() == version)
        #expect(try connection.int("PRAGMA application_id") != 77)
    }

    @Test func `several may migrate one file at once`() throws {
        let path = scratch.path("a")
        let failures = Mutex<[SQLiteError]>([])
        let executors = (0..<4).map { ConnectionExecutor(name: "migrate-\($0)") }
        for executor in executors {
            executor.post {
                do throws(SQLiteError) {
                    try Self.new.migrate(try Connection(path: path))
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
        }
        for executor in executors { executor.stop() }
        #expect(failures.withLock { $0 } == [])
        let connection = try Connection(path: path)
        #expect(try connection.userVersion() == 2)
        #expect(try connection.count("t") == 1)
    }

    @Test func `whoever opens a file while it is migrated never takes it for another application's`() throws {
        let failures = Mutex<[SQLiteError]>([])
        let executors = (0..<2).map { ConnectionExecutor(name: "check-\($0)") }
        for round in 0..<100 {
            let path = scratch.path("f\(round)")
            for executor in executors {
                executor.post {
                    do throws(SQLiteError) {
                        var options = Connection.Options()
                        options.synchronous = .normal
                        let connection = try Connection(path: path, options: options)
                        for _ in 0..<20 where try Self.new.check(connection) == 0 {}
                        try Self.new.migrate(connection)
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                }
            }
        }
        for executor in executors { executor.stop() }
        #expect(failures.withLock { $0 } == [])
    }

    @Test func `versions that do not ascend from one trap`() async {
        await #expect(processExitsWith: .failure) {
            _ = Migrator(applicationID: 77, steps: [.init(version: 2, sql: "SELECT 1")])
            preconditionDidNotTrap()
        }
    }

    @Test func `a step that ends its transaction traps`() async {
        await #expect(processExitsWith: .failure) {
            let step = Migrator.Step(version: 1, sql: "CREATE TABLE t(a); COMMIT")
            try Migrator(applicationID: 77, steps: [step]).migrate(Connection(path: ":memory:"))
            preconditionDidNotTrap()
        }
    }
}
