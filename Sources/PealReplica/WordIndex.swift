internal import PealModel
internal import PealSQLite

/// The words of titles and contents, for searching. It is derived from the items and free to be dropped. Folding does not know it: it is made and
/// filled when somebody searches, so an inbox in which nobody does costs nothing.
///
/// It holds the items from the lowest `low` to the highest `high`, and is filled from the newest down, because those are the ones that people look
/// for. New items come above, and while a first snapshot is being loaded older ones below; a snapshot that is swapped in may bring items anywhere,
/// and drops it. An item that is deleted stays in it and is found by no query, because each joins the items; once more than half of it is like
/// that, it is made anew.
///
/// It is cut in parts of ``partPositions`` positions, a table each, which are searched from the newest on. A word that is still being typed is looked
/// for as a beginning, and for that FTS5 puts together, in memory, all that begins so: in one table of a million items up to 13 MB and 100 ms.
///
/// A connection that only reads searches where another one has filled it.
struct WordIndex {
    /// Positions of one table.
    static let partPositions: Position = 1 << 16

    private let connection: Connection
    /// Items that one transaction takes in: some hundredths of a second.
    private static let chunk = 4_096
    /// Bytes of words that are kept before they are written, of a mebibyte that FTS5 would take.
    private static let memory = 262_144
    /// Below that, what is stale does not matter.
    private static let staleMinimum: Int64 = 1_000

    init(_ connection: Connection) { self.connection = connection }

    /// The part that a position belongs to.
    static func part(of position: Position) -> Int64 { position / partPositions }

    /// The table of a part.
    static func table(_ part: Int64) -> String { "words_\(part)" }

    private struct Extent {
        var low: Position
        var high: Position
        /// How many were taken in.
        var items: Int64
    }

    /// Nil where there is none, or not all of it.
    private func extent() throws(SQLiteError) -> Extent? {
        guard try connection.int("SELECT count(*) FROM sqlite_schema WHERE name = 'word_index'") == 1 else {
            return nil
        }
        // A part may be gone.
        let row = try connection.prepare(
            """
            SELECT min(low), max(high), sum(items), count(*) = (SELECT count(*) FROM sqlite_schema
                WHERE type = 'table' AND name GLOB 'words_[0-9]*' AND sql LIKE 'CREATE VIRTUAL%')
            FROM word_index
            """)
        guard try row.step(), row.bool(3) else { return nil }
        guard !row.isNull(0) else { return Extent(low: 1, high: 0, items: 0) }
        return Extent(low: row.int64(0), high: row.int64(1), items: row.int64(2))
    }

    /// The parts that there are, from the newest on; as of the open transaction.
    func parts() throws(SQLiteError) -> [Int64] {
        guard try connection.int("SELECT count(*) FROM sqlite_schema WHERE name = 'word_index'") == 1 else { return [] }
        let row = try connection.prepare("SELECT part FROM word_index ORDER BY part DESC")
        var parts: [Int64] = []
        while try row.step() { parts.append(row.int64(0)) }
        return parts
    }

    /// Whether every item is in it; as of the open transaction.
    func isComplete() throws(SQLiteError) -> Bool {
        guard let extent = try extent() else { return false }
        return try isComplete(extent)
    }

    private func isComplete(_ extent: Extent) throws(SQLiteError) -> Bool {
        let (lowest, highest) = try bounds()
        return lowest >= extent.low && highest <= extent.high
    }

