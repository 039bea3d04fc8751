package import PealModel

/// The statements that trim and purge logs.
final class TrimQueries {
    let inboxAfter: Query
    let lowestCursor: Query
    let lowest: Query
    let emptyEntry: Query
    let setFloor: Query
    let deletedInbox: Query
    let logOf: Query
    let deleteEntry: Query
    let deleteLog: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        inboxAfter = try database.query(
            "SELECT id, kind, head, floor FROM inbox WHERE id > ?1 ORDER BY id LIMIT 1")
        lowestCursor = try database.query("SELECT min(got) FROM replica WHERE inbox = ?1 AND seen_at > ?2")
        lowest = try database.query(
            """
            SELECT l.position, l.seq, l.publish, e.time, s.deleted FROM log l JOIN entry e ON e.seq = l.seq
                LEFT JOIN state s ON s.inbox = l.inbox AND s.position = l.position
            WHERE l.inbox = ?1 AND l.position > ?2 ORDER BY l.position LIMIT ?3
            """)
        emptyEntry = try database.query("UPDATE entry SET bytes = NULL, template = NULL WHERE seq = ?1")
        setFloor = try database.query("UPDATE inbox SET floor = ?2 WHERE id = ?1")
        deletedInbox = try database.query("SELECT id FROM inbox WHERE kind = 2 ORDER BY id LIMIT 1")
        logOf = try database.query("SELECT position, seq FROM log WHERE inbox = ?1 ORDER BY position LIMIT ?2")
        deleteEntry = try database.query("DELETE FROM entry WHERE seq = ?1")
        deleteLog = try database.query("DELETE FROM log WHERE inbox = ?1 AND position <= ?2")
    }
}

extension SQLiteHubStore {
    /// Goes on with the round that raises the floors (docs/sync.md section 8). A step is an inbox that is looked at or an entry that
    /// goes. What stays of a trimmed entry: its position and chain, and all of an item that is not deleted.
    package func trim(limit: Int, now: Milliseconds) throws(HubStoreError) -> Bool {
        guard trimRound.begin(retention, now: now) else { return false }
        var left = limit
        while left > 0, let after = trimRound.after {
            let next = try trimQueries.inboxAfter.first(after) { row in
                (row: row.int64(0), kind: row.int64(1), head: row.int64(2), floor: row.int64(3))
            }
            guard let next else {
                trimRound.end()
                return false
            }
            var count = 0
            if next.kind < InboxRow.Kind.deleted.rawValue, next.head > next.floor {
                count = try trim(next.row, head: next.head, floor: next.floor, limit: left, now: now)
            }
            if count < left { trimRound.pass(next.row) }
            left -= count + 1
        }
        return true
    }

    /// Raises the floor of one log by at most so many entries; returns how many went.
    private func trim(
        _ inbox: Int64, head: Position, floor: Position, limit: Int, now: Milliseconds
    ) throws(HubStoreError) -> Int {
        let held = try trimQueries.lowestCursor.first(inbox, now - retention.hold) { row in
            row.isNull(0) ? nil : row.int64(0)
        }
        var gone: [(position: Position, seq: Int64, isEmptied: Bool)] = []
        try trimQueries.lowest.forEach(inbox, floor, limit) { row in
            let position = row.int64(0)
            // A gap is an entry that `log` lacks as yet: the next group commit writes it, and the next round goes on.
            guard position == floor + Int64(gone.count) + 1,
                retention.trims(position, time: row.int64(3), head: head, held: held ?? nil, now: now)
            else { return false }
            gone.append((position, row.int64(1), isEmptied: row.int64(2) == 0 || row.bool(4)))
            return true
        }
        if heads.behind[InboxKey(row: inbox)] != nil { wantsSettling = true }
        guard let last = gone.last else { return 0 }
        for entry in gone where entry.isEmptied { try trimQueries.emptyEntry.run(entry.seq) }
        try trimQueries.setFloor.run(inbox, last.position)
        return gone.count
    }

    package func purge(limit: Int) throws(HubStoreError) -> Bool {
        guard let row = try trimQueries.deletedInbox.first(read: { $0.int64(0) }) else { return false }
        guard heads.behind[InboxKey(row: row)] == nil else {
            // Its rows of `log` are not all there yet: the next group commit writes them first.
            wantsSettling = true
            return true
        }
        let rows = try trimQueries.logOf.all(row, limit) { (position: $0.int64(0), seq: $0.int64(1)) }
        for entry in rows { try trimQueries.deleteEntry.run(entry.seq) }
        if let last = rows.last?.position {
            try trimQueries.deleteLog.run(row, last)
            try purge(row, through: last)
        }
        if rows.count < limit { try empty(row) }
        return true
    }
}
