import PealModel
import PealSQLite

/// Reads what is committed, on a connection of its own; each call is one short read transaction.
///
/// Not Sendable: hand it to the one thread that uses it.
final class SQLiteHubReader: SQLHubReader {
    let queries: InboxQueries
    private let chainQueries: ChainQueries
    let readQueries: ReadQueries
    let restQueries: RestQueries
    private let projectQueries: ProjectQueries
    let outcomeQueries: OutcomeQueries
    private let database: StoreDatabase
    private let deferred: DeferredIndex
    private let begin: Query
    private let end: Query

    init(path: String, deferred: DeferredIndex, vfs: String?) throws(HubStoreError) {
        var options = Connection.Options()
        options.readOnly = true
        options.cacheKiB = 16 * 1_024
        options.vfs = vfs
        database = try StoreDatabase(path: path, options: options)
        self.deferred = deferred
        queries = try InboxQueries(database)
        chainQueries = try ChainQueries(database)
        readQueries = try ReadQueries(database)
        restQueries = try RestQueries(database)
        projectQueries = try ProjectQueries(database)
        outcomeQueries = try OutcomeQueries(database)
        begin = try database.query("BEGIN")
        end = try database.query("COMMIT")
    }

    /// The texts of its statements, for the test of their plans.
    var sql: [String] { database.queries }

    /// Runs a body in one read transaction that sees an inbox and what its `log` lacks at one moment.
    func read<R>(
        _ inbox: InboxKey, _ body: (InboxRow, [DeferredIndex.Row]) throws(HubStoreError) -> R
    ) throws(HubStoreError) -> R {
        defer { database.connection.rollback() }
        var row: InboxRow?
        let rows = try deferred.begin(for: inbox) { () throws(HubStoreError) in
            try begin.run()
            // The first read is what fixes the moment.
            row = try queries.inbox(inbox)
        }
        guard var row else { throw HubStoreError(.notFound, "no such inbox") }
        row.move(to: rows.last?.head)
        let result = try body(row, rows)
        try end.run()
        return result
    }

    func ask<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R { try body() }

    func standing<R>(
        _ inbox: InboxKey, _ body: (InboxRow) throws(HubStoreError) -> R
    ) throws(HubStoreError) -> R {
        try read(inbox) { (row, _) throws(HubStoreError) in try body(row) }
    }

    func log(of inbox: InboxKey) throws(HubStoreError) -> Admission.Log {
        try read(inbox) { (row, _) throws(HubStoreError) in row.log }
    }

    func sum(of inbox: InboxKey) throws(HubStoreError) -> InboxAtHead {
        try read(inbox) { (row, _) throws(HubStoreError) in
            InboxAtHead(epoch: row.epoch, head: row.head, chain: row.chain, sum: row.sum)
        }
    }

    func chain(of inbox: InboxKey, at position: Position) throws(HubStoreError) -> UInt64? {
        try read(inbox) { (row, waiting) throws(HubStoreError) in
            try chainQueries.chain(of: row, at: position, deferred: waiting)
        }
    }

    func entries(
        of inbox: InboxKey, after position: Position, maxCount: Int, maxBytes: Int
    ) throws(HubStoreError) -> [LogEntry] {
        try read(inbox) { (row, waiting) throws(HubStoreError) in
            guard position >= row.floor else {
                throw HubStoreError(.belowFloor, "the log is trimmed up to \(row.floor)")
            }
            var gathered = GatheredEntries(after: position, maxCount: maxCount, maxBytes: maxBytes)
            var waiting = waiting[...]
            waiting = waiting.drop { $0.position <= position }
            try readQueries.entries.forEach(inbox.row, position, maxCount) { (row) throws(HubStoreError) in
                let next = row.int64(0)
                while let first = waiting.first, first.position < next {
                    guard try gather(waiting.removeFirst(), into: &gathered) else { return false }
                }
                return try gathered.add(
                    LogEntry(position: next, chain: row.bits(1), content: try Self.content(row, at: 2)))
            }
            while let first = waiting.popFirst() {
                guard try gather(first, into: &gathered) else { break }
            }
            return gathered.entries
        }
    }

    private func gather(_ row: DeferredIndex.Row, into gathered: inout GatheredEntries) throws(HubStoreError) -> Bool {
        guard !gathered.isFull else { return false }
        let entry = try readQueries.entry.first(row.seq) { (found) throws(HubStoreError) in
            LogEntry(position: row.position, chain: found.bits(0), content: try Self.content(found, at: 1))
        }
        guard let entry else { throw HubStoreError(.corrupt, "an entry is missing") }
        return try gathered.add(entry)
    }

    func inbox(_ id: String, in project: ProjectKey) throws(HubStoreError) -> InboxKey? {
        guard let publicID = PublicID.bytes(id), let row = try queries.inbox(public: publicID, in: project),
            row.kind != .deleted
        else { return nil }
        return row.key
    }

    func pendingPublishes() throws(HubStoreError) -> Int { try readQueries.countPending.first { $0.int(0) } ?? 0 }

    func project(_ name: String) throws(HubStoreError) -> Project? { try projectQueries.named(name) }

    func tenants() throws(HubStoreError) -> (projects: [Project], operatorHash: [UInt8]?) {
        (try projectQueries.all.all { Project($0) }, try projectQueries.operatorHash())
    }

    func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        try UserFinder(byExternalID: readQueries.userByExternalID, byEmail: readQueries.userByEmail)
            .find(identity, in: project)
    }

    func close() {}
}
