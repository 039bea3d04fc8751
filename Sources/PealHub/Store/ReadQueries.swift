import PealModel

/// The statements that only readers use.
final class ReadQueries {
    let entries: Query
    let entry: Query
    let itemEntry: Query
    let walk: Query
    let walkOne: Query
    /// As `walk` and `walkOne`, for a snapshot: with the bytes, and without what only a list asks of the publish.
    let rows: Query
    let oneRow: Query
    let userByExternalID: Query
    let userByEmail: Query
    let countPending: Query
    let span: Query
    let items: Query

    /// What an entry's bytes are made of (``SQLiteHubReader/content(_:at:)``), of the aliases `e` and `t`.
    private static let content = "e.bytes, t.bytes, e.time, e.seq, e.salt"

    init(_ database: StoreDatabase) throws(HubStoreError) {
        entries = try database.query(
            """
            SELECT l.position, e.chain, \(Self.content) FROM log l JOIN entry e ON e.seq = l.seq
                LEFT JOIN template t ON t.seq = e.template
            WHERE l.inbox = ?1 AND l.position > ?2 ORDER BY l.position LIMIT ?3
            """)
        entry = try database.query(
            """
            SELECT e.chain, \(Self.content) FROM entry e LEFT JOIN template t ON t.seq = e.template WHERE e.seq = ?1
            """)
        itemEntry = try database.query(
            "SELECT \(Self.content) FROM entry e LEFT JOIN template t ON t.seq = e.template WHERE e.seq = ?1")
        walk = try database.query(
            """
            SELECT l.position, l.seq, p.silent, p.expires, p.category, p.topic, \(StoredItem.columns)
            FROM log l CROSS JOIN publish p ON p.id = l.publish
                LEFT JOIN state s ON s.inbox = l.inbox AND s.position = l.position
            WHERE l.inbox = ?1 AND l.position < ?2 AND l.publish > 0 ORDER BY l.position DESC
            """)
        walkOne = try database.query(
            """
            SELECT ?2, ?3, p.silent, p.expires, p.category, p.topic, \(StoredItem.columns)
            FROM publish p LEFT JOIN state s ON s.inbox = ?1 AND s.position = ?2 WHERE p.id = ?4
            """)
        span = try database.query("SELECT id, first_seq, last_seq FROM publish WHERE name = ?1 AND project = ?2")
        items = try database.query(
            """
            SELECT e.seq, e.publish, e.inbox, e.position, e.time, e.salt FROM entry e
            WHERE e.seq > ?1 AND e.seq <= ?2 ORDER BY e.seq LIMIT ?3
            """)
        countPending = try database.query("SELECT count(*) FROM publish WHERE pending IS NOT NULL")
        rows = try database.query(
            """
            SELECT l.position, l.seq, \(StoredItem.columns), \(Self.content)
            FROM log l CROSS JOIN entry e ON e.seq = l.seq LEFT JOIN template t ON t.seq = e.template
                LEFT JOIN state s ON s.inbox = l.inbox AND s.position = l.position
            WHERE l.inbox = ?1 AND l.position < ?2 AND l.publish > 0 ORDER BY l.position DESC
            """)
        oneRow = try database.query(
            """
            SELECT ?2, e.seq, \(StoredItem.columns), \(Self.content)
            FROM entry e LEFT JOIN template t ON t.seq = e.template
                LEFT JOIN state s ON s.inbox = ?1 AND s.position = ?2 WHERE e.seq = ?3
            """)
        userByExternalID = try database.query("\(UserRecord.select) WHERE u.project = ?1 AND u.external_id = ?2")
        userByEmail = try database.query("\(UserRecord.select) WHERE u.project = ?1 AND u.email = ?2")
    }
}
