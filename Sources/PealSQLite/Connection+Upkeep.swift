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
    /// - Throws: ``SQLiteError``: `busy` where a reader or writer is in the way (never for `passive`), `locked` within a
    ///   transaction.
    public func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) {
        guard sqlite3_wal_checkpoint_v2(handle, nil, mode.rawValue, nil, nil) == SQLITE_OK else {
            throw SQLiteError.last(handle)
        }
    }

    /// What is wrong with the file; empty where nothing is. Blocking, and slow on a large file.
    ///
    /// - Parameters:
    ///   - quick: leaves out the comparison of indexes with their tables.
    ///   - goesOn: asked again and again; false stops the look soon.
    /// - Throws: ``SQLiteError`` where the file is too damaged to be looked at; `interrupted` where `goesOn` said false.
    public func integrityProblems(
        quick: Bool = false, goesOn: () -> Bool = { true }
    ) throws(SQLiteError) -> [String] {
        let query = try prepare(quick ? "PRAGMA quick_check" : "PRAGMA integrity_check")
        let result = withoutActuallyEscaping(goesOn) { goesOn in
            let question = Question(goesOn)
            // Every so many steps of SQLite's machine.
            sqlite3_progress_handler(
                handle, 20_000, { Unmanaged<Question>.fromOpaque($0!).takeUnretainedValue().goesOn() ? 0 : 1 },
                Unmanaged.passUnretained(question).toOpaque())
            defer { sqlite3_progress_handler(handle, 0, nil, nil) }
            return Result { () throws(SQLiteError) -> [String] in
                var problems: [String] = []
                while try query.step() { problems.append(query.text(0)) }
                return problems
            }
        }
        let problems = try result.get()
        return problems == ["ok"] ? [] : problems
    }

    /// A closure that C can carry.
    private final class Question {
        let goesOn: () -> Bool
        init(_ goesOn: @escaping () -> Bool) { self.goesOn = goesOn }
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
}
