internal import PealModel
internal import PealSQLite

/// One row of the outbox as it is stored.
struct OutboxRow {
    var seq: Int64
    var uid: UInt64
    var n: Int64?
    var state: OutboxItem.State
    /// One JSON object; kept as text so that a damaged one can be set aside.
    var op: [UInt8]
    var observed: Position
    var observedTime: Milliseconds
    var boot: String
    var bootTime: Milliseconds
    var wall: Milliseconds
    var holdUntil: Milliseconds?
    var retryAt: Milliseconds?
    var attempts: Int64
    var void: String?
    var quiet: Bool
    var outcome: [UInt8]?

    static let columns = """
        seq, uid, n, state, op, observed, observed_time, boot, boot_time, wall, hold_until, retry_at, attempts, void, quiet,
        outcome
        """

    init(_ row: borrowing Statement) {
        seq = row.int64(0)
        uid = row.bits(1)
        n = row.optionalNumber(2)
        state = OutboxItem.State(rawValue: row.int64(3)) ?? .dead
        op = row.blob(4)
        observed = row.number(5)
        observedTime = row.number(6)
        boot = row.text(7)
        bootTime = row.number(8)
        wall = row.number(9)
        holdUntil = row.optionalNumber(10)
        retryAt = row.optionalNumber(11)
        attempts = row.number(12)
        void = row.optionalText(13)
        quiet = row.bool(14)
        outcome = row.optionalBlob(15)
    }

    /// Decodes the operation; nil for a damaged row.
    func operation() -> Operation? {
        guard let object = try? JSONObject(op[...]), let operation = try? Operation(object) else { return nil }
        return operation
    }

    /// When the act happened, as a send at this moment says it: an age while the boot is the act's, else the wall clock with
    /// the offset that was last measured.
    func moment(_ clock: ReplicaClock, offset: Milliseconds?) -> Mutation.Moment {
        if boot == clock.bootID() { return .age(max(clock.boot() - bootTime, 0)) }
        return .wall(wall + (offset ?? 0))
    }

    func mutation(_ operation: Operation, n: Int64, _ clock: ReplicaClock, offset: Milliseconds?) -> Mutation {
        Mutation(
            n: n, uid: uid, observed: observed, observedTime: observedTime, moment: moment(clock, offset: offset),
            operation: operation)
    }

    /// What an app sees of it.
    var item: OutboxItem {
        var decoded: Outcome?
        if let outcome, let object = try? JSONObject(outcome[...]) { decoded = try? Outcome(object) }
        return OutboxItem(
            id: uid, n: n, state: state, operation: operation(), acted: wall,
            heldUntil: state == .held ? holdUntil : nil, attempts: attempts,
            suspect: attempts >= OutboxRow.suspectAttempts, outcome: decoded)
    }

    /// Cuts with the same head in flight after which it goes alone (docs/sync.md section 8).
    static let suspectAttempts: Int64 = 3
}
