/// What a hello presents and what the hub knows, judged in the order of docs/sync.md section 7. Pure.
public struct Admission: Equatable, Sendable {
    /// How a session goes on.
    public enum Mode: String, Sendable {
        /// From the cursor, by the log.
        case resume
        /// The cursor is below the floor: a snapshot.
        case snapshot
        /// The hub went back in time: a snapshot, and the replica re-offers its journal.
        case ahead
        /// The replica was restored or cloned: a new replica id.
        case forked
    }

    /// What the hub knows of an inbox's log.
    public struct Log: Equatable, Sendable {
        /// Which creation of the log.
        public var epoch: UInt64
        /// The last position.
        public var head: Position
        /// Entries at or below it are gone.
        public var floor: Position

        /// A log of its parts.
        public init(epoch: UInt64, head: Position, floor: Position) {
            self.epoch = epoch
            self.head = head
            self.floor = floor
        }
    }

    /// What the hub knows of a replica; nil fields before the first contact.
    public struct Known: Equatable, Sendable {
        /// The nonce that the replica last proved to hold.
        public var current: String
        /// The nonce that was issued last; both are good until the first frame after the welcome.
        public var issued: String
        /// The last accepted attempt.
        public var attempt: Int64

        /// What is known of a replica.
        public init(current: String, issued: String, attempt: Int64) {
            self.current = current
            self.issued = issued
            self.attempt = attempt
        }
    }

    /// Judges a hello whose attempt has been accepted.
    ///
    /// - Parameters:
    ///   - cursor: what the replica presents.
    ///   - nonce: what the replica presents; empty before its first welcome.
    ///   - log: what the hub knows of the inbox.
    ///   - known: what the hub knows of the replica; nil for an unknown one.
    ///   - chain: the hub's chain at the presented position, or nil where it has none (`position > head`).
    public static func judge(
        cursor: Cursor, nonce: String, log: Log, known: Known?, chain: UInt64?
    ) -> Mode {
        // A nonce of an id that is unknown was issued by a hub that this one has forgotten: it went back in time.
        guard let known else {
            if !nonce.isEmpty { return .ahead }
            return cursor.epoch == nil ? first(log) : follow(cursor, log, chain)
        }
        let isOwn = nonce == known.current || nonce == known.issued || planted(.noNonceCheck)
        // Without an epoch it has had no welcome yet, or its welcome was lost; else it is a copy from before its first.
        if planted(.noForkCheck) { return cursor.epoch == nil ? first(log) : follow(cursor, log, chain) }
        guard cursor.epoch != nil else { return isOwn ? first(log) : .forked }
        if planted(.nonceBeforeChain), !isOwn { return .forked }
        let mode = follow(cursor, log, chain)
        return mode == .ahead || isOwn ? mode : .forked
    }

    /// Where a cursor stands to the log.
    private static func follow(_ cursor: Cursor, _ log: Log, _ chain: UInt64?) -> Mode {
        let isOther = chain != cursor.chain && !planted(.noChain)
        if cursor.epoch != log.epoch || cursor.position > log.head || isOther { return .ahead }
        return cursor.position < log.floor ? .snapshot : .resume
    }

    private static func first(_ log: Log) -> Mode {
        log.floor > 0 ? .snapshot : .resume
    }
}
