import PealModel

extension SQLiteHubReader {
    /// What a fact takes beside its data.
    private static let factOverhead = 80

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
            page.last = try walk(inbox, below: below ?? .max, waiting: waiting) { (found) throws(HubStoreError) in
                let entry = try itemEntry(found.item.seq)
                let facts = hasFacts ? try restQueries.facts(at: found.item.state.position, of: inbox) : []
                let size = facts.reduce(entry.body.count + HubStoreLimits.rowOverhead) {
                    $0 + Self.factOverhead + ($1.data?.count ?? 0)
                }
                guard page.rows.isEmpty || (page.rows.count < maxRows && bytes + size <= maxBytes) else { return false }
                bytes += size
                page.rows.append(
                    SnapshotRow(
                        id: entry.id, publish: entry.publish, time: entry.time, body: entry.body,
                        state: found.item.state, facts: facts))
                page.after = found.item.state.position
                return true
            }
            if page.last {
                page.after = 0
                page.sum = row.sum
            }
            return page
        }
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
