internal import PealModel
internal import PealSQLite

/// What new rows of items add to the table `tally`, gathered block by block: rows that follow each other share its writes. Rows
/// without an overlay only; triggers see to everything that happens to a row later.
struct Tally {
    private var block: Int64 = -1
    private var listed: Int64 = 0
    private var unread: Int64 = 0
    private var unseen: Int64 = 0

    /// A row was inserted.
    mutating func add(
        _ position: Position, silent: Bool, read: Bool, seen: Bool, archived: Bool, _ connection: Connection
    ) throws(SQLiteError) {
        if position >> 10 != block {
            try write(connection)
            block = position >> 10
        }
        guard !silent, !archived else { return }
        listed += 1
        if !read { unread += 1 }
        if !seen { unseen += 1 }
    }

    /// Writes what was gathered; before the transaction ends.
    mutating func write(_ connection: Connection) throws(SQLiteError) {
        guard listed > 0 else { return }
        try connection.statement(
            """
            INSERT INTO tally (block, listed, unread, unseen) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (block) DO UPDATE SET listed = listed + ?2, unread = unread + ?3, unseen = unseen + ?4
            """
        ) { (upsert) throws(SQLiteError) in
            upsert.bind(1, block)
            upsert.bind(2, listed)
            upsert.bind(3, unread)
            upsert.bind(4, unseen)
            try upsert.run()
        }
        (listed, unread, unseen) = (0, 0, 0)
    }

    /// Computes the whole table anew: after a swap.
    static let rebuild = """
        DELETE FROM tally;
        INSERT INTO tally (block, listed, unread, unseen)
        SELECT position >> 10, count(*), sum(coalesce(o_read, read) = 0), sum(coalesce(o_seen, seen) = 0) FROM item
        WHERE silent = 0 AND o_deleted IS NULL AND coalesce(o_archived, archived) = 0 GROUP BY 1
        """
}
