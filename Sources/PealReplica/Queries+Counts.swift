internal import PealModel
internal import PealSQLite

/// Counts, in time that does not grow with what is counted.
///
/// At or below a mark only single choices are counted, from their index. Above every mark the tally knows it, 1,024 positions a row;
/// what it cannot know is the rest of the block that a mark ends in, which is counted, and what time has taken, which is taken
/// off: items that have expired and that the hub has not removed yet.
extension Queries {
    /// Of a query: what it lists, and how much of that is unread and unseen. What is read follows from what is unread, and nothing is
    /// read and unseen (docs/sync.md section 9), so three counts without a state answer for every state.
    func counts(_ query: DeliveredQuery, _ frame: Frame) throws(SQLiteError) -> Counts {
        var stateless = try normal(query)
        stateless.read = nil
        stateless.seen = nil
        var all = Counts(isPartial: frame.isPartial)
        for part in Self.parts(stateless) {
            if let category = Self.tallied(part) {
                all.total += try count(.kept, of: category, frame)
                all.unread += try count(.unread, of: category, frame)
                all.unseen += try count(.unseen, of: category, frame)
            } else {
                try add(part, to: &all, frame)
            }
        }
        return all.limited(read: query.read, seen: query.seen)
    }

    /// An item has one category, one topic and one text of interests, and is archived or not, so a query of several is the sum of queries of one, each with its
    /// index.
    private static func parts(_ query: DeliveredQuery) -> [DeliveredQuery] {
        if query.archived == nil {
            return [false, true].flatMap { archived in
                var part = query
                part.archived = archived
                return parts(part)
            }
        }
        if let topics = query.topics { return each(topics, \.topics, query) }
        if let categories = query.categories { return each(categories, \.categories, query) }
        if let interests = query.interests { return each(interests, \.interests, query) }
        return [query]
    }

    /// The category whose tally answers for a query, empty for that of all items; nil where none does.
    private static func tallied(_ query: DeliveredQuery) -> String? {
        if query == DeliveredQuery() { return "" }
        guard let category = query.categories?.first, !category.isEmpty, query == DeliveredQuery(categories: [category])
        else { return nil }
        return category
    }

    /// One walk over what the query lists.
    private func add(_ query: DeliveredQuery, to counts: inout Counts, _ frame: Frame) throws(SQLiteError) {
        for branch in try branches(query, Driver(query), frame) {
            let found = try run(query, branch, page: nil, countsStates: true, frame) { (row) throws(SQLiteError) in
                try row.step() ? (row.int64(0), row.int64(1), row.int64(2)) : (0, 0, 0)
            }
            counts.total += found.0
            counts.unread += found.1
            counts.unseen += found.2
        }
    }

    private func count(_ driver: Driver, of category: String, _ frame: Frame) throws(SQLiteError) -> Int64 {
        var query = category.isEmpty ? DeliveredQuery() : DeliveredQuery(categories: [category])
        if driver == .unread { query.read = false }
        if driver == .unseen { query.seen = false }
        var sum: Int64 = 0
        for var branch in Branch.all(query, driver: driver, frame) {
            if branch.upTo == .max {
                // No position is 0: without a mark every block is whole.
                branch.upTo = branch.above == 0 ? 0 : branch.above | Self.blockMask
                sum += try tallied(driver, of: category, above: branch.upTo)
                sum -= try expired(driver, of: category, above: branch.upTo, frame)
                if !category.isEmpty { branch.kind = .category }
            }
            guard branch.above < branch.upTo else { continue }
            sum += try run(query, branch, page: nil, frame) { (row) throws(SQLiteError) in
                try row.step() ? row.int64(0) : 0
            }
        }
        return sum
    }

    /// The positions of a block of the tally differ in these bits.
    private static let blockMask: Position = 1_023

    /// What the blocks above a position hold; it is the last one of its block, or 0.
    private func tallied(_ driver: Driver, of category: String, above: Position) throws(SQLiteError) -> Int64 {
        try connection.statement(Self.tallySQL(driver)) { (query) throws(SQLiteError) in
            query.bind(1, category)
            query.bind(2, above == 0 ? -1 : above >> 10)
            return try query.step() ? query.int64(0) : 0
        }
    }

    private func expired(
        _ driver: Driver, of category: String, above: Position, _ frame: Frame
    ) throws(SQLiteError) -> Int64 {
        try connection.statement(Self.expiredSQL(driver)) { (query) throws(SQLiteError) in
            query.bind(1, frame.now)
            query.bind(2, above)
            query.bind(3, category)
            return try query.step() ? query.int64(0) : 0
        }
    }

    static func tallySQL(_ driver: Driver) -> StaticString {
        switch driver {
        case .unread: "SELECT coalesce(sum(unread), 0) FROM tally WHERE category = ?1 AND block > ?2"
        case .unseen: "SELECT coalesce(sum(unseen), 0) FROM tally WHERE category = ?1 AND block > ?2"
        default: "SELECT coalesce(sum(listed), 0) FROM tally WHERE category = ?1 AND block > ?2"
        }
    }

    static func expiredSQL(_ driver: Driver) -> StaticString {
        switch driver {
        case .unread:
            """
            SELECT count(*) FROM item INDEXED BY item_expires WHERE expires <= ?1 AND position > ?2 AND ?3 IN ('', category)
                AND silent = 0 AND o_deleted IS NULL AND coalesce(o_archived, archived) = 0 AND coalesce(o_read, read) = 0
            """
        case .unseen:
            """
            SELECT count(*) FROM item INDEXED BY item_expires WHERE expires <= ?1 AND position > ?2 AND ?3 IN ('', category)
                AND silent = 0 AND o_deleted IS NULL AND coalesce(o_archived, archived) = 0 AND coalesce(o_seen, seen) = 0
            """
        default:
            """
            SELECT count(*) FROM item INDEXED BY item_expires WHERE expires <= ?1 AND position > ?2 AND ?3 IN ('', category)
                AND silent = 0 AND o_deleted IS NULL AND coalesce(o_archived, archived) = 0
            """
        }
    }
}

extension Counts {
    /// What is left of the counts of a query where only items of a state are wanted: nothing is read and unseen.
    fileprivate func limited(read: Bool?, seen: Bool?) -> Counts {
        var limited = self
        switch (read, seen) {
        case (nil, nil): break
        case (true, true), (true, nil): (limited.total, limited.unread, limited.unseen) = (total - unread, 0, 0)
        case (true, false): (limited.total, limited.unread, limited.unseen) = (0, 0, 0)
        case (false, nil): limited.total = unread
        case (nil, false), (false, false): (limited.total, limited.unread) = (unseen, unseen)
        case (false, true): (limited.total, limited.unread, limited.unseen) = (unread - unseen, unread - unseen, 0)
        case (nil, true):
            (limited.total, limited.unread, limited.unseen) = (total - unseen, unread - unseen, 0)
        }
        return limited
    }
}
