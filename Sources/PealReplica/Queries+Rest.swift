internal import PealModel
internal import PealSQLite

/// Interests, outbox and inspection.
extension Queries {
    func interests() throws(SQLiteError) -> [String] { try Overlay.shownInterests(connection).sorted() }

    func preferences() throws(SQLiteError) -> [Preference] {
        let tables = RestTables(connection: connection)
        return Preference.all(try tables.choices(), try tables.catalogue())
    }

    /// The base's facts by their names, then what waits in the outbox, at this device's best idea of the hub's time.
    func facts(of id: ItemID) throws(SQLiteError) -> [Fact] {
        let position = try connection.statement("SELECT position FROM item WHERE id = ?1 AND o_deleted IS NULL") {
            (query) throws(SQLiteError) -> Position? in
            query.bind(1, id)
            return try query.first()
        }
        guard let position else { return [] }
        var facts = try RestTables(connection: connection).facts(at: position)
        let offset = try ReplicaState.load(connection)?.clockOffset ?? 0
        let pending = try connection.prepare(
            """
            SELECT \(OutboxRow.columns) FROM outbox
            WHERE name = 'track' AND state < 3 AND quiet = 0 AND void IS NULL ORDER BY seq
            """)
        while try pending.step() {
            let row = OutboxRow(pending)
            guard case .track(id, let event, let data) = row.operation(), !facts.contains(where: { $0.event == event })
            else { continue }
            facts.append(Fact(event: event, time: row.wall + offset, data: data))
        }
        return facts
    }

    func outbox() throws(SQLiteError) -> [OutboxItem] {
        let query = try connection.prepare("SELECT \(OutboxRow.columns) FROM outbox ORDER BY seq")
        var items: [OutboxItem] = []
        while try query.step() { items.append(OutboxRow(query).item) }
        return items
    }

    func inspect(integrity: Bool) throws(SQLiteError) -> Inspection {
        let state = try ReplicaState.loadOrFail(connection)
        let page = try connection.int("PRAGMA page_size")
        let restored = try restored()
        return Inspection(
            path: path, version: try connection.int("PRAGMA user_version"), identity: state.identity,
            project: state.project, inbox: state.inbox, replica: state.replica, cursor: state.cursor, time: state.time,
            clockOffset: state.clockOffset, attempt: state.attempt, nextN: state.nextN, wentBack: restored.wentBack,
            wentBackLost: restored.lost, forked: restored.forked, diverged: state.divergence.reported,
            items: try connection.int("SELECT count(*) FROM item"), counts: try counts(DeliveredQuery(), frame()),
            marks: try connection.int("SELECT count(*) FROM mark"), outbox: try outboxByState(),
            journal: try connection.int("SELECT count(*) FROM journal"),
            unknown: try connection.int("SELECT count(*) FROM raw WHERE reason IS NULL"),
            quarantined: try quarantined(),
            staged: try Stage.load(connection)?.rows,
            fileBytes: try connection.int("PRAGMA page_count") * page, walBytes: RawFile.size(path + "-wal"),
            freeBytes: try connection.int("PRAGMA freelist_count") * page,
            problems: integrity ? try connection.integrityProblems() : nil, sessions: try sessions())
    }

    func restored() throws(SQLiteError) -> (wentBack: Milliseconds?, lost: Int64?, forked: Milliseconds?) {
        let query = try connection.prepare("SELECT went_back, went_back_lost, forked FROM replica WHERE one = 1")
        guard try query.step() else { return (nil, nil, nil) }
        return (query.optionalInt64(0), query.optionalInt64(1), query.optionalInt64(2))
    }

    func outboxByState() throws(SQLiteError) -> [OutboxItem.State: Int64] {
        let query = try connection.prepare("SELECT state, count(*) FROM outbox GROUP BY state")
        var counts: [OutboxItem.State: Int64] = [:]
        while try query.step() {
            if let state = OutboxItem.State(rawValue: query.int64(0)) { counts[state] = query.int64(1) }
        }
        return counts
    }

    private func quarantined() throws(SQLiteError) -> [(position: Position, reason: String)] {
        let query = try connection.prepare(
            "SELECT position, reason FROM raw WHERE reason IS NOT NULL ORDER BY position LIMIT 100")
        var found: [(position: Position, reason: String)] = []
        while try query.step() { found.append((query.int64(0), query.text(1))) }
        return found
    }

    func sessions() throws(SQLiteError) -> [Inspection.Session] {
        let query = try connection.prepare(
            "SELECT attempt, started, welcomed, mode, ended, code, reason FROM session ORDER BY started DESC, attempt DESC LIMIT 20"
        )
        var found: [Inspection.Session] = []
        while try query.step() {
            found.append(
                Inspection.Session(
                    attempt: query.int64(0), started: query.int64(1), welcomed: query.optionalInt64(2),
                    mode: query.optionalText(3), ended: query.optionalInt64(4), code: query.optionalInt64(5),
                    reason: query.optionalText(6)))
        }
        return found
    }
}
