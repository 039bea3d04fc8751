/// How long a log keeps its entries (docs/sync.md section 8). Production uses the defaults; tests and simulators use small numbers.
public struct Retention: Equatable, Sendable {
    /// An entry so far below the head may go.
    public var entries: Int64
    /// An entry so old may go, in milliseconds.
    public var age: Milliseconds
    /// A cursor holds back what it has not passed for so long after its replica was last seen, and no entry longer than so long
    /// after its `age`; in milliseconds.
    public var hold: Milliseconds
    /// Milliseconds from the start of one round over all inboxes to the next.
    public var period: Milliseconds

    /// A retention of its parts.
    public init(
        entries: Int64 = Limits.logEntries, age: Milliseconds = Limits.logAge, hold: Milliseconds = Limits.cursorAge,
        period: Milliseconds = Limits.trimPeriod
    ) {
        self.entries = entries
        self.age = age
        self.hold = hold
        self.period = period
    }

    /// Whether an entry goes. The floor rises entry by entry, from the lowest, up to the first that stays.
    ///
    /// - Parameters:
    ///   - position: of the entry.
    ///   - time: when it was appended.
    ///   - head: of the log.
    ///   - held: the lowest durable cursor of those replicas that ``holds(seenAt:now:)``; nil for none.
    ///   - now: the hub's clock.
    public func trims(
        _ position: Position, time: Milliseconds, head: Position, held: Position?, now: Milliseconds
    ) -> Bool {
        guard position <= head - entries || time < now - age else { return false }
        guard let held, position > held else { return true }
        return time < now - age - hold
    }

    /// Whether the cursor of a replica that was last seen at a time holds anything back.
    public func holds(seenAt: Milliseconds, now: Milliseconds) -> Bool { seenAt > now - hold }
}

/// A round over all inboxes that raises their floors, some steps at a time. Not durable: a round that is lost starts anew.
public struct TrimRound: Equatable, Sendable {
    /// When the round, or the last one, began.
    private var began: Milliseconds?
    /// The row of the inbox that was looked at last; nil between rounds.
    public private(set) var after: Int64?

    /// Before the first round.
    public init() {}

    /// Begins a round where one is due. Returns whether one is under way.
    public mutating func begin(_ retention: Retention, now: Milliseconds) -> Bool {
        if after != nil { return true }
        // A clock that was set back must not end trimming.
        if let began, now >= began, now - began < retention.period { return false }
        began = now
        after = 0
        return true
    }

    /// An inbox is done with.
    public mutating func pass(_ inbox: Int64) { after = inbox }

    /// No inbox is left.
    public mutating func end() { after = nil }
}
