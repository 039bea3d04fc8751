import PealModel

/// An inbox's row.
package struct InboxRow {
    var key: InboxKey
    var project: ProjectKey
    var publicID: [UInt8]
    var kind: Kind
    var epoch: UInt64
    var head: Position
    var chain: UInt64
    var sum: UInt64
    var floor: Position
    /// The version of the project's catalogue that the log holds.
    var catalogue: Int64

    enum Kind: Int64 {
        case user = 0
        case device = 1
        case deleted = 2
    }

    /// Takes a newer place of its log, which its row does not know yet.
    mutating func move(to newer: LogHead?) {
        guard let newer, newer.position > head else { return }
        head = newer.position
        chain = newer.chain
        sum = newer.sum
    }

    /// The id that devices see.
    var id: String { PublicID.text(publicID) }
    /// What admission judges by.
    var log: Admission.Log { Admission.Log(epoch: epoch, head: head, floor: floor) }

    static let columns = "b.id, b.project, b.public, b.kind, b.epoch, b.head, b.chain, b.floor, b.sum, b.catalogue"

    init(_ row: Query, at column: Int32 = 0) throws(HubStoreError) {
        key = InboxKey(row: row.int64(column))
        project = ProjectKey(row: row.int64(column + 1))
        publicID = row.blob(column + 2)
        // 3 is a deleted one whose rows are purged, which makes no difference to anybody else.
        guard let kind = Kind(rawValue: min(row.int64(column + 3), Kind.deleted.rawValue)) else {
            throw HubStoreError(.corrupt, "an inbox of an unknown kind")
        }
        self.kind = kind
        epoch = row.bits(column + 4)
        head = row.int64(column + 5)
        chain = row.bits(column + 6)
        floor = row.int64(column + 7)
        sum = row.bits(column + 8)
        catalogue = row.int64(column + 9)
    }

    init(
        key: InboxKey, project: ProjectKey, publicID: [UInt8], kind: Kind, epoch: UInt64, head: Position = 0,
        chain: UInt64 = 0, sum: UInt64 = 0, floor: Position = 0, catalogue: Int64 = 0
    ) {
        self.key = key
        self.project = project
        self.publicID = publicID
        self.kind = kind
        self.epoch = epoch
        self.head = head
        self.chain = chain
        self.sum = sum
        self.floor = floor
        self.catalogue = catalogue
    }
}

/// A place in a log.
struct LogHead: Equatable, Sendable {
    var position: Position
    var chain: UInt64
    /// The additive sum of the inbox there (docs/sync.md section 8).
    var sum: UInt64
}

/// What both the store and its readers ask about one inbox, on a connection of their own.
package final class InboxQueries {
    /// What the rows do not know yet; a reader's have none, it asks ``DeferredIndex``.
    private let heads: LogHeads?
    /// The rows that the running transaction has locked, on PostgreSQL.
    private let held: HeldInboxes?
    private let byKey: Query
    private let byPublic: Query
    private let liveMarks: Query
    private let oldestMark: Query
    private let itemByID: Query
    private let someInterests: Query

    init(
        _ database: StoreDatabase, heads: LogHeads? = nil, held: HeldInboxes? = nil
    ) throws(HubStoreError) {
        self.heads = heads
        self.held = held
        let lock = held == nil ? "" : " FOR UPDATE"
        byKey = try database.query("SELECT \(InboxRow.columns) FROM inbox b WHERE b.id = ?1\(lock)")
        byPublic = try database.query(
            "SELECT \(InboxRow.columns) FROM inbox b WHERE b.public = ?1 AND b.project = ?2\(lock)")
        liveMarks = try database.query("SELECT kind, up_to, version, author FROM mark WHERE inbox = ?1 AND live = 1")
        oldestMark = try database.query(
            """
            SELECT itime FROM mark WHERE inbox = ?1 AND kind = ?2 AND version > ?3 AND up_to >= ?4
            ORDER BY version LIMIT 1
            """)
        let item = """
            SELECT e.position, e.salt, e.time, \(StoredItem.columns)
            FROM entry e LEFT JOIN state s ON s.inbox = e.inbox AND s.position = e.position
            """
        itemByID = try database.query(
            database.dialect(
                sqlite: "\(item) WHERE e.seq = ?1 AND e.inbox = ?2 AND e.publish > 0",
                // The counter of an item is its position, but for items that have come from SQLite.
                postgres: """
                    \(item) WHERE e.inbox = ?2 AND e.position = ?1 AND e.counter = ?1 AND e.publish > 0
                    UNION ALL
                    \(item) WHERE e.inbox = ?2 AND e.counter = ?1 AND e.counter <> e.position AND e.publish > 0
                    """))
        someInterests = try database.query(
            "SELECT name FROM interest WHERE inbox = ?1 AND name > ?2 ORDER BY name LIMIT ?3")
    }

    func inbox(_ key: InboxKey) throws(HubStoreError) -> InboxRow {
        if let row = held?[key] { return row }
        let found = try byKey.first(key.row) { (row) throws(HubStoreError) in try InboxRow(row) }
        guard var found else { throw HubStoreError(.notFound, "no such inbox") }
        found.move(to: heads?.behind[key])
        held?.hold(found)
        return found
    }

    func inbox(public id: [UInt8], in project: ProjectKey) throws(HubStoreError) -> InboxRow? {
        var found = try byPublic.first(id, project.row) { (row) throws(HubStoreError) in try InboxRow(row) }
        guard let key = found?.key else { return nil }
        if let row = held?[key] { return row }
        found?.move(to: heads?.behind[key])
        if let found { held?.hold(found) }
        return found
    }

    func marks(of inbox: InboxKey) throws(HubStoreError) -> Marks {
        var marks = Marks()
        try liveMarks.forEach(inbox.row) { row in
            if let kind = MarkKind(rawValue: row.text(0)) {
                // Each frontier is stored whole: read-all's part in seen-all has rows of its own.
                marks[kind].add(
                    Mark(
                        upTo: row.int64(1), version: row.int64(2), author: row.withBytes(3) { Author(stored: $0) }))
            }
            return true
        }
        return marks
    }

    /// When a mark first covered a position, marks up to a version left out.
    func markTime(
        _ kind: MarkKind, of inbox: InboxKey, after version: Position, covering position: Position
    ) throws(HubStoreError) -> Milliseconds? {
        try oldestMark.first(inbox.row, kind.rawValue, version, position) { $0.int64(0) }
    }

    func times(of inbox: InboxKey, _ marks: Marks) -> ItemTimes {
        ItemTimes(marks: marks) { (kind, version, position) throws(HubStoreError) in
            try self.markTime(kind, of: inbox, after: version, covering: position)
        }
    }

    /// The item of an id, whose counter is its entry's seq; nil where the entry there is not that very item.
    func item(_ id: ItemID, in inbox: InboxKey) throws(HubStoreError) -> StoredItem? {
        let seq = Int64(id.counter)
        let found = try itemByID.first(seq, inbox.row) { (row) -> (ItemID, StoredItem) in
            let stored = ItemID(time: row.int64(2), counter: id.counter, random: row.bits(1))
            return (stored, StoredItem(row, at: 3, seq: seq, position: row.int64(0)))
        }
        guard let found, found.0 == id else { return nil }
        return found.1
    }

    func interests(of inbox: InboxKey, after name: String, limit: Int) throws(HubStoreError) -> [String] {
        try someInterests.all(inbox.row, name, limit) { $0.text(0) }
    }
}
