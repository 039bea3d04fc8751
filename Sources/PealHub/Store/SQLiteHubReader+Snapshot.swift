import PealModel

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
            func visit(_ found: Query) throws(HubStoreError) -> Bool {
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
}
