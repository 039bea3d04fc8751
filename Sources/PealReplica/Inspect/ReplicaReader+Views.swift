public import PealModel
internal import PealSQLite

/// The views of `peal inspect`. Each is one state of the file and at most a page of it; all of them block. Damage throws nothing: a page says
/// how far the table could be read.
extension ReplicaReader {
    /// Rows of a page at most.
    public static let maximumInspected = 1_000

    /// The items, the newest first, whatever is listed of them.
    ///
    /// - Parameters:
    ///   - after: where the page before ended; nil for the first.
    ///   - limit: 1 to ``maximumInspected``.
    public func inspectItems(after: Position? = nil, limit: Int = 50) -> InspectedPage<InspectedItem> {
        queries.page(limit, key: { $0.base.position }) { (add) throws(SQLiteError) in
            try queries.inspectItems(before: after ?? .max, limit, add)
        }
    }

    /// Acts of this device: those that wait and dead letters in their order, settled ones with the latest first.
    ///
    /// - Parameters:
    ///   - place: which.
    ///   - after: where the page before ended; nil for the first.
    ///   - limit: 1 to ``maximumInspected``.
    public func inspectActs(
        _ place: InspectedAct.Place, after: Int64? = nil, limit: Int = 50
    ) -> InspectedPage<InspectedAct> {
        queries.page(limit, key: \.row) { (add) throws(SQLiteError) in
            try queries.inspectActs(place, after: after, limit, add)
        }
    }

    /// What the file shows of the log's entries, the latest first.
    ///
    /// - Parameters:
    ///   - after: where the page before ended; nil for the first.
    ///   - limit: 1 to ``maximumInspected``; a page holds all of its last position, and so can be longer.
    public func inspectEntries(after: Position? = nil, limit: Int = 50) -> InspectedPage<InspectedEntry> {
        precondition((1...Self.maximumInspected).contains(limit), "a page has 1 to 1,000 rows")
        var failure: SQLiteError?
        var found: [InspectedEntry] = []
        for source in Queries.entrySources {
            do throws(SQLiteError) {
                found += try queries.entries(source, before: after ?? .max, limit + 1)
            } catch {
                failure = failure ?? error
            }
        }
        found.sort { $0.position > $1.position }
        var page = InspectedPage(rows: found, next: nil, failure: failure.map { ReplicaError($0) })
        if found.count > limit {
            let last = found[limit - 1].position
            page.rows = Array(found.prefix { $0.position >= last })
            page.next = page.rows.count < found.count ? last : nil
        }
        return page
    }

    /// The marks, with how many items each covers. Few: a mark stays only where no other dominates it.
    public func inspectMarks() throws(ReplicaError) -> [InspectedMark] { try queries.read(queries.inspectMarks) }

    /// The last 20 sessions, the newest first, by this device's clock.
    public func inspectSessions() throws(ReplicaError) -> [Inspection.Session] { try queries.read(queries.sessions) }

    /// Runs views that belong together on one state of the file. Blocking.
    ///
    /// - Throws: ``ReplicaError``, also that of `body`.
    public func consistently<R>(_ body: () throws(ReplicaError) -> R) throws(ReplicaError) -> R {
        do throws(SQLiteError) {
            try queries.connection.execute("BEGIN DEFERRED")
        } catch {
            throw ReplicaError(error)
        }
        // Not a commit: where the file is damaged that fails.
        defer { queries.connection.rollback() }
        return try body()
    }

    /// How the file was opened; nil where it was not opened by ``init(inspecting:clock:)``.
    public var access: Access? { specimen?.access }

    /// What is wrong with the file as a file: cut off, or without its log. Empty where nothing is known.
    public var problems: [String] { specimen?.problems ?? [] }

    /// What somebody should know who judges the file.
    public var notes: [String] { specimen?.notes ?? [] }

    /// Whether somebody has written to a file that was opened as one that nobody has open: what was read may be of two states.
    public var hasChanged: Bool { specimen?.hasChanged ?? false }
}

extension Queries {
    /// Gathers a page on one state of the file. The body hands over one row more than the page takes where there is one.
    func page<Row: Sendable>(
        _ limit: Int, key: (Row) -> Int64, _ body: ((Row) -> Void) throws(SQLiteError) -> Void
    ) -> InspectedPage<Row> {
        precondition((1...ReplicaReader.maximumInspected).contains(limit), "a page has 1 to 1,000 rows")
        var page = InspectedPage<Row>(rows: [], next: nil, failure: nil)
        do throws(ReplicaError) {
            try read { () throws(SQLiteError) in try body { page.rows.append($0) } }
        } catch {
            page.failure = error
        }
        if page.rows.count > limit {
            page.rows.removeLast(page.rows.count - limit)
            page.next = page.rows.last.map(key)
        }
        return page
    }

