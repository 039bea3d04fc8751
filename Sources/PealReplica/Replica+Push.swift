public import PealModel
internal import PealSQLite

/// The outbox on its way to the hub.
extension Replica {
    /// The next mutations to send, in the order of the acts; their numbers are durable before this returns. Blocking.
    ///
    /// The session sees to it that one push is in flight. A damaged act is set aside, by itself: as a dead letter, or as a
    /// `void` where its number is out already.
    ///
    /// - Parameters:
    ///   - maximumCount: mutations of the push, at most.
    ///   - maximumBytes: bytes of the frame, at most; one mutation goes whatever its size.
    /// - Returns: nil where nothing is due.
    public func nextPush(
        maximumCount: Int = Limits.mutationsPerPush, maximumBytes: Int = Limits.frameUp
    ) throws(ReplicaError) -> Push? {
        precondition(maximumCount > 0, "a push holds at least one mutation")
        return try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            guard !session.awaitsSnapshot else { return nil }
            var push = Push(mutations: [], suspect: false, last: 0)
            var room = maximumBytes - Self.frameOverhead
            let known = Set(session.settled.map(\.settled.uid))
            for row in try unsent(limit: maximumCount + known.count) where !known.contains(row.uid) {
                guard isDue(row), push.mutations.count < maximumCount else { break }
                let alone = row.attempts >= OutboxRow.suspectAttempts
                if alone, !push.mutations.isEmpty { break }
                guard let operation = try sendable(row) else { continue }
                room -= row.op.count + Self.mutationOverhead
                guard room >= 0 || push.mutations.isEmpty else { break }
                let n = row.n ?? state.nextN
                state.nextN = max(state.nextN, n + 1)
                try markSent(row.seq, n: n)
                push.mutations.append(row.mutation(operation, n: n, options.clock, offset: state.clockOffset))
                push.last = n
                if alone {
                    push.suspect = true
                    break
                }
            }
            if change.outbox {
                // A row that was set aside shows nothing any more.
                try refreshOverlay(&state, touched: true, newIDs: [])
            }
            try state.saveProgress(connection)
            guard !push.mutations.isEmpty else { return nil }
            change.outbox = true
            return push
        }
    }

    private func unsent(limit: Int) throws(SQLiteError) -> [OutboxRow] {
        let query = try connection.prepare(
            "SELECT \(OutboxRow.columns) FROM outbox WHERE state < 2 ORDER BY seq LIMIT ?1")
        query.bind(1, limit)
        var rows: [OutboxRow] = []
        while try query.step() { rows.append(OutboxRow(query)) }
        return rows
    }

    private func isDue(_ row: OutboxRow) -> Bool {
        if row.state == .held, let until = row.holdUntil, wait(until: until) > 0 { return false }
        if let retryAt = row.retryAt, wait(until: retryAt) > 0 { return false }
        return true
    }

    /// What goes out for a row; nil where it is set aside.
    private func sendable(_ row: OutboxRow) throws(SQLiteError) -> Operation? {
        if let reason = row.void { return .void(reason: reason) }
        if let operation = row.operation() { return operation }
        let reason = Self.damagedReason
        change.outbox = true
        guard row.n == nil else {
            try connection.statement("UPDATE outbox SET void = ?2 WHERE seq = ?1") { (update) throws(SQLiteError) in
                update.bind(1, row.seq)
                update.bind(2, reason)
                try update.run()
            }
            return .void(reason: reason)
        }
        try connection.statement("UPDATE outbox SET state = 3, outcome = ?2 WHERE seq = ?1") {
            (update) throws(SQLiteError) in
            update.bind(1, row.seq)
            update.bind(2, Self.text(Outcome(.invalid, reason: reason)))
            try update.run()
        }
        return nil
    }

    private func markSent(_ seq: Int64, n: Int64) throws(SQLiteError) {
        try connection.statement(
            "UPDATE outbox SET state = 2, n = ?2, hold_until = NULL, retry_at = NULL WHERE seq = ?1"
        ) { (update) throws(SQLiteError) in
            update.bind(1, seq)
            update.bind(2, n)
            try update.run()
        }
    }

    /// Whether something can be sent now or later.
    func hasUnsent() throws(SQLiteError) -> Bool {
        try connection.statement("SELECT 1 FROM outbox WHERE state < 2 LIMIT 1") {
            (query) throws(SQLiteError) in try query.step()
        }
    }

    /// Offers what was sent and not settled again, under the numbers that it has. Blocking.
    ///
    /// - Parameter retryAfter: milliseconds that a busy hub asks for; nil after a lost connection, which counts against the
    ///   first of the push.
    public func resetInFlight(retryAfter: Milliseconds? = nil) throws(ReplicaError) {
        try write(.full) { () throws(SQLiteError) in
            try resetRows(retryAt: retryAfter.map { options.clock.wall() + min($0, Self.maximumWait) })
        }
    }

    func resetRows(retryAt: Milliseconds?) throws(SQLiteError) {
        let head = try connection.int("SELECT min(seq) FROM outbox WHERE state = 2")
        guard head > 0 else { return }
        if let retryAt {
            try connection.execute("UPDATE outbox SET retry_at = \(retryAt) WHERE seq = \(head)")
        } else {
            try connection.execute("UPDATE outbox SET attempts = attempts + 1 WHERE seq = \(head)")
        }
        try connection.execute("UPDATE outbox SET state = 1 WHERE state = 2")
        change.outbox = true
    }

    /// Takes the answer to a resend: it settles when the cursor has reached the log in which its entry is, so that what is shown
    /// does not vanish in between. Blocking.
    ///
    /// - Parameters:
    ///   - settled: what the hub answered.
    ///   - position: the hub's head when it answered.
    /// - Returns: the highest own number that is settled, or will be without another send.
    public func settled(_ settled: [Settled], at position: Position) throws(ReplicaError) -> Int64 {
        try write(.normal) { () throws(SQLiteError) in
            var state = try loadState()
            session.settled += settled.map { ($0, position) }
            try settleWaiting(&state)
            if change.outbox { try refreshOverlay(&state, touched: true, newIDs: []) }
            try state.saveProgress(connection)
            return max(state.settledN, settled.map(\.n).max() ?? 0)
        }
    }
}
