public import PealModel
internal import PealSQLite

/// Who this replica is to the hub: attempts, nonces, forks.
extension Replica {
    /// The next hello; its attempt is durable before this returns, and what was in flight waits to be sent again. Blocking.
    ///
    /// - Parameters:
    ///   - proof: what the app proves the user with; the replica's own secret is added, after a fork the previous one.
    ///   - windowEntries: entries that may be unacknowledged.
    ///   - windowBytes: bytes that may be unacknowledged.
    public func hello(
        proof: Proof, windowEntries: Int64 = Int64(Limits.windowEntries),
        windowBytes: Int64 = Int64(Limits.windowBytes)
    ) throws(ReplicaError) -> Hello {
        try mendOutbox()
        try mendNumbers()
        return try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            state.attempt += 1
            try state.saveIdentity(connection)
            session = SessionMemory()
            try resetRows(retryAt: nil)
            try expireJournal(state)
            try recordSession(state.attempt)
            var proof = proof
            proof.secret = state.secret ?? state.previousSecret
            proof.replica = state.secret == nil ? state.previousReplica.flatMap { ReplicaID($0) } : nil
            return Hello(
                project: state.project, inbox: helloIdentity(state), replica: state.replica, proof: proof,
                attempt: state.attempt, nonce: state.nonce, cursor: state.cursor, outbox: try sentRange(),
                windowEntries: windowEntries, windowBytes: windowBytes)
        }
    }

    private func helloIdentity(_ state: ReplicaState) -> InboxIdentity {
        guard case .device(let id) = identity else { return identity }
        return .device(id: state.inbox ?? id)
    }

    private func sentRange() throws(SQLiteError) -> ClosedRange<Int64> {
        try connection.statement("SELECT min(n), max(n) FROM outbox WHERE n IS NOT NULL AND state < 3") {
            (query) throws(SQLiteError) in
            guard try query.step(), !query.isNull(0) else { return 0...0 }
            return query.int64(0)...max(query.int64(0), query.int64(1))
        }
    }

    /// Settled acts are kept for 30 days by the hub's clock.
    private func expireJournal(_ state: ReplicaState) throws(SQLiteError) {
        try connection.statement("DELETE FROM journal WHERE settled < ?1") { (delete) throws(SQLiteError) in
            delete.bind(1, state.synced - Limits.journalAge)
            try delete.run()
        }
    }

    private func recordSession(_ attempt: Int64) throws(SQLiteError) {
        try connection.statement("INSERT OR REPLACE INTO session (attempt, started) VALUES (?1, ?2)") {
            (insert) throws(SQLiteError) in
            insert.bind(1, attempt)
            insert.bind(2, options.clock.wall())
            try insert.run()
        }
        try connection.execute(
            "DELETE FROM session WHERE attempt NOT IN (SELECT attempt FROM session ORDER BY started DESC, attempt DESC LIMIT 20)"
        )
    }

    /// The hub has seen a higher attempt of this replica: the next hello is above it. Durable. Blocking.
    public func attemptRefused(last: Int64) throws(ReplicaError) {
        try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            state.attempt = max(state.attempt, last)
            try state.saveIdentity(connection)
        }
    }

    /// Takes a welcome: inbox, nonce, secret and clock are durable before this returns. Blocking.
    ///
    /// Outcomes in it settle once the cursor reaches the welcome's head. A welcome that shows a fork changes nothing: call
    /// ``fork(to:)``.
    ///
    /// - Throws: ``ReplicaError``: `otherInbox` where the hub answers with another inbox than ever before.
    public func welcomed(_ welcome: Welcome) throws(ReplicaError) -> WelcomeCheck {
        var otherInbox = false
        let check = try write(.full) { () throws(SQLiteError) -> WelcomeCheck in
            var state = try loadState()
            if let inbox = state.inbox, inbox != welcome.inbox, welcome.mode != .forked {
                otherInbox = true
                return WelcomeCheck(fork: nil, position: state.cursor.position, outbox: false)
            }
            if let reason = try forkReason(welcome, state) {
                return WelcomeCheck(fork: reason, position: state.cursor.position, outbox: false)
            }
            try take(welcome, &state)
            let isResumed = welcome.mode == .resume
            let divergence = isResumed ? try compare(nil, &state) : nil
            let stage = try Stage.load(connection)
            return WelcomeCheck(
                fork: nil, position: stage?.logPosition ?? state.cursor.position, outbox: try hasUnsent(),
                repair: isResumed && state.divergence.repair, divergence: divergence)
        }
        guard !otherInbox else {
            throw ReplicaError(.otherInbox, "the hub answers with another inbox than the one that \(path) is bound to")
        }
        return check
    }

    /// A cursor that proves that the hub went back never forks (docs/sync.md section 7).
    private func forkReason(
        _ welcome: Welcome, _ state: ReplicaState
    ) throws(SQLiteError) -> WelcomeCheck.ForkReason? {
        if welcome.mode == .forked { return .mode }
        guard welcome.mode != .ahead, welcome.lastN > 0 else { return nil }
        if welcome.lastN >= state.nextN { return .numberAhead }
        return try isForeign(welcome) ? .foreignAct : nil
    }

    /// Whether the hub's last number is of an act that this file did not send under it.
    private func isForeign(_ welcome: Welcome) throws(SQLiteError) -> Bool {
        guard let theirs = welcome.lastUID, let ours = try sentUID(of: welcome.lastN) else { return false }
        return ours != theirs
    }

    private func take(_ welcome: Welcome, _ state: inout ReplicaState) throws(SQLiteError) {
        state.inbox = welcome.inbox
        state.nonce = welcome.nonce
        if let secret = welcome.secret {
            state.secret = secret
            state.previousReplica = nil
            state.previousSecret = nil
        }
        state.clockOffset = welcome.time - options.clock.wall()
        state.synced = max(state.synced, welcome.time)
        state.ahead = welcome.mode == .ahead
        state.aheadLastN = welcome.lastN
        session = SessionMemory()
        session.epoch = welcome.epoch
        session.awaitsSnapshot = welcome.mode != .resume
        session.reoffers = welcome.reoffer
        session.offersAll = try isForeign(welcome) || welcome.lastN >= state.nextN
        session.settled = welcome.settled.map { ($0, welcome.head) }
        if welcome.mode == .resume {
            let stage = try Stage.load(connection)
            if !state.divergence.repair || stage?.isPartial == true { try abandon(stage, &state) }
            // So that a hub that is restored to before this contact is known for it, although nothing has been folded yet.
            if state.cursor.epoch == nil { state.cursor.epoch = welcome.epoch }
        }
        try resetRows(retryAt: nil)
        try settleWaiting(&state)
        if change.outbox { try refreshOverlay(&state, touched: true, newIDs: []) }
        try state.saveIdentity(connection)
        try state.saveProgress(connection)
        try connection.statement("UPDATE session SET welcomed = ?2, mode = ?3 WHERE attempt = ?1") {
            (update) throws(SQLiteError) in
            update.bind(1, state.attempt)
            update.bind(2, options.clock.wall())
            update.bind(3, welcome.mode.rawValue)
            try update.run()
        }
    }

    /// Goes on under a new id, because another copy of this replica lives: data is kept, outbox and journal are offered again
    /// under new numbers, and the hub drops by uid what had arrived (docs/sync.md section 7). Durable. Blocking.
    ///
    /// - Parameter id: the new id; random by default.
    public func fork(to id: ReplicaID? = nil) throws(ReplicaError) {
        try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            if state.secret != nil {
                state.previousReplica = state.replica.description
                state.previousSecret = state.secret
            }
            state.replica = id ?? ReplicaID(high: options.random(), low: options.random())
            state.secret = nil
            // Attempts count on: a late welcome of the old id must not look like one of the new.
            state.nonce = ""
            state.nextN = 1
            state.settledN = 0
            session = SessionMemory()
            try mendJournal()
            // Numbers that were only voided are nobody's concern any more.
            try connection.execute(
                """
                UPDATE outbox SET state = 3, outcome = '{"code":"void"}' WHERE void IS NOT NULL AND state < 3;
                UPDATE outbox SET n = NULL, attempts = 0, retry_at = NULL, state = CASE state WHEN 2 THEN 1 ELSE state END;
                UPDATE journal SET n = NULL
                """)
            try connection.execute("UPDATE replica SET forked = \(options.clock.wall())")
            try offerJournal(above: nil, quiet: true)
            try state.saveIdentity(connection)
            try outboxChanged(&state)
        }
    }

    /// Moves settled acts back to the outbox, in their old order; all, or those with numbers above one.
    func offerJournal(above n: Int64?, quiet: Bool) throws(SQLiteError) {
        try connection.execute(
            """
            INSERT INTO outbox (seq, uid, state, name, op, observed, observed_time, boot, boot_time, wall, quiet)
            SELECT seq, uid, 1, name, op, observed, observed_time, boot, boot_time, wall, \(quiet ? 1 : 0)
            FROM journal WHERE \(Self.lost(above: n)) ORDER BY seq ON CONFLICT DO NOTHING;
            DELETE FROM journal WHERE \(Self.lost(above: n))
            """)
    }

    /// Which rows of the journal the hub does not know any more, as an SQL condition; void ones are nobody's loss.
    static func lost(above n: Int64?) -> String {
        (n.map { "n > \($0) AND " } ?? "") + "json_extract(outcome, '$.code') <> 'void'"
    }

    /// The session is over: for the record, and what was in flight waits to be sent again. Blocking.
    ///
    /// - Parameters:
    ///   - code: its close code; nil for a lost connection.
    ///   - reason: a sentence without content.
    public func sessionEnded(code: CloseCode?, reason: String) throws(ReplicaError) {
        try setLoading(false)
        try write(.normal) { () throws(SQLiteError) in
            session = SessionMemory()
            try resetRows(retryAt: nil)
            try connection.statement(
                """
                UPDATE session SET ended = ?1, code = ?2, reason = ?3
                WHERE attempt = (SELECT attempt FROM replica) AND ended IS NULL
                """
            ) { (update) throws(SQLiteError) in
                update.bind(1, options.clock.wall())
                update.bind(2, code.map { Int64($0.rawValue) })
                update.bind(3, reason)
                try update.run()
            }
        }
    }
}
