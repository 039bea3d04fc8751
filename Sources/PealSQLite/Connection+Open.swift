internal import CPealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Opens the file; nothing of it is read yet. The caller owns the handle.
func openDatabase(_ path: String, _ options: Connection.Options) throws(SQLiteError) -> OpaquePointer {
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    flags |= options.readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    if options.creates, !options.readOnly {
        // An empty path and this one are databases without a name in the file system.
        if path.isEmpty || path == ":memory:" {
            flags |= SQLITE_OPEN_CREATE
        } else {
            try createPrivateFile(path)
        }
    }
    var name = path
    if options.isImmutable {
        precondition(options.readOnly, "what nobody changes is not written")
        flags |= SQLITE_OPEN_URI
        name = "file:" + uriPath(path) + "?immutable=1"
    }
    var handle: OpaquePointer?
    let result = sqlite3_open_v2(name, &handle, flags, options.vfs)
    guard result == SQLITE_OK, let opened = handle else {
        let error = SQLiteError.last(handle)
        sqlite3_close_v2(handle)
        throw error
    }
    // SQLite falls back to reading by itself.
    if !options.readOnly, sqlite3_db_readonly(opened, "main") == 1 {
        sqlite3_close_v2(opened)
        throw SQLiteError(.readOnly, "the file cannot be written")
    }
    return opened
}

/// A path as SQLite's URIs want it: what could end or change one is escaped.
private func uriPath(_ path: String) -> String {
    var escaped = ""
    for byte in path.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            escaped.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let digits = String(byte, radix: 16, uppercase: true)
            escaped += "%" + (digits.count == 1 ? "0" : "") + digits
        }
    }
    return escaped
}

/// Makes an empty file of mode 0600 unless something is there; SQLite gives its log and its index the same mode.
///
/// On Linux no descriptor is opened: closing one drops every POSIX lock that this process has on the file, also those of
/// another connection, and without them another process may remove a log that is in use.
private func createPrivateFile(_ path: String) throws(SQLiteError) {
    #if os(Linux)
        let isMade = mknod(path, S_IFREG | 0o600, 0) == 0
    #else
        let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        let isMade = descriptor >= 0
        if isMade { close(descriptor) }
    #endif
    if isMade {
        // The umask may have taken the owner's bits.
        chmod(path, 0o600)
    } else if errno != EEXIST {
        throw SQLiteError(.cantOpen, "the file cannot be made: \(String(cString: strerror(errno)))")
    }
}

extension Connection {
    /// The settings of a new connection; the first read is what notices a file that is no database.
    func configure(_ options: Options) throws(SQLiteError) {
        sqlite3_busy_timeout(handle, options.busyTimeoutMilliseconds)
        peal_sqlite_harden(handle)
        try execute(
            """
            PRAGMA page_size = \(options.pageSize);
            PRAGMA cache_size = -\(options.cacheKiB);
            PRAGMA temp_store = MEMORY;
            PRAGMA mmap_size = 0;
            PRAGMA foreign_keys = ON
            """)
        if options.readOnly {
            try execute("PRAGMA query_only = ON; SELECT count(*) FROM sqlite_schema")
        } else {
            if options.usesWriteAheadLog {
                try useWriteAheadLog(waitingMilliseconds: options.busyTimeoutMilliseconds)
            }
            try execute(
                "PRAGMA wal_autocheckpoint = \(options.checkpointPages); PRAGMA journal_size_limit = 67108864;"
                    + "SELECT count(*) FROM sqlite_schema")
            try setSynchronous(options.synchronous)
        }
    }

    /// Chooses when commits from now on are durable. Traps inside a transaction, where it would have no effect.
    ///
    /// - Throws: ``SQLiteError``.
    public func setSynchronous(_ synchronous: Synchronous) throws(SQLiteError) {
        try undoLeftOver()
        precondition(!isInTransaction, "the durability of a transaction cannot change within it")
        try execute("PRAGMA synchronous = \(synchronous.rawValue)")
    }

    /// Chooses how many pages the write-ahead log takes before a commit moves them into the file. Each such move waits for the disk
    /// twice, so that whoever writes much for once lets it grow.
    ///
    /// - Throws: ``SQLiteError``.
    public func setCheckpoint(pages: Int) throws(SQLiteError) {
        try execute("PRAGMA wal_autocheckpoint = \(pages)")
    }

    /// SQLite's busy timeout does not cover the change of journal that several openers of a new file try at once.
    private func useWriteAheadLog(waitingMilliseconds: Int32) throws(SQLiteError) {
        let pause: Int32 = 2
        var tries = max(waitingMilliseconds / pause, 1)
        while true {
            do throws(SQLiteError) {
                return try execute("PRAGMA journal_mode = WAL")
            } catch {
                tries -= 1
                guard error.isCode(.busy), tries > 0 else { throw error }
                usleep(UInt32(pause) * 1_000)
            }
        }
    }
}
