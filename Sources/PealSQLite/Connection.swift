internal import CPealSQLite
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// One connection to one SQLite file. Not Sendable: it belongs to the executor that made it, and every call blocks.
public final class Connection {
    /// How to open a file.
    public struct Options: Sendable {
        /// Reads only; the file must be there.
        public var readOnly = false
        /// Makes the file where it is not there, with mode 0600.
        public var creates = true
        /// Milliseconds that a lock is waited for.
        public var busyTimeoutMilliseconds: Int32 = 5_000
        /// KiB of page cache; Debian's default is 2,000.
        public var cacheKiB = 8_192
        /// Pages in the write-ahead log before a checkpoint; SQLite's default is 1,000.
        public var checkpointPages = 1_000
        /// When a commit is durable.
        public var synchronous = Synchronous.full

        /// The defaults.
        public init() {}
    }

    /// When a commit is durable.
    public enum Synchronous: Int32, Sendable {
        /// At the next checkpoint; a power cut can take the last commits, never the file's integrity.
        case normal = 1
        /// When the commit returns.
        case full = 2
    }

    /// How a transaction begins.
    public enum TransactionKind: Sendable {
        /// Takes the write lock first: the only kind that may write (SYNC.md section 8).
        case immediate
        /// Reads one state.
        case deferred
    }

    let handle: OpaquePointer
    private let counter = StepCounter()
    private var cache: [UnsafeRawPointer: OpaquePointer] = [:]
    /// The path that it was opened with.
    public let path: String

    /// Opens a file. Blocking.
    ///
    /// - Throws: ``SQLiteError``: `cantOpen`, `notADatabase`, `corrupt`, `readOnly`, `busy`.
    public init(path: String, options: Options = Options()) throws(SQLiteError) {
        self.path = path
        if options.creates, !options.readOnly {
            // SQLite would make the file with the umask's mode; its -wal and -shm take the mode of the file.
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            if descriptor >= 0 { close(descriptor) }
        }
        var handle: OpaquePointer?
        let flags = (options.readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX
        let result = sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            let error = handle.map { SQLiteError.last($0) } ?? SQLiteError(.noMemory, "out of memory")
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, options.busyTimeoutMilliseconds)
        peal_sqlite_harden(handle)
        // The first read is what notices a file that is no database.
        try execute("PRAGMA cache_size = -\(options.cacheKiB); PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON")
        if options.readOnly {
            try execute("PRAGMA query_only = ON; SELECT count(*) FROM sqlite_schema")
        } else {
            try execute(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = \(options.checkpointPages);"
                    + "PRAGMA journal_size_limit = 67108864")
            try setSynchronous(options.synchronous)
        }
    }

    deinit {
        for statement in cache.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Chooses when commits from now on are durable. Not inside a transaction.
    ///
    /// - Throws: ``SQLiteError``.
    public func setSynchronous(_ synchronous: Synchronous) throws(SQLiteError) {
        try execute("PRAGMA synchronous = \(synchronous.rawValue)")
    }

    // MARK: SQL

    /// Runs SQL of any number of statements without parameters; rows are dropped. Blocking.
    ///
    /// - Throws: ``SQLiteError``; earlier statements of the text stay done.
    public func execute(_ sql: String) throws(SQLiteError) {
        counter.steps += 1
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteError.last(handle, sql: sql) }
    }

    /// Prepares one statement that the caller keeps.
    ///
    /// - Throws: ``SQLiteError`` where the SQL is wrong.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(handle, sql, counter: counter)
    }

    /// Lends a cached statement, prepared at its first use; its row is reset and its values forgotten afterwards, also when
    /// `body` throws. Not for two uses of the same text at once.
    ///
    /// - Throws: ``SQLiteError`` where the SQL is wrong, or what `body` throws.
    public func statement<R>(
        _ sql: StaticString, _ body: (borrowing Statement) throws(SQLiteError) -> R
    ) throws(SQLiteError) -> R {
        let key = UnsafeRawPointer(sql.utf8Start)
        let prepared: OpaquePointer
        if let found = cache[key] {
            prepared = found
        } else {
            let text = sql.description
            var made: OpaquePointer?
            guard
                sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil) == SQLITE_OK,
                let made
            else { throw SQLiteError.last(handle, sql: text) }
            cache[key] = made
            prepared = made
        }
        precondition(sqlite3_stmt_busy(prepared) == 0, "this statement is in use; prepare a second one")
        defer {
            sqlite3_reset(prepared)
            sqlite3_clear_bindings(prepared)
        }
        return try body(Statement(borrowing: prepared, counter: counter))
    }

    /// The first column of the first row of a query without parameters; 0 where there is no row.
    ///
    /// - Throws: ``SQLiteError``.
    public func int(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int64(0) : 0
    }

    // MARK: Transactions

    /// Runs `body` in a transaction, undone where it throws. Blocking; not nested.
    ///
    /// - Throws: ``SQLiteError`` of begin or commit through `failure`, or what `body` throws.
    public func transaction<R, E: Error>(
        _ kind: TransactionKind, failure: (SQLiteError) -> E, _ body: () throws(E) -> R
    ) throws(E) -> R {
        do {
            try execute(kind == .immediate ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED")
        } catch {
            throw failure(error)
        }
        let result: R
        do throws(E) {
            result = try body()
        } catch {
            rollback()
            throw error
        }
        do {
            try execute("COMMIT")
        } catch {
            rollback()
            throw failure(error)
        }
        return result
    }

    /// Runs `body` in a transaction, undone where it throws. Blocking; not nested.
    ///
    /// - Throws: ``SQLiteError``.
    public func transaction<R>(
        _ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> R
    ) throws(SQLiteError) -> R {
        try transaction(kind, failure: { $0 }, body)
    }

    /// Undoes an open transaction; harmless where there is none.
    public func rollback() {
        if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    /// Runs `body` in a savepoint of its own, undone where it throws. Savepoints nest. Blocking.
    ///
    /// - Throws: ``SQLiteError`` through `failure`, or what `body` throws.
    public func savepoint<R, E: Error>(
        failure: (SQLiteError) -> E, _ body: () throws(E) -> R
    ) throws(E) -> R {
        do {
            try execute("SAVEPOINT s")
        } catch {
            throw failure(error)
        }
        let result: R
        do throws(E) {
            result = try body()
        } catch {
            // A full disk or a broken file has ended the whole transaction already.
            if isInTransaction { sqlite3_exec(handle, "ROLLBACK TO s; RELEASE s", nil, nil, nil) }
            throw error
        }
        do {
            try execute("RELEASE s")
        } catch {
            throw failure(error)
        }
        return result
    }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// The rows that the last statement changed.
    public var changes: Int { Int(sqlite3_changes(handle)) }

    /// The rowid of the last insert.
    public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Statement steps since the connection was opened.
    public var stepCount: Int { counter.steps }

    /// A number that moves when another connection commits.
    ///
    /// - Throws: ``SQLiteError``.
    public func dataVersion() throws(SQLiteError) -> Int64 {
        try statement("PRAGMA data_version") { (query) throws(SQLiteError) in try query.step() ? query.int64(0) : 0 }
    }
}
