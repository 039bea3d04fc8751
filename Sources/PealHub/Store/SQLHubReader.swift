import PealModel

/// A reader of an SQL database: what is alike in SQLite and PostgreSQL stands in extensions of this.
protocol SQLHubReader: HubReader {
    var queries: InboxQueries { get }
    var restQueries: RestQueries { get }
    var outcomeQueries: OutcomeQueries { get }

    /// Runs a body that asks one thing, or things that need not be of one moment; not within another one's.
    func ask<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R
    /// Runs a body in one transaction, with the row of an inbox; what it reads is of one moment.
    func standing<R>(
        _ inbox: InboxKey, _ body: (InboxRow) throws(HubStoreError) -> R
    ) throws(HubStoreError) -> R
    /// The parts of an item's entry.
    func entry(of item: StoredItem, in inbox: InboxKey) throws(HubStoreError) -> ItemParts
}

extension SQLHubReader {
    func item(_ id: ItemID, of inbox: InboxKey, now: Milliseconds) throws(HubStoreError) -> ListedItem? {
        try standing(inbox) { (_) throws(HubStoreError) in
            guard let item = try queries.item(id, in: inbox), !item.state.deleted else { return nil }
            let times = queries.times(of: inbox, try queries.marks(of: inbox))
            let listed = try ListedItem(item, try entry(of: item, in: inbox), times)
            if let expires = listed.body.expires, expires <= now { return nil }
            return listed
        }
    }

    /// What an entry is made of, from a column on: bytes, the template's bytes, time, counter and salt.
    static func content(_ row: Query, at column: Int32) throws(HubStoreError) -> EntryBytes {
        guard !row.isNull(column + 1) else { return EntryBytes(row.blob(column)) }
        guard let template = ItemTemplate(row.blob(column + 1)) else {
            throw HubStoreError(.corrupt, "a template names no id")
        }
        return template.entry(
            ItemID(
                time: row.int64(column + 2), counter: UInt64(row.int64(column + 3)), random: row.bits(column + 4)))
    }

    /// A snapshot's row of position, seq or counter, state and content; nil for a deleted item.
    func snapshotRow(
        _ found: Query, of inbox: InboxKey, hasFacts: Bool
    ) throws(HubStoreError) -> SnapshotRow? {
        let state = StoredItem(found, at: 2, seq: found.int64(1), position: found.int64(0)).state
        guard !state.deleted else { return nil }
        let entry = try ItemParts(try Self.content(found, at: 2 + StoredItem.columnCount).array)
        return SnapshotRow(
            id: entry.id, publish: entry.publish, time: entry.time, body: entry.body, state: state,
            facts: hasFacts ? try restQueries.facts(at: state.position, of: inbox) : [])
    }

    /// What the first page of a snapshot carries beside rows.
    func rest(of inbox: InboxRow) throws(HubStoreError) -> Page.Rest {
        let names =
            inbox.kind == .device
            ? try queries.interests(of: inbox.key, after: "", limit: Limits.interestsPerDevice + 1) : nil
        return Page.Rest(
            marks: try queries.marks(of: inbox.key), interests: names,
            preferences: try restQueries.cells(of: inbox.key),
            catalogue: try restQueries.catalogue(inbox.catalogue, of: inbox.project))
    }

    func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue? {
        try ask { () throws(HubStoreError) in try restQueries.catalogue(of: project, after: 0) }
    }

    func preferences(of inbox: InboxKey) throws(HubStoreError) -> [Preference] {
        try standing(inbox) { (row) throws(HubStoreError) in
            Preference.all(
                try restQueries.cells(of: inbox).mapValues(\.register.value),
                row.kind == .user ? try restQueries.catalogue(of: row.project, after: 0) : nil)
        }
    }

    func facts(of item: ItemID, in inbox: InboxKey) throws(HubStoreError) -> [Fact] {
        try standing(inbox) { (_) throws(HubStoreError) in
            guard let item = try queries.item(item, in: inbox), !item.state.deleted else { return [] }
            return try restQueries.facts(at: item.state.position, of: inbox)
        }
    }
}
