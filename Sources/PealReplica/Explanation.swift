public import PealModel

/// Why an item is as it is shown: each field with its value, who set it, when that person acted, and the rule that decided
/// (docs/sync.md section 5). What a file tells by itself; no content.
public struct Explanation: Equatable, Sendable {
    /// The item.
    public var id: ItemID
    /// Its number; nil where the item is not in the file any more.
    public var number: Position?
    /// As of which state of the log.
    public var view: ViewPosition
    /// `read`, `seen`, `archived` and `deleted`, in this order.
    public var fields: [Field]
    /// What this device's person did to it, as far as outbox and journal reach, in the order of the acts.
    public var acts: [OwnAct]

    /// A field by its name.
    public subscript(name: Field.Name) -> Field? { fields.first { $0.name == name } }

    /// Who did something.
    public enum Who: Hashable, Sendable {
        /// This replica.
        case thisDevice
        /// Another replica.
        case replica(ReplicaID)
        /// Somebody through the hub's HTTP side.
        case api
        /// The file does not keep whose act it was.
        case unknown
    }

    /// One field.
    public struct Field: Equatable, Sendable {
        /// Which one. The raw value is what JSON says.
        public enum Name: String, Sendable {
            /// Whether it is read.
            case read
            /// Whether it is seen.
            case seen
            /// Whether it is archived.
            case archived
            /// Whether it is deleted.
            case deleted
        }

        /// What decided. The raw value is what JSON says.
        public enum Rule: String, Sendable {
            /// Nobody has acted on the item, and no mark covers it.
            case untouched
            /// The last accepted act on this very item, which no newer mark covers.
            case register
            /// The same, although a newer mark covers the item: it spared a choice that its person had not seen.
            case spared
            /// A mark that covers the item and is newer than any act on it.
            case mark
            /// An entry raised it; it never falls.
            case raised
            /// An act of this device that the hub has not decided.
            case pending
            /// A mark of this device that the hub has not decided.
            case pendingMark
            /// The item has been deleted, retracted, or has expired.
            case gone
        }

        /// Which one.
        public var name: Name
        /// What is shown.
        public var value: Bool
        /// What decided.
        public var rule: Rule
        /// Whose act it is; nil for `untouched`.
        public var who: Who?
        /// When that person acted, by the hub's clock; nil where the file does not keep it.
        public var acted: Milliseconds?
        /// The entry of the act or of the mark; nil for a pending one and where the file does not keep it.
        public var position: Position?
        /// The act was a mere "was shown".
        public var passive = false
        /// The newest mark that covers the item.
        public var mark: Mark?
        /// What the log says, where a pending act shows something else over it.
        public var base: Bool?
    }

    /// An act of this device on the item.
    public struct OwnAct: Equatable, Sendable {
        /// The act.
        public var uid: UInt64
        /// Its operation: `read`, `seen`, `archive`, `delete`, `mark`.
        public var name: String
        /// For `read` and `archive`: to which value; true for the others.
        public var on: Bool
        /// When, by this device's clock.
        public var acted: Milliseconds
        /// What became of it, for this item.
        public var fate: Fate
    }

    /// What became of an act, for one item.
    public enum Fate: Equatable, Sendable {
        /// The hub has not decided it.
        case pending(OutboxItem.State)
        /// It took effect and stands.
        case stands(Position?)
        /// It took effect, and a later act took its place.
        case replaced(by: Who, at: Position)
        /// It took effect, and a newer mark covers it.
        case covered(by: Mark)
        /// A concurrent act of somebody else stood against it.
        case superseded(by: Who, at: Position?)
        /// It changed nothing: it was so already, or the act had arrived by another way.
        case unchanged(Outcome.Code)
        /// The item was deleted before.
        case gone
        /// It failed for good and waits for a person.
        case dead(Outcome.Code)
    }
}

extension Replica {
    /// Why an item is as it is shown; nil for one of which this file knows nothing. Blocking; reads outbox and journal.
    public func explain(_ id: ItemID) throws(ReplicaError) -> Explanation? { try queries.explanation(of: id) }

    /// The same by its number; nil where no item has it now. Blocking.
    public func explain(number: Position) throws(ReplicaError) -> Explanation? {
        try queries.explanation(ofNumber: number)
    }
}

extension ReplicaReader {
    /// Why an item is as it is shown; nil for one of which this file knows nothing. Blocking; reads outbox and journal.
    public func explain(_ id: ItemID) throws(ReplicaError) -> Explanation? { try queries.explanation(of: id) }

    /// The same by its number; nil where no item has it now. Blocking.
    public func explain(number: Position) throws(ReplicaError) -> Explanation? {
        try queries.explanation(ofNumber: number)
    }
}
