internal import CPealSQLite

/// One connection to one SQLite file. Not Sendable: it belongs to the executor that made it, and every call blocks.
///
/// It closes when it is released; a ``Statement`` that outlives it stays usable, and the file is closed after the last one.
public final class Connection {
    /// How to open a file.
    public struct Options: Sendable {
        /// Reads only; the file must be there.
        public var readOnly = false
        /// Makes the file where it is not there, with mode 0600 whatever the umask; so are its log and its index.
        public var creates = true
        /// Turns a file that is written to write-ahead logging; else its journal stays as it is.
        public var usesWriteAheadLog = true
        /// Milliseconds that a lock is waited for.
        public var busyTimeoutMilliseconds: Int32 = 5_000
        /// KiB of page cache; Debian's default is 2,000.
        public var cacheKiB = 8_192
        /// Pages in the write-ahead log before a checkpoint; SQLite's default is 1,000.
        public var checkpointPages = 1_000
        /// When a commit is durable.
        public var synchronous = Synchronous.full
        /// Bytes of a page in a file that this makes; a power of two from 512 to 65,536.
        public var pageSize = 4_096
        /// Reads a file of which the caller knows that nobody changes it: no lock is taken, nothing is made beside it, and a log or a
        /// journal beside it is passed over. With ``readOnly`` only.
        public var isImmutable = false
        /// The name of the SQLite VFS that the file is used through; nil for the system's. Tests give one that fails
        /// (docs/faults.md); it must be registered. A new file is still made on the system's.
        public var vfs: String?

        /// The defaults.
        public init() {}
    }

    /// When a commit is durable.
    public enum Synchronous: Int32, Sendable {
        /// At the next checkpoint; a power cut can take the last commits, never the file's integrity.
        case normal = 1
        /// When the commit returns.
        case full = 2
        /// As full; outside WAL also the folder, after a journal is removed.
        case extra = 3
    }

    /// How a transaction begins.
    public enum TransactionKind: Sendable {
        /// Takes the write lock first: the only kind that may write (docs/sync.md section 8).
        case immediate
        /// Reads one state.
        case deferred
    }

    let handle: OpaquePointer
    let counter = StepCounter()
    /// A rollback failed, and its transaction is still open.
    var owesRollback = false
    private var cache: [UnsafeRawPointer: CachedStatement] = [:]
    /// The path that it was opened with.
    public let path: String
    /// Whether it was opened for reading only.
    public let isReadOnly: Bool
    /// The handle by which another thread stops what the connection is doing.
    public let interrupter: Interrupter

    /// Opens a file; its folder must be there. `:memory:` is a database without a file. Blocking.
    ///
    /// - Throws: ``SQLiteError``: `cantOpen`, `notADatabase`, `corrupt`, `readOnly` (not asked for, but the file cannot be
    ///   written), `busy`, `full`, `ioError`.
    public init(path: String, options: Options = Options()) throws(SQLiteError) {
        self.path = path
        isReadOnly = options.readOnly
        let handle = try openDatabase(path, options)
        self.handle = handle
        interrupter = Interrupter(handle)
        // Every member is set: where this throws, `deinit` closes.
        try configure(options)
        try prepareUndoing()
    }

    deinit {
        interrupter.invalidate()
        for statement in cache.values { sqlite3_finalize(statement.handle) }
        sqlite3_close_v2(handle)
    }

    // MARK: SQL

    /// Runs SQL of any number of statements without parameters; rows are dropped. Blocking.
    ///
    /// - Throws: ``SQLiteError`` with the SQL of the failed statement; earlier statements of the text stay done.
    public func execute(_ sql: String) throws(SQLiteError) {
        var failure: SQLiteError?
        sql.withCString { text in
            var next: UnsafePointer<CChar>? = text
            while let start = next, start.pointee != 0, failure == nil {
                var statement: OpaquePointer?
                guard sqlite3_prepare_v2(handle, start, -1, &statement, &next) == SQLITE_OK else {
                    failure = SQLiteError.last(handle, sql: String(cString: start))
                    return
                }
                // White space and comments make no statement.
                if let statement { failure = runOnce(statement) }
            }
        }
        if let failure { throw failure }
    }

    private func runOnce(_ statement: OpaquePointer) -> SQLiteError? {
        defer { sqlite3_finalize(statement) }
        while true {
            counter.steps += 1
            switch sqlite3_step(statement) {
            case SQLITE_ROW: continue
            case SQLITE_DONE: return nil
            default: return SQLiteError.last(handle, sql: sqlite3_sql(statement).map { String(cString: $0) })
            }
        }
    }

    /// Prepares one statement that the caller keeps.
    ///
    /// - Throws: ``SQLiteError`` where the SQL is wrong.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(handle, sql, counter: counter)
    }

    /// Lends a cached statement, prepared at its first use; its row is reset and its values forgotten afterwards, also when
    /// `body` throws. While one text is lent already, a second use of it prepares a statement of its own.
    ///
    /// - Throws: ``SQLiteError`` where the SQL is wrong, or what `body` throws.
    public func statement<R>(
        _ sql: StaticString, _ body: (borrowing Statement) throws(SQLiteError) -> R
    ) throws(SQLiteError) -> R {
        let cached = try cachedStatement(sql)
        if cached.isLent { return try body(prepare(sql.description)) }
        cached.isLent = true
        defer {
            sqlite3_reset(cached.handle)
            sqlite3_clear_bindings(cached.handle)
            counter.forgetBinding(of: cached.handle)
            cached.isLent = false
        }
        return try body(Statement(borrowing: cached.handle, counter: counter))
    }

    private func cachedStatement(_ sql: StaticString) throws(SQLiteError) -> CachedStatement {
        precondition(sql.hasPointerRepresentation, "a single scalar is no statement")
        let key = UnsafeRawPointer(sql.utf8Start)
        if let found = cache[key] { return found }
        let made = CachedStatement(try prepareHandle(handle, sql.description))
        cache[key] = made
        return made
    }

    /// The first column of the first row of a query without parameters; 0 where there is no row.
    ///
    /// - Throws: ``SQLiteError``.
    public func int(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int64(0) : 0
    }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// The rows that the last statement changed.
    public var changes: Int { Int(sqlite3_changes(handle)) }

    /// The rowid of the last insert.
    public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Statement steps since the connection was opened.
    public var stepCount: Int { counter.steps }

    /// The `user_version` of the file.
    ///
    /// - Throws: ``SQLiteError``.
    public func userVersion() throws(SQLiteError) -> Int32 {
        Int32(truncatingIfNeeded: try int("PRAGMA user_version"))
    }

    /// A number that moves when another connection commits, never with this one's own commits.
    ///
    /// - Throws: ``SQLiteError``.
    public func dataVersion() throws(SQLiteError) -> Int64 {
        try statement("PRAGMA data_version") { (query) throws(SQLiteError) in try query.step() ? query.int64(0) : 0 }
    }
}

/// A statement that a connection keeps, and whether somebody has it.
private final class CachedStatement {
    let handle: OpaquePointer
    var isLent = false

    init(_ handle: OpaquePointer) { self.handle = handle }
}
