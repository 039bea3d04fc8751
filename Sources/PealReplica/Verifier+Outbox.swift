internal import PealModel
internal import PealSQLite

/// The checks of what waits: overlay, outbox, journal, stage; and of a hub's word.
extension Verifier {
    // MARK: Overlay

    func overlay() throws(SQLiteError) -> [String] {
        var found = try rows(
            "the overlay of item % is not marked as one",
            """
            SELECT position FROM item WHERE overlaid <> (o_read IS NOT NULL OR o_seen IS NOT NULL OR o_archived IS NOT NULL
                OR o_deleted IS NOT NULL)
            """)
        let overlay = try Overlay(connection, state, isDevice: isDevice)
        let now = max(queries.clock.wall() + (state.clockOffset ?? 0), state.time, state.synced)
        for row in try outboxRows() where row.state != .dead && !row.quiet && row.void == nil {
            guard let operation = row.operation() else { continue }
            try overlay.add(
                row.mutation(operation, n: row.n ?? 0, queries.clock, offset: state.clockOffset), now: now)
        }
        let stale = try overlay.stale()
        found += stale.positions.prefix(Verification.maximumEvidence).map { "item \($0) shows something else" }
        if stale.interests { found.append("the interests show something else") }
        let marks = (overlay.pendingRead, overlay.pendingSeen, overlay.pendingArchive)
        if marks != (state.pendingRead, state.pendingSeen, state.pendingArchive) {
            found.append(
                "pending marks reach \(marks), and the file says "
                    + "\((state.pendingRead, state.pendingSeen, state.pendingArchive))")
        }
        return found
    }

    private var isDevice: Bool { state.identity == ReplicaFile.text(.device(id: nil)) }

    private func outboxRows() throws(SQLiteError) -> [OutboxRow] {
        let query = try connection.prepare("SELECT \(OutboxRow.columns) FROM outbox ORDER BY seq")
        var rows: [OutboxRow] = []
        while try query.step() { rows.append(OutboxRow(query)) }
        return rows
    }

    // MARK: Outbox and journal

    func outbox() throws(SQLiteError) -> [String] {
        let all = try outboxRows()
        let waiting = all.filter { $0.state != .dead }
        var found: [String] = []
        let numbers = waiting.compactMap(\.n)
        for (before, after) in zip(numbers, numbers.dropFirst()) where after != before + 1 {
            found.append("number \(after) follows \(before)")
        }
        if let first = numbers.first, first <= state.settledN {
            found.append("number \(first) waits, and \(state.settledN) is settled")
        }
        if let last = (numbers + all.compactMap(\.n)).max(), last >= state.nextN {
            found.append("number \(last) was given out, and \(state.nextN) is the next")
        }
        // What has a number was sent before what has none.
        if let unsent = waiting.firstIndex(where: { $0.n == nil }), waiting[unsent...].contains(where: { $0.n != nil })
        {
            found.append("act \(Hex64.text(waiting[unsent].uid)) was overtaken")
        }
        for row in waiting {
            let act = "act \(Hex64.text(row.uid))"
            if row.state == .sent, row.n == nil { found.append("\(act) was sent without a number") }
            if row.state == .held, row.seq != waiting.last?.seq {
                found.append("\(act) is held, and another came after it")
            }
            if row.operation() == nil, row.void == nil { found.append("\(act) cannot be decoded") }
        }
        for row in all where row.state == .dead && row.item.outcome == nil {
            found.append("dead letter \(Hex64.text(row.uid)) has no outcome")
        }
        return found
    }

    func journal() throws(SQLiteError) -> [String] {
        try rows(
            "act % waits, and is settled",
            "SELECT printf('%016x', o.uid) FROM outbox o JOIN journal j ON j.uid = o.uid")
            + rows(
                "number % was settled twice",
                "SELECT n FROM journal WHERE n IS NOT NULL GROUP BY n HAVING count(*) > 1")
            + rows(
                "number % waits, and is settled as another act",
                "SELECT o.n FROM outbox o JOIN journal j ON j.n = o.n WHERE o.state < 3 AND j.uid <> o.uid")
            + rows(
                "number % is settled, and \(state.nextN) is the next",
                "SELECT n FROM journal WHERE n >= \(state.nextN)")
            + rows(
                "settled act % has no outcome that can be read",
                """
                SELECT printf('%016x', uid) FROM journal
                WHERE NOT json_valid(outcome) OR json_extract(CASE WHEN json_valid(outcome) THEN outcome ELSE '{}' END,
                    '$.code') IS NULL
                """)
    }

