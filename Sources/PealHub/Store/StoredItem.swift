import PealModel

/// An item's row: its state, and when what is true of it became true.
package struct StoredItem {
    var seq: Int64
    var state: ItemState
    var readAt: Milliseconds?
    var seenAt: Milliseconds?
    var archivedAt: Milliseconds?

    /// The columns of `state` that ``init(_:at:seq:position:)`` reads, of the alias `s`.
    static let columns = """
        s.deleted, s.seen, s.seen_at,
        s.read_value, s.read_passive, s.read_since, s.read_rank, s.read_itime, s.read_author, s.read_uid, s.read_at,
        s.archived_value, s.archived_passive, s.archived_since, s.archived_rank, s.archived_itime, s.archived_author,
        s.archived_uid, s.archived_at
        """

    /// How many they are.
    static let columnCount: Int32 = 19

    /// Reads a row whose `state` columns, all NULL where nobody has acted, begin at a column.
    init(_ row: Query, at column: Int32, seq: Int64, position: Position) {
        self.seq = seq
        state = ItemState(position: position)
        guard !row.isNull(column) else { return }
        state.deleted = row.bool(column)
        state.seen = row.bool(column + 1)
        seenAt = row.optionalInt64(column + 2)
        state.read = Self.register(row, at: column + 3)
        readAt = row.optionalInt64(column + 10)
        state.archived = Self.register(row, at: column + 11)
        archivedAt = row.optionalInt64(column + 18)
    }

    private static func register(_ row: Query, at column: Int32) -> Register? {
        guard !row.isNull(column) else { return nil }
        return Register(
            value: row.bool(column), passive: row.bool(column + 1), since: row.int64(column + 2),
            rank: row.int64(column + 3), itime: row.int64(column + 4),
            author: row.withBytes(column + 5) { Author(stored: $0) }, uid: row.bits(column + 6))
    }
}

/// When what is true of an item became true. A later mark does not move it: reading twice keeps the first time.
struct ItemTimes {
    let marks: Marks
    /// The time of the oldest mark of a kind with a version above the second parameter that covers a position.
    let markTime: (MarkKind, Position, Position) throws(HubStoreError) -> Milliseconds?

    /// When the item was read; nil where it is not.
    func readAt(_ item: StoredItem) throws(HubStoreError) -> Milliseconds? {
        guard marks.isRead(item.state) else { return nil }
        return try time(.read, item.state.read, item.readAt, item.state.position)
    }

    /// When the item was archived; nil where it is not.
    func archivedAt(_ item: StoredItem) throws(HubStoreError) -> Milliseconds? {
        guard marks.isArchived(item.state) else { return nil }
        return try time(.archive, item.state.archived, item.archivedAt, item.state.position)
    }

    /// When the item was seen; nil where it is not.
    func seenAt(_ item: StoredItem) throws(HubStoreError) -> Milliseconds? {
        guard marks.isSeen(item.state) else { return nil }
        return item.state.seen ? item.seenAt : try markTime(.seen, 0, item.state.position)
    }

    private func time(
        _ kind: MarkKind, _ register: Register?, _ at: Milliseconds?, _ position: Position
    ) throws(HubStoreError) -> Milliseconds? {
        if let register, register.value { return at ?? register.itime }
        return try markTime(kind, register?.rank ?? 0, position)
    }
}
