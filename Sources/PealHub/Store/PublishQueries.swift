import PealModel

/// The statements that publish, fan out and take back.
final class PublishQueries {
    let byName: Query
    let insert: Query
    let matching: Query
    let freeze: Query
    let freezeOne: Query
    let countTargets: Query
    let pending: Query
    let targets: Query
    let deleteTargets: Query
    let setMatched: Query
    let advance: Query
    let finish: Query
    let due: Query
    let itemsOf: Query
    let setExpiring: Query
    let collapsed: Query
    let setCollapsed: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        byName = try database.query("SELECT matched FROM publish WHERE name = ?1")
        insert = try database.query(
            """
            INSERT INTO publish (name, project, time, category, topic, silent, expires, first_seq, last_seq, matched, pending,
                expiring, collapse)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) RETURNING id
            """)
        matching = try database.query(
            """
            SELECT i.inbox, b.head, b.chain, b.sum FROM interest i JOIN inbox b ON b.id = i.inbox
            WHERE i.project = ?1 AND i.name = ?2 ORDER BY i.inbox LIMIT ?3
            """)
        freeze = try database.query(
            """
            INSERT INTO target (publish, inbox, matched_low, matched_high)
            SELECT ?1, inbox, ?4, ?5 FROM interest WHERE project = ?2 AND name = ?3 ORDER BY inbox
            ON CONFLICT DO UPDATE SET matched_low = matched_low | ?4, matched_high = matched_high | ?5
            """)
        freezeOne = try database.query(
            "INSERT INTO target (publish, inbox, matched_low, matched_high) VALUES (?1, ?2, 0, 0) ON CONFLICT DO NOTHING"
        )
        countTargets = try database.query("SELECT count(*) FROM target WHERE publish = ?1")
        pending = try database.query(
            """
            SELECT id, name, pending, first_seq, collapse, retracted FROM publish WHERE pending IS NOT NULL
            ORDER BY id LIMIT 1
            """)
        targets = try database.query(
            """
            SELECT t.inbox, b.head, b.chain, b.sum, b.kind, t.matched_low, t.matched_high FROM target t JOIN inbox b ON b.id = t.inbox
            WHERE t.publish = ?1 ORDER BY t.inbox LIMIT ?2
            """)
        deleteTargets = try database.query("DELETE FROM target WHERE publish = ?1 AND inbox <= ?2")
        setMatched = try database.query("UPDATE publish SET matched = ?2 WHERE id = ?1")
        advance = try database.query("UPDATE publish SET first_seq = ?2, last_seq = ?3 WHERE id = ?1")
        finish = try database.query("UPDATE publish SET pending = NULL WHERE id = ?1")
        due = try database.query(
            """
            SELECT id, expiring, first_seq, last_seq, retracted FROM publish
            WHERE expiring IS NOT NULL AND expires <= ?1 AND pending IS NULL ORDER BY expires LIMIT 1
            """)
        itemsOf = try database.query(
            """
            SELECT e.seq, e.inbox, e.salt, e.time, e.publish FROM entry e WHERE e.seq > ?1 AND e.seq <= ?2
            ORDER BY e.seq LIMIT ?3
            """)
        setExpiring = try database.query("UPDATE publish SET expiring = ?2 WHERE id = ?1")
        collapsed = try database.query(
            """
            SELECT e.time, e.seq, e.salt FROM collapse c JOIN entry e ON e.seq = c.seq AND e.inbox = c.inbox
            WHERE c.inbox = ?1 AND c.key = ?2
            """)
        setCollapsed = try database.query(
            """
            INSERT INTO collapse (inbox, key, seq) VALUES (?1, ?2, ?3)
            ON CONFLICT (inbox, key) DO UPDATE SET seq = excluded.seq
            """)
    }
}
