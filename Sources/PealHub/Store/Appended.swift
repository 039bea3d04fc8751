package import PealModel

/// An entry that was appended; visible to readers, and to be sent, only after the commit.
package struct Appended: Equatable, Sendable {
    /// Which log.
    package var inbox: InboxKey
    /// Its place.
    package var position: Position
    /// The chain at `position`.
    package var chain: UInt64
    /// The additive sum of the inbox at `position` (docs/sync.md section 8).
    package var sum: UInt64
    /// The encoded entry.
    package var content: EntryBytes
    /// When it was appended.
    package var time: Milliseconds

    /// An appended entry of its parts.
    package init(
        inbox: InboxKey, position: Position, chain: UInt64, sum: UInt64, content: EntryBytes, time: Milliseconds
    ) {
        self.inbox = inbox
        self.position = position
        self.chain = chain
        self.sum = sum
        self.content = content
        self.time = time
    }

    /// Its bytes; a copy where they are shared.
    package var bytes: [UInt8] { content.array }
}

/// An entry as a reader gets it.
package struct LogEntry: Equatable, Sendable {
    /// Its place.
    package var position: Position
    /// The chain at `position`.
    package var chain: UInt64
    /// The additive sum of the inbox at `position`, where it is known: the log does not keep it.
    package var sum: UInt64?
    /// The encoded entry.
    package var content: EntryBytes
    /// Its bytes; a copy where they are shared.
    package var bytes: [UInt8] { content.array }

    /// A log entry of its parts.
    package init(position: Position, chain: UInt64, sum: UInt64? = nil, content: EntryBytes) {
        self.position = position
        self.chain = chain
        self.sum = sum
        self.content = content
    }
}

/// What became of a push.
package struct PushResult: Equatable, Sendable {
    /// The entries of the newly processed mutations, in order.
    package var appended: [Appended] = []
    /// What became of the newly processed mutations, in order.
    package var outcomes: [Outcome.Code] = []
    /// The answers to resent mutations, for a `settled` frame.
    package var settled: [Settled] = []
    /// Why the rest of the push was not processed; nil where all of it was.
    package var stop: Stop?

    /// Why a push ended early. What came before it stands.
    package enum Stop: Equatable, Sendable {
        /// The replica's row names another session: nothing was processed (fencing). Close 4105.
        case fenced
        /// A number at or below lastN with another uid: close 4103.
        case forked
        /// A number that is not lastN + 1: close 4203.
        case gap(expected: Int64)
        /// The mutation made the store fail; it was counted, and the third time settles it as `poison`. Answer `busy`.
        case failed(n: Int64)
        /// The device has ended itself: its inbox is no more. Close all of its sessions with 4201.
        case ended
    }

    /// A result, empty by default.
    package init(
        appended: [Appended] = [], outcomes: [Outcome.Code] = [], settled: [Settled] = [], stop: Stop? = nil
    ) {
        self.appended = appended
        self.outcomes = outcomes
        self.settled = settled
        self.stop = stop
    }
}

/// What became of an act through HTTP.
package struct ActResult: Equatable, Sendable {
    /// The outcome of the whole.
    package var outcome: Outcome
    /// Outcomes of single items that differ; empty for a replay.
    package var results: [ItemOutcome]
    /// The entry; nil for a replay, and for an act that changes nothing.
    package var appended: Appended?
    /// The catalogue that the log got before the act was judged.
    package var catalogue: Appended?
    /// What was appended, in order; all of it is to be sent.
    package var entries: [Appended] { [catalogue, appended].compactMap { $0 } }

    /// A result of its parts.
    package init(
        outcome: Outcome, results: [ItemOutcome] = [], appended: Appended? = nil, catalogue: Appended? = nil
    ) {
        self.outcome = outcome
        self.results = results
        self.appended = appended
        self.catalogue = catalogue
    }
}

extension Appended {
    /// The entry that a log ends with.
    init(_ tail: LogTail, content: EntryBytes, time: Milliseconds) {
        self.init(
            inbox: tail.inbox, position: tail.head, chain: tail.chain, sum: tail.sum, content: content, time: time)
    }
}
