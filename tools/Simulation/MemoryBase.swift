import PealModel

/// The base of a replica as a value: rows that know the version up to which entries are in them, so that a log can be folded over a
/// snapshot whose pages are younger than some of its entries.
struct MemoryBase: Equatable {
    /// An item that is there.
    struct Row: Equatable {
        var state: ItemState
        var version: Position
        var publish: String
        var time: Milliseconds
        var body: RawJSON
    }

    let isDevice: Bool
    var items: [ItemID: Row] = [:]
    var marks = Marks()
    var cells: [PreferenceKey: PreferenceCell] = [:]
    var catalogue: Catalogue?
    var facts: [ItemID: [Fact]] = [:]
    var interests: Set<String>?
    /// The position whose entries of interests are in.
    var interestsVersion: Position = 0
    /// The additive sum of the rows, as folding keeps it.
    var sum: UInt64 = 0

    init(device: Bool) {
        isDevice = device
        interests = device ? [] : nil
    }

    mutating func fold(_ entry: Entry, at position: Position) {
        switch entry.kind {
        case .item(let id, let publish, let body):
            guard items[id] == nil else { return }
            items[id] = Row(
                state: ItemState(position: position), version: position, publish: publish, time: entry.time, body: body)
            sum &+= InboxSum.item(id, at: position)
        case .removed(let ids, _): remove(ids)
        case .act(let act): fold(act, at: position, time: entry.time)
        case .catalogue(let new): if new.version > catalogue?.version ?? 0 { catalogue = new }
        case .unknown: break
        }
    }

    private mutating func change(_ ids: [ItemID], at position: Position, _ body: (inout ItemState, ItemID) -> Void) {
        for id in ids {
            guard var row = items[id], row.version < position else { continue }
            let before = row.state
            body(&row.state, id)
            items[id] = row
            sum &+= InboxSum.of(id, row.state) &- InboxSum.of(id, before)
            if planted(.sumNotFolded), before.seen != row.state.seen {
                sum &-= InboxSum.seen(at: before.position)
            }
        }
    }

    private mutating func remove(_ ids: [ItemID]) {
        for id in ids {
            guard let row = items.removeValue(forKey: id) else { continue }
            sum &-= InboxSum.of(id, row.state)
            for fact in facts.removeValue(forKey: id) ?? [] { sum &-= InboxSum.fact(fact, at: row.state.position) }
        }
    }

    mutating func fold(_ act: Act, at position: Position, time: Milliseconds) {
        func register(_ on: Bool, passive: Bool = false) -> Register {
            Register(
                value: on, passive: passive, since: position, rank: position, itime: act.itime, author: act.author,
                uid: act.uid)
        }
        switch act.effect {
        case .none: break
        case .read(let ids, let on, let passive, let unseen, let alsoSeen):
            let unseen = Set(unseen)
            change(ids, at: position) { state, id in
                state.read = register(on, passive: passive)
                if on || !unseen.contains(id) { state.seen = true }
            }
            change(alsoSeen, at: position) { state, _ in state.seen = true }
        case .seen(let ids): change(ids, at: position) { state, _ in state.seen = true }
        case .archive(let ids, let on): change(ids, at: position) { state, _ in state.archived = register(on) }
        case .delete(let ids): remove(ids)
        case .mark(let kind, let upTo, let except):
            let before = InboxSum.of(marks)
            marks.add(kind, Mark(upTo: upTo, version: position, author: act.author))
            sum &+= InboxSum.of(marks) &- before
            change(except, at: position) { state, _ in
                if kind == .read { state.read?.rank = position }
                if kind == .archive { state.archived?.rank = position }
            }
        case .interest(let name, let on):
            guard interests != nil, position > interestsVersion else { return }
            if on {
                if interests?.insert(name).inserted ?? false { sum &+= InboxSum.interest(name) }
            } else if interests?.remove(name) != nil {
                sum &-= InboxSum.interest(name)
            }
        case .interests(let names):
            guard position > interestsVersion else { return }
            replaceInterests(Set(names))
        case .preference(let key, let enabled):
            if let before = cells[key] { sum &-= InboxSum.preference(key, before) }
            if cells[key]?.fold(register(enabled)) == nil { cells[key] = PreferenceCell(register(enabled)) }
            if let after = cells[key] { sum &+= InboxSum.preference(key, after) }
        case .fact(let id, let event, let data):
            guard let row = items[id], !hasFact(event, of: id) else { break }
            let fact = Fact(event: event, time: time, data: data)
            facts[id, default: []].append(fact)
            sum &+= InboxSum.fact(fact, at: row.state.position)
        case .token, .user: break
        case .end: replaceInterests([])
        }
    }

