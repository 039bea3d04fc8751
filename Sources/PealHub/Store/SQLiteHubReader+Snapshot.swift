import PealModel
import PealSQLite

extension SQLiteHubReader {
    func snapshotPage(
        of inbox: InboxKey, id: UInt64?, below: Position?, maxRows: Int, maxBytes: Int
    ) throws(HubStoreError) -> Page {
        try read(inbox) { (row, waiting) throws(HubStoreError) in
            let rest = below == nil ? try rest(of: row) : nil
            var page = Page(
                id: id ?? UInt64(row.head), at: row.head, chain: row.chain, rows: [], after: below ?? row.head + 1,
                last: false, rest: rest)
            var bytes = rest?.size ?? 0
            let hasFacts = try restQueries.hasFacts(in: inbox)
            func visit(_ found: borrowing Statement) throws(HubStoreError) -> Bool {
                guard let row = try snapshotRow(found, of: inbox, hasFacts: hasFacts) else { return true }
                let size = row.wireSize
                guard page.rows.isEmpty || (page.rows.count < maxRows && bytes + size <= maxBytes) else { return false }
                bytes += size
                page.after = row.state.position
                page.rows.append(row)
                return true
            }
            page.last = try merge(
                inbox, below: below ?? .max, waiting: waiting, readQueries.rows,
                one: { (waiting) throws(HubStoreError) in
                    try readQueries.oneRow.first(inbox.row, waiting.position, waiting.seq, read: visit)
                }, visit: visit)
            if page.last {
                page.after = 0
                page.sum = row.sum
            }
            return page
        }
    }

    /// The row of ``ReadQueries/rows``; nil for a deleted item.
    private func snapshotRow(
        _ found: borrowing Statement, of inbox: InboxKey, hasFacts: Bool
    ) throws(HubStoreError) -> SnapshotRow? {
        let state = StoredItem(found, at: 2, seq: found.int64(1), position: found.int64(0)).state
        guard !state.deleted else { return nil }
        let entry = try Self.parts(try Self.content(found, at: 2 + StoredItem.columnCount).array)
        return SnapshotRow(
            id: entry.id, publish: entry.publish, time: entry.time, body: entry.body, state: state,
            facts: hasFacts ? try restQueries.facts(at: state.position, of: inbox) : [])
    }

    private func rest(of inbox: InboxRow) throws(HubStoreError) -> Page.Rest {
        let names =
            inbox.kind == .device
            ? try queries.interests(of: inbox.key, after: "", limit: Limits.interestsPerDevice + 1) : nil
        return Page.Rest(
            marks: try queries.marks(of: inbox.key), interests: names,
            preferences: try restQueries.cells(of: inbox.key),
            catalogue: try restQueries.catalogue(inbox.catalogue, of: inbox.project))
    }

    package func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue? {
        try restQueries.catalogue(of: project, after: 0)
    }

    package func preferences(of inbox: InboxKey) throws(HubStoreError) -> [Preference] {
        try read(inbox) { (row, _) throws(HubStoreError) in
            Preference.all(
                try restQueries.cells(of: inbox).mapValues(\.register.value),
                row.kind == .user ? try restQueries.catalogue(of: row.project, after: 0) : nil)
        }
    }

    package func facts(of item: ItemID, in inbox: InboxKey) throws(HubStoreError) -> [Fact] {
        try read(inbox) { (_, _) throws(HubStoreError) in
            guard let item = try queries.item(item, in: inbox), !item.state.deleted else { return [] }
            return try restQueries.facts(at: item.state.position, of: inbox)
        }
    }
}
