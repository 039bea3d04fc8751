internal import PealModel
internal import PealSQLite

/// The reading half of a replica, for either connection. Each answer is of one state of the file.
///
/// Shown is base and overlay, and marks never rewrite rows: at or below the highest mark an item is read unless a single
/// choice stands against it, and those are few and have an index. So a list of unread items is what lies above the highest
/// mark, from one partial index, and the loose ones at or below it, from another.
final class Queries {
    let connection: Connection
    let clock: ReplicaClock
    /// Where the file lies; the connection may have a copy of it.
    let path: String
    /// What is wrong with it as a file, where somebody has looked.
    let fileProblems: [String]
    /// A search looks at what is in the index of words, whether or not all items are.
    var searchesWhatIsIndexed = false

    init(connection: Connection, clock: ReplicaClock, path: String? = nil, problems: [String] = []) {
        self.connection = connection
        self.clock = clock
        fileProblems = problems
        self.path = path ?? connection.path
    }

    func read<R>(_ body: () throws(SQLiteError) -> R) throws(ReplicaError) -> R {
        do throws(SQLiteError) {
            // Within `Replica.consistently` the transaction is there already.
            if connection.isInTransaction { return try body() }
            // Prepared once: a page is read too often to parse the words around it each time.
            try connection.statement("BEGIN DEFERRED") { (begin) throws(SQLiteError) in try begin.run() }
            do throws(SQLiteError) {
                let result = try body()
                try connection.statement("COMMIT") { (commit) throws(SQLiteError) in try commit.run() }
                return result
            } catch {
                connection.rollback()
                throw error
            }
        } catch {
            throw ReplicaError(error)
        }
    }

    /// What every query needs to know beside the rows.
    struct Frame {
        var view: ViewPosition
        /// How far marks reach, pending ones included.
        var readUpTo: Position
        var seenUpTo: Position
        var archiveUpTo: Position
        /// The hub's clock, for what has expired.
        var now: Milliseconds
        /// A first snapshot is being loaded: not everything is there yet.
        var isPartial: Bool
    }

    func frame() throws(SQLiteError) -> Frame {
        try connection.statement(
            """
            SELECT position, time, clock_offset, synced,
                max(pending_read, coalesce((SELECT max(up_to) FROM mark WHERE kind = 'read'), 0)),
                max(pending_seen, coalesce((SELECT max(up_to) FROM mark WHERE kind = 'seen'), 0)),
                max(pending_archive, coalesce((SELECT max(up_to) FROM mark WHERE kind = 'archive'), 0)),
                EXISTS (SELECT 1 FROM stage WHERE one = 1 AND partial = 1)
            FROM replica WHERE one = 1
            """
        ) { (row) throws(SQLiteError) in
            guard try row.step() else { throw SQLiteError(.corrupt, "the row of the replica is gone") }
            return Frame(
                view: ViewPosition(position: row.int64(0), time: row.int64(1)), readUpTo: row.int64(4),
                seenUpTo: row.int64(5), archiveUpTo: row.int64(6),
                now: max(clock.wall() + row.number(2), row.int64(1), row.int64(3)), isPartial: row.bool(7))
        }
    }

    // MARK: Items

    static let itemColumns = itemColumns(read: Shown.read, seen: Shown.seen, archived: Shown.archived)

    private static func itemColumns(read: String, seen: String, archived: String) -> String {
        """
        position, id, publish, time, sent, type, category, topic, expires, silent, \(read), \(seen), \(archived), body
        """
    }

    /// The columns of a page, with no more to compute than its rows can differ in: not what the query asks for, nor marks that do not
    /// reach so far.
    private static func itemColumns(_ shape: Shape) -> String {
        func shown(_ wanted: Bool?, _ reaches: Bool, _ general: String, _ aboveMarks: String) -> String {
            if let wanted { return wanted ? "1" : "0" }
            return reaches ? general : aboveMarks
        }
        return itemColumns(
            read: shown(shape.query.read, shape.read, Shown.read, Shown.readAboveMarks),
            seen: shown(shape.query.seen, shape.seen, Shown.seen, Shown.seenAboveMarks),
            archived: shown(shape.query.archived, shape.archived, Shown.archived, Shown.archivedAboveMarks))
    }

    static func item(_ row: borrowing Statement) -> DeliveredItem {
        DeliveredItem(
            id: row.itemID(1), number: row.int64(0), publish: row.text(2), time: row.int64(3), sent: row.int64(4),
            type: row.text(5), category: row.optionalText(6), topic: row.optionalText(7),
            expires: row.optionalInt64(8), silent: row.bool(9), read: row.bool(10), seen: row.bool(11),
            archived: row.bool(12), body: row.blob(13)[...])
    }

