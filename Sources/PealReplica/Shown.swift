internal import PealModel
internal import PealSQLite

/// What an item shows, as SQL over its row, the parameters of `Queries.Frame` (?1 read, ?2 seen, ?3 archive: how far marks
/// reach; ?4 now) and the mark table.
enum Shown {
    /// Overlay, else a mark over an untouched item, else the register where no newer mark covers it.
    static let read = """
        CASE WHEN o_read IS NOT NULL THEN o_read WHEN read_rank = 0 THEN position <= ?1 WHEN read = 1 THEN 1
        ELSE read_rank < coalesce((SELECT max(version) FROM mark WHERE kind = 'read' AND up_to >= position), 0) END
        """
    static let seen = "(coalesce(o_seen, seen) = 1 OR position <= ?2)"
    /// The same above every mark of the kind: only what the partial indexes hold.
    static let readAboveMarks = "coalesce(o_read, read)"
    static let seenAboveMarks = "coalesce(o_seen, seen)"
    static let archivedAboveMarks = "coalesce(o_archived, archived)"
    static let archived = """
        CASE WHEN o_archived IS NOT NULL THEN o_archived WHEN archived_rank = 0 THEN position <= ?3
        WHEN archived = 1 THEN 1
        ELSE archived_rank < coalesce((SELECT max(version) FROM mark WHERE kind = 'archive' AND up_to >= position), 0)
        END
        """
}

/// Which index leads.
enum Driver: Equatable {
    /// What is not read.
    case unread
    /// What is not seen.
    case unseen
    /// What is archived.
    case archived
    /// One category or one topic.
    case category, topic
    /// What came by some interests.
    case interests
    /// What is not archived: most of it, so the table itself.
    case kept
    /// Everything.
    case table
    /// What holds the words of a search.
    case words

    init(_ query: DeliveredQuery) {
        if query.text.flatMap(Search.expression) != nil {
            self = .words
        } else if query.read == false {
            self = .unread
        } else if query.seen == false {
            self = .unseen
        } else if query.topics?.count == 1 {
            self = .topic
        } else if query.categories?.count == 1 {
            self = .category
        } else if query.interests != nil {
            self = .interests
        } else if query.archived == true {
            self = .archived
        } else {
            self = query.archived == false ? .kept : .table
        }
    }
}

/// One index range of a query; a query's branches go downwards by position and do not overlap.
struct Branch {
    /// Where the rows come from. The raw value is what follows FROM.
    enum Kind: String {
        case table = "item NOT INDEXED"
        case unread = "item INDEXED BY item_unread"
        case unseen = "item INDEXED BY item_unseen"
        case archived = "item INDEXED BY item_archived"
        case category = "item INDEXED BY item_category"
        case topic = "item INDEXED BY item_topic"
        case interests = "item INDEXED BY item_interests"
        case looseUnread = "item INDEXED BY item_loose_unread"
        case looseKept = "item INDEXED BY item_loose_unarchived"
        // A cross join is not turned around: the index of words leads, and gives the order.
        case words = " AS words CROSS JOIN item ON item.position = words.rowid"
    }

    var kind: Kind
    /// Positions above this,
    var above: Position
    /// and at or below this.
    var upTo: Position
    /// The part of the index of words that has them; none before ``Queries/inParts(_:)`` has found it.
    var part: Int64?

    var source: String { (part.map(WordIndex.table) ?? "") + kind.rawValue }

    /// What pages go by.
    var place: String { kind == .words ? "words.rowid" : "position" }

    /// The terms that the partial index wants; ?7 and ?8 are ``above`` and ``upTo``.
    var condition: String {
        let range = "position > ?7 AND position <= ?8"
        switch kind {
        case .table: return range
        case .unread: return range + " AND coalesce(o_read, read) = 0"
        case .unseen: return range + " AND coalesce(o_seen, seen) = 0"
        case .archived: return range + " AND coalesce(o_archived, archived) = 1"
        case .category: return range + " AND category IS NOT NULL"
        case .topic: return range + " AND topic IS NOT NULL"
        case .interests: return range + " AND interests IS NOT NULL"
        case .words: return "words.\(WordIndex.table(part ?? 0)) MATCH ?12 AND words.rowid > ?7 AND words.rowid <= ?8"
        case .looseUnread: return range + " AND ((read_rank > 0 AND read = 0) OR o_read IS 0)"
        case .looseKept: return range + " AND ((archived_rank > 0 AND archived = 0) OR o_archived IS 0)"
        }
    }