    private mutating func replaceInterests(_ names: Set<String>) {
        sum &+= InboxSum.of(names) &- InboxSum.of(interests ?? [])
        interests = names
    }

    /// The sum of the rows, computed anew.
    var computedSum: UInt64 {
        var sum = InboxSum.of(marks) &+ InboxSum.of(interests ?? [])
        for (id, row) in items { sum &+= InboxSum.of(id, row.state) }
        for (key, cell) in cells { sum &+= InboxSum.preference(key, cell) }
        for (id, all) in facts {
            guard let row = items[id] else { continue }
            for fact in all { sum &+= InboxSum.fact(fact, at: row.state.position) }
        }
        return sum
    }

    func hasFact(_ event: String, of item: ItemID) -> Bool { facts[item]?.contains { $0.event == event } ?? false }

    var newestTime: Milliseconds { items.values.max { $0.state.position < $1.state.position }?.time ?? 0 }

    /// The greatest position at which both hold the same item.
    func common(with other: MemoryBase) -> Position {
        items.filter { other.items[$0.key]?.state.position == $0.value.state.position }.map(\.value.state.position)
            .max() ?? 0
    }

    func time(at position: Position) -> Milliseconds {
        items.values.first { $0.state.position == position }?.time ?? 0
    }
}

/// A snapshot that is being loaded, beside the base.
struct MemoryStage {
    var id: UInt64
    var firstAt: Position
    var newestAt: Position
    var newestChain: UInt64
    var after: Position
    var isComplete = false
    var epoch: UInt64
    var logPosition: Position
    var logChain: UInt64
    var base: MemoryBase
    var log: [RawJSON] = []

    init(_ page: Page, epoch: UInt64, device: Bool) {
        id = page.id
        firstAt = page.at
        newestAt = page.at
        newestChain = page.chain
        after = page.after
        self.epoch = epoch
        logPosition = page.at
        logChain = page.chain
        base = MemoryBase(device: device)
        if let rest = page.rest {
            base.marks = rest.marks
            if let names = rest.interests { base.interests = Set(names) }
            base.cells = rest.preferences
            base.catalogue = rest.catalogue
        }
        base.interestsVersion = page.at
    }

    /// Before the log has passed the newest page the rows are not of one moment.
    var isReady: Bool {
        if planted(.swapTooEarly) { return isComplete }
        return isComplete && logPosition >= newestAt
    }

    mutating func add(_ page: Page) {
        for row in page.rows {
            base.items[row.id] = MemoryBase.Row(
                state: row.state, version: page.at, publish: row.publish, time: row.time, body: row.body)
            base.facts[row.id] = row.facts.isEmpty ? nil : row.facts
        }
        if page.at >= newestAt {
            newestAt = page.at
            newestChain = page.chain
        }
        after = page.after
        isComplete = isComplete || page.last
    }
}

/// What an app sees: base and overlay.
struct ShownInbox: InboxView {
    var base: MemoryBase
    var head: Position
    let author: Author
    let sent: Set<UInt64>

    var marks: Marks { base.marks }
    func item(_ id: ItemID) -> ItemState? { base.items[id]?.state }
    func sent(_ uid: UInt64, by author: Author) -> Bool { author == self.author && sent.contains(uid) }
    func opposed(
        to kind: MarkKind, upTo: Position, since observed: Position
    ) -> [(id: ItemID, register: Register)] {
        guard kind != .seen else { return [] }
        return base.items.compactMap { id, row in
            guard row.state.position <= upTo,
                let register = kind == .read ? row.state.read : row.state.archived, !register.value,
                register.since > observed
            else { return nil }
            return (id, register)
        }.sorted { $0.id < $1.id }
    }
    func interests() -> Set<String>? { base.interests }
    var isDevice: Bool { base.isDevice }
    func cell(_ key: PreferenceKey) -> PreferenceCell? { base.cells[key] }
    func cellCount() -> Int { base.cells.count }
    func catalogue() -> Catalogue? { base.catalogue }
    func hasFact(_ event: String, of item: ItemID) -> Bool { base.hasFact(event, of: item) }

    mutating func fold(_ act: Act, now: Milliseconds) {
        head += 1
        base.fold(act, at: head, time: now)
    }

    /// The ids of the items that are shown, oldest first.
    var ids: [ItemID] { base.items.sorted { $0.value.state.position < $1.value.state.position }.map(\.key) }
}
