package import PealModel
import PealSQLite

/// The hub's store on one SQLite file: WAL, durable commits, one writer.
///
/// Not Sendable: it belongs to the executor that made it.
package final class SQLiteHubStore: SQLHubStore {
    /// What `application_id` says of a hub's file: "PeaH".
    static let applicationID: Int32 = 0x5065_6148
    /// Appends to so many inboxes at once leave their rows of `log` for later: each would dirty a page.
    static let deferredFrom = 64
    /// More waiting rows than this are settled at the next group commit. Four times as many kept other publishers waiting for 20 ms more, and
    /// made no wide publish cheaper (`tools/bench wide`, `fanout`).
    static let deferredLimit = 4_096
    /// Entries after which the watermark moves although little waits, so that opening stays quick.
    static let watermarkDistance: Int64 = 65_536

    /// Makes the tables, or brings them to this version.
    static var migrator: Migrator {
        let schema = String(decoding: PackageResources.v1_sql, as: UTF8.self)
        return Migrator(applicationID: applicationID, steps: [.init(version: 1, sql: schema)])
    }

    let database: StoreDatabase
    package let inboxes: InboxQueries
    package let rest: RestQueries
    let logQueries: LogQueries
    package let actQueries: ActQueries
    package let projectQueries: ProjectQueries
    package let userQueries: UserQueries
    package let sessionQueries: SessionQueries
    let publishQueries: PublishQueries
    package let upkeepQueries: UpkeepQueries
    let reportQueries: ReportQueries
    let chainQueries: ChainQueries
    package let deliveryQueries: DeliveryQueries
    package let scheduleQueries: ScheduleQueries
    package let webhookQueries: WebhookQueries
    package let broadcastQueries: BroadcastQueries
    let trimQueries: TrimQueries
    let deferred = DeferredIndex()
    /// Where the logs of `deferred` and of `staged` stand.
    let heads = LogHeads()
    package let path: String
    /// The SQLite VFS; nil for the system's.
    private let vfs: String?

    /// Makes the chain (docs/sync.md section 2).
    var hasher = SHA256Hasher()
    /// The source of ids, nonces and sessions.
    package var random: any RandomNumberGenerator
    /// Names this run of the hub: what an earlier one noted and did not take back, it ended over.
    package let run: UInt64
    /// The seq of the next entry.
    var nextSeq: Int64 = 1
    /// `meta.indexed_seq`.
    var indexedSeq: Int64 = 0
    /// The rows that this transaction leaves out of `log`.
    var staged: [(inbox: InboxKey, row: DeferredIndex.Row)] = []
    /// Whether this transaction has written what waited before.
    var hasSettled = false
    /// The next group commit writes what waits for `log` first.
    var wantsSettling = false
    /// When entries are trimmed.
    package let retention: Retention
    /// How far trimming has come.
    var trimRound = TrimRound()
    /// Where the round was when the open group commit began; nil where none is open.
    private var trimBefore: TrimRound?
    /// Matching inboxes above which a publish becomes a durable job.
    package var wideFrom = HubStoreLimits.wideFrom
    /// A test's fault, called in a mutation's savepoint.
    package var fault: ((Mutation) throws(HubStoreError) -> Void)?

    /// Opens or makes the file, brings it to this version, and indexes what a crash left unindexed. Blocking.
    ///
    /// - Parameters:
    ///   - path: of the file; made with mode 0600.
    ///   - retention: how long the logs are kept.
    ///   - random: must be fit for secrets, but in tests.
    ///   - vfs: the name of a registered SQLite VFS; nil for the system's. Tests give one that fails (docs/faults.md).
    ///   - checkpointPages: pages in the write-ahead log before a checkpoint.
    /// - Throws: `busy`, `full`, `io`, `corrupt` (also a newer version, or a file that is not a hub's).
    package init(
        path: String, retention: Retention = Retention(),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), vfs: String? = nil,
        checkpointPages: Int = 8_000
    ) throws(HubStoreError) {
        self.path = path
        self.retention = retention
        self.random = random
        self.vfs = vfs
        run = self.random.next()
        var options = Connection.Options()
        options.cacheKiB = 64 * 1_024
        options.checkpointPages = checkpointPages
        options.vfs = vfs
        database = try StoreDatabase(path: path, options: options)
        let connection = database.connection
        try sqlite { () throws(SQLiteError) in try Self.migrator.migrate(connection) }
        inboxes = try InboxQueries(database, heads: heads)
        rest = try RestQueries(database)
        logQueries = try LogQueries(database)
        actQueries = try ActQueries(database)
        projectQueries = try ProjectQueries(database)
        userQueries = try UserQueries(database)
        sessionQueries = try SessionQueries(database)
        publishQueries = try PublishQueries(database)
        upkeepQueries = try UpkeepQueries(database)
        reportQueries = try ReportQueries(database)
        chainQueries = try ChainQueries(database)
        deliveryQueries = try DeliveryQueries(database)
        scheduleQueries = try ScheduleQueries(database)
        webhookQueries = try WebhookQueries(database)
        broadcastQueries = try BroadcastQueries(database)
        trimQueries = try TrimQueries(database)
        try recoverIndex()
    }

    // MARK: Group commit

    package func begin() throws(HubStoreError) {
        try sqlite { () throws(SQLiteError) in try database.connection.undoLeftOver() }
        precondition(!database.connection.isInTransaction, "one group commit at a time")
        staged.removeAll(keepingCapacity: true)
        hasSettled = false
        try logQueries.begin.run()
        trimBefore = trimRound
        do {
            try readWatermark()
            let isFar = nextSeq - indexedSeq > Self.watermarkDistance
            if isFar || wantsSettling || deferred.count > Self.deferredLimit { try settle() }
        } catch {
            rollback()
            throw error
        }
    }

    package func commit() throws(HubStoreError) {
        do {
            try deferred.commit(staged, settled: hasSettled) { () throws(HubStoreError) in
                try logQueries.commit.run()
            }
        } catch {
            rollback()
            throw error
        }
        trimBefore = nil
        if hasSettled { wantsSettling = false }
        staged.removeAll(keepingCapacity: true)
        hasSettled = false
    }

    package func rollback() {
        // What was trimmed is there again, so its inboxes come again in this round.
        if let trimBefore { trimRound = trimBefore }
        trimBefore = nil
        if hasSettled || !staged.isEmpty {
            staged.removeAll(keepingCapacity: true)
            hasSettled = false
            restoreHeads()
        }
        database.connection.rollback()
    }

    package func savepoint<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
        let mark = staged.count
        try logQueries.savepoint.run()
        do {
            let result = try body()
            try logQueries.release.run()
            return result
        } catch {
            if staged.count > mark {
                staged.removeSubrange(mark...)
                restoreHeads()
            }
            guard database.connection.isInTransaction else {
                // A full disk or a broken file has ended the whole transaction already.
                throw error.abortsCommit ? error : HubStoreError(.io, "the transaction was lost", underlying: error)
            }
            try logQueries.undo.run()
            try logQueries.release.run()
            throw error
        }
    }

    package func makeReader() throws(HubStoreError) -> any HubReader {
        try SQLiteHubReader(path: path, deferred: deferred, vfs: vfs)
    }

    package func close() throws(HubStoreError) {
        try begin()
        do {
            try settle()
            // A run that ends in order has ended over nothing.
            try sessionQueries.forgetSuspects.run(run)
        } catch {
            rollback()
            throw error
        }
        try commit()
    }
}
