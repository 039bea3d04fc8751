internal import PealModel
internal import PealSQLite

/// Rows that hold what no row can: a disk's or another program's work (docs/sync.md section 8). SQLite refuses each change of such a
/// row, and of every other row that the same statement would change, so one of them would stop the outbox.
extension Replica {
    /// What every row of outbox and journal holds.
    private static let soundAct = """
        typeof(uid) = 'integer' AND typeof(n) IN ('integer', 'null') AND coalesce(n BETWEEN 1 AND \(most), 1)
        AND typeof(name) = 'text' AND typeof(op) = 'text' AND typeof(boot) = 'text'
        AND typeof(observed) = 'integer' AND observed BETWEEN -\(most) AND \(most)
        AND typeof(observed_time) = 'integer' AND observed_time BETWEEN -\(most) AND \(most)
        AND typeof(boot_time) = 'integer' AND boot_time BETWEEN -\(most) AND \(most)
        AND typeof(wall) = 'integer' AND wall BETWEEN -\(most) AND \(most)
        """
    private static let soundOutbox = """
        \(soundAct) AND typeof(state) = 'integer' AND state BETWEEN 0 AND 3
        AND typeof(hold_until) IN ('integer', 'null') AND coalesce(hold_until BETWEEN -\(most) AND \(most), 1)
        AND typeof(retry_at) IN ('integer', 'null') AND coalesce(retry_at BETWEEN -\(most) AND \(most), 1)
        AND typeof(attempts) = 'integer' AND attempts BETWEEN 0 AND \(most)
        AND typeof(void) IN ('text', 'null') AND typeof(quiet) = 'integer' AND typeof(outcome) IN ('text', 'null')
        """
    private static let soundJournal = """
        \(soundAct) AND typeof(position) IN ('integer', 'null') AND typeof(settled) = 'integer'
        AND typeof(outcome) = 'text'
        """
    private static let most = ReplicaState.possible.upperBound

    /// What a person reads of an act that was lost so.
    static let damagedReason = "This act could not be read back from the file."

    /// Sets damaged acts aside, each by itself: as a dead letter, or as a `void` where its number is out already. Blocking.
    func mendOutbox() throws(ReplicaError) {
        guard !isReadOnly else { return }
        let damaged = try read { () throws(SQLiteError) in
            try connection.prepare("SELECT 1 FROM outbox WHERE NOT (\(Self.soundOutbox)) LIMIT 1").step()
        }
        guard damaged else { return }
        try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            let query = try connection.prepare(
                "SELECT \(OutboxRow.columns) FROM outbox WHERE NOT (\(Self.soundOutbox)) ORDER BY seq")
            var rows: [OutboxRow] = []
            while try query.step() { rows.append(OutboxRow(query)) }
            for row in rows { try setAside(row, state) }
            try outboxChanged(&state)
        }
    }

    /// Takes a new id where the numbers of what waits cannot be those that were given out: a hub takes no number but the next, so
    /// that a damaged one would stop the outbox. Under new numbers all of it is offered again (docs/sync.md section 7). Blocking.
    func mendNumbers() throws(ReplicaError) {
        guard !isReadOnly, try read(numbersAreBroken) else { return }
        try fork(to: nil)
    }

    /// Numbers of what waits are dense, go up to the last that was given out, and stand before what has none.
    private func numbersAreBroken() throws(SQLiteError) -> Bool {
        try connection.statement(
            """
            SELECT count(n), min(n), max(n), max(seq) FILTER (WHERE n IS NOT NULL), min(seq) FILTER (WHERE n IS NULL),
                (SELECT next_n FROM replica)
            FROM outbox WHERE state < 3
            """
        ) { (query) throws(SQLiteError) in
            guard try query.step(), query.int64(0) > 0 else { return false }
            let isDense =
                query.number(2) - query.number(1) == query.int64(0) - 1 && query.number(2) == query.number(5) - 1
            return !isDense || !query.isNull(4) && query.int64(4) < query.int64(3)
        }
    }

    private func setAside(_ row: OutboxRow, _ state: ReplicaState) throws(SQLiteError) {
        try connection.execute("DELETE FROM outbox WHERE seq = \(row.seq)")
        // Where its number is out, the next ones wait for that.
        let number = row.n.flatMap { $0 > state.settledN && $0 < state.nextN && row.state != .dead ? $0 : nil }
        let outcome = row.item.outcome ?? Outcome(.invalid, reason: Self.damagedReason)
        let insert = try connection.prepare(
            """
            INSERT OR REPLACE INTO outbox (seq, uid, n, state, name, op, observed, observed_time, boot, boot_time, wall, void,
                outcome)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """)
        insert.bind(1, row.seq)
        insert.bind(2, bits: row.uid == 0 ? options.random() : row.uid)
        insert.bind(3, number)
        insert.bind(4, number == nil ? OutboxItem.State.dead.rawValue : OutboxItem.State.queued.rawValue)
        insert.bind(5, row.operation()?.name ?? "")
        insert.bind(6, row.operation().map { String(decoding: Self.bytes($0), as: UTF8.self) } ?? "{}")
        insert.bind(7, row.observed)
        insert.bind(8, row.observedTime)
        insert.bind(9, row.boot)
        insert.bind(10, row.bootTime)
        insert.bind(11, row.wall)
        insert.bind(12, number == nil ? nil : Self.damagedReason)
        insert.bind(13, number == nil ? Self.text(outcome) : nil)
        try insert.run()
    }

    /// Forgets settled acts that could not be offered again anyway.
    func mendJournal() throws(SQLiteError) {
        try connection.execute("DELETE FROM journal WHERE NOT (\(Self.soundJournal))")
        // `json_valid` is false for want of memory too, so it only says what to look at.
        for (seq, text) in try texts("SELECT seq, outcome FROM journal WHERE NOT json_valid(outcome)") {
            if let object = try? JSONObject(text[...]), let outcome = try? Outcome(object) {
                try connection.statement("UPDATE journal SET outcome = ?2 WHERE seq = ?1") {
                    (update) throws(SQLiteError) in
                    update.bind(1, seq)
                    update.bind(2, Self.text(outcome))
                    try update.run()
                }
            } else {
                try connection.execute("DELETE FROM journal WHERE seq = \(seq)")
            }
        }
    }

    /// Lets pending and journaled marks reach no farther than a position.
    func clampMarks(to position: Position) throws(SQLiteError) {
        for table in ["outbox", "journal"] {
            for (seq, text) in try texts("SELECT seq, op FROM \(table) WHERE name = 'mark'") {
                guard let object = try? JSONObject(text[...]), case .mark(let kind, let upTo)? = try? Operation(object),
                    upTo > position
                else { continue }
                let update = try connection.prepare("UPDATE \(table) SET op = ?2 WHERE seq = ?1")
                update.bind(1, seq)
                update.bind(2, String(decoding: Self.bytes(.mark(kind, upTo: position)), as: UTF8.self))
                try update.run()
            }
        }
    }

    private func texts(_ sql: String) throws(SQLiteError) -> [(seq: Int64, text: [UInt8])] {
        let query = try connection.prepare(sql)
        var found: [(seq: Int64, text: [UInt8])] = []
        while try query.step() { found.append((query.int64(0), query.blob(1))) }
        return found
    }
}
