internal import PealModel
internal import PealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// How a file is opened: whose it is, which version it has, and whether it may be written.
enum ReplicaFile {
    /// `Peal` as four bytes.
    static let applicationID: Int32 = 0x5065_616C

    static let migrator = Migrator(
        applicationID: applicationID,
        steps: [Migrator.Step(version: 1, sql: String(decoding: PackageResources.v1_sql, as: UTF8.self))])

    /// Opens for writing; a file of a newer version is opened read-only instead. One that is made has its row from the first.
    static func open(
        _ path: String, _ identity: InboxIdentity, project: String, options: ReplicaOptions
    ) throws(SQLiteError) -> (connection: Connection, readOnly: Bool) {
        // A foreign file must not even be turned to write-ahead logging, so it is looked at first.
        var status = stat()
        if stat(path, &status) == 0, status.st_size > 0 {
            do throws(SQLiteError) {
                let reader = try openReadOnly(path, cacheKiB: 256, vfs: options.vfs)
                let version = try migrator.check(reader, allowsNewer: true)
                if version > Int32(migrator.steps.count) { return (reader, true) }
            } catch {
                guard error.code == .readOnlyRollback else { throw error }
                try undoJournal(path, options)
            }
        }
        var settings = Connection.Options()
        settings.cacheKiB = options.cacheKiB
        settings.vfs = options.vfs
        settings.checkpointPages = options.checkpointPages
        let connection = try Connection(path: path, options: settings)
        try migrator.migrate(connection) { () throws(SQLiteError) in
            try insertRow(connection, identity, project, options)
        }
        if let pages = options.maximumPages { try connection.execute("PRAGMA max_page_count = \(pages)") }
        return (connection, false)
    }

