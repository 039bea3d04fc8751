internal import PealModel
internal import PealSQLite

extension Queries {
    /// All checks on one state of the file.
    func verification(_ hub: HubStanding?, _ items: HubItems? = nil) throws(ReplicaError) -> Verification {
        do throws(SQLiteError) {
            try connection.execute("BEGIN DEFERRED")
            // Not a commit: where the file is damaged that fails, and what was found is to be told.
            defer { connection.rollback() }
            return try Verifier(self, hub, items).run()
        } catch {
            throw ReplicaError(error)
        }
    }
}

/// Runs the checks of ``Verification``, each by itself: what is damaged fails its own check and not the others.
struct Verifier {
    let queries: Queries
    let connection: Connection
    let state: ReplicaState
    /// How far into the log the base may reach: the cursor, but where a first snapshot is being loaded.
    let reach: Position
    private let hub: HubStanding?
    private let items: HubItems?

    init(_ queries: Queries, _ hub: HubStanding?, _ items: HubItems? = nil) throws(SQLiteError) {
        self.queries = queries
        self.hub = hub
        self.items = items
        connection = queries.connection
        let state = try ReplicaState.loadOrFail(connection)
        self.state = state
        reach = max(state.cursor.position, try Stage.partialReach(connection))
    }

    private typealias Body = () throws(SQLiteError) -> [String]

    func run() throws(SQLiteError) -> Verification {
        var checks: [Verification.Check] = []
        func check(_ name: String, _ claim: String, _ body: Body) {
            var result = Verification.Result.passed
            do throws(SQLiteError) {
                let evidence = try body()
                if !evidence.isEmpty { result = .failed(Array(evidence.prefix(Verification.maximumEvidence))) }
            } catch {
                result = .failed(["it cannot be read: \(error.message)"])
            }
            checks.append(Verification.Check(name: name, claim: claim, result: result))
        }
        check("file", "nothing of the file is missing") { () throws(SQLiteError) in queries.fileProblems }
        check("integrity", "SQLite finds the file whole") { () throws(SQLiteError) in try connection.integrityProblems()
        }
        check("identity", "the replica's own row says one thing", identity)
        check("cursor", "nothing in the base is above the cursor", cursor)
        check("sum", "the kept sum is that of the rows", sum)
        check("registers", "each register stands at or after its act, and belongs to an item", registers)
        check(
            "marks", "no mark dominates another, none reaches above the cursor, and what is read by one is seen", marks)
        check("readIsSeen", "what is read is seen", readIsSeen)
        check("bodies", "the columns of an item are those of its body", bodies)
        check("counts", "the counts are those of a recount", counts)
        check("tally", "the tally is that of the rows", tally)
        check("overlay", "the overlay is what the outbox makes of the base", overlay)
        check("outbox", "numbers of the outbox are dense, in order, and below the next one", outbox)
        check("journal", "no act is both waiting and settled", journal)
        check("stage", "what is staged fits together", stage)
        if let hub {
            checks += against(hub)
            if let items { checks.append(compare(items, now: hub.time)) }
        }
        return Verification(position: state.cursor.position, checks: checks)
    }

    /// Sentences for rows that should not be there; the first column of the query fills `%`.
    func rows(_ sentence: String, _ sql: String) throws(SQLiteError) -> [String] {
        let query = try connection.prepare("SELECT * FROM (\(sql)) LIMIT \(Verification.maximumEvidence)")
        let parts = sentence.split(separator: "%", omittingEmptySubsequences: false)
        var found: [String] = []
        while try query.step() { found.append(parts.joined(separator: query.isNull(0) ? "" : query.text(0))) }
        return found
    }

    // MARK: The replica's row

    private func identity() throws(SQLiteError) -> [String] {
        var found: [String] = []
        if (try? JSONObject(Array(state.identity.utf8)[...])) == nil { found.append("the identity is no JSON object") }
        let hasCursor = state.cursor.position > 0
        if hasCursor, state.cursor.epoch == nil { found.append("there is a cursor without an epoch") }
        if hasCursor, state.inbox == nil { found.append("there is a cursor, and no inbox is bound") }
        if state.nextN < 1 || state.settledN >= state.nextN {
            found.append("number \(state.settledN) is settled and \(state.nextN) is the next")
        }
        let rows = try connection.int("SELECT count(*) FROM replica")
        if rows != 1 { found.append("there are \(rows) rows of the replica") }
        return found
    }

