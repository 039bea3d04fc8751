public import PealModel
internal import PealSQLite

/// Batches: the base, the cursor and the own outbox move together.
extension Replica {
    /// Folds a batch of the live session: one transaction. The caller has compared its session with the live one.
    ///
    /// Entries at or below the cursor are skipped. While a snapshot is being loaded the entries go to the stage, and the
    /// snapshot takes the place of the base with the batch that passes its newest page. Bytes that cannot be decoded are
    /// set aside and named; the cursor moves on. Blocking.
    public func apply(_ batch: Batch) throws(ReplicaError) -> Applied {
        try write(.normal) { () throws(SQLiteError) in
            var state = try loadState()
            if let stage = try Stage.load(connection) { return try apply(batch, to: stage, &state) }
            let cursor = state.cursor.position
            guard !session.awaitsSnapshot, batch.to > cursor else { return result(.ignored, state) }
            guard batch.from <= cursor else { return result(.gap, state) }
            let new = batch.entries.dropFirst(Int(cursor - batch.from))
            var fold = Fold(connection, state)
            fold.keepsNewIDs = try hasPending()
            try fold.entries(new, first: cursor + 1)
            state.cursor = Cursor(
                epoch: session.epoch ?? state.cursor.epoch, position: batch.to, chain: batch.chain)
            let foreign = try finish(fold, &state)
            var applied = result(foreign ? .foreign : .folded, state)
            if let sum = batch.sum { applied.divergence = try compare(sum, &state) }
            if fold.found.returned {
                state.divergence.repair = true
                try state.divergence.save(connection)
                applied.wantsSnapshot = true
            }
            applied.entries = new.count
            applied.quarantined = fold.found.quarantined
            return applied
        }
    }

    func result(_ verdict: Applied.Verdict, _ state: ReplicaState) -> Applied {
        Applied(
            verdict: verdict, position: state.cursor.position, entries: 0, settledThrough: state.settledN, swap: nil,
            quarantined: [], divergence: nil)
    }

    private func apply(
        _ batch: Batch, to stage: Stage, _ state: inout ReplicaState
    ) throws(SQLiteError) -> Applied {
        var stage = stage
        var applied = result(.ignored, state)
        applied.position = stage.logPosition
        guard batch.to > stage.logPosition else { return applied }
        guard batch.from <= stage.logPosition else {
            applied.verdict = .gap
            return applied
        }
        let new = batch.entries.dropFirst(Int(stage.logPosition - batch.from))
        try stage.append(new, to: batch.to, chain: batch.chain, connection)
        applied.verdict = .staged
        applied.entries = new.count
        if stage.isReady {
            let swap = try swapIn(stage, &state)
            applied.swap = swap.report
            if let sum = batch.sum { applied.divergence = try compare(sum, &state) }
            applied.quarantined = swap.quarantined
            applied.verdict = swap.foreign ? .foreign : .folded
            applied.position = state.cursor.position
            applied.settledThrough = state.settledN
        } else {
            applied.position = stage.logPosition
        }
        return applied
    }

    /// What every fold ends with: own mutations settle, the overlay follows, the cursor is written.
    ///
    /// - Returns: whether an entry shows that another copy of this replica acts.
    func finish(_ fold: Fold, _ state: inout ReplicaState, everything: Bool = false) throws(SQLiteError) -> Bool {
        let found = fold.found
        if found.time > 0 { state.time = found.time }
        state.sum = fold.sum
        state.synced = max(state.synced, state.time)
        let foreign = try isForeign(found, state)
        for (settled, position) in found.settled { try settle(settled, at: position, &state) }
        try settleWaiting(&state)
        if found.interests { try connection.execute("DELETE FROM interest WHERE base = 0 AND overlay IS NULL") }
        note(found, everything: everything)
        let touched = everything || found.touchesItems || found.interests || found.preferences
        try refreshOverlay(&state, touched: touched, newIDs: found.newIDs)
        change.position = state.cursor.position
        try state.saveProgress(connection)
        return foreign
    }

    private func note(_ found: Fold.Found, everything: Bool) {
        change.interests = change.interests || found.interests
        change.preferences = change.preferences || found.preferences
        let count = found.inserted.count + found.changed.count + found.deleted.count
        if everything || found.marks || count > Change.maximumPositions {
            change.everything = true
            return
        }
        let deleted = Set(found.deleted)
        let inserted = Set(found.inserted)
        change.inserted = deleted.isEmpty ? found.inserted : found.inserted.filter { !deleted.contains($0) }
        change.deleted = deleted.filter { !inserted.contains($0) }.sorted()
        change.changed = Set(found.changed).filter { !deleted.contains($0) && !inserted.contains($0) }.sorted()
    }