    static let inspectItemsSQL = """
        SELECT i.position, i.seen, i.read, i.read_rank, r.passive, r.since, r.itime, r.author, r.uid,
            i.archived, i.archived_rank, a.passive, a.since, a.itime, a.author, a.uid,
            i.o_read, i.o_seen, i.o_archived, i.o_deleted, i.silent, i.expires, i.id, i.publish, i.time, i.sent, i.type, i.category,
            i.topic, i.version, i.body
        FROM item i LEFT JOIN register r ON r.position = i.position AND r.field = 0
            LEFT JOIN register a ON a.position = i.position AND a.field = 1
        WHERE i.position < ?1 ORDER BY i.position DESC LIMIT ?2
        """

    func inspectItems(
        before: Position, _ limit: Int, _ add: (InspectedItem) -> Void
    ) throws(SQLiteError) {
        let marks = try Marks(connection)
        let state = try ReplicaState.loadOrFail(connection)
        let query = try connection.prepare(Self.inspectItemsSQL)
        query.bind(1, before)
        query.bind(2, limit + 1)
        while try query.step() { add(Self.inspected(query, marks, state)) }
    }

    private static func inspected(
        _ row: borrowing Statement, _ marks: Marks, _ file: ReplicaState
    ) -> InspectedItem {
        let base = ItemState(
            position: row.int64(0), read: ItemState.register(row, value: 2, rest: 4),
            archived: ItemState.register(row, value: 9, rest: 11), seen: row.bool(1))
        let overlay = InspectedItem.Flags(
            read: row.optionalBool(16), seen: row.optionalBool(17), archived: row.optionalBool(18),
            deleted: row.optionalBool(19))
        func shown(_ own: Bool?, _ kind: MarkKind, _ register: Register?, _ pending: Position) -> Bool {
            own ?? ((register == nil && base.position <= pending) || marks.value(kind, register, at: base.position))
        }
        let body = row.blob(30)
        return InspectedItem(
            id: row.itemID(22), publish: row.text(23), time: row.int64(24), sent: row.int64(25), type: row.text(26),
            category: row.optionalText(27), topic: row.optionalText(28), expires: row.optionalInt64(21),
            silent: row.bool(20), isLetGo: body.isEmpty && row.bool(20), version: row.int64(29), base: base,
            logged: InspectedItem.Flags(
                read: marks.isRead(base), seen: marks.isSeen(base), archived: marks.isArchived(base), deleted: false),
            overlay: overlay,
            shown: InspectedItem.Flags(
                read: shown(overlay.read, .read, base.read, file.pendingRead),
                seen: overlay.seen == true || base.position <= file.pendingSeen || marks.isSeen(base),
                archived: shown(overlay.archived, .archive, base.archived, file.pendingArchive),
                deleted: overlay.deleted == true),
            body: body[...])
    }

    static func inspectActsSQL(_ place: InspectedAct.Place) -> String {
        switch place {
        case .outbox:
            "SELECT \(OutboxRow.columns), name, NULL, NULL FROM outbox WHERE seq > ?1 AND state < 3 ORDER BY seq LIMIT ?2"
        case .dead:
            "SELECT \(OutboxRow.columns), name, NULL, NULL FROM outbox INDEXED BY outbox_state WHERE seq > ?1 AND state = 3 ORDER BY seq LIMIT ?2"
        case .journal:
            """
            SELECT seq, uid, n, NULL, op, observed, observed_time, boot, boot_time, wall, NULL, NULL, 0, NULL, 0, outcome, name,
                position, settled
            FROM journal WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2
            """
        }
    }

    func inspectActs(
        _ place: InspectedAct.Place, after: Int64?, _ limit: Int, _ add: (InspectedAct) -> Void
    ) throws(SQLiteError) {
        let query = try connection.prepare(Self.inspectActsSQL(place))
        query.bind(1, after ?? (place == .journal ? .max : .min))
        query.bind(2, limit + 1)
        while try query.step() {
            let row = OutboxRow(query)
            add(
                InspectedAct(
                    row: row.seq, uid: row.uid, n: row.n, state: place == .journal ? nil : row.state,
                    name: query.text(16), operation: row.operation(), observed: row.observed, acted: row.wall,
                    attempts: row.attempts, heldUntil: row.holdUntil, retryAt: row.retryAt, void: row.void,
                    quiet: row.quiet, outcome: row.item.outcome, position: query.optionalInt64(17),
                    settled: query.optionalInt64(18)))
        }
    }

    static let inspectMarksSQL = """
        SELECT kind, up_to, version, (SELECT count(*) FROM item WHERE position <= up_to) FROM mark ORDER BY kind, up_to DESC
        """

    func inspectMarks() throws(SQLiteError) -> [InspectedMark] {
        let query = try connection.prepare(Self.inspectMarksSQL)
        var found: [InspectedMark] = []
        while try query.step() {
            guard let kind = MarkKind(rawValue: query.text(0)) else { continue }
            found.append(
                InspectedMark(
                    kind: kind, mark: Mark(upTo: query.int64(1), version: query.int64(2)), items: query.int64(3)))
        }
        return found
    }
}
