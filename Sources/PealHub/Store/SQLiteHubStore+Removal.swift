package import PealModel
import PealSQLite

extension SQLiteHubStore {
    package func remove(
        _ items: [ItemID], why: String, from inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Appended? {
        precondition(why == "retract" || why == "expired", "the log knows two reasons")
        let row = try inboxes.inbox(inbox)
        guard row.kind != .deleted else { return nil }
        let view = try SQLiteInboxView(row, in: self)
        var known = Set<ItemID>()
        var there: [ItemID] = []
        for id in items where known.insert(id).inserted {
            if let item = try view.stored(id), !item.state.deleted { there.append(id) }
        }
        guard !there.isEmpty else { return nil }
        let bytes = Entry(time: now, kind: .removed(items: there, why: why)).bytes
        try enter(bytes, to: &view.tail, time: now)
        try delete(there, in: view)
        try moveHead(view.tail)
        return Appended(view.tail, content: EntryBytes(bytes), time: now)
    }

    package func retract(
        _ name: String, of project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        try publishQueries.retract.first(name, project.row, now) { _ in true } ?? false
    }

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
