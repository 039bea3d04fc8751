import PealModel
import PealSQLite
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Copies of a hub's file, and the way back. Every call blocks for the disk; any thread.
public enum HubBackup {
    /// How far a copy has come.
    public struct Progress: Sendable {
        /// Pages that are copied, and pages in all; the second may change while a hub writes.
        public var copied, total: Int
    }

    /// Copies a hub's file as it is at one moment, while a hub runs on it or not. The copy grows beside `target` as `target.partial` and
    /// takes its name when it is whole and on the disk, mode 0600.
    ///
    /// - Parameters:
    ///   - path: of the hub's file.
    ///   - target: must not be there.
    ///   - progress: called after each step; false stops the copy, and nothing is left of it.
    /// - Returns: the copy's bytes.
    /// - Throws: ``HubError``: the file is none of a hub's, `target` is there, or the disk is full or failed.
    public static func copy(
        _ path: String, to target: String, progress: (Progress) -> Bool = { _ in true }
    ) throws(HubError) -> Int64 {
        guard access(target, F_OK) != 0 else {
            throw HubError(message: "\(target) is there already; name another file, or take it away")
        }
        do throws(SQLiteError) {
            try open(path).backup(to: target) { progress(Progress(copied: $1 - $0, total: $1)) }
        } catch {
            throw HubError(message: "the copy was not made: \(error.message)")
        }
        var status = stat()
        return stat(target, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Puts a copy in the place of a hub's file, which no hub may run on. What was there is kept beside it.
    ///
    /// - Parameters:
    ///   - source: the copy; it is looked through for damage first.
    ///   - path: of the hub's file.
    ///   - progress: as above; during the look with nothing copied of nothing.
    /// - Returns: where the file that was there is now; nil where there was none.
    /// - Throws: ``HubError``: the copy is damaged, none of a hub's or of a newer version; a hub runs; or the disk failed. Then the old
    ///   file is where it was.
    public static func restore(
        _ source: String, to path: String, progress: (Progress) -> Bool = { _ in true }
    ) throws(HubError) -> String? {
        do throws(SQLiteError) {
            let copy = try open(source)
            let problems = try copy.integrityProblems(quick: true) { progress(Progress(copied: 0, total: 0)) }
            guard problems.isEmpty else {
                throw SQLiteError(.corrupt, "the copy is damaged; take an older one")
            }
            let kept = try exists(path) ? moveAside(path, to: "before-restore") : nil
            do throws(SQLiteError) {
                try copy.backup(to: path) { progress(Progress(copied: $1 - $0, total: $1)) }
            } catch {
                if let kept { move(kept, to: path) }
                throw error
            }
            return kept
        } catch {
            throw HubError(message: "the file was not restored: \(error.message)")
        }
    }

    private static func open(_ path: String) throws(SQLiteError) -> Connection {
        do throws(SQLiteError) {
            return try openHub(path)
        } catch {
            // Two files have a part in this, and SQLite's words name none.
            guard !error.message.contains(path) else { throw error }
            throw SQLiteError(error.code, "\(path): \(error.message)")
        }
    }

    private static func openHub(_ path: String) throws(SQLiteError) -> Connection {
        var options = Connection.Options()
        options.creates = false
        options.usesWriteAheadLog = false
        guard exists(path) else { throw SQLiteError(.cantOpen, "\(path) is not there") }
        let connection = try Connection(path: path, options: options)
        // Refuses another program's file, and one of a newer version.
        guard try SQLiteHubStore.migrator.check(connection) > 0 else {
            throw SQLiteError(.otherApplication, "\(path) is no hub's file")
        }
        return connection
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Throws where somebody has a hub's file open, or where it is none.
    static func requireUnused(_ path: String) throws(SQLiteError) {
        guard exists(path) else { throw SQLiteError(.cantOpen, "there is no such file") }
        _ = try open(path)
        try lock(path)
    }

    /// Takes the whole file for a moment; its log goes into it.
    private static func lock(_ path: String) throws(SQLiteError) {
        do throws(SQLiteError) {
            var options = Connection.Options()
            options.creates = false
            options.usesWriteAheadLog = false
            options.busyTimeoutMilliseconds = 500
            let old = try Connection(path: path, options: options)
            // In this mode a lock is only given where no other connection is open; the log goes into the file.
            try old.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT; PRAGMA journal_mode = DELETE")
        } catch {
            guard !error.isCode(.busy) else {
                throw SQLiteError(.busy, "a hub runs on \(path), or another program has it open; stop it first")
            }
            throw error
        }
    }

    /// Gives a file another name, once nobody has it open; returns that.
    static func moveAside(_ path: String, to suffix: String) throws(SQLiteError) -> String {
        do throws(SQLiteError) {
            try lock(path)
        } catch {
            // A file that cannot be read is kept all the same.
            if error.isCode(.busy) { throw error }
        }
        var kept = "\(path).\(suffix)"
        var number = 1
        while exists(kept) {
            number += 1
            kept = "\(path).\(suffix)-\(number)"
        }
        guard move(path, to: kept) else {
            throw SQLiteError(.ioError, "\(path) cannot be moved aside: \(String(cString: strerror(errno)))")
        }
        return kept
    }

    /// Gives a file another name, and the log and journal that a damaged one may still have with it.
    @discardableResult
    private static func move(_ path: String, to other: String) -> Bool {
        guard rename(path, other) == 0 else { return false }
        for suffix in ["-wal", "-journal"] { rename(path + suffix, other + suffix) }
        return true
    }
}
