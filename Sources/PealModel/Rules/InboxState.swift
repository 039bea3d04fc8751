/// An inbox as a value: what a fold of the whole log gives (docs/sync.md section 1). The stores state the same rule in SQL, and
/// differential tests tie them to this one.
public struct InboxState: Equatable, Sendable {
    /// The position of the last folded entry.
    public private(set) var head: Position = 0
    /// Every item that was ever there, deleted ones as tombstones.
    public private(set) var items: [ItemID: ItemState] = [:]
    /// The publisher's part of each item that is there.
    public private(set) var bodies: [ItemID: RawJSON] = [:]
    /// The marks.
    public private(set) var marks = Marks()
    /// The interests of a device's inbox; nil for a user's.
    private var names: Set<String>?
    /// Who has sent which act.
    private var sent: Set<Sent> = []

    private struct Sent: Hashable, Sendable {
        var uid: UInt64
        var author: Author
    }
    /// The preference cells of a user's inbox.
    public private(set) var cells: [PreferenceKey: PreferenceCell] = [:]
    /// The project's categories and channels, as of the last entry that brought them.
    public private(set) var currentCatalogue: Catalogue?
    /// The facts about each item that is there, in the order in which they came.
    public private(set) var facts: [ItemID: [Fact]] = [:]

    /// An empty inbox, of a device or of a user.
    public init(device: Bool = false) {
        names = device ? [] : nil
    }

    /// Folds the next entry.
    public mutating func fold(_ entry: Entry) {
        head += 1
        switch entry.kind {
        case .item(let id, _, let body):
            items[id] = ItemState(position: head)
            bodies[id] = body
        case .removed(let ids, _): delete(ids)
        case .act(let act):
            sent.insert(Sent(uid: act.uid, author: act.author))
            fold(act, time: entry.time)
        case .catalogue(let catalogue): currentCatalogue = catalogue
        case .unknown: break
        }
    }

    private mutating func fold(_ act: Act, time: Milliseconds) {
        func register(_ on: Bool, passive: Bool = false) -> Register {
            Register(
                value: on, passive: passive, since: head, rank: head, itime: act.itime, author: act.author,
                uid: act.uid)
        }
        switch act.effect {
        case .none: break
        case .read(let ids, let on, let passive, let unseen, let alsoSeen):
            let unseen = Set(unseen)
            for id in ids {
                items[id]?.read = register(on, passive: passive)
                if planted(.deletedRevived) { items[id]?.deleted = false }
                if on || !unseen.contains(id) { items[id]?.seen = true }
            }
            for id in alsoSeen { items[id]?.seen = true }
        case .seen(let ids): for id in ids { items[id]?.seen = true }
        case .archive(let ids, let on): for id in ids { items[id]?.archived = register(on) }
        case .delete(let ids): delete(ids)
        case .mark(let kind, let upTo, let except):
            marks.add(kind, Mark(upTo: upTo, version: head, author: act.author))
            for id in except {
                if kind == .read { items[id]?.read?.rank = head }
                if planted(.sinceForgedByMark), kind == .read { items[id]?.read?.since = head }
                if kind == .archive { items[id]?.archived?.rank = head }
            }
        case .interest(let name, let on):
            _ = on ? names?.insert(name).memberAfterInsert : names?.remove(name)
        case .interests(let all): names = planted(.interestsMerged) ? names?.union(all) : Set(all)
        case .preference(let key, let enabled): fold(register(enabled), into: key)
        case .fact(let id, let event, let data):
            guard items[id]?.deleted == false, !hasFact(event, of: id) else { break }
            facts[id, default: []].append(Fact(event: event, time: time, data: data))
        case .token, .user: break
        case .end: names = []
        }
    }

    private mutating func fold(_ register: Register, into key: PreferenceKey) {
        if cells[key]?.fold(register) == nil { cells[key] = PreferenceCell(register) }
    }

    private mutating func delete(_ ids: [ItemID]) {
        for id in ids {
            items[id]?.deleted = true
            bodies[id] = nil
            facts[id] = nil
        }
    }
}

extension InboxState: InboxView {
    /// The state of an item.
    public func item(_ id: ItemID) -> ItemState? { items[id] }

    /// Whether an author has sent a uid.
    public func sent(_ uid: UInt64, by author: Author) -> Bool { sent.contains(Sent(uid: uid, author: author)) }

    /// The single choices that oppose a mark.
    public func opposed(
        to kind: MarkKind, upTo: Position, since observed: Position
    ) -> [(id: ItemID, register: Register)] {
        guard kind != .seen else { return [] }
        return items.compactMap { id, state in
            guard !state.deleted, state.position <= upTo,
                let register = kind == .read ? state.read : state.archived, !register.value, register.since > observed
            else { return nil }
            return (id, register)
        }.sorted { $0.id < $1.id }
    }

    /// A device's inbox.
    public var isDevice: Bool { names != nil }

    /// A preference cell.
    public func cell(_ key: PreferenceKey) -> PreferenceCell? { cells[key] }

    /// How many preference cells there are.
    public func cellCount() -> Int { cells.count }

    /// The project's categories and channels.
    public func catalogue() -> Catalogue? { currentCatalogue }

    /// Whether a fact about an item is there.
    public func hasFact(_ event: String, of item: ItemID) -> Bool {
        facts[item]?.contains { $0.event == event } ?? false
    }

    /// The interests of a device's inbox; nil for a user's.
    public func interests() -> Set<String>? { names }
}
