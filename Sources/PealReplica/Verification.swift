public import PealModel

/// What a file shows of the invariants of docs/sync.md section 9, and what a file and its hub show together. Evidence is positions,
/// numbers and sums: no content, token or secret.
public struct Verification: Equatable, Sendable {
    /// How far the file has folded.
    public var position: Position
    /// Every check, in a fixed order.
    public var checks: [Check]

    /// Nothing failed.
    public var isClean: Bool { checks.allSatisfy { !$0.isFailure } }

    /// The check of a name.
    public subscript(name: String) -> Check? { checks.first { $0.name == name } }

    /// One check.
    public struct Check: Equatable, Sendable {
        /// A word that never changes.
        public var name: String
        /// What is claimed.
        public var claim: String
        /// What was found.
        public var result: Result

        /// Whether it failed.
        public var isFailure: Bool { if case .failed = result { true } else { false } }
    }

    /// What a check found.
    public enum Result: Equatable, Sendable {
        /// The claim holds.
        case passed
        /// It does not: at most ``Verification/maximumEvidence`` sentences.
        case failed([String])
        /// It could not be asked, and why.
        case skipped(String)
    }

    /// Sentences of one check at most.
    public static let maximumEvidence = 5
}

/// What a hub says of an inbox, for ``ReplicaReader/verify(hub:items:)``.
public struct HubStanding: Equatable, Sendable {
    /// The inbox's id.
    public var inbox: String
    /// The log's epoch.
    public var epoch: UInt64
    /// The last position.
    public var position: Position
    /// The chain there.
    public var chain: UInt64
    /// The additive sum there.
    public var sum: UInt64
    /// The chain at the position that was asked for; nil above the head and where it is trimmed.
    public var chainAsked: UInt64?
    /// Listed items, as the hub counts them at `time`.
    public var counts: Counts
    /// The hub's clock.
    public var time: Milliseconds

    /// A standing of its parts.
    public init(
        inbox: String, epoch: UInt64, position: Position, chain: UInt64, sum: UInt64, chainAsked: UInt64?,
        counts: Counts, time: Milliseconds
    ) {
        self.inbox = inbox
        self.epoch = epoch
        self.position = position
        self.chain = chain
        self.sum = sum
        self.chainAsked = chainAsked
        self.counts = counts
        self.time = time
    }
}

/// The items that a hub lists, for ``ReplicaReader/verify(hub:items:)``.
public struct HubItems: Equatable, Sendable {
    /// The hub's head while they were listed.
    public var position: Position
    /// Each item, in any order.
    public var items: [Item]
    /// Nothing is compared below this position, because the list ends there; 0 where it is whole.
    public var above: Position

    /// What a hub says of an item.
    public struct Item: Equatable, Sendable {
        /// Its number.
        public var number: Position
        /// Whether it is read.
        public var read: Bool
        /// Whether it is seen.
        public var seen: Bool
        /// Whether it is archived.
        public var archived: Bool

        /// An item of its parts.
        public init(number: Position, read: Bool, seen: Bool, archived: Bool) {
            self.number = number
            self.read = read
            self.seen = seen
            self.archived = archived
        }
    }

    /// A list of its parts.
    public init(position: Position, items: [Item], above: Position) {
        self.position = position
        self.items = items
        self.above = above
    }
}

extension Replica {
    /// Checks every invariant that the file can show, and with a hub's standing those that both show. Blocking; reads all of
    /// the file. A check that the file is too damaged for fails, and does not throw.
    public func verify(hub: HubStanding? = nil) throws(ReplicaError) -> Verification {
        try queries.verification(hub)
    }
}

extension ReplicaReader {
    /// Checks every invariant that the file can show, with a hub's standing those that both show, and with its list each item by itself.
    /// Blocking; reads all of the file. A check that the file is too damaged for fails, and does not throw.
    public func verify(hub: HubStanding? = nil, items: HubItems? = nil) throws(ReplicaError) -> Verification {
        try queries.verification(hub, items)
    }
}
