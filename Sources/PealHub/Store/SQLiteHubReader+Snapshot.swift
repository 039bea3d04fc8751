import PealModel

extension SQLiteHubReader {
    func snapshotPage(
        of inbox: InboxKey, id: UInt64?, below: Position?, maxRows: Int, maxBytes: Int
    ) throws(HubStoreError) -> Page {
        try read(inbox) { (row, waiting) throws(HubStoreError) in
            var page = Page(
                id: id ?? UInt64(row.head), at: row.head, chain: row.chain, rows: [], after: below ?? row.head + 1,
                last: false)
            var bytes = 0
            page.last = try walk(inbox, below: below ?? .max, waiting: waiting) { (found) throws(HubStoreError) in
                let entry = try itemEntry(found.item.seq)
                let size = entry.body.count + HubStoreLimits.rowOverhead
                guard page.rows.isEmpty || (page.rows.count < maxRows && bytes + size <= maxBytes) else { return false }
                bytes += size
                page.rows.append(
                    SnapshotRow(
                        id: entry.id, publish: entry.publish, time: entry.time, body: entry.body,
                        state: found.item.state))
                page.after = found.item.state.position
                return true
            }
            if page.last {
                page.after = 0
                page.sum = row.sum
            }
            if below == nil { page.rest = try rest(of: row) }
            return page
        }
    }

    private func rest(of inbox: InboxRow) throws(HubStoreError) -> Page.Rest {
        let names =
            inbox.kind == .device
            ? try queries.interests(of: inbox.key, after: "", limit: Limits.interestsPerDevice + 1) : nil
        return Page.Rest(marks: try queries.marks(of: inbox.key), interests: names)
    }
}
