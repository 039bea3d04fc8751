internal import PealReplica

/// Which notifications a store holds. Lists are OR inside and AND across, their order and repetitions do not matter; an empty list, and nil,
/// mean any. A notification without a category matches no list of categories, one without a topic no list of topics.
public struct StorePredicate: Hashable, Sendable {
    /// A wanted read state; `true` and `false` can be written too.
    public enum Read: Hashable, Sendable, ExpressibleByBooleanLiteral {
        /// Read ones.
        case read
        /// Unread ones.
        case unread

        /// `.read` for true.
        public init(_ isRead: Bool) { self = isRead ? .read : .unread }
        /// `.read` for true.
        public init(booleanLiteral value: Bool) { self.init(value) }
    }

    /// A wanted seen state; `true` and `false` can be written too.
    public enum Seen: Hashable, Sendable, ExpressibleByBooleanLiteral {
        /// Seen ones.
        case seen
        /// Unseen ones.
        case unseen

        /// `.seen` for true.
        public init(_ isSeen: Bool) { self = isSeen ? .seen : .unseen }
        /// `.seen` for true.
        public init(booleanLiteral value: Bool) { self.init(value) }
    }

    /// The read state; nil for any.
    public let read: Read?
    /// The seen state; nil for any.
    public let seen: Seen?
    /// Archived ones, or those that are not; nil for both.
    public let archived: Bool?
    /// Slugs of categories, ascending.
    public let categories: [String]
    /// Topics, ascending.
    public let topics: [String]

    /// A predicate of its parts; by default everything that is not archived.
    public init(
        read: Read? = nil, seen: Seen? = nil, archived: Bool? = false, categories: [String] = [], topics: [String] = []
    ) {
        self.read = read
        self.seen = seen
        self.archived = archived
        self.categories = Self.canonical(categories)
        self.topics = Self.canonical(topics)
    }

    /// Sorted and without repetitions, by bytes as the hub compares them.
    private static func canonical(_ names: [String]) -> [String] {
        var sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var index = 1
        while index < sorted.count {
            if sorted[index].utf8.elementsEqual(sorted[index - 1].utf8) { sorted.remove(at: index) } else { index += 1 }
        }
        return sorted
    }

    /// Whether both hold the same notifications of every inbox.
    public static func == (left: StorePredicate, right: StorePredicate) -> Bool {
        func same(_ a: [String], _ b: [String]) -> Bool {
            a.elementsEqual(b) { $0.utf8.elementsEqual($1.utf8) }
        }
        return left.read == right.read && left.seen == right.seen && left.archived == right.archived
            && same(left.categories, right.categories) && same(left.topics, right.topics)
    }

    /// By the states and the bytes of the names.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(read)
        hasher.combine(seen)
        hasher.combine(archived)
        for name in categories + ["/"] + topics { for byte in name.utf8 { hasher.combine(byte) } }
    }

    var query: DeliveredQuery {
        DeliveredQuery(
            categories: categories.isEmpty ? nil : categories, topics: topics.isEmpty ? nil : topics,
            read: read.map { $0 == .read }, seen: seen.map { $0 == .seen }, archived: archived)
    }

    /// Whether a mark up to the newest position does to its notifications what "all" means: nothing but their state selects them.
    func isWhole(for kind: MarkedState) -> Bool {
        guard categories.isEmpty, topics.isEmpty, archived == false else { return false }
        switch kind {
        case .read: return seen == nil && read != .read
        case .seen: return read == nil && seen != .seen
        }
    }

    /// What "mark all" sets.
    enum MarkedState {
        case read, seen
    }
}
