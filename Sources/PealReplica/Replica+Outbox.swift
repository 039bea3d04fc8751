public import PealModel
internal import PealSQLite

/// What a person does: durable and shown before the call returns.
extension Replica {
    /// Queues an act; it and its overlay are durable before this returns, and it releases an act that is held. Blocking.
    ///
    /// - Parameters:
    ///   - operation: what was done. A mark reaches at most to `observed`.
    ///   - observed: what the person was looking at, as a page carries it; nil for what the file shows now.
    ///   - hold: milliseconds in which ``undo(_:)`` can take it back; the next act ends them.
    /// - Returns: the act's uid.
    /// - Throws: ``ReplicaError``: `invalid` for an operation that this inbox cannot have, `tooLarge` for one over a limit.
    @discardableResult
    public func enqueue(
        _ operation: Operation, observed: ViewPosition? = nil, hold: Milliseconds = 0
    ) throws(ReplicaError) -> UInt64 {
        try check(operation)
        return try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            let view = observed ?? ViewPosition(position: state.cursor.position, time: state.time)
            // Nobody has seen more than there is; while a snapshot loads that is the complete base.
            let position = max(0, min(view.position, state.cursor.position))
            let uid = try insert(Self.clamped(operation, to: position), position, view.time, hold: hold)
            try queued(uid, &state)
            return uid
        }
    }

    private func check(_ operation: Operation) throws(ReplicaError) {
        switch operation {
        case .void, .malformed: throw ReplicaError(.invalid, "'\(operation.name)' is no act")
        case .interest(let name, _): try check(interests: [name])
        case .interests(let names): try check(interests: names)
        case .preference(let category, let channel, _):
            guard !isDevice else { throw ReplicaError(.invalid, "a device's inbox has no preferences") }
            guard Limits.isSlug(category), Limits.isSlug(channel) else {
                throw ReplicaError(.invalid, "a category and a channel are 1 to \(Limits.slug) bytes of text")
            }
        case .track(_, let event, let data):
            guard Fact.events.contains(event) else { throw ReplicaError(.invalid, "this is no fact that a hub takes") }
            guard data?.count ?? 0 <= Limits.factData else {
                throw ReplicaError(.tooLarge, "what comes with a fact is at most \(Limits.factData) bytes")
            }
            // It goes into the file and into frames as it is: what is no JSON would break what stands around it.
            if let data, (try? JSON(data)) == nil {
                throw ReplicaError(.invalid, "what comes with a fact is one JSON value, without half a surrogate pair")
            }
        case .token, .user, .end:
            guard isDevice else { throw ReplicaError(.invalid, "a user's inbox takes no '\(operation.name)'") }
        default: break
        }
        guard operation.items.count <= Limits.itemsPerMutation else {
            throw ReplicaError(.tooLarge, "at most \(Limits.itemsPerMutation) items go in one act")
        }
        guard Self.bytes(operation).count <= Self.maximumOperation else {
            throw ReplicaError(.tooLarge, "an act is at most \(Self.maximumOperation) bytes")
        }
    }

    private func check(interests names: [String]) throws(ReplicaError) {
        guard isDevice else { throw ReplicaError(.invalid, "a user's inbox has no interests") }
        guard names.allSatisfy(Limits.isInterest) else { throw ReplicaError(.invalid, "this is no interest's name") }
        guard names.count <= Limits.interestsPerDevice else {
            throw ReplicaError(.tooLarge, "a device has at most \(Limits.interestsPerDevice) interests")
        }
    }

    /// Bytes of an operation: a frame, less the frame and the mutation around it.
    static let maximumOperation = Limits.frameUp - Replica.frameOverhead - Replica.mutationOverhead
    /// Bytes that a push needs beside its mutations.
    static let frameOverhead = 64
    /// Bytes that a mutation needs beside its operation: seven names and numbers of up to 20 digits.
    static let mutationOverhead = 192

    var isDevice: Bool {
        if case .device = identity { true } else { false }
    }

    static func bytes(_ operation: Operation) -> [UInt8] {
        var writer = JSONWriter()
        operation.write(to: &writer)
        return writer.bytes
    }

    private static func clamped(_ operation: Operation, to position: Position) -> Operation {
        guard case .mark(let kind, let upTo) = operation else { return operation }
        return .mark(kind, upTo: min(upTo, position))
    }

    private func insert(
        _ operation: Operation, _ observed: Position, _ time: Milliseconds, hold: Milliseconds
    ) throws(SQLiteError) -> UInt64 {
        try connection.statement("UPDATE outbox SET state = 1, hold_until = NULL WHERE state = 0") {
            (release) throws(SQLiteError) in try release.run()
        }
        let uid = options.random()
        let wall = options.clock.wall()
        try connection.statement(
            """
            INSERT INTO outbox (uid, state, name, op, observed, observed_time, boot, boot_time, wall, hold_until)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, bits: uid)
            insert.bind(2, hold > 0 ? OutboxItem.State.held.rawValue : OutboxItem.State.queued.rawValue)
            insert.bind(3, operation.name)
            insert.bind(4, text: Self.bytes(operation)[...])
            insert.bind(5, observed)
            insert.bind(6, time)
            insert.bind(7, options.clock.bootID())
            insert.bind(8, options.clock.boot())
            insert.bind(9, wall)
            insert.bind(10, hold > 0 ? wall + min(hold, Self.maximumWait) : nil as Int64?)
            try insert.run()
        }
        return uid
    }

    /// The last row of the outbox is new: the overlay takes it, without going through the others where it can.
    private func queued(_ uid: UInt64, _ state: inout ReplicaState) throws(SQLiteError) {
        let known = Overlay.Key(cursor: state.cursor, generation: state.generation)
        state.generation += 1
        change.outbox = true
        if let overlay, overlay.key == known, let row = try row(uid), let operation = row.operation() {
            try add(row, operation, to: overlay, state)
            overlay.key.generation = state.generation
            try show(overlay, &state)
        } else {
            try refreshOverlay(&state, touched: true, newIDs: [])
        }
        try state.saveProgress(connection)
    }

    func row(_ uid: UInt64) throws(SQLiteError) -> OutboxRow? {
        let query = try connection.prepare("SELECT \(OutboxRow.columns) FROM outbox WHERE uid = ?1")
        query.bind(1, bits: uid)
        return try query.step() ? OutboxRow(query) : nil
    }

    // MARK: Second thoughts

    /// Takes a held act back: it is as if it had never been made. Blocking.
    ///
    /// - Returns: false where it is not held any more.
    public func undo(_ uid: UInt64) throws(ReplicaError) -> Bool {
        try remove(uid, journal: false) { $0.state == .held }
    }

    /// Lets an act that is held go: it can be sent, and no longer be taken back. Blocking.
    package func release() throws(ReplicaError) {
        try write(.full) { () throws(SQLiteError) in
            try connection.execute("UPDATE outbox SET state = 1, hold_until = NULL WHERE state = 0")
            if connection.changes > 0 { change.outbox = true }
        }
    }

    /// Forgets a dead letter, or an act that has not been sent. What was sent cannot be taken back. Blocking.
    ///
    /// - Returns: false where there is none such.
    public func discard(_ uid: UInt64) throws(ReplicaError) -> Bool {
        try remove(uid, journal: true) { $0.state == .dead || $0.state == .held || $0.n == nil }
    }

    private func remove(
        _ uid: UInt64, journal: Bool, where allowed: (OutboxRow) -> Bool
    ) throws(ReplicaError) -> Bool {
        try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            guard let row = try row(uid), allowed(row) else { return false }
            if row.state == .dead, row.n != nil, journal {
                // Its number stays known: a hub that was restored may ask for it.
                try moveToJournal(row.seq, n: row.n, Outcome(.void, reason: Self.discardedReason), at: nil, state)
            } else {
                try connection.execute("DELETE FROM outbox WHERE seq = \(row.seq)")
            }
            try outboxChanged(&state)
            return true
        }
    }

    /// Makes a dead letter's act again, as a new one. Blocking.
    ///
    /// - Returns: the new act's uid; nil where there is no such dead letter, or it is damaged.
    public func retry(_ uid: UInt64) throws(ReplicaError) -> UInt64? {
        try write(.full) { () throws(SQLiteError) in
            var state = try loadState()
            guard let row = try row(uid), row.state == .dead, let operation = row.operation() else { return nil }
            let new = try insert(operation, row.observed, row.observedTime, hold: 0)
            try moveToJournal(row.seq, n: row.n, Outcome(.void, reason: Self.discardedReason), at: nil, state)
            try outboxChanged(&state)
            return new
        }
    }

    func outboxChanged(_ state: inout ReplicaState) throws(SQLiteError) {
        state.generation += 1
        change.outbox = true
        try refreshOverlay(&state, touched: true, newIDs: [])
        try state.saveProgress(connection)
    }

    /// Milliseconds until a held act, or a retry after a busy hub, is due; nil where nothing waits for time. Blocking.
    public func nextDue() throws(ReplicaError) -> Milliseconds? {
        try read { () throws(SQLiteError) in
            try connection.statement(
                "SELECT min(coalesce(hold_until, retry_at)) FROM outbox WHERE state < 2"
            ) { (query) throws(SQLiteError) in
                guard try query.step(), let due = query.optionalNumber(0) else { return nil }
                return wait(until: due)
            }
        }
    }

    /// How long until a time of this device's clock; a clock that was set back makes nobody wait for more than
    /// ``maximumWait``.
    func wait(until due: Milliseconds) -> Milliseconds {
        let left = due - options.clock.wall()
        return left <= 0 || left > Self.maximumWait ? 0 : left
    }

    /// Milliseconds that a held act or a retry waits at most.
    static let maximumWait: Milliseconds = 600_000

    // MARK: Overlay

    /// Lets the overlay follow base and outbox, as far as either has moved.
    func refreshOverlay(_ state: inout ReplicaState, touched: Bool, newIDs: [ItemID]) throws(SQLiteError) {
        if !touched, !change.outbox {
            if newIDs.isEmpty { return advance(state) }
            if let overlay, overlay.key.generation == state.generation,
                newIDs.allSatisfy({ !overlay.missing.contains($0) })
            {
                return advance(state)
            }
        }
        let fresh = try Overlay(connection, state, isDevice: isDevice)
        let query = try connection.prepare(
            "SELECT \(OutboxRow.columns) FROM outbox WHERE state < 3 AND quiet = 0 AND void IS NULL ORDER BY seq")
        while try query.step() {
            let row = OutboxRow(query)
            guard let operation = row.operation() else { continue }
            try add(row, operation, to: fresh, state)
        }
        try show(fresh, &state)
        overlay = fresh
    }

    private func advance(_ state: ReplicaState) {
        guard let overlay, overlay.key.generation == state.generation else { return overlay = nil }
        overlay.advance(to: state.cursor)
    }

    private func add(
        _ row: OutboxRow, _ operation: Operation, to overlay: Overlay, _ state: ReplicaState
    ) throws(SQLiteError) {
        let mutation = row.mutation(operation, n: row.n ?? 0, options.clock, offset: state.clockOffset)
        try overlay.add(mutation, now: hubNow(state))
    }

    private func show(_ overlay: Overlay, _ state: inout ReplicaState) throws(SQLiteError) {
        let changed = try overlay.writeBack()
        if changed.interests { change.interests = true }
        if changed.preferences { change.preferences = true }
        let marks = (overlay.pendingRead, overlay.pendingSeen, overlay.pendingArchive)
        if marks != (state.pendingRead, state.pendingSeen, state.pendingArchive) { change.everything = true }
        (state.pendingRead, state.pendingSeen, state.pendingArchive) = marks
        change.position = state.cursor.position
        if change.everything || changed.positions.count > Change.maximumPositions {
            change.everything = true
            return
        }
        guard !changed.positions.isEmpty else { return }
        let inserted = Set(change.inserted)
        change.changed = Set(change.changed).union(changed.positions).subtracting(inserted).sorted()
    }
}