    private func cursor() throws(SQLiteError) -> [String] {
        let at = state.cursor.position
        return try rows(
            "item % is above the cursor or of no possible version",
            "SELECT position FROM item WHERE position > \(reach) OR version > \(reach) OR version < position OR position < 1"
        )
            + rows(
                "an entry was set aside at %, above the cursor",
                "SELECT position FROM raw WHERE position > \(stageEnd())")
            + rows(
                "act % has seen more than there is",
                "SELECT printf('%016x', uid) FROM outbox WHERE observed > \(at)")
    }

    /// How far entries have come: a staged log runs ahead of the cursor.
    private func stageEnd() throws(SQLiteError) -> Position {
        max(state.cursor.position, try Stage.load(connection)?.logPosition ?? 0)
    }

    private func sum() throws(SQLiteError) -> [String] {
        let found = try BaseSum(connection)
        guard found.sum != state.sum else { return [] }
        let rows =
            "\(found.items) items, \(found.registers) registers, \(found.marks) marks, \(found.interests) interests, "
            + "\(found.preferences) preferences, \(found.facts) facts"
        return ["kept \(Hex64.text(state.sum)), computed \(Hex64.text(found.sum)) of \(rows)"]
    }

    // MARK: Registers and marks

    private func registers() throws(SQLiteError) -> [String] {
        var found: [String] = []
        for (field, name) in [(0, "read"), (1, "archived")] {
            found += try rows(
                "item % has half a register of '\(name)'",
                """
                SELECT position FROM item i WHERE (\(name)_rank > 0) <> EXISTS
                    (SELECT 1 FROM register r WHERE r.position = i.position AND r.field = \(field))
                    OR (\(name)_rank <= 0 AND \(name) <> 0) OR \(name) NOT IN (0, 1)
                """)
            found += try rows(
                "the register of '\(name)' of item % stands before its act, or above the cursor",
                """
                SELECT i.position FROM item i JOIN register r ON r.position = i.position AND r.field = \(field)
                WHERE r.since > i.\(name)_rank OR r.since < 1 OR i.\(name)_rank > \(reach)
                """)
        }
        found += try rows(
            "a register of item %, which is not here",
            "SELECT position FROM register r WHERE NOT EXISTS (SELECT 1 FROM item i WHERE i.position = r.position)")
        found += try rows(
            "a register of item % is of an unknown field or author",
            """
            SELECT position FROM register WHERE field NOT IN (0, 1) OR (author <> 'api' AND
                (length(author) <> 32 OR author GLOB '*[^0-9a-f]*'))
            """)
        return found
    }

    private func marks() throws(SQLiteError) -> [String] {
        try rows(
            "a mark up to % is dominated by another",
            """
            SELECT a.up_to FROM mark a JOIN mark b ON b.kind = a.kind AND b.up_to >= a.up_to AND b.version >= a.version
                AND (b.up_to <> a.up_to OR b.version <> a.version)
            """)
            + rows(
                "a mark up to % covers nothing, or what came after it, or is above the cursor",
                "SELECT up_to FROM mark WHERE up_to < 1 OR up_to >= version OR version > \(reach)")
            + rows(
                "a mark up to % is of an unknown kind",
                "SELECT up_to FROM mark WHERE kind NOT IN ('read', 'seen', 'archive')")
            + rows(
                "a read mark up to % has not raised seen",
                """
                SELECT up_to FROM mark a WHERE kind = 'read' AND NOT EXISTS (SELECT 1 FROM mark b
                    WHERE b.kind = 'seen' AND b.up_to >= a.up_to AND b.version >= a.version)
                """)
    }

    private func readIsSeen() throws(SQLiteError) -> [String] {
        let marks = try Marks(connection)
        var found: [String] = []
        try eachItem { item in
            if marks.isRead(item.state), !marks.isSeen(item.state) {
                found.append("item \(item.state.position) is read and not seen")
            }
            return found.count < Verification.maximumEvidence
        }
        return found
    }

