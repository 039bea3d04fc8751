internal import CPealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Connection {
    /// How often a copy begins again because another connection wrote, before the rest is copied in one step.
    private static let restartLimit = 3

    /// Copies the whole file, consistent, while others write. It grows beside `path` as `path.partial` and takes its name when
    /// it is whole, mode 0600; a file that was at `path` is replaced, which must not be open anywhere. Blocking; `progress`
    /// gets (remaining, total) pages after each step and stops the copy by answering false. Not within a transaction.
    ///
    /// - Throws: ``SQLiteError``: `full`, `cantOpen`, `ioError`, `interrupted` where `progress` said false; nothing is left then.
    public func backup(
        to path: String, pagesPerStep: Int32 = 1_024, progress: (Int, Int) -> Bool = { _, _ in true }
    ) throws(SQLiteError) {
        precondition(pagesPerStep > 0, "a step copies at least one page")
        precondition(!isInTransaction, "a copy is made outside a transaction")
        let partial = path + ".partial"
        Self.remove(partial)
        do throws(SQLiteError) {
            try copy(to: partial, pagesPerStep: pagesPerStep, progress: progress)
            // The log of the old file must not meet the new one.
            unlink(path + "-wal")
            unlink(path + "-shm")
            guard rename(partial, path) == 0 else {
                throw SQLiteError(.ioError, "the copy cannot take its name: \(String(cString: strerror(errno)))")
            }
            // The name is as durable as the content; where a folder cannot be synced, its file system has its own way.
            let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
            let folder = open(end.map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if folder >= 0 {
                fsync(folder)
                close(folder)
            }
        } catch {
            Self.remove(partial)
            throw error
        }
    }

    private func copy(
        to path: String, pagesPerStep: Int32, progress: (Int, Int) -> Bool
    ) throws(SQLiteError) {
        var options = Options()
        options.pageSize = Int(try int("PRAGMA page_size"))
        // Through a write-ahead log every page would be written twice; the copy's header says what the original's says.
        options.usesWriteAheadLog = false
        let target = try Connection(path: path, options: options)
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw SQLiteError.last(target.handle)
        }
        let stepped = Self.step(backup, pagesPerStep, progress)
        // Frees it in every case, and tells again what stopped it.
        let finished = sqlite3_backup_finish(backup)
        if let stepped { throw stepped }
        guard finished == SQLITE_OK else { throw SQLiteError(resultCode: finished) }
    }

    private static func step(
        _ backup: OpaquePointer, _ pagesPerStep: Int32, _ progress: (Int, Int) -> Bool
    ) -> SQLiteError? {
        var restarts = 0
        var before = Int.max
        while true {
            let result = sqlite3_backup_step(backup, restarts > restartLimit ? -1 : pagesPerStep)
            let remaining = Int(sqlite3_backup_remaining(backup))
            let goesOn = progress(remaining, Int(sqlite3_backup_pagecount(backup)))
            if result == SQLITE_DONE { return nil }
            guard result == SQLITE_OK else { return SQLiteError(resultCode: result) }
            guard goesOn else { return SQLiteError(.interrupted, "the copy was stopped") }
            if remaining >= before { restarts += 1 }
            before = remaining
        }
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }
}
