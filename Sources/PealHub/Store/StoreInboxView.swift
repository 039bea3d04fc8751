import PealModel

/// An inbox in the running transaction, as `resolve` sees it. Lives for one push or one act; what it caches is what that
/// push has written so far, so throw it away after a savepoint was undone.
package final class StoreInboxView: InboxView {
    var inbox: InboxRow
    var tail: LogTail
    private(set) var marks: Marks
    private let store: any SQLHubStore
    private var items: [ItemID: StoredItem?] = [:]
    private var names: Set<String>?
    private var known: (version: Int64, catalogue: Catalogue?)?

    init(_ inbox: InboxRow, in store: any SQLHubStore) throws(HubStoreError) {
        self.inbox = inbox
        self.store = store
        tail = LogTail(inbox)
        marks = try store.inboxes.marks(of: inbox.key)
    }

    var head: Position { tail.head }

    func stored(_ id: ItemID) throws(HubStoreError) -> StoredItem? {
        if let known = items[id] { return known }
        let found = try store.inboxes.item(id, in: inbox.key)
        items[id] = .some(found)
        return found
    }

    func item(_ id: ItemID) throws(HubStoreError) -> ItemState? { try stored(id)?.state }

    func sent(_ uid: UInt64, by author: Author) throws(HubStoreError) -> Bool {
        try store.actQueries.sent.first(inbox.key.row, uid, author.bytes) { _ in true } ?? false
    }

    func opposed(
        to kind: MarkKind, upTo: Position, since observed: Position
    ) throws(HubStoreError) -> [(id: ItemID, register: Register)] {
        let query: Query
        switch kind {
        case .seen: return []
        case .read: query = store.actQueries.opposedUnread
        case .archive: query = store.actQueries.opposedUnarchived
        }
        let found = try query.all(inbox.key.row, observed, upTo) { row -> (id: ItemID, item: StoredItem) in
            let seq = row.int64(0)
            return (
                ItemID(time: row.int64(3), counter: UInt64(seq), random: row.bits(2)),
                StoredItem(row, at: 4, seq: seq, position: row.int64(1))
            )
        }
        return found.compactMap { id, item in
            items[id] = item
            guard let register = kind == .read ? item.state.read : item.state.archived else { return nil }
            return (id, register)
        }.sorted { $0.id < $1.id }
    }

    func interests() throws(HubStoreError) -> Set<String>? {
        guard inbox.kind == .device else { return nil }
        if let names { return names }
        let all = try store.inboxes.interests(of: inbox.key, after: "", limit: Limits.interestsPerDevice + 1)
        names = Set(all)
        return names
    }

    var isDevice: Bool { inbox.kind == .device }

    func cell(_ key: PreferenceKey) throws(HubStoreError) -> PreferenceCell? {
        try store.rest.cell(key, of: inbox.key)
    }

    func cellCount() throws(HubStoreError) -> Int { try store.rest.cellCount(of: inbox.key) }

    /// The one that the log holds.
    func catalogue() throws(HubStoreError) -> Catalogue? {
        if let known, known.version == inbox.catalogue { return known.catalogue }
        let found = try store.rest.catalogue(inbox.catalogue, of: inbox.project)
        known = (inbox.catalogue, found)
        return found
    }

    func hasFact(_ event: String, of item: ItemID) throws(HubStoreError) -> Bool {
        guard let position = try stored(item)?.state.position else { return false }
        return try store.rest.hasFact(event, at: position, of: inbox.key)
    }

    // MARK: What effects write

    var times: ItemTimes { store.inboxes.times(of: inbox.key, marks) }

    /// Writes an item's row and remembers it.
    func save(_ item: StoredItem, of id: ItemID) throws(HubStoreError) {
        let state = item.state
        if let before = try stored(id)?.state { tail.sum &-= InboxSum.of(id, before) }
        tail.sum &+= InboxSum.of(id, state)
        items[id] = .some(item)
        try store.actQueries.saveItem.run(
            inbox.key.row, state.position, item.seq, state.deleted, state.seen, item.seenAt,
            state.read?.value, state.read?.passive, state.read?.since, state.read?.rank, state.read?.itime,
            state.read?.author.bytes, state.read?.uid, item.readAt,
            state.archived?.value, state.archived?.passive, state.archived?.since, state.archived?.rank,
            state.archived?.itime, state.archived?.author.bytes, state.archived?.uid, item.archivedAt)
    }

    /// Adds a mark; what it dominates is kept for its time only.
    func add(_ kind: MarkKind, _ mark: Mark, by author: Author, itime: Milliseconds) throws(HubStoreError) {
        let old = marks
        marks.add(kind, mark)
        tail.sum = tail.sum &- InboxSum.of(old) &+ InboxSum.of(marks)
        for kind in MarkKind.allCases where marks[kind] != old[kind] {
            for gone in old[kind].marks where !marks[kind].marks.contains(gone) {
                try store.actQueries.retireMark.run(inbox.key.row, kind.rawValue, gone.version)
            }
            try store.actQueries.insertMark.run(
                inbox.key.row, kind.rawValue, mark.version, mark.upTo, itime, author.bytes)
        }
    }

    /// Folds an accepted choice into its cell.
    func choose(_ key: PreferenceKey, _ register: Register) throws(HubStoreError) {
        var cell = PreferenceCell(register)
        if let found = try self.cell(key) {
            cell = found
            cell.fold(register)
            tail.sum &-= InboxSum.preference(key, found)
        }
        tail.sum &+= InboxSum.preference(key, cell)
        let value = cell.register
        let (off, other) = (cell.off, cell.otherOff)
        try store.actQueries.saveCell.run(
            inbox.key.row, key.category, key.channel, value.value, value.since, value.itime, value.author.bytes,
            value.uid, off?.since, off?.author.bytes, off?.uid, other?.since, other?.author.bytes, other?.uid)
    }

    /// Writes a fact; the first of its kind about an item that is there stays.
    func add(_ fact: Fact, about id: ItemID) throws(HubStoreError) {
        guard let item = try stored(id), !item.state.deleted, try !hasFact(fact.event, of: id) else { return }
        let position = item.state.position
        tail.sum &+= InboxSum.fact(fact, at: position)
        try store.actQueries.insertFact.run(
            inbox.key.row, position, fact.event, fact.time, fact.data.map(Array.init))
    }

    /// Deletes the facts about an item.
    func deleteFacts(at position: Position) throws(HubStoreError) {
        for fact in try store.rest.facts(at: position, of: inbox.key) { tail.sum &-= InboxSum.fact(fact, at: position) }
        try store.actQueries.deleteFacts.run(inbox.key.row, position)
    }

    func setInterest(_ name: String, on: Bool) throws(HubStoreError) {
        guard try interests()?.contains(name) != on else { return }
        let hash = InboxSum.interest(name)
        tail.sum = on ? tail.sum &+ hash : tail.sum &- hash
        if on {
            try store.actQueries.insertInterest.run(inbox.project.row, name, inbox.key.row)
            names?.insert(name)
        } else {
            try store.actQueries.deleteInterest.run(inbox.project.row, name, inbox.key.row)
            names?.remove(name)
        }
    }
}
