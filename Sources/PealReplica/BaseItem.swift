internal import PealModel
internal import PealSQLite

/// An item of the base with its registers, as the rules see it.
extension ItemState {
    /// Loads the item of an id; nil where it is not there, or where entries from `position` on are in it already.
    static func base(
        _ id: ItemID, before position: Position = .max, _ connection: Connection
    ) throws(SQLiteError) -> ItemState? {
        try connection.statement(
            """
            SELECT i.position, i.seen, i.read, i.read_rank, r.passive, r.since, r.itime, r.author, r.uid,
                i.archived, i.archived_rank, a.passive, a.since, a.itime, a.author, a.uid
            FROM item i LEFT JOIN register r ON r.position = i.position AND r.field = 0
                LEFT JOIN register a ON a.position = i.position AND a.field = 1
            WHERE i.id = ?1 AND i.version < ?2
            """
        ) { (query) throws(SQLiteError) -> ItemState? in
            query.bind(1, id)
            query.bind(2, position)
            guard try query.step() else { return nil }
            return ItemState(
                position: query.int64(0), read: register(query, value: 2, rest: 4),
                archived: register(query, value: 9, rest: 11), seen: query.bool(1))
        }
    }

    /// Reads a register: value and rank from the item, the rest from its own row; nil where nobody has acted. Where a damaged
    /// file has lost the rest, an act through HTTP from before the first entry stands for it: any other wins over it.
    static func register(_ row: borrowing Statement, value: Int32, rest: Int32) -> Register? {
        let rank = row.int64(value + 1)
        guard rank > 0 else { return nil }
        return Register(
            value: row.bool(value), passive: row.bool(rest), since: row.int64(rest + 1), rank: rank,
            itime: row.int64(rest + 2), author: Author(row.text(rest + 3)) ?? .api, uid: row.bits(rest + 4))
    }
}
