internal import CPealSQLite

extension Connection {
    /// How much a checkpoint does.
    public enum CheckpointMode: Int32, Sendable {
        /// What needs no waiting.
        case passive = 0
        /// All, waiting for writers.
        case full = 1
        /// All, and the log is cut to nothing.
        case truncate = 3
    }

    /// Moves the write-ahead log into the file. Blocking.
    ///
    /// - Throws: ``SQLiteError``: `busy` where a reader is in the way.
    public func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) {
        guard sqlite3_wal_checkpoint_v2(handle, nil, mode.rawValue, nil, nil) == SQLITE_OK else {
            throw SQLiteError.last(handle)
        }
    }

    /// What is wrong with the file; empty where nothing is. Blocking, and slow on a large file.
    ///
    /// - Parameter quick: leaves out the comparison of indexes with their tables.
    /// - Throws: ``SQLiteError`` where the file is too damaged to be looked at.
    public func integrityProblems(quick: Bool = false) throws(SQLiteError) -> [String] {
        let query = try prepare(quick ? "PRAGMA quick_check" : "PRAGMA integrity_check")
        var problems: [String] = []
        while try query.step() { problems.append(query.text(0)) }
        return problems == ["ok"] ? [] : problems
    }

    /// The lines of a query's plan, for tests that hold a query to its index.
    ///
    /// - Throws: ``SQLiteError`` where the SQL is wrong.
    public func queryPlan(_ sql: String) throws(SQLiteError) -> [String] {
        let query = try prepare("EXPLAIN QUERY PLAN " + sql)
        var lines: [String] = []
        while try query.step() { lines.append(query.text(3)) }
        return lines
    }

    /// Copies the whole file, consistent, while others write. Blocking; `progress` gets (remaining, total) pages after each
    /// step and stops the copy by answering false.
    ///
    /// - Throws: ``SQLiteError``: `full`, `cantOpen`, `interrupted` where `progress` said false.
    public func backup(
        to path: String, pagesPerStep: Int32 = 1_024, progress: (Int, Int) -> Bool = { _, _ in true }
    ) throws(SQLiteError) {
        var options = Options()
        options.synchronous = .normal
        let target = try Connection(path: path, options: options)
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw SQLiteError.last(target.handle)
        }
        while true {
            let result = sqlite3_backup_step(backup, pagesPerStep)
            let goesOn = progress(Int(sqlite3_backup_remaining(backup)), Int(sqlite3_backup_pagecount(backup)))
            if result == SQLITE_DONE { break }
            guard goesOn else {
                sqlite3_backup_finish(backup)
                throw SQLiteError(.interrupted, "the copy was stopped")
            }
            guard result == SQLITE_OK || result == SQLITE_BUSY || result == SQLITE_LOCKED else { break }
        }
        guard sqlite3_backup_finish(backup) == SQLITE_OK else { throw SQLiteError.last(target.handle) }
    }

    /// Stops what the connection is doing; the one thing that another thread may call.
    public struct Interrupter: @unchecked Sendable {
        // sqlite3_interrupt is documented as safe from any thread while the connection is open; the reference keeps it open.
        private let connection: Connection

        init(_ connection: Connection) { self.connection = connection }

        /// Makes the running statement end with `interrupted`.
        public func interrupt() { sqlite3_interrupt(connection.handle) }
    }

    /// The handle for another thread.
    public var interrupter: Interrupter { Interrupter(self) }
}
