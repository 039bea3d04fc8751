public import PealModel
internal import PealSQLite

/// Reads a replica's file; what it answers is always one committed state.
public protocol ReplicaReading: AnyObject {
    /// A page of items, newest delivery first. Blocking.
    ///
    /// - Parameters:
    ///   - query: which items. A connection that only reads finds ``DeliveredQuery/text`` where another one has searched since the newest
    ///     item came, else it throws `readOnly`.
    ///   - after: where the page before ended; nil for the first.
    ///   - limit: items, 1 to 1,000.
    func page(_ query: DeliveredQuery, after: PageCursor?, limit: Int) throws(ReplicaError) -> DeliveredPage
    /// An item by its id, silent, expired and archived ones too; nil where it is not there. Blocking.
    func item(_ id: ItemID) throws(ReplicaError) -> DeliveredItem?
    /// An item by its number. Blocking.
    func item(number: Position) throws(ReplicaError) -> DeliveredItem?
    /// An item by its number, where it is one of a query's; what a page of that query would hold of it. Blocking.
    func item(number: Position, matching query: DeliveredQuery) throws(ReplicaError) -> DeliveredItem?
    /// How many items there are. Blocking.
    func counts() throws(ReplicaError) -> Counts
    /// How many items of a query there are, and how many of these are unread and unseen. Blocking; of the whole inbox in time that does
    /// not grow with it, else in time that grows with the items of the query's categories or topics.
    func counts(_ query: DeliveredQuery) throws(ReplicaError) -> Counts
    /// The device's interests as shown, sorted. Blocking.
    func interests() throws(ReplicaError) -> [String]
    /// Every preference of a user's inbox as shown: the choice, else the catalogue's default; required is on. Blocking.
    func preferences() throws(ReplicaError) -> [Preference]
    /// The project's categories and channels; nil where the hub has sent none. Blocking.
    func catalogue() throws(ReplicaError) -> Catalogue?
    /// What happened to an item, of each kind the first, pending ones too; none where the item is not there. Blocking.
    func facts(of item: ItemID) throws(ReplicaError) -> [Fact]
    /// Acts that are not settled, in their order, and dead letters. Blocking.
    func outbox() throws(ReplicaError) -> [OutboxItem]
    /// What the file holds. Blocking; `integrity` reads all of it.
    func inspect(integrity: Bool) throws(ReplicaError) -> Inspection
}

extension ReplicaReading {
    /// The first page. Blocking.
    public func page(_ query: DeliveredQuery, limit: Int = 50) throws(ReplicaError) -> DeliveredPage {
        try page(query, after: nil, limit: limit)
    }
}

extension Replica: ReplicaReading {
    /// A page of items, newest delivery first. Blocking.
    public func page(
        _ query: DeliveredQuery, after: PageCursor?, limit: Int = 50
    ) throws(ReplicaError) -> DeliveredPage { try queries.page(query, after, limit) }

    /// The items of a query just above a position, the nearest `limit` of them, newest first, and whether there are more above. Blocking.
    package func page(
        _ query: DeliveredQuery, above: Position, limit: Int
    ) throws(ReplicaError) -> (items: [DeliveredItem], hasMore: Bool) { try queries.page(query, above: above, limit) }

    /// Takes some of the items that a search would not find yet into the index of words, some hundredths of a second long, so that whoever
    /// fills it bit by bit leaves time for others. Blocking.
    ///
    /// - Returns: whether every item is in it now.
    package func fillWords() throws(ReplicaError) -> Bool {
        do throws(SQLiteError) {
            let index = WordIndex(connection)
            let isComplete = try connection.transaction(.deferred) { () throws(SQLiteError) in try index.isComplete() }
            if isComplete { return true }
            do throws(SQLiteError) {
                return try connection.transaction(.immediate) { () throws(SQLiteError) in try index.fill() }
            } catch {
                guard try queries.dropWords(after: error) else { throw error }
                return false
            }
        } catch {
            throw ReplicaError(error)
        }
    }

    /// Reads one state of the file, in which searches find what is in the index of words, from the newest on, and fill nothing. Blocking.
    ///
    /// - Returns: what was read, and whether every item could be found.
    package func consistentlyIndexed<R>(
        _ body: () throws(ReplicaError) -> R
    ) throws(ReplicaError) -> (result: R, isComplete: Bool) {
        queries.searchesWhatIsIndexed = true
        defer { queries.searchesWhatIsIndexed = false }
        func read() throws(ReplicaError) -> (result: R, isComplete: Bool) {
            try consistently { () throws(ReplicaError) in
                let result = try body()
                do throws(SQLiteError) {
                    return (result, try WordIndex(connection).isComplete())
                } catch {
                    throw ReplicaError(error)
                }
            }
        }
        do throws(ReplicaError) {
            return try read()
        } catch {
            guard error.code == .corrupt else { throw error }
            do throws(SQLiteError) {
                _ = try queries.dropWords(after: SQLiteError(.corrupt, error.message))
            } catch {
                throw ReplicaError(error)
            }
            return try read()
        }
    }

