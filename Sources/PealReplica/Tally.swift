internal import PealModel
internal import PealSQLite

/// What new rows of items add to the table `tally`, gathered block by block: rows that follow each other share its writes. Rows
/// without an overlay only; triggers see to everything that happens to a row later.
struct Tally {
    /// What a block holds, of all items or of a category.
    private struct Sums {
        var listed: Int64 = 0
        var unread: Int64 = 0
        var unseen: Int64 = 0

        mutating func add(read: Bool, seen: Bool) {
            listed += 1
            if !read { unread += 1 }
            if !seen { unseen += 1 }
        }
    }

    private var block: Int64 = -1
    private var all = Sums()
    /// By their bytes: two spellings of a letter are two categories to SQLite.
    private var categories: [[UInt8]: Sums] = [:]

    /// A row was inserted; `category` is empty for none.
    mutating func add(
        _ position: Position, category: ArraySlice<UInt8>, silent: Bool, read: Bool, seen: Bool, archived: Bool,
        _ connection: Connection
    ) throws(SQLiteError) {
        if position >> 10 != block {
            try write(connection)
            block = position >> 10
        }
        guard !silent, !archived else { return }
        all.add(read: read, seen: seen)
        if !category.isEmpty { categories[Array(category), default: Sums()].add(read: read, seen: seen) }
    }

    /// Writes what was gathered; before the transaction ends.
    mutating func write(_ connection: Connection) throws(SQLiteError) {
        guard all.listed > 0 else { return }
        try write([], all, connection)
        for (category, sums) in categories { try write(category, sums, connection) }
        all = Sums()
        categories.removeAll(keepingCapacity: true)
    }

    private func write(_ category: [UInt8], _ sums: Sums, _ connection: Connection) throws(SQLiteError) {
        try connection.statement(
            """
            INSERT INTO tally (category, block, listed, unread, unseen) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (category, block)
                DO UPDATE SET listed = listed + ?3, unread = unread + ?4, unseen = unseen + ?5
            """
        ) { (upsert) throws(SQLiteError) in
            upsert.bind(1, text: category[...])
            upsert.bind(2, block)
            upsert.bind(3, sums.listed)
            upsert.bind(4, sums.unread)
            upsert.bind(5, sums.unseen)
            try upsert.run()
        }
    }

    /// What the table is to hold, from the rows.
    static let rows = """
        SELECT '' AS category, position >> 10 AS block, count(*) AS listed, sum(coalesce(o_read, read) = 0) AS unread,
            sum(coalesce(o_seen, seen) = 0) AS unseen FROM item
        WHERE silent = 0 AND o_deleted IS NULL AND coalesce(o_archived, archived) = 0 GROUP BY 2
        UNION ALL
        SELECT category, position >> 10, count(*), sum(coalesce(o_read, read) = 0), sum(coalesce(o_seen, seen) = 0)
        FROM item INDEXED BY item_category WHERE category <> ''
            AND silent = 0 AND o_deleted IS NULL AND coalesce(o_archived, archived) = 0 GROUP BY 1, 2
        """

    /// Computes the whole table anew: after a swap.
    static let rebuild = "DELETE FROM tally; INSERT INTO tally (category, block, listed, unread, unseen) \(rows)"
}