    /// Which ranges can hold items of the query. The full conditions are in `Filter`; here stands what finds them fast.
    static func all(_ query: DeliveredQuery, driver: Driver, _ frame: Queries.Frame) -> [Branch] {
        // One of none is none, and a search without a word finds nothing. SQLite would not plan it: no index serves what is never true.
        if [query.categories, query.topics, query.interests].contains([]) || (query.text != nil && driver != .words) {
            return []
        }
        let unread = query.read == false ? frame.readUpTo : 0
        let unseen = query.seen == false ? frame.seenUpTo : 0
        let kept = query.archived == false ? frame.archiveUpTo : 0
        // At or below a mark nothing is left but what stands against it; for `seen` nothing can.
        let bar = max(unread, kept)
        let above = max(bar, unseen)
        var branches: [Branch]
        switch driver {
        // One range for all of it: what stands against a mark is as likely to hold the words as what lies above it.
        case .words: return [Branch(kind: .words, above: unseen, upTo: .max)]
        case .unread: branches = [Branch(kind: .unread, above: above, upTo: .max)]
        case .unseen: branches = [Branch(kind: .unseen, above: above, upTo: .max)]
        case .category: branches = [Branch(kind: .category, above: above, upTo: .max)]
        case .topic: branches = [Branch(kind: .topic, above: above, upTo: .max)]
        case .interests: branches = [Branch(kind: .interests, above: above, upTo: .max)]
        case .kept, .table: branches = [Branch(kind: .table, above: above, upTo: .max)]
        case .archived:
            // Above the marks what was archived singly, from its index; at or below them almost everything.
            let reach = max(above, frame.archiveUpTo)
            branches = [Branch(kind: .archived, above: reach, upTo: .max)]
            if reach > above { branches.append(Branch(kind: .table, above: above, upTo: reach)) }
        }
        if bar > unseen {
            branches.append(Branch(kind: unread >= kept ? .looseUnread : .looseKept, above: unseen, upTo: bar))
        }
        return branches
    }
}

/// The whole of a query's conditions, whichever index leads.
enum Filter {
    static func sql(_ query: DeliveredQuery, _ branch: Branch, _ frame: Queries.Frame) -> String {
        var sql = " AND silent = 0 AND o_deleted IS NULL AND (expires IS NULL OR expires > ?4)"
        func shown(_ wanted: Bool?, _ general: String, _ aboveMarks: String, _ upTo: Position) {
            guard let wanted else { return }
            sql += " AND \(branch.above >= upTo ? aboveMarks : general) = \(wanted ? 1 : 0)"
        }
        shown(query.read, Shown.read, Shown.readAboveMarks, frame.readUpTo)
        shown(query.seen, Shown.seen, Shown.seenAboveMarks, frame.seenUpTo)
        shown(query.archived, Shown.archived, Shown.archivedAboveMarks, frame.archiveUpTo)
        if query.type != nil { sql += " AND type = ?9" }
        if query.since != nil { sql += " AND time >= ?10" }
        if query.until != nil { sql += " AND time < ?11" }
        if query.text != nil, branch.kind != .words { sql += " AND 0" }
        var next = 13
        sql += list("category", query.categories, &next)
        sql += list("topic", query.topics, &next)
        sql += list("interests", query.interests, &next)
        return sql
    }

    private static func list(_ column: String, _ values: [String]?, _ next: inout Int) -> String {
        guard let values else { return "" }
        guard !values.isEmpty else { return " AND 0" }
        defer { next += values.count }
        // One value as an equation, so that its index also gives the order.
        if values.count == 1 { return " AND \(column) = ?\(next)" }
        return " AND \(column) IN (\(values.indices.map { "?\(next + $0)" }.joined(separator: ",")))"
    }

    static func bind(_ query: DeliveredQuery, _ statement: borrowing Statement) {
        if let type = query.type { statement.bind(9, type) }
        if let since = query.since { statement.bind(10, since) }
        if let until = query.until { statement.bind(11, until) }
        if let words = query.text.flatMap(Search.expression) { statement.bind(12, words) }
        var next: Int32 = 13
        for value in (query.categories ?? []) + (query.topics ?? []) + (query.interests ?? []) {
            statement.bind(next, value)
            next += 1
        }
    }
}
