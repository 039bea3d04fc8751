#if PostgreSQL
    package import PealModel

    /// The statements that trim and purge logs.
    final class PostgresTrimQueries {
        let inboxesAfter: Query
        let lowestCursor: Query
        let lowest: Query
        let emptyEntries: Query
        let setFloor: Query
        let deletedInbox: Query
        let logOf: Query
        let deleteEntries: Query

        init(_ database: StoreDatabase) throws(HubStoreError) {
            inboxesAfter = try database.query(
                "SELECT id, kind, head, floor FROM inbox WHERE id > ?1 ORDER BY id LIMIT ?2")
            lowestCursor = try database.query("SELECT min(got) FROM replica WHERE inbox = ?1 AND seen_at > ?2")
            lowest = try database.query(
                """
                SELECT e.position, e.publish, e.time, s.deleted FROM entry e
                    LEFT JOIN state s ON s.inbox = e.inbox AND s.position = e.position
                WHERE e.inbox = ?1 AND e.position > ?2 ORDER BY e.position LIMIT ?3
                """)
            emptyEntries = try database.query(
                "UPDATE entry SET bytes = NULL, template = NULL WHERE inbox = ?1 AND position = ANY (?2)")
            setFloor = try database.query("UPDATE inbox SET floor = ?2 WHERE id = ?1")
            deletedInbox = try database.query(
                "SELECT id FROM inbox WHERE kind = 2 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
            logOf = try database.query("SELECT position FROM entry WHERE inbox = ?1 ORDER BY position LIMIT ?2")
            deleteEntries = try database.query("DELETE FROM entry WHERE inbox = ?1 AND position <= ?2")
        }
    }

    extension PostgresHubStore {
        /// A step is an inbox that is looked at or an entry that goes. What stays of a trimmed entry: its position and chain, and all of an item
        /// that is not deleted.
        package func trim(limit: Int, now: Milliseconds) throws(HubStoreError) -> Bool {
            guard trimRound.begin(retention, now: now) else { return false }
            var left = limit
            while left > 0, let after = trimRound.after {
                let wanted = left
                let next = try trimQueries.inboxesAfter.all(after, wanted) { row in
                    (row: row.int64(0), kind: row.int64(1), head: row.int64(2), floor: row.int64(3))
                }
                for inbox in next where left > 0 {
                    var count = 0
                    if inbox.kind < InboxRow.Kind.deleted.rawValue, inbox.head > inbox.floor {
                        count = try trim(InboxKey(row: inbox.row), limit: left, now: now)
                    }
                    if count < left { trimRound.pass(inbox.row) }
                    left -= count + 1
                }
                guard next.count < wanted, trimRound.after == next.last?.row ?? after, left > 0 else { continue }
                trimRound.end()
                return false
            }
            return true
        }

        /// Raises the floor of one log by at most so many entries; returns how many went.
        private func trim(_ inbox: InboxKey, limit: Int, now: Milliseconds) throws(HubStoreError) -> Int {
            var row = try inboxes.inbox(inbox)
            guard row.kind != .deleted else { return 0 }
            let held = try trimQueries.lowestCursor.first(inbox.row, now - retention.hold) { $0.optionalInt64(0) }
            var gone: [(position: Position, isEmptied: Bool)] = []
            try trimQueries.lowest.forEach(inbox.row, row.floor, limit) { found in
                let position = found.int64(0)
                guard retention.trims(position, time: found.int64(2), head: row.head, held: held ?? nil, now: now)
                else { return false }
                gone.append((position, isEmptied: found.int64(1) == 0 || found.bool(3)))
                return true
            }
            guard let last = gone.last else { return 0 }
            let emptied = gone.filter(\.isEmptied).map(\.position)
            if !emptied.isEmpty { try trimQueries.emptyEntries.run(inbox.row, Integers(emptied)) }
            try trimQueries.setFloor.run(inbox.row, last.position)
            row.floor = last.position
            self.held.hold(row)
            return gone.count
        }

        package func purge(limit: Int) throws(HubStoreError) -> Bool {
            guard let row = try trimQueries.deletedInbox.first(read: { $0.int64(0) }) else { return false }
            let positions = try trimQueries.logOf.all(row, limit) { $0.int64(0) }
            if let last = positions.last {
                try trimQueries.deleteEntries.run(row, last)
                try purge(row, through: last)
            }
            if positions.count < limit { try empty(row) }
            return true
        }
    }
#endif