    private static func insertRow(
        _ connection: Connection, _ identity: InboxIdentity, _ project: String, _ options: ReplicaOptions
    ) throws(SQLiteError) {
        try connection.statement(
            """
            INSERT INTO replica (one, identity, project, replica, sum_computed) VALUES (1, ?1, ?2, ?3, ?4)
            ON CONFLICT DO NOTHING
            """
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, text(identity))
            insert.bind(2, project)
            insert.bind(3, ReplicaID(high: options.random(), low: options.random()).description)
            insert.bind(4, options.clock.wall())
            try insert.run()
        }
    }

    /// Gives the project another name, where its name is a former one, or where no hub has welcomed the file and it holds no act, so that
    /// nothing in it is of a project.
    static func takeOver(
        _ connection: Connection, _ state: inout ReplicaState, by project: String, from former: [String]
    ) throws(SQLiteError) {
        if !former.contains(state.project) {
            guard state.inbox == nil, try connection.int("SELECT count(*) FROM outbox") == 0 else { return }
        }
        try connection.statement("UPDATE replica SET project = ?1") { (update) throws(SQLiteError) in
            update.bind(1, project)
            try update.run()
        }
        state.project = project
    }

    /// Lets SQLite undo the journal of somebody who died while the file was being turned to write-ahead logging, and does not turn
    /// it: it may be a foreign one.
    private static func undoJournal(_ path: String, _ options: ReplicaOptions) throws(SQLiteError) {
        var settings = Connection.Options()
        settings.creates = false
        settings.usesWriteAheadLog = false
        settings.vfs = options.vfs
        _ = try migrator.check(Connection(path: path, options: settings))
    }

    /// Opens for reading only; the file must be there.
    static func openReadOnly(
        _ path: String, cacheKiB: Int = 8_192, vfs: String? = nil
    ) throws(SQLiteError) -> Connection {
        var settings = Connection.Options()
        settings.readOnly = true
        settings.creates = false
        settings.vfs = vfs
        settings.cacheKiB = cacheKiB
        return try Connection(path: path, options: settings)
    }

    /// What stands in the file for an identity; a device's id is the bound inbox and stands there.
    static func text(_ identity: InboxIdentity) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        switch identity {
        case .user(let externalID, let email):
            writer.member("kind", "user")
            writer.member("externalId", externalID)
            writer.member("email", email)
        case .device: writer.member("kind", "device")
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Statement {
    /// A whole number to calculate with: 0 in the place of one that is damaged.
    func number(_ index: Int32) -> Int64 {
        let number = int64(index)
        return ReplicaState.possible.contains(number) ? number : 0
    }

    /// The same where it is there.
    func optionalNumber(_ index: Int32) -> Int64? { isNull(index) ? nil : number(index) }
}

/// The one row of the `replica` table.
struct ReplicaState {
    var identity: String
    var project: String
    var inbox: String?
    var replica: ReplicaID
    var secret: String?
    var previousReplica: String?
    var previousSecret: String?
    var attempt: Int64
    var nonce: String
    var nextN: Int64
    var settledN: Int64
    var cursor: Cursor
    var time: Milliseconds
    /// The additive sum of the base at the cursor (docs/sync.md section 8).
    var sum: UInt64
    var divergence: DivergenceState
    var clockOffset: Milliseconds?
    var synced: Milliseconds
    var generation: Int64
    var pendingRead: Position
    var pendingSeen: Position
    var pendingArchive: Position
    var ahead: Bool
    var aheadLastN: Int64

    var author: Author { .replica(replica) }

    /// The row; a file without one is damaged, because it was made with it.
    static func loadOrFail(_ connection: Connection) throws(SQLiteError) -> ReplicaState {
        guard let state = try load(connection) else { throw SQLiteError(.corrupt, "the row of the replica is gone") }
        return state
    }

    static func load(_ connection: Connection) throws(SQLiteError) -> ReplicaState? {
        try connection.statement(
            """
            SELECT identity, project, inbox, replica, secret, previous_replica, previous_secret, attempt, nonce, next_n,
                settled_n, epoch, position, chain, time, clock_offset, synced, generation, pending_read, pending_seen,
                pending_archive, ahead, ahead_last_n, sum, sum_computed, diverged, diverged_by, repair
            FROM replica WHERE one = 1
            """
        ) { (row) throws(SQLiteError) -> ReplicaState? in
            guard try row.step() else { return nil }
            guard let replica = ReplicaID(row.text(3)) else {
                throw SQLiteError(.corrupt, "the replica id is damaged")
            }
            let state = ReplicaState(
                identity: row.text(0), project: row.text(1), inbox: row.optionalText(2), replica: replica,
                secret: row.optionalText(4), previousReplica: row.optionalText(5), previousSecret: row.optionalText(6),
                attempt: row.int64(7), nonce: row.text(8), nextN: row.int64(9), settledN: row.int64(10),
                cursor: Cursor(
                    epoch: row.isNull(11) ? nil : row.bits(11), position: row.int64(12), chain: row.bits(13)),
                time: row.int64(14), sum: row.bits(23), divergence: DivergenceState(row, at: 24),
                clockOffset: row.optionalInt64(15), synced: row.int64(16),
                generation: row.int64(17), pendingRead: row.int64(18), pendingSeen: row.int64(19),
                pendingArchive: row.int64(20), ahead: row.bool(21), aheadLastN: row.int64(22))
            guard state.isPossible else { throw SQLiteError(.corrupt, "a number in the row of the replica is damaged") }
            return state
        }
    }

    /// No replica has numbers that large; and sums of those that are smaller are numbers too.
    static let possible: ClosedRange<Int64> = -(1 << 54)...1 << 54

    private var isPossible: Bool {
        let numbers = [
            attempt, nextN, settledN, cursor.position, time, divergence.computed, divergence.reported ?? 0,
            clockOffset ?? 0,
            synced, generation, pendingRead, pendingSeen, pendingArchive, aheadLastN,
        ]
        return numbers.allSatisfy(Self.possible.contains) && cursor.position >= 0
    }

    /// Writes what changes between welcomes: the cursor, numbers, the overlay's marks.
    func saveProgress(_ connection: Connection) throws(SQLiteError) {
        try connection.statement(
            """
            UPDATE replica SET next_n = ?1, settled_n = ?2, epoch = ?3, position = ?4, chain = ?5, time = ?6, synced = ?7,
                generation = ?8, pending_read = ?9, pending_seen = ?10, pending_archive = ?11, ahead = ?12, sum = ?13
            """
        ) { (update) throws(SQLiteError) in
            update.bind(1, nextN)
            update.bind(2, settledN)
            if let epoch = cursor.epoch { update.bind(3, bits: epoch) } else { update.bindNull(3) }
            update.bind(4, cursor.position)
            update.bind(5, bits: cursor.chain)
            update.bind(6, time)
            update.bind(7, synced)
            update.bind(8, generation)
            update.bind(9, pendingRead)
            update.bind(10, pendingSeen)
            update.bind(11, pendingArchive)
            update.bind(12, ahead)
            update.bind(13, bits: sum)
            try update.run()
        }
    }

    /// Writes what a welcome, a hello or a fork changes.
    func saveIdentity(_ connection: Connection) throws(SQLiteError) {
        try connection.statement(
            """
            UPDATE replica SET inbox = ?1, replica = ?2, secret = ?3, previous_replica = ?4, previous_secret = ?5,
                attempt = ?6, nonce = ?7, clock_offset = ?8, ahead_last_n = ?9
            """
        ) { (update) throws(SQLiteError) in
            update.bind(1, inbox)
            update.bind(2, replica.description)
            update.bind(3, secret)
            update.bind(4, previousReplica)
            update.bind(5, previousSecret)
            update.bind(6, attempt)
            update.bind(7, nonce)
            update.bind(8, clockOffset)
            update.bind(9, aheadLastN)
            try update.run()
        }
    }
}

extension Replica {
    /// Deletes a replica's file and what belongs to it. Blocking; nobody may have it open.
    public static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal", ".lease", ".poke"] { unlink(path + suffix) }
    }
}
