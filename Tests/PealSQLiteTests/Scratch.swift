import PealSQLite

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A fresh directory, removed at the end of a test.
final class Scratch {
    let directory: String

    init() {
        var template = Array("/tmp/peal-sqlite-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { preconditionFailure("no temporary directory") }
        directory = String(cString: made)
    }

    deinit {
        for name in ["a", "b", "b.partial"] {
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path(name + suffix)) }
        }
        rmdir(directory)
    }

    func path(_ name: String) -> String { directory + "/" + name }

    func exists(_ name: String) -> Bool { access(path(name), F_OK) == 0 }

    /// The permission bits, or nil where there is no file.
    func mode(_ name: String) -> UInt32? { status(name).map { $0.st_mode & 0o777 } }

    func size(_ name: String) -> Int? { status(name).map { Int($0.st_size) } }

    func inode(_ name: String) -> UInt64? { status(name).map { UInt64($0.st_ino) } }

    /// Writes bytes at an offset, into a new file where there is none.
    func put(_ bytes: [UInt8], into name: String, at offset: Int = 0) {
        let descriptor = open(path(name), O_CREAT | O_WRONLY, 0o600)
        precondition(descriptor >= 0 && pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count)
        close(descriptor)
    }

    private func status(_ name: String) -> stat? {
        var status = stat()
        return stat(path(name), &status) == 0 ? status : nil
    }
}

extension Connection {
    /// Rows of a table.
    func count(_ table: String) throws(SQLiteError) -> Int64 { try int("SELECT count(*) FROM \(table)") }
}

/// Whether the condition comes true within ten seconds.
func waits(_ condition: () -> Bool) -> Bool {
    for _ in 0..<10_000 {
        if condition() { return true }
        usleep(1_000)
    }
    return condition()
}

/// The error that the body throws, nil where it throws none.
func failure(_ body: () throws(SQLiteError) -> Void) -> SQLiteError? {
    do throws(SQLiteError) {
        try body()
        return nil
    } catch {
        return error
    }
}

/// The error of one text run as a script.
func failure(_ connection: Connection, _ sql: String) -> SQLiteError? {
    failure { () throws(SQLiteError) in try connection.execute(sql) }
}

/// Ends an exit test that expects a trap in a way that it does not accept.
func preconditionDidNotTrap() -> Never { exit(0) }
