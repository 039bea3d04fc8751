import PealSQLite

/// One connection to the hub's database, whose errors are the store's.
final class StoreDatabase {
    private enum Engine {
        case sqlite(Connection)
        #if PostgreSQL
            case postgres(PostgresSession)
        #endif
    }

    private let engine: Engine
    /// The text of every prepared query, for the test that asserts their plans.
    private(set) var queries: [String] = []

    /// A connection to an SQLite file.
    init(path: String, options: Connection.Options) throws(HubStoreError) {
        engine = .sqlite(try sqlite { () throws(SQLiteError) in try Connection(path: path, options: options) })
    }

    #if PostgreSQL
        /// A connection to a PostgreSQL server.
        init(_ session: PostgresSession) { engine = .postgres(session) }
    #endif

    /// The connection to an SQLite file.
    var connection: Connection {
        guard case .sqlite(let connection) = engine else { preconditionFailure("no SQLite") }
        return connection
    }

    /// What differs between the two languages.
    func dialect<T>(sqlite: T, postgres: T) -> T {
        if case .sqlite = engine { return sqlite }
        return postgres
    }

    /// Locks the rows that are read until the transaction ends. SQLite has one writer.
    var forUpdate: String { dialect(sqlite: "", postgres: " FOR UPDATE") }

    /// Locks the rows that are read and passes over those that somebody else has locked. SQLite has one writer.
    var skipLocked: String { dialect(sqlite: "", postgres: " FOR UPDATE SKIP LOCKED") }

    /// Prepares a query that lives as long as the connection. Parameters are `?1`, `?2`, … for either database.
    ///
    /// - Parameter flushes: on PostgreSQL, whether rows that wait are sent before it, where it asks about their table.
    func query(_ sql: String, flushes: Bool = true) throws(HubStoreError) -> Query {
        queries.append(sql)
        switch engine {
        case .sqlite(let connection):
            return Query(try PealHub.sqlite { () throws(SQLiteError) in try connection.prepare(sql) })
        #if PostgreSQL
            case .postgres(let session): return Query(PostgresQuery(sql, in: session, flushes: flushes))
        #endif
        }
    }

    /// Runs statements that return nothing.
    func execute(_ sql: String) throws(HubStoreError) {
        switch engine {
        case .sqlite(let connection):
            try PealHub.sqlite { () throws(SQLiteError) in try connection.execute(sql) }
        #if PostgreSQL
            case .postgres(let session): try session.run(sql)
        #endif
        }
    }

    /// The lines of a query's plan.
    func plan(_ sql: String) throws(HubStoreError) -> [String] {
        try PealHub.sqlite { () throws(SQLiteError) in try connection.queryPlan(sql) }
    }

    /// The first column of the first row, for tests and counts.
    func int(_ sql: String) throws(HubStoreError) -> Int64 { try query(sql).first { $0.int64(0) } ?? 0 }
}

/// Runs something of SQLite's and turns its error into the store's.
func sqlite<R: ~Copyable>(_ body: () throws(SQLiteError) -> R) throws(HubStoreError) -> R {
    do throws(SQLiteError) {
        return try body()
    } catch {
        throw HubStoreError(error)
    }
}

extension HubStoreError {
    /// The store's word for an error of SQLite's.
    init(_ error: SQLiteError) {
        switch error.code.primary {
        case .busy, SQLiteError.Code(rawValue: 6):
            self.init(.busy, "another process holds the store's lock", underlying: error)
        case .full: self.init(.full, "the disk is full", underlying: error)
        case .noMemory, .ioError, .cantOpen, .readOnly:
            self.init(.io, "the disk or memory failed: \(error.message)", underlying: error)
        case .corrupt, .notADatabase, .newerVersion, .otherApplication:
            self.init(.corrupt, "the file cannot be used: \(error.message)", underlying: error)
        default: self.init(.failed, "the database refused a statement: \(error.message)", underlying: error)
        }
    }
}
