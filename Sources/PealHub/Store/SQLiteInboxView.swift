import PealModel
import PealSQLite

/// An inbox in the running transaction, as `resolve` sees it. Lives for one push or one act; what it caches is what that
/// push has written so far, so throw it away after a savepoint was undone.
final class SQLiteInboxView: InboxView {
    let inbox: InboxRow
    var tail: LogTail
    private(set) var marks: Marks
    private let store: SQLiteHubStore
    private var items: [ItemID: StoredItem?] = [:]
    private var names: Set<String>?

    init(_ inbox: InboxRow, in store: SQLiteHubStore) throws(HubStoreError) {
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
    func add(_ kind: MarkKind, _ mark: Mark, itime: Milliseconds) throws(HubStoreError) {
        let old = marks
        marks.add(kind, mark)
        tail.sum = tail.sum &- InboxSum.of(old) &+ InboxSum.of(marks)
        for kind in MarkKind.allCases where marks[kind] != old[kind] {
            for gone in old[kind].marks where !marks[kind].marks.contains(gone) {
                try store.actQueries.retireMark.run(inbox.key.row, kind.rawValue, gone.version)
            }
            try store.actQueries.insertMark.run(inbox.key.row, kind.rawValue, mark.version, mark.upTo, itime)
        }
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
