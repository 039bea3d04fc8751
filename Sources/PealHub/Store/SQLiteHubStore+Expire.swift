package import PealModel

extension SQLiteHubStore {
    /// One publish a call, found by the range of its entries: what others appended meanwhile is passed over, and counts.
    package func expire(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended] {
        while true {
            let due = try publishQueries.due.first(now) { row in
                (
                    id: row.int64(0), after: max(row.int64(1), row.int64(2) - 1), last: row.int64(3),
                    why: row.isNull(4) ? "expired" : "retract"
                )
            }
            guard let due else { return [] }
            var last = due.after
            var count = 0
            var items: [(inbox: InboxKey, id: ItemID)] = []
            try publishQueries.itemsOf.forEach(due.after, due.last, limit) { row in
                last = row.int64(0)
                count += 1
                if row.int64(4) == due.id {
                    let id = ItemID(time: row.int64(3), counter: UInt64(last), random: row.bits(2))
                    items.append((InboxKey(row: row.int64(1)), id))
                }
                return true
            }
            var appended: [Appended] = []
            for (inbox, id) in items {
                if let entry = try remove([id], why: due.why, from: inbox, now: now) { appended.append(entry) }
            }
            try publishQueries.setExpiring.run(due.id, count < limit ? Int64?.none : Int64?.some(last))
            if !appended.isEmpty { return appended }
        }
    }
}
