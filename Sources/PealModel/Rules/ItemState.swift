/// What an inbox holds of an item beyond its body: the registers that acts are judged against (docs/sync.md section 3).
public struct ItemState: Equatable, Sendable {
    /// The item's place in the log; also its `number`.
    public var position: Position
    /// The `read` register; nil while nobody has acted on this single item.
    public var read: Register?
    /// The `archived` register; nil likewise.
    public var archived: Register?
    /// The grow-only `seen`, without what marks add.
    public var seen: Bool
    /// Final: no later act takes it back.
    public var deleted: Bool

    /// The state of an item; untouched by default.
    public init(
        position: Position, read: Register? = nil, archived: Register? = nil, seen: Bool = false, deleted: Bool = false
    ) {
        self.position = position
        self.read = read
        self.archived = archived
        self.seen = seen
        self.deleted = deleted
    }
}

/// The marks of an inbox, a frontier for each kind.
public struct Marks: Equatable, Sendable {
    /// Read-all.
    public var read: Frontier
    /// Seen-all; every read-all raises it too.
    public var seen: Frontier
    /// Archive-all.
    public var archive: Frontier

    /// The marks of an inbox; none by default.
    public init(read: Frontier = Frontier(), seen: Frontier = Frontier(), archive: Frontier = Frontier()) {
        self.read = read
        self.seen = seen
        self.archive = archive
    }

    /// The frontier of a kind.
    public subscript(kind: MarkKind) -> Frontier {
        get {
            switch kind {
            case .read: read
            case .seen: seen
            case .archive: archive
            }
        }
        set {
            switch kind {
            case .read: read = newValue
            case .seen: seen = newValue
            case .archive: archive = newValue
            }
        }
    }

    /// Adds a mark; read-all raises seen-all too (docs/sync.md section 3).
    public mutating func add(_ kind: MarkKind, _ mark: Mark) {
        self[kind].add(mark)
        if kind == .read { seen.add(mark) }
    }

    /// A register's effective value: its own where its rank is at least the newest mark that covers it (docs/sync.md section 5).
    public func value(_ kind: MarkKind, _ register: Register?, at position: Position) -> Bool {
        let newest = self[kind].newest(covering: position)
        guard let register else { return newest > 0 }
        return register.rank >= newest ? register.value : true
    }

    /// Whether an item is read.
    public func isRead(_ item: ItemState) -> Bool { value(.read, item.read, at: item.position) }

    /// Whether an item is archived.
    public func isArchived(_ item: ItemState) -> Bool { value(.archive, item.archived, at: item.position) }

    /// Whether an item is seen: by its own flag, or by a mark that covers it.
    public func isSeen(_ item: ItemState) -> Bool {
        item.seen || seen.newest(covering: item.position) > 0
    }
}
