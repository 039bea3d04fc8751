public import PealModel

/// One page of a view of ``ReplicaReader``; what could be read of it, where the file is damaged.
public struct InspectedPage<Row: Sendable>: Sendable {
    /// The rows, in the order of the view.
    public var rows: [Row]
    /// Where the next page goes on; nil after the last row.
    public var next: Int64?
    /// Why the table could be read no further; nil where nothing was wrong.
    public var failure: ReplicaError?

    /// A page of its parts.
    public init(rows: [Row], next: Int64?, failure: ReplicaError?) {
        self.rows = rows
        self.next = next
        self.failure = failure
    }
}

/// An item with all that decides what is shown of it (docs/sync.md sections 3 and 5).
public struct InspectedItem: Sendable, Equatable {
    /// Its id.
    public var id: ItemID
    /// The publish that made it.
    public var publish: String
    /// When it was delivered, by the hub's clock.
    public var time: Milliseconds
    /// When it was sent, by its publisher.
    public var sent: Milliseconds
    /// Its type.
    public var type: String
    /// Its category.
    public var category: String?
    /// Its topic.
    public var topic: String?
    /// When its time ends, by the hub's clock.
    public var expires: Milliseconds?
    /// It is listed nowhere.
    public var silent: Bool
    /// This device has let it go: the body is gone and the row stays (docs/sync.md section 8).
    public var isLetGo: Bool
    /// Effects of entries at or below this are in the row.
    public var version: Position
    /// Its place in the log, and the registers as the log has them.
    public var base: ItemState
    /// What the log alone makes of it: registers and marks.
    public var logged: Flags<Bool>
    /// What acts that wait make of it; nil where they make nothing of it.
    public var overlay: Flags<Bool?>
    /// What an app is shown.
    public var shown: Flags<Bool>
    /// The publisher's part, raw JSON; empty where it was let go. Content.
    public var body: RawJSON

    /// The four things that an item can be.
    public struct Flags<Value: Sendable & Equatable>: Sendable, Equatable {
        /// Whether it is read.
        public var read: Value
        /// Whether it is seen.
        public var seen: Value
        /// Whether it is archived.
        public var archived: Value
        /// Whether it is deleted.
        public var deleted: Value

        /// Flags of their parts.
        public init(read: Value, seen: Value, archived: Value, deleted: Value) {
            self.read = read
            self.seen = seen
            self.archived = archived
            self.deleted = deleted
        }
    }
}

/// An act of this device: one that waits, a dead letter, or one of the journal (docs/sync.md section 8).
public struct InspectedAct: Sendable, Equatable {
    /// In which order the acts were made.
    public var row: Int64
    /// The act.
    public var uid: UInt64
    /// Its number; nil before it was sent.
    public var n: Int64?
    /// How far it is; nil for a settled one.
    public var state: OutboxItem.State?
    /// The operation's name.
    public var name: String
    /// What was done; nil where the row is damaged. Names, tokens and proofs in it are content.
    public var operation: Operation?
    /// The position of what its person looked at.
    public var observed: Position
    /// When, by this device's clock.
    public var acted: Milliseconds
    /// Cuts while it was the first in flight.
    public var attempts: Int64
    /// Until when it can be taken back, by this device's clock.
    public var heldUntil: Milliseconds?
    /// When it is sent again after a busy hub, by this device's clock.
    public var retryAt: Milliseconds?
    /// Why only its number is sent.
    public var void: String?
    /// It is offered again after a fork, and shown already.
    public var quiet: Bool
    /// What the hub said.
    public var outcome: Outcome?
    /// The entry that settled it.
    public var position: Position?
    /// When it was settled, by the hub's clock.
    public var settled: Milliseconds?

    /// Which acts a view shows.
    public enum Place: String, Sendable {
        /// What waits for the hub, in the order of the acts.
        case outbox
        /// What failed for good and waits for a person.
        case dead
        /// What is settled and kept for 30 days, the latest first.
        case journal
    }
}

/// What a file shows of one entry of the log. It holds the fold of the log and not the log: entries themselves are there only where they
/// could not be folded, or wait for the end of a snapshot (docs/sync.md sections 3 and 7).
public struct InspectedEntry: Sendable, Equatable {
    /// The entry's place in the log.
    public var position: Position
    /// What is known of it.
    public var trace: Trace

    /// What an entry has left behind.
    public enum Trace: Sendable, Equatable {
        /// It brought an item.
        case item(ItemID)
        /// It is the last act on a field of so many items; the first of them.
        case act(field: String, items: Int64, first: Position, author: String, itime: Milliseconds, uid: UInt64)
        /// It made a mark that stands.
        case mark(MarkKind, upTo: Position)
        /// It settled an act of this device.
        case own(name: String, uid: UInt64, Outcome.Code?)
        /// It could not be folded and is kept whole; the reason is nil for an unknown kind. The bytes are content.
        case setAside(reason: String?, bytes: [UInt8])
        /// It came while a snapshot was being loaded and is kept whole until the swap. The bytes are content.
        case staged(bytes: [UInt8])
    }
}

/// A mark of the base: everything up to a position, by the entry at another one.
public struct InspectedMark: Sendable, Equatable {
    /// Which one.
    public var kind: MarkKind
    /// How far it reaches, and its entry.
    public var mark: Mark
    /// Items at or below its reach.
    public var items: Int64
}