    func page(
        _ query: DeliveredQuery, after: PageCursor?, limit: Int, _ frame: Frame
    ) throws(SQLiteError) -> DeliveredPage {
        let query = try normal(query)
        let driver = Driver(query)
        let parts = Self.parts(query, driver)
        // One more than is wanted shows whether there is a next page.
        var items: [DeliveredItem] = []
        items.reserveCapacity(min(limit, 200) + 1)
        for var branch in try branches(query, driver, frame) {
            // In the branch's own bound: SQLite takes one of two bounds for its index, and walks to the other.
            if let before = after?.before {
                guard before > branch.above + 1 else { continue }
                branch.upTo = min(branch.upTo, before - 1)
            }
            try rows(parts, branch, limit + 1, frame, into: &items)
            // Branches go downwards and do not overlap.
            if items.count > limit { break }
        }
        let isLast = items.count <= limit
        if !isLast { items.removeLast(items.count - limit) }
        return DeliveredPage(
            items: items, next: isLast ? nil : items.last.map { PageCursor(before: $0.number) }, view: frame.view,
            isPartial: frame.isPartial)
    }

    /// The items of a query that lie just above a position, the nearest ones, newest first; and whether there are more above them.
    func page(
        _ query: DeliveredQuery, above: Position, limit: Int, _ frame: Frame
    ) throws(SQLiteError) -> (items: [DeliveredItem], hasMore: Bool) {
        let query = try normal(query)
        let driver = Driver(query)
        let parts = Self.parts(query, driver)
        var items: [DeliveredItem] = []
        for var branch in try branches(query, driver, frame).reversed() {
            guard branch.upTo > above else { continue }
            branch.above = max(branch.above, above)
            try rows(parts, branch, limit + 1, isUpward: true, frame, into: &items)
            if items.count > limit { break }
        }
        let hasMore = items.count > limit
        if hasMore { items.removeLast(items.count - limit) }
        return (items.reversed(), hasMore)
    }

    /// Adds up to a number of rows of a branch: each part comes sorted, and no item is in two.
    func rows(
        _ parts: [DeliveredQuery], _ branch: Branch, _ count: Int, isUpward: Bool = false, _ frame: Frame,
        into items: inout [DeliveredItem]
    ) throws(SQLiteError) {
        let first = items.count
        for part in parts {
            // In place: an array of its own for each part would be copied, item by item.
            try run(part, branch, page: count, isUpward: isUpward, frame) { (row) throws(SQLiteError) in
                while try row.step() { items.append(Self.item(row)) }
            }
        }
        if parts.count > 1 { items[first...].sort { ($0.number > $1.number) != isUpward } }
    }

    /// The item at a position, where it is one of the query's: one look into the table.
    func item(at position: Position, _ query: DeliveredQuery, _ frame: Frame) throws(SQLiteError) -> DeliveredItem? {
        let query = try normal(query)
        let kind: Branch.Kind = Driver(query) == .words ? .words : .table
        guard let branch = try inParts([Branch(kind: kind, above: position - 1, upTo: position)]).first else {
            return nil
        }
        return try run(query, branch, page: 1, frame) { (row) throws(SQLiteError) in
            try row.step() ? Self.item(row) : nil
        }
    }

    func item(where condition: String, _ frame: Frame, bind: (borrowing Statement) -> Void) throws(SQLiteError)
        -> DeliveredItem?
    {
        let query = try connection.prepare(
            "SELECT \(Self.itemColumns) FROM item WHERE \(condition) AND o_deleted IS NULL AND body <> ''")
        bindFrame(frame, query)
        bind(query)
        return try query.step() ? Self.item(query) : nil
    }

    // MARK: Interests