    /// Of the items.
    private func bounds() throws(SQLiteError) -> (lowest: Position, highest: Position) {
        let bounds = try connection.prepare(
            "SELECT coalesce((SELECT min(position) FROM item), \(Position.max)), coalesce((SELECT max(position) FROM item), 0)"
        )
        return try bounds.step() ? (bounds.int64(0), bounds.int64(1)) : (.max, 0)
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
            // Nothing is in it yet: all of it lies below.
            extent.high = try bounds().highest
            extent.low = extent.high + 1
        }
        var chunk = try above(extent)
        if chunk == nil { chunk = try below(extent) }
        if let chunk {
            let items = try take(chunk)
            extent = Extent(
                low: min(extent.low, chunk.lowerBound), high: max(extent.high, chunk.upperBound),
                items: extent.items + items)
        }
        return try isComplete(extent)
    }

    /// Takes it away, in the open transaction.
    func drop() throws(SQLiteError) {
        let row = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'words*' AND sql LIKE 'CREATE VIRTUAL%'")
        var names: [String] = []
        while try row.step() { names.append(row.text(0)) }
        row.reset()
        for name in names + ["word_index"] { try connection.execute("DROP TABLE IF EXISTS \(name)") }
    }

    private func make() throws(SQLiteError) -> Extent {
        try drop()
        try connection.execute(
            """
            CREATE TABLE word_index (part INTEGER PRIMARY KEY, low INTEGER NOT NULL, high INTEGER NOT NULL,
                items INTEGER NOT NULL) STRICT
            """)
        return Extent(low: 1, high: 0, items: 0)
    }

    /// Not while it is being filled: counting takes as long as taking some in.
    private func isStale(_ extent: Extent) throws(SQLiteError) -> Bool {
        guard extent.items > Self.staleMinimum, try bounds().lowest >= extent.low else { return false }
        return try connection.int("SELECT count(*) FROM item") < extent.items / 2
    }

    // MARK: Taking in

    /// The next positions above, of one part.
    private func above(_ extent: Extent) throws(SQLiteError) -> ClosedRange<Position>? {
        try chunk("SELECT position FROM item WHERE position > \(extent.high) ORDER BY position") { first in
            first / Self.partPositions * Self.partPositions + Self.partPositions - 1
        }
    }

    /// The next positions below, of one part.
    private func below(_ extent: Extent) throws(SQLiteError) -> ClosedRange<Position>? {
        try chunk("SELECT position FROM item WHERE position < \(extent.low) ORDER BY position DESC") { first in
            first / Self.partPositions * Self.partPositions
        }
    }

    /// From the first position of a query on, up to the end of its part.
    private func chunk(
        _ query: String, _ end: (Position) -> Position
    ) throws(SQLiteError) -> ClosedRange<Position>? {
        let row = try connection.prepare(query + " LIMIT 1")
        guard try row.step() else { return nil }
        let first = row.int64(0)
        row.reset()
        let (low, high) = (min(first, end(first)), max(first, end(first)))
        let last = try connection.prepare(
            """
            SELECT min(position), max(position) FROM
                (SELECT position FROM (\(query) LIMIT \(Self.chunk)) WHERE position BETWEEN \(low) AND \(high))
            """)
        return try last.step() ? last.int64(0)...last.int64(1) : nil
    }

    /// - Returns: how many there were.
    private func take(_ positions: ClosedRange<Position>) throws(SQLiteError) -> Int64 {
        let part = Self.part(of: positions.lowerBound)
        let table = Self.table(part)
        if try connection.int("SELECT count(*) FROM word_index WHERE part = \(part)") == 0 {
            // Nobody asks for the text itself, which the item has, or for its length. An index of prefixes would be as large as the items, for a
            // fraction of a millisecond.
            try connection.execute(
                """
                CREATE VIRTUAL TABLE \(table) USING fts5(title, content, content = '', columnsize = 0,
                    tokenize = 'unicode61 remove_diacritics 2');
                INSERT INTO \(table) (\(table), rank) VALUES ('hashsize', \(Self.memory))
                """)
        }
        let insert = """
            INSERT INTO \(table) (rowid, title, content)
            SELECT position, json_extract(body, '$.title'), json_extract(body, '$.content') FROM item
            WHERE position BETWEEN \(positions.lowerBound) AND \(positions.upperBound) AND silent = 0
            """
        do throws(SQLiteError) {
            try connection.execute(insert + " ORDER BY position")
        } catch  where error.code == .sql {
            // A body is damaged. It is not asked for before, because `json_valid` is false for want of memory too.
            try connection.execute(insert + " AND json_valid(body) ORDER BY position")
        }
        let items = Int64(connection.changes)
        try connection.execute(
            """
            INSERT INTO word_index VALUES (\(part), \(positions.lowerBound), \(positions.upperBound), \(items))
            ON CONFLICT (part) DO UPDATE SET low = min(low, excluded.low), high = max(high, excluded.high),
                items = items + excluded.items
            """)
        return items
    }
}

extension Queries {
    /// Reads one state of the file, in which every item can be found by its words where the query asks for some.
    func searching<R>(
        _ query: DeliveredQuery, _ body: () throws(SQLiteError) -> R
    ) throws(ReplicaError) -> R {
        guard Driver(Search.normal(query)) == .words, !searchesWhatIsIndexed else { return try read(body) }
        do throws(SQLiteError) {
            do throws(SQLiteError) {
                return try filled(body)
            } catch {
                // The index may be what is damaged, and it can be made anew.
                guard try dropWords(after: error) else { throw error }
                return try filled(body)
            }
        } catch {
            throw ReplicaError(error)
        }
    }

    /// Takes a damaged index away; nothing else is known to be wrong.
    ///
    /// - Returns: whether there was a reason to.
    func dropWords(after error: SQLiteError) throws(SQLiteError) -> Bool {
        // Primary code 11.
        guard error.code.rawValue & 0xFF == SQLiteError.Code.corrupt.rawValue, !connection.isInTransaction,
            !connection.isReadOnly
        else { return false }
        try connection.transaction(.immediate) { () throws(SQLiteError) in try WordIndex(connection).drop() }
        return true
    }

    /// The branches of a query; of a search, each part of the index is one.
    func branches(_ query: DeliveredQuery, _ driver: Driver, _ frame: Frame) throws(SQLiteError) -> [Branch] {
        try inParts(Branch.all(query, driver: driver, frame))
    }

    /// Branches of which each has a table, still from the newest on.
    func inParts(_ branches: [Branch]) throws(SQLiteError) -> [Branch] {
        guard branches.contains(where: { $0.kind == .words }) else { return branches }
        let parts = try WordIndex(connection).parts()
        return branches.flatMap { branch -> [Branch] in
            guard branch.kind == .words else { return [branch] }
            return parts.compactMap { part in
                let first = part * WordIndex.partPositions
                var piece = branch
                piece.part = part
                piece.above = max(branch.above, first - 1)
                piece.upTo = min(branch.upTo, first + WordIndex.partPositions - 1)
                return piece.above < piece.upTo ? piece : nil
            }
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