    /// An item by its id, silent, expired and archived ones too; nil where it is not there. Blocking.
    public func item(_ id: ItemID) throws(ReplicaError) -> DeliveredItem? { try queries.item(id) }

    /// An item by its number. Blocking.
    public func item(number: Position) throws(ReplicaError) -> DeliveredItem? { try queries.item(number: number) }

    /// An item by its number, where it is one of a query's. Blocking.
    public func item(number: Position, matching query: DeliveredQuery) throws(ReplicaError) -> DeliveredItem? {
        try queries.item(number: number, matching: query)
    }

    /// How many items there are. Blocking.
    public func counts() throws(ReplicaError) -> Counts { try queries.counts(DeliveredQuery()) }

    /// How many items of a query there are. Blocking.
    public func counts(_ query: DeliveredQuery) throws(ReplicaError) -> Counts { try queries.counts(query) }

    /// The device's interests as shown, sorted. Blocking.
    public func interests() throws(ReplicaError) -> [String] { try queries.read(queries.interests) }

    /// Every preference of a user's inbox as shown: the choice, else the catalogue's default; required is on. Blocking.
    public func preferences() throws(ReplicaError) -> [Preference] { try queries.read(queries.preferences) }

    /// The project's categories and channels; nil where the hub has sent none. Blocking.
    public func catalogue() throws(ReplicaError) -> Catalogue? {
        try queries.read(RestTables(connection: queries.connection).catalogue)
    }

    /// What happened to an item, of each kind the first, pending ones too; none where the item is not there. Blocking.
    public func facts(of item: ItemID) throws(ReplicaError) -> [Fact] {
        try queries.read { () throws(SQLiteError) in try queries.facts(of: item) }
    }

    /// Acts that are not settled, in their order, and dead letters. Blocking.
    public func outbox() throws(ReplicaError) -> [OutboxItem] { try queries.read(queries.outbox) }

    /// Milliseconds until the next item expires; nil where none will. Blocking.
    public func timeToNextExpiry() throws(ReplicaError) -> Milliseconds? {
        try queries.read { () throws(SQLiteError) in
            let now = try queries.frame().now
            return try queries.connection.statement(
                "SELECT expires FROM item INDEXED BY item_expires WHERE expires > ?1 ORDER BY expires LIMIT 1"
            ) { (query) throws(SQLiteError) in
                query.bind(1, now)
                return try query.step() ? query.int64(0) - now : nil
            }
        }
    }

    /// How many acts are not settled, and how many dead letters there are. Blocking.
    public func outboxDepth() throws(ReplicaError) -> (waiting: Int, dead: Int) {
        try queries.read { () throws(SQLiteError) in
            let rows = try queries.outboxByState()
            let dead = rows[.dead] ?? 0
            return (waiting: Int(rows.values.reduce(0, +) - dead), dead: Int(dead))
        }
    }

    /// What the file holds. Blocking; `integrity` reads all of it.
    public func inspect(integrity: Bool = false) throws(ReplicaError) -> Inspection {
        try queries.inspection(integrity)
    }
}

/// A second, read-only connection to a replica's file: pages without waiting for ingest. Not Sendable: it belongs to one
/// executor, which may be another one than the replica's; every call blocks. Throws ``ReplicaError`` as ``Replica`` does.
public final class ReplicaReader: ReplicaReading {
    let queries: Queries
    /// The file as it lies there, where that was asked for.
    let specimen: Specimen?

    /// Opens a file that a ``Replica`` has made, also one of a newer version. Blocking.
    ///
    /// - Throws: ``ReplicaError``: `cantOpen` where there is none, `notAReplica`.
    public init(path: String, clock: ReplicaClock = .system) throws(ReplicaError) {
        do throws(SQLiteError) {
            let connection = try ReplicaFile.openReadOnly(path)
            let version = try ReplicaFile.migrator.check(connection, allowsNewer: true)
            guard version > 0 else { throw SQLiteError(.notADatabase, "\(path) is empty") }
            queries = Queries(connection: connection, clock: clock)
            specimen = nil
        } catch {
            throw ReplicaError(error, opening: path)
        }
    }

    /// Opens a file as it lies there – live, copied, without its log, cut off or damaged – changes nothing of it and leaves nothing beside
    /// it (docs/inspector.md). Blocking; where it reads a private copy, as long as copying takes.
    ///
    /// - Throws: ``ReplicaError``: `cantOpen` where there is none, `notAReplica`, `corrupt`; ``FileSurvey`` says more.
    public init(inspecting path: String, clock: ReplicaClock = .system) throws(ReplicaError) {
        do throws(SQLiteError) {
            let specimen = try Specimen(path)
            let version = try ReplicaFile.migrator.check(specimen.connection, allowsNewer: true)
            guard version > 0 else {
                throw SQLiteError(
                    .notADatabase,
                    "\(path) holds no tables: all that was in it stood in its write-ahead log, which is not here")
            }
            queries = Queries(
                connection: specimen.connection, clock: clock, path: path, problems: specimen.problems)
            specimen.judgeClosing()
            self.specimen = specimen
        } catch {
            throw ReplicaError(error, opening: path, advises: false)
        }
    }