    private func bodies() throws(SQLiteError) -> [String] {
        let query = try connection.prepare(
            "SELECT position, body, sent, type, category, topic, expires, silent, interests FROM item ORDER BY position"
        )
        var found: [String] = []
        while try query.step(), found.count < Verification.maximumEvidence {
            let position = query.int64(0)
            // This device has let it go (`Replica.letGo`).
            if query.int64(7) == 1, query.blob(1).isEmpty { continue }
            guard let object = try? JSONObject(query.blob(1)[...]), let body = try? ItemBody(object) else {
                found.append("the body of item \(position) cannot be decoded")
                continue
            }
            let agrees =
                body.sent == query.int64(2) && body.type == query.text(3) && body.category == query.optionalText(4)
                && body.topic == query.optionalText(5) && body.expires == query.optionalInt64(6)
                && body.silent == query.bool(7) && body.interestsText == query.optionalText(8)
            if !agrees { found.append("the columns of item \(position) are not those of its body") }
        }
        return found
    }

    // MARK: What is shown

    /// An item with all that decides what is shown of it.
    struct Item {
        var state: ItemState
        var columns: Overlay.Columns
        var silent: Bool
        /// It is silent because this device has let it go (`Replica.letGo`).
        var letGo: Bool
        var expires: Milliseconds?
    }

    /// Visits every item in the order of positions, until the body answers false.
    func eachItem(_ body: (Item) throws(SQLiteError) -> Bool) throws(SQLiteError) {
        let query = try connection.prepare(
            """
            SELECT i.position, i.seen, i.read, i.read_rank, r.passive, r.since, r.itime, r.author, r.uid,
                i.archived, i.archived_rank, a.passive, a.since, a.itime, a.author, a.uid,
                i.o_read, i.o_seen, i.o_archived, i.o_deleted, i.silent, i.expires, i.body = ''
            FROM item i LEFT JOIN register r ON r.position = i.position AND r.field = 0
                LEFT JOIN register a ON a.position = i.position AND a.field = 1
            ORDER BY i.position
            """)
        while try query.step() {
            let state = ItemState(
                position: query.int64(0), read: ItemState.register(query, value: 2, rest: 4),
                archived: ItemState.register(query, value: 9, rest: 11), seen: query.bool(1))
            let columns = Overlay.Columns(
                read: query.optionalBool(16), seen: query.optionalBool(17), archived: query.optionalBool(18),
                deleted: query.optionalBool(19))
            let item = Item(
                state: state, columns: columns, silent: query.bool(20), letGo: query.bool(22),
                expires: query.optionalInt64(21))
            guard try body(item) else { return }
        }
    }

    /// Counts by the rules themselves, item by item; with the overlay as an app sees it, or the base alone as the hub does.
    func recount(overlaid: Bool, now: Milliseconds) throws(SQLiteError) -> Counts {
        let marks = try Marks(connection)
        var counts = Counts()
        let pending = overlaid ? (state.pendingRead, state.pendingSeen, state.pendingArchive) : (0, 0, 0)
        try eachItem { item in
            let columns = overlaid ? item.columns : Overlay.Columns()
            let position = item.state.position
            func shown(_ own: Bool?, _ kind: MarkKind, _ register: Register?, _ pending: Position) -> Bool {
                own ?? ((register == nil && position <= pending) || marks.value(kind, register, at: position))
            }
            let isHidden =
                (item.silent && (overlaid || !item.letGo)) || item.expires.map { $0 <= now } ?? false
                || columns.deleted == true
                || shown(columns.archived, .archive, item.state.archived, pending.2)
            if isHidden { return true }
            counts.total += 1
            if !shown(columns.read, .read, item.state.read, pending.0) { counts.unread += 1 }
            let seen = columns.seen == true || position <= pending.1 || marks.isSeen(item.state)
            if !seen { counts.unseen += 1 }
            return true
        }
        return counts
    }

    private func counts() throws(SQLiteError) -> [String] {
        let frame = try queries.frame()
        let queried = try queries.counts(DeliveredQuery(), frame)
        var counted = try recount(overlaid: true, now: frame.now)
        counted.isPartial = frame.isPartial
        return queried == counted ? [] : ["the queries say \(Self.text(queried)), a recount \(Self.text(counted))"]
    }

    private func tally() throws(SQLiteError) -> [String] {
        let rows = "SELECT * FROM (\(Tally.rows))"
        let kept = "SELECT * FROM tally WHERE listed <> 0 OR unread <> 0 OR unseen <> 0"
        return try self.rows(
            "block % is tallied otherwise than its rows",
            "SELECT block FROM (\(rows) EXCEPT \(kept)) UNION SELECT block FROM (\(kept) EXCEPT \(rows))")
    }

    static func text(_ counts: Counts) -> String {
        "\(counts.total) items, \(counts.unread) unread, \(counts.unseen) unseen"
    }
}
