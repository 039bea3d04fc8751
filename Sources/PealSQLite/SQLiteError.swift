internal import CPealSQLite

/// What SQLite refused to do. Holds SQL text and SQLite's own words, never a bound value.
public struct SQLiteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// An extended result code of SQLite, or one of our own below zero; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// SQLite's extended result code.
        public let rawValue: Int32
        /// A code of its number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The primary code that this one refines.
        public var primary: Code { rawValue < 0 ? self : Code(rawValue: rawValue & 0xFF) }

        /// Another connection holds the lock and did not let go within the busy timeout.
        public static let busy = Code(rawValue: 5)
        /// The disk, or the file's page limit, is full.
        public static let full = Code(rawValue: 13)
        /// SQLite had undone the transaction by itself before its end.
        public static let aborted = Code(rawValue: 4)
        /// A table is locked within the connection, as for a checkpoint inside a transaction.
        public static let locked = Code(rawValue: 6)
        /// Memory ran out.
        public static let noMemory = Code(rawValue: 7)
        /// The file is read-only, or was opened so.
        public static let readOnly = Code(rawValue: 8)
        /// A crash left a journal that only a connection which writes can undo; refines `readOnly`.
        public static let readOnlyRollback = Code(rawValue: 8 | 3 << 8)
        /// ``Connection/interrupter`` stopped it.
        public static let interrupted = Code(rawValue: 9)
        /// Reading or writing the disk failed.
        public static let ioError = Code(rawValue: 10)
        /// Memory ran out while the disk was read or written; refines `ioError`.
        public static let ioNoMemory = Code(rawValue: 10 | 12 << 8)
        /// The file is damaged.
        public static let corrupt = Code(rawValue: 11)
        /// The file cannot be opened.
        public static let cantOpen = Code(rawValue: 14)
        /// A value is over SQLite's limit.
        public static let tooBig = Code(rawValue: 18)
        /// A constraint does not hold.
        public static let constraint = Code(rawValue: 19)
        /// A UNIQUE constraint does not hold; refines `constraint`.
        public static let constraintUnique = Code(rawValue: 19 | 8 << 8)
        /// A deferred transaction that has read cannot write any more, for another one wrote: begin again. Refines `busy`.
        public static let busySnapshot = Code(rawValue: 5 | 2 << 8)
        /// The file is not a SQLite database.
        public static let notADatabase = Code(rawValue: 26)
        /// The SQL is wrong, or a table is missing.
        public static let sql = Code(rawValue: 1)
        /// The file's `user_version` is above what this program knows.
        public static let newerVersion = Code(rawValue: -1)
        /// The file is a database of another application.
        public static let otherApplication = Code(rawValue: -2)
    }

    /// What went wrong.
    public let code: Code
    /// SQLite's words, or ours.
    public let message: String
    /// The SQL, if one statement was at fault.
    public let sql: String?

    /// An error of its parts.
    public init(_ code: Code, _ message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// Whether the code is that one or refines it.
    public func isCode(_ code: Code) -> Bool { self.code == code || self.code.primary == code }

    /// A sentence for a log.
    public var description: String {
        "SQLite \(code.rawValue): \(message)" + (sql.map { " [\($0.prefix(120))]" } ?? "")
    }

    /// An error in SQLite's general words for a code.
    init(resultCode: Int32, sql: String? = nil) {
        self.init(Code(rawValue: resultCode), String(cString: sqlite3_errstr(resultCode)), sql: sql)
    }

    /// The error that a connection has just reported.
    ///
    /// - Parameter hasValues: the statement ran with bound values, which a general error may quote (a search pattern, a JSON
    ///   path): the general words for the code take the place of its own.
    static func last(_ handle: OpaquePointer?, sql: String? = nil, hasValues: Bool = false) -> SQLiteError {
        guard let handle else { return SQLiteError(.noMemory, "out of memory", sql: sql) }
        let code = Code(rawValue: sqlite3_extended_errcode(handle))
        if hasValues, code.primary == .sql { return SQLiteError(resultCode: code.rawValue, sql: sql) }
        return SQLiteError(code, String(cString: sqlite3_errmsg(handle)), sql: sql)
    }
}