    /// An entry with this replica's id and a number that was never given out, or that was given to another act.
    private func isForeign(_ found: Fold.Found, _ state: ReplicaState) throws(SQLiteError) -> Bool {
        if found.highestOwn >= state.nextN { return true }
        for (settled, _) in found.settled {
            if let uid = try sentUID(of: settled.n), uid != settled.uid { return true }
        }
        return false
    }

    /// The act that this file sent under a number, where it still knows.
    func sentUID(of n: Int64) throws(SQLiteError) -> UInt64? {
        try connection.statement(
            "SELECT uid FROM outbox WHERE n = ?1 UNION ALL SELECT uid FROM journal WHERE n = ?1 LIMIT 1"
        ) { (query) throws(SQLiteError) in
            query.bind(1, n)
            return try query.step() ? query.bits(0) : nil
        }
    }

    /// Whether acts of this device shape what is shown.
    func hasPending() throws(SQLiteError) -> Bool {
        try connection.statement("SELECT 1 FROM outbox WHERE state < 3 AND quiet = 0 AND void IS NULL LIMIT 1") {
            (query) throws(SQLiteError) in try query.step()
        }
    }

    // MARK: Settling

    /// Takes an act out of the outbox: into the journal, or to the dead letters.
    func settle(_ settled: Settled, at position: Position?, _ state: inout ReplicaState) throws(SQLiteError) {
        state.settledN = max(state.settledN, settled.n)
        let row = try connection.statement("SELECT seq, void FROM outbox WHERE uid = ?1 AND state < 3") {
            (query) throws(SQLiteError) -> (seq: Int64, void: String?)? in
            query.bind(1, bits: settled.uid)
            return try query.step() ? (query.int64(0), query.optionalText(1)) : nil
        }
        guard let row else { return }
        change.outbox = true
        state.generation += 1
        var outcome = settled.outcome
        // A person should learn why an act was voided, but not of one that they took back themselves.
        let discarded = row.void == Self.discardedReason
        if outcome.code == .void, !discarded { outcome.reason = row.void ?? outcome.reason }
        if outcome.isDead || outcome.code == .void && !discarded {
            try connection.statement(
                "UPDATE outbox SET state = 3, n = ?2, outcome = ?3 WHERE seq = ?1"
            ) { (update) throws(SQLiteError) in
                update.bind(1, row.seq)
                update.bind(2, settled.n)
                update.bind(3, Self.text(outcome))
                try update.run()
            }
        } else {
            try moveToJournal(row.seq, n: settled.n, outcome, at: position, state)
        }
    }

    /// The reason of a void whose act was discarded by a person.
    static let discardedReason = "discarded"

    /// Keeps an act by the hub's clock: this device's may jump by a year, and must not take the journal with it.
    func moveToJournal(
        _ seq: Int64, n: Int64?, _ outcome: Outcome, at position: Position?, _ state: ReplicaState
    ) throws(SQLiteError) {
        try connection.statement(
            """
            INSERT OR REPLACE INTO journal
                (seq, uid, n, name, op, observed, observed_time, boot, boot_time, wall, outcome, position, settled)
            SELECT seq, uid, ?2, name, op, observed, observed_time, boot, boot_time, wall, ?3, ?4, ?5
            FROM outbox WHERE seq = ?1
            """
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, seq)
            insert.bind(2, n)
            insert.bind(3, Self.text(outcome))
            insert.bind(4, position)
            insert.bind(5, state.synced)
            try insert.run()
        }
        try connection.statement("DELETE FROM outbox WHERE seq = ?1") { (delete) throws(SQLiteError) in
            delete.bind(1, seq)
            try delete.run()
        }
    }

    /// Outcomes of a resend count once the cursor is where their entries are.
    func settleWaiting(_ state: inout ReplicaState) throws(SQLiteError) {
        guard !session.settled.isEmpty, !session.awaitsSnapshot else { return }
        let due = session.settled.filter { $0.at <= state.cursor.position }
        for (settled, _) in due { try settle(settled, at: nil, &state) }
        if !due.isEmpty { session.settled.removeAll { $0.at <= state.cursor.position } }
    }

    static func text(_ outcome: Outcome) -> String {
        var writer = JSONWriter()
        outcome.write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
