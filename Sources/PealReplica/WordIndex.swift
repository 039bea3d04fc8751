internal import PealModel
internal import PealSQLite

/// The words of titles and contents, for searching. It is derived from the items and free to be dropped. Folding does not know it: it is made and
/// filled when somebody searches, so an inbox in which nobody does costs nothing.
///
/// It holds the items from `low` to `high`. New items come above, and while a first snapshot is being loaded older ones below; a snapshot that
/// is swapped in may bring items anywhere, and drops it. An item that is deleted stays in it and is found by no query, because each joins the items;
/// once more than half of it is like that, it is made anew.
///
/// A connection that only reads searches where another one has filled it.
struct WordIndex {
    private let connection: Connection
    /// Items that one transaction takes in: some hundredths of a second.
    private static let chunk = 4_000
    /// Below that, what is stale does not matter.
    private static let staleMinimum: Int64 = 1_000

    init(_ connection: Connection) { self.connection = connection }

    private struct Extent {
        var low: Position
        var high: Position
        /// How many were taken in.
        var items: Int64
    }

    /// Nil where there is none.
    private func extent() throws(SQLiteError) -> Extent? {
        let isThere = try connection.int(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('words', 'word_index')")
        guard isThere == 2 else { return nil }
        let row = try connection.prepare("SELECT low, high, items FROM word_index")
        guard try row.step() else { return nil }
        return Extent(low: row.int64(0), high: row.int64(1), items: row.int64(2))
    }

    /// Whether every item is in it; as of the open transaction.
    func isComplete() throws(SQLiteError) -> Bool {
        guard let extent = try extent() else { return false }
        let bounds = try connection.prepare(
            "SELECT coalesce((SELECT min(position) FROM item), \(Position.max)), coalesce((SELECT max(position) FROM item), 0)"
        )
        guard try bounds.step() else { return true }
        return bounds.int64(0) >= extent.low && bounds.int64(1) <= extent.high
    }

    /// Takes some more items in, in the open transaction.
    ///
    /// - Returns: whether every item is in it now.
    func fill() throws(SQLiteError) -> Bool {
        var extent: Extent
        if let found = try self.extent(), try !isStale(found) {
            extent = found
        } else {
            extent = try make()
        }
        if extent.high < extent.low {
            // Nothing is in it yet: it begins where the items do now, and what comes below is below it.
            extent.low = try connection.int("SELECT coalesce(min(position), 1) FROM item")
            extent.high = extent.low &- 1
        }
        let last = try connection.int(
            """
            SELECT coalesce(max(position), \(extent.high)) FROM
                (SELECT position FROM item WHERE position > \(extent.high) ORDER BY position LIMIT \(Self.chunk))
            """)
        let first = try connection.int(
            """
            SELECT coalesce(min(position), \(extent.low)) FROM
                (SELECT position FROM item WHERE position < \(extent.low) ORDER BY position DESC LIMIT \(Self.chunk))
            """)
        if last > extent.high {
            extent.items += try take(extent.high + 1...last)
            extent.high = last
        } else if first < extent.low {
            extent.items += try take(first...extent.low - 1)
            extent.low = first
        }
        try connection.execute(
            "UPDATE word_index SET low = \(extent.low), high = \(extent.high), items = \(extent.items)")
        return try isComplete()
    }

    /// Takes it away, in the open transaction.
    func drop() throws(SQLiteError) {
        try connection.execute(
            "DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS word_index")
    }

    private func make() throws(SQLiteError) -> Extent {
        try drop()
        // Nobody asks for the text itself: the item has it. An index of prefixes would be as large as the items, for a fraction of a millisecond.
        try connection.execute(
            """
            CREATE VIRTUAL TABLE words
                USING fts5(title, content, content = '', tokenize = 'unicode61 remove_diacritics 2');
            CREATE TABLE word_index (one INTEGER PRIMARY KEY CHECK (one = 1), low INTEGER NOT NULL,
                high INTEGER NOT NULL, items INTEGER NOT NULL) STRICT
            """)
        try connection.execute("INSERT INTO word_index VALUES (1, 1, 0, 0)")
        return Extent(low: 1, high: 0, items: 0)
    }

    private func isStale(_ extent: Extent) throws(SQLiteError) -> Bool {
        guard extent.items > Self.staleMinimum else { return false }
        return try connection.int("SELECT count(*) FROM item") < extent.items / 2
    }

    /// - Returns: how many there were.
    private func take(_ positions: ClosedRange<Position>) throws(SQLiteError) -> Int64 {
        let insert = """
            INSERT INTO words (rowid, title, content)
            SELECT position, json_extract(body, '$.title'), json_extract(body, '$.content') FROM item
            WHERE position BETWEEN \(positions.lowerBound) AND \(positions.upperBound) AND silent = 0
            """
        do throws(SQLiteError) {
            try connection.execute(insert + " ORDER BY position")
        } catch  where error.code == .sql {
            // A body is damaged. It is not asked for before, because `json_valid` is false for want of memory too.
            try connection.execute(insert + " AND json_valid(body) ORDER BY position")
        }
        return Int64(connection.changes)
    }
}

extension Queries {
    /// Reads one state of the file, in which every item can be found by its words where the query asks for some.
    func searching<R>(
        _ query: DeliveredQuery, _ body: () throws(SQLiteError) -> R
    ) throws(ReplicaError) -> R {
        guard Driver(Search.normal(query)) == .words else { return try read(body) }
        do throws(SQLiteError) {
            return try filled(body)
        } catch {
            // The index may be what is damaged, and it can be made anew. Primary code 11.
            guard error.code.rawValue & 0xFF == SQLiteError.Code.corrupt.rawValue, !connection.isInTransaction,
                !connection.isReadOnly
            else {
                throw ReplicaError(error)
            }
        }
        do throws(SQLiteError) {
            try connection.transaction(.immediate) { () throws(SQLiteError) in
                try WordIndex(connection).drop()
            }
            return try filled(body)
        } catch {
            throw ReplicaError(error)
        }
    }

    private func reading<R>(_ body: () throws(SQLiteError) -> R) throws(SQLiteError) -> R {
        connection.isInTransaction ? try body() : try connection.transaction(.deferred, body)
    }

    private func filled<R>(_ body: () throws(SQLiteError) -> R) throws(SQLiteError) -> R {
        let index = WordIndex(connection)
        if connection.isReadOnly {
            return try reading { () throws(SQLiteError) in
                guard try index.isComplete() else {
                    throw SQLiteError(
                        .readOnly, "\(connection.path) has no whole index of words, and is only read here")
                }
                return try body()
            }
        }
        if connection.isInTransaction {
            while try !index.isComplete() { _ = try index.fill() }
            return try body()
        }
        let found = try connection.transaction(.deferred) { () throws(SQLiteError) -> R? in
            try index.isComplete() ? try body() : nil
        }
        if let found { return found }
        while true {
            // The last part and the read are of one state, whoever else writes; between parts others may.
            let found = try connection.transaction(.immediate) {
                () throws(SQLiteError) -> R? in
                try index.fill() ? try body() : nil
            }
            if let found { return found }
        }
    }
}
