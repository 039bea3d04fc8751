#if PostgreSQL
    /// The statements that only readers use.
    final class PostgresReadQueries {
        let chain: Query
        let entries: Query
        let itemEntry: Query
        let walk: Query
        /// As `walk`, for a snapshot: with the bytes, and without what only a list asks of the publish.
        let rows: Query
        let deliveries: Query
        let publishKey: Query
        let userByExternalID: Query
        let userByEmail: Query
        let countPending: Query

        /// What an entry's bytes are made of (``PostgresHubReader/content(_:at:)``), of the aliases `e` and `t`.
        private static let content = "e.bytes, t.bytes, e.time, e.counter, e.salt"

        init(_ database: StoreDatabase) throws(HubStoreError) {
            chain = try database.query("SELECT chain FROM entry WHERE inbox = ?1 AND position = ?2")
            entries = try database.query(
                """
                SELECT e.position, e.chain, \(Self.content) FROM entry e LEFT JOIN template t ON t.id = e.template
                WHERE e.inbox = ?1 AND e.position > ?2 ORDER BY e.position LIMIT ?3
                """)
            itemEntry = try database.query(
                """
                SELECT \(Self.content) FROM entry e LEFT JOIN template t ON t.id = e.template
                WHERE e.inbox = ?1 AND e.position = ?2
                """)
            walk = try database.query(
                """
                SELECT e.position, e.counter, p.silent, p.expires, p.category, p.topic, \(StoredItem.columns)
                FROM entry e JOIN publish p ON p.id = e.publish
                    LEFT JOIN state s ON s.inbox = e.inbox AND s.position = e.position
                WHERE e.inbox = ?1 AND e.position < ?2 AND e.publish > 0 ORDER BY e.position DESC LIMIT ?3
                """)
            rows = try database.query(
                """
                SELECT e.position, e.counter, \(StoredItem.columns), \(Self.content)
                FROM entry e LEFT JOIN template t ON t.id = e.template
                    LEFT JOIN state s ON s.inbox = e.inbox AND s.position = e.position
                WHERE e.inbox = ?1 AND e.position < ?2 AND e.publish > 0 ORDER BY e.position DESC LIMIT ?3
                """)
            deliveries = try database.query(
                """
                SELECT inbox, position, time, counter, salt FROM entry WHERE publish = ?1 AND publish > 0 AND inbox > ?2
                ORDER BY inbox LIMIT ?3
                """)
            publishKey = try database.query("SELECT id FROM publish WHERE name = ?1 AND project = ?2")
            countPending = try database.query("SELECT count(*) FROM publish WHERE pending IS NOT NULL")
            userByExternalID = try database.query("\(UserRecord.select) WHERE u.project = ?1 AND u.external_id = ?2")
            userByEmail = try database.query("\(UserRecord.select) WHERE u.project = ?1 AND u.email = ?2")
        }
    }
#endif