    /// The query as statements want it: blank text is none, and its interests are those texts of the column that name one of them, each of
    /// which has a range of its own in the index. There are few: what publishes name together, as far as this device has it.
    func normal(_ query: DeliveredQuery) throws(SQLiteError) -> DeliveredQuery {
        var normal = Search.normal(query)
        guard let wanted = query.interests else { return normal }
        let names = wanted.map { name in
            var writer = JSONWriter(capacity: 64)
            writer.string(name)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        normal.interests = try connection.statement(Self.interestTexts) { (row) throws(SQLiteError) in
            row.bind(1, String(decoding: ItemBody.text(names), as: UTF8.self))
            var texts: [String] = []
            while try row.step() { texts.append(row.text(0)) }
            return texts
        }
        return normal
    }

    /// From one text of the index to the next one, however many items have it.
    static let interestTexts: StaticString = """
        WITH RECURSIVE texts(text) AS (
            SELECT min(interests) FROM item INDEXED BY item_interests WHERE interests IS NOT NULL
            UNION ALL
            SELECT (SELECT min(interests) FROM item INDEXED BY item_interests WHERE interests > texts.text) FROM texts
            WHERE texts.text IS NOT NULL)
        SELECT text FROM texts WHERE text IS NOT NULL AND EXISTS
            (SELECT 1 FROM json_each(?1) AS wanted WHERE instr(text, wanted.value) > 0)
        """

    /// What each branch of a page is asked for, so that each answer comes sorted out of its index.
    private static func parts(_ query: DeliveredQuery, _ driver: Driver) -> [DeliveredQuery] {
        guard driver == .interests, let texts = query.interests else { return [query] }
        return each(texts, \.interests, query)
    }

    static func each(
        _ values: [String], _ key: WritableKeyPath<DeliveredQuery, [String]?>, _ query: DeliveredQuery
    ) -> [DeliveredQuery] {
        Set(values.map { Array($0.utf8) }).map { value in
            var part = query
            part[keyPath: key] = [String(decoding: value, as: UTF8.self)]
            return part
        }
    }

    // MARK: Running

    /// What the text of a statement depends on.
    struct Shape: Hashable {
        var query: DeliveredQuery
        var branch: Branch.Kind
        /// The part of the index of words.
        var part: Int64?
        /// Which marks reach into the branch.
        var read: Bool
        var seen: Bool
        var archived: Bool
        /// The rows of a page; nil for a count.
        var page: Int?
        /// A count that tells how many are unread and unseen, too.
        var countsStates = false
        /// A page that goes up from the branch's beginning.
        var isUpward = false

        init(_ query: DeliveredQuery, _ branch: Branch, _ frame: Frame, page: Int?) {
            self.query = query
            // Words are bound, and only whether there are any matters.
            if query.text != nil { self.query.text = "" }
            self.branch = branch.kind
            part = branch.part
            read = branch.above < frame.readUpTo
            seen = branch.above < frame.seenUpTo
            archived = branch.above < frame.archiveUpTo
            self.page = page
        }
    }

    private var prepared: [Shape: PreparedQuery] = [:]

    private func sql(_ shape: Shape, _ branch: Branch, _ frame: Frame) -> String {
        var select = shape.page == nil ? "count(*)" : Self.itemColumns(shape)
        if shape.countsStates {
            let read = shape.read ? Shown.read : Shown.readAboveMarks
            let seen = shape.seen ? Shown.seen : Shown.seenAboveMarks
            select += ", coalesce(sum(1 - (\(read))), 0), coalesce(sum(1 - (\(seen))), 0)"
        }
        let place = branch.place
        let direction = shape.isUpward ? "" : " DESC"
        let tail = shape.page.map { " ORDER BY \(place)\(direction) LIMIT \($0)" } ?? ""
        return "SELECT \(select) FROM \(branch.source) WHERE \(branch.condition)"
            + Filter.sql(shape.query, branch, frame) + tail
    }

    /// Runs a query over one branch; the statement is prepared once for each shape.
    ///
    /// - Parameters:
    ///   - page: the rows of a page; nil for a count.
    ///   - countsStates: a count that tells how many are unread and unseen, too.
    ///   - isUpward: a page that begins with the branch's oldest.
    func run<R>(
        _ query: DeliveredQuery, _ branch: Branch, page: Int?, countsStates: Bool = false, isUpward: Bool = false,
        _ frame: Frame, _ body: (borrowing Statement) throws(SQLiteError) -> R
    ) throws(SQLiteError) -> R {
        var shape = Shape(query, branch, frame, page: page)
        shape.countsStates = countsStates
        shape.isUpward = isUpward
        let statement: PreparedQuery
        if let found = prepared[shape] {
            statement = found
        } else {
            statement = PreparedQuery(try connection.prepare(sql(shape, branch, frame)))
            // An app has a handful of queries.
            if prepared.count >= 64 { prepared.removeAll() }
            prepared[shape] = statement
        }
        defer { statement.reset() }
        bindFrame(frame, statement.statement)
        statement.statement.bind(7, branch.above)
        statement.statement.bind(8, branch.upTo)
        Filter.bind(query, statement.statement)
        return try body(statement.statement)
    }

    func bindFrame(_ frame: Frame, _ statement: borrowing Statement) {
        statement.bind(1, frame.readUpTo)
        statement.bind(2, frame.seenUpTo)
        statement.bind(3, frame.archiveUpTo)
        statement.bind(4, frame.now)
    }

    /// The plans of a page's branches, or of a count's, for tests that hold a query to its index.
    func plans(_ query: DeliveredQuery, count: Bool = false, isUpward: Bool = false) throws(SQLiteError) -> [String] {
        let query = try normal(query)
        let frame = try frame()
        var lines: [String] = []
        for branch in try branches(query, Driver(query), frame) {
            for part in Self.parts(query, Driver(query)) {
                var shape = Shape(part, branch, frame, page: count ? nil : 51)
                shape.isUpward = isUpward
                lines += try connection.queryPlan(sql(shape, branch, frame))
            }
        }
        return lines
    }

    /// The plan of a run of items upwards.
    func planUpwards(_ query: DeliveredQuery) throws(SQLiteError) -> [String] {
        let query = try normal(query)
        let frame = try frame()
        guard let branch = try upwards(query, above: 0, upTo: frame.view.position).first else { return [] }
        var shape = Shape(query, branch, frame, page: 50)
        shape.isUpward = true
        return try connection.queryPlan(sql(shape, branch, frame))
    }
}

/// A statement in a dictionary, which cannot hold what cannot be copied.
private final class PreparedQuery {
    let statement: Statement

    init(_ statement: consuming Statement) { self.statement = statement }

    func reset() {
        statement.reset()
        statement.clearBindings()
    }
}