    /// A number that moves when another connection, of any process, commits. Blocking.
    public func dataVersion() throws(ReplicaError) -> Int64 {
        do throws(SQLiteError) {
            return try queries.connection.dataVersion()
        } catch {
            throw ReplicaError(error)
        }
    }

    /// What somebody sees who looks now. Blocking.
    public func view() throws(ReplicaError) -> ViewPosition { try queries.read(queries.frame).view }

    /// A page of items, newest delivery first. Blocking.
    public func page(
        _ query: DeliveredQuery, after: PageCursor?, limit: Int = 50
    ) throws(ReplicaError) -> DeliveredPage { try queries.page(query, after, limit) }

    /// An item by its id, silent, expired and archived ones too; nil where it is not there. Blocking.
    public func item(_ id: ItemID) throws(ReplicaError) -> DeliveredItem? { try queries.item(id) }

    /// An item by its number. Blocking.
    public func item(number: Position) throws(ReplicaError) -> DeliveredItem? { try queries.item(number: number) }

    /// An item by its number, where it is one of a query's. Blocking.
    public func item(number: Position, matching query: DeliveredQuery) throws(ReplicaError) -> DeliveredItem? {
        try queries.item(number: number, matching: query)
    }

    /// How many items there are. Blocking.
    public func counts() throws(ReplicaError) -> Counts { try queries.counts(DeliveredQuery()) }

    /// How many items of a query there are. Blocking.
    public func counts(_ query: DeliveredQuery) throws(ReplicaError) -> Counts { try queries.counts(query) }

    /// The device's interests as shown, sorted. Blocking.
    public func interests() throws(ReplicaError) -> [String] { try queries.read(queries.interests) }

    /// Every preference of a user's inbox as shown: the choice, else the catalogue's default; required is on. Blocking.
    public func preferences() throws(ReplicaError) -> [Preference] { try queries.read(queries.preferences) }

    /// The project's categories and channels; nil where the hub has sent none. Blocking.
    public func catalogue() throws(ReplicaError) -> Catalogue? {
        try queries.read(RestTables(connection: queries.connection).catalogue)
    }

    /// What happened to an item, of each kind the first, pending ones too; none where the item is not there. Blocking.
    public func facts(of item: ItemID) throws(ReplicaError) -> [Fact] {
        try queries.read { () throws(SQLiteError) in try queries.facts(of: item) }
    }

    /// Acts that are not settled, in their order, and dead letters. Blocking.
    public func outbox() throws(ReplicaError) -> [OutboxItem] { try queries.read(queries.outbox) }

    /// What the file holds. Blocking; `integrity` reads all of it.
    public func inspect(integrity: Bool = false) throws(ReplicaError) -> Inspection {
        try queries.inspection(integrity)
    }
}

extension Queries {
    fileprivate func page(
        _ query: DeliveredQuery, _ after: PageCursor?, _ limit: Int
    ) throws(ReplicaError) -> DeliveredPage {
        precondition((1...1_000).contains(limit), "a page has 1 to 1,000 items")
        return try searching(query) { () throws(SQLiteError) in try page(query, after: after, limit: limit, frame()) }
    }

    fileprivate func page(
        _ query: DeliveredQuery, above: Position, _ limit: Int
    ) throws(ReplicaError) -> (items: [DeliveredItem], hasMore: Bool) {
        precondition((1...1_000).contains(limit), "a page has 1 to 1,000 items")
        return try searching(query) { () throws(SQLiteError) in
            try page(query, above: above, limit: limit, frame())
        }
    }

    fileprivate func item(_ id: ItemID) throws(ReplicaError) -> DeliveredItem? {
        try read { () throws(SQLiteError) in try item(where: "id = ?5", frame()) { $0.bind(5, id) } }
    }

    fileprivate func item(number: Position) throws(ReplicaError) -> DeliveredItem? {
        try read { () throws(SQLiteError) in try item(where: "position = ?5", frame()) { $0.bind(5, number) } }
    }

    fileprivate func item(number: Position, matching query: DeliveredQuery) throws(ReplicaError) -> DeliveredItem? {
        try searching(query) { () throws(SQLiteError) in try item(at: number, query, frame()) }
    }

    fileprivate func counts(_ query: DeliveredQuery) throws(ReplicaError) -> Counts {
        try searching(query) { () throws(SQLiteError) in try counts(query, frame()) }
    }

    fileprivate func inspection(_ integrity: Bool) throws(ReplicaError) -> Inspection {
        try read { () throws(SQLiteError) in try inspect(integrity: integrity) }
    }
}
