/// Brings a file to the newest version of its schema, one version a transaction; a crash leaves a whole version.
public struct Migrator: Sendable {
    /// One version of a schema.
    public struct Step: Sendable {
        /// What `user_version` is after it; ascending from 1.
        public var version: Int32
        /// The SQL.
        public var sql: String

        /// A step of its parts.
        public init(version: Int32, sql: String) {
            self.version = version
            self.sql = sql
        }
    }

    /// The file's `application_id`.
    public let applicationID: Int32
    /// Every version, in order.
    public let steps: [Step]

    /// A migrator of its parts.
    public init(applicationID: Int32, steps: [Step]) {
        precondition(applicationID != 0, "0 is the id of no application")
        precondition(steps.enumerated().allSatisfy { $1.version == Int32($0) + 1 }, "versions ascend from 1")
        self.applicationID = applicationID
        self.steps = steps
    }

    /// Checks whose file it is and of which version, without writing; all that it looks at is of one state, whoever migrates
    /// the file meanwhile.
    ///
    /// - Parameter allowsNewer: a read-only connection may look into a newer file. One that writes never may.
    /// - Returns: the file's version; 0 for an empty file.
    /// - Throws: ``SQLiteError``: `otherApplication`, `newerVersion`, and what reading can throw.
    public func check(_ connection: Connection, allowsNewer: Bool = false) throws(SQLiteError) -> Int32 {
        if connection.isInTransaction { return try checkOneState(connection, allowsNewer) }
        return try connection.transaction(.deferred) { () throws(SQLiteError) in
            try checkOneState(connection, allowsNewer)
        }
    }

    private func checkOneState(_ connection: Connection, _ allowsNewer: Bool) throws(SQLiteError) -> Int32 {
        let application = try connection.int("PRAGMA application_id")
        let version = Int32(truncatingIfNeeded: try connection.int("PRAGMA user_version"))
        let tables = try connection.int("SELECT count(*) FROM sqlite_schema")
        // Text is read as the bytes that it is stored as; every file of ours is of UTF-8.
        let isUTF8 = try connection.int("SELECT count(*) FROM pragma_encoding WHERE encoding = 'UTF-8'") == 1
        guard isUTF8, application == Int64(applicationID) || (application == 0 && version == 0 && tables == 0) else {
            throw SQLiteError(.otherApplication, "\(connection.path) is a database of another application")
        }
        guard version <= Int32(steps.count) || allowsNewer && connection.isReadOnly else {
            throw SQLiteError(
                .newerVersion, "\(connection.path) has version \(version); this program knows up to \(steps.count)")
        }
        return version
    }

    /// Brings the file to the newest version. Blocking; two processes may do it at once.
    ///
    /// - Parameter filling: runs in the transaction of the last step, so that nobody ever sees a file of the newest version
    ///   without what it writes; not at all where the file has that version.
    /// - Throws: as ``check(_:allowsNewer:)``, and what writing can throw; the file then has the last whole version.
    public func migrate(
        _ connection: Connection, filling: () throws(SQLiteError) -> Void = {}
    ) throws(SQLiteError) {
        guard try check(connection) < Int32(steps.count) else { return }
        for step in steps {
            try connection.transaction(.immediate) { () throws(SQLiteError) in
                // Another process may have been here while we waited for the lock.
                guard try check(connection) < step.version else { return }
                try connection.execute(step.sql)
                precondition(connection.isInTransaction, "a step's SQL must not end its transaction")
                try connection.execute(
                    "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(step.version)")
                if step.version == Int32(steps.count) { try filling() }
            }
        }
    }
}