    // MARK: Stage

    func stage() throws(SQLiteError) -> [String] {
        guard let stage = try Stage.load(connection) else {
            var found: [String] = []
            for table in ["stage_item", "stage_register", "stage_mark", "stage_interest", "stage_log"] {
                let count = try connection.int("SELECT count(*) FROM \(table)")
                if count > 0 { found.append("\(count) rows of \(table), and no snapshot is being loaded") }
            }
            return found
        }
        var found: [String] = []
        if stage.newestAt < stage.firstAt || stage.logPosition < stage.firstAt {
            found.append(
                "the first page is at \(stage.firstAt), the newest at \(stage.newestAt), the log at \(stage.logPosition)"
            )
        }
        if stage.isReady { found.append("the snapshot is complete at \(stage.logPosition) and was not swapped in") }
        let log = try connection.int("SELECT count(*) FROM stage_log")
        if log != stage.logPosition - stage.firstAt {
            found.append("\(log) entries are staged, and the log runs from \(stage.firstAt) to \(stage.logPosition)")
        }
        found += try rows(
            "an entry is staged at %, outside of what was loaded",
            "SELECT position FROM stage_log WHERE position <= \(stage.firstAt) OR position > \(stage.logPosition)")
        found += try rows(
            "item % is staged below the last page, or of no possible version",
            """
            SELECT position FROM \(stage.isPartial ? "item" : "stage_item") WHERE position < \(stage.after)
                OR position > version OR version < \(stage.firstAt) OR version > \(stage.newestAt)
            """)
        found += try rows(
            "a register of item % is staged without it",
            """
            SELECT position FROM stage_register r
            WHERE NOT EXISTS (SELECT 1 FROM stage_item i WHERE i.position = r.position)
            """)
        return found
    }

    // MARK: The hub

    func against(_ hub: HubStanding) -> [Verification.Check] {
        func check(_ name: String, _ claim: String, _ result: Verification.Result) -> Verification.Check {
            Verification.Check(name: name, claim: claim, result: result)
        }
        let isOurs = state.inbox == hub.inbox && (state.cursor.epoch ?? hub.epoch) == hub.epoch
        let at = state.cursor.position
        let epochs = "\(state.cursor.epoch.map(Hex64.text) ?? "none") here, \(Hex64.text(hub.epoch)) there"
        var checks = [
            check(
                "hubInbox", "file and hub mean the same log",
                isOurs ? .passed : .failed(["inbox \(state.inbox ?? "none") here, \(hub.inbox) there; epoch \(epochs)"])
            )
        ]
        let chain = "the hub's chain at the cursor is the file's"
        if let asked = hub.chainAsked {
            let evidence = "at \(at): \(Hex64.text(state.cursor.chain)) here, \(Hex64.text(asked)) there"
            checks.append(check("hubChain", chain, asked == state.cursor.chain ? .passed : .failed([evidence])))
        } else if at > hub.position {
            checks.append(
                check("hubChain", chain, .failed(["the file is at \(at), the hub's head is \(hub.position)"])))
        } else {
            checks.append(check("hubChain", chain, .skipped("the hub has trimmed the chain at \(at)")))
        }
        let sum = "file and hub have one sum at one position"
        let counts = "file and hub have the same counts at one position"
        guard isOurs, at == hub.position else {
            let why = "the file is at \(at), the hub at \(hub.position)"
            return checks + [check("hubSum", sum, .skipped(why)), check("hubCounts", counts, .skipped(why))]
        }
        let sums = "at \(at): \(Hex64.text(state.sum)) here, \(Hex64.text(hub.sum)) there"
        checks.append(check("hubSum", sum, state.sum == hub.sum ? .passed : .failed([sums])))
        var result = Verification.Result.passed
        do throws(SQLiteError) {
            let own = try recount(overlaid: false, now: hub.time)
            if own != hub.counts { result = .failed(["\(Self.text(own)) here, \(Self.text(hub.counts)) there"]) }
        } catch {
            result = .failed(["it cannot be read: \(error.message)"])
        }
        return checks + [check("hubCounts", counts, result)]
    }
}
