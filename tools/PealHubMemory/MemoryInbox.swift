import PealHub
import PealModel

/// One inbox: its log, the fold of it, and what a hub knows beside.
struct MemoryInbox: Sendable {
    enum Kind: Sendable {
        case user, device, deleted, purged
        var isDeleted: Bool { self == .deleted || self == .purged }
    }

    struct LogRow: Sendable {
        var chain: UInt64
        var time: Milliseconds
        /// The publish of an item; 0 for other kinds.
        var publish: Int64
        var item: ItemID
        /// Nil once trimmed.
        var bytes: [UInt8]?
    }

    /// When what is true of an item became true.
    struct Times: Sendable {
        var read: Milliseconds?
        var seen: Milliseconds?
        var archived: Milliseconds?
    }

    struct MarkTime: Sendable {
        var mark: Mark
        var itime: Milliseconds
    }

    struct ActNumber: Hashable, Sendable {
        var author: Author
        var n: Int64
    }

    let key: InboxKey
    let project: ProjectKey
    let publicID: ReplicaID
    var kind: Kind
    let epoch: UInt64
    var floor: Position = 0
    var chain: UInt64 = 0
    /// The additive sum of the state.
    var sum: UInt64 = 0
    /// The entry of position p is at p − 1.
    var log = Chunks<LogRow>()
    /// The fold of the whole log.
    var state: InboxState
    /// Processed acts, kept for dedupe.
    private(set) var acts = Chunks<ActRow>()
    /// Where the acts of a uid begin; of several authors after a clone.
    private var firstAct: [UInt64: Int] = [:]
    /// Where the act of a replica's number is.
    private var numbers: [ActNumber: Int] = [:]
    var times: [ItemID: Times] = [:]
    /// Every mark that was ever in a frontier, by version.
    var readMarks: [MarkTime] = []
    var seenMarks: [MarkTime] = []
    var archiveMarks: [MarkTime] = []
    /// Entries that are purged after the inbox was deleted.
    var purged = 0

    init(key: InboxKey, project: ProjectKey, publicID: ReplicaID, isDevice: Bool, epoch: UInt64) {
        self.key = key
        self.project = project
        self.publicID = publicID
        kind = isDevice ? .device : .user
        self.epoch = epoch
        state = InboxState(device: isDevice)
    }

    var id: String { publicID.description }
    var head: Position { state.head }

    /// The chain at a position; 0 at 0, nil above the head.
    func chain(at position: Position) -> UInt64? {
        if position == 0 { return 0 }
        return position > 0 && position <= head ? log[Int(position) - 1].chain : nil
    }

    // MARK: Acts

    /// The acts of a uid: that of HTTP first, then those of replicas by their ids.
    func acts(_ uid: UInt64) -> [ActRow] {
        var rows: [ActRow] = []
        var index = firstAct[uid] ?? -1
        while index >= 0 {
            rows.append(acts[index])
            index = acts[index].next
        }
        return rows
    }

    /// Whose act a uid was, and its outcome.
    func known(_ uid: UInt64) -> ActRow? { firstAct[uid].map { acts[$0] } }

    mutating func remember(_ act: Act, now: Milliseconds) {
        var row = ActRow(author: act.author, n: act.n ?? 0, uid: act.uid, time: now, outcome: act.outcome)
        if row.n > 0 { numbers[ActNumber(author: row.author, n: row.n)] = acts.count }
        if let first = firstAct[act.uid] {
            var before = -1
            var after = first
            while after >= 0, !row.author.precedes(acts[after].author) {
                before = after
                after = acts[after].next
            }
            row.next = after
            if before >= 0 { acts[before].next = acts.count } else { firstAct[act.uid] = acts.count }
        } else {
            firstAct[act.uid] = acts.count
        }
        acts.append(row)
    }

    /// Forgets the acts of a list, which ``acts`` all holds.
    mutating func forget(_ old: [ActRow]) {
        struct Key: Hashable {
            var uid: UInt64
            var number: ActNumber
        }
        let gone = Set(old.map { Key(uid: $0.uid, number: ActNumber(author: $0.author, n: $0.n)) })
        let kept = (0..<acts.count).map { acts[$0] }.filter { row in
            !gone.contains(Key(uid: row.uid, number: ActNumber(author: row.author, n: row.n)))
        }
        acts = Chunks()
        firstAct = [:]
        numbers = [:]
        for row in kept {
            let act = Act(
                author: row.author, n: row.n == 0 ? nil : row.n, uid: row.uid, itime: row.time, outcome: row.outcome)
            remember(act, now: row.time)
        }
    }

    func outcome(of author: Author, n: Int64) -> (uid: UInt64, outcome: Outcome)? {
        numbers[ActNumber(author: author, n: n)].map { (acts[$0].uid, acts[$0].outcome) }
    }

    // MARK: Times

    private func markTime(_ marks: [MarkTime], after version: Position, _ position: Position) -> Milliseconds? {
        marks.first { $0.mark.version > version && $0.mark.upTo >= position }?.itime
    }

    /// When the item was read; nil where it is not.
    func readAt(_ item: ItemState, _ id: ItemID) -> Milliseconds? {
        guard state.marks.isRead(item) else { return nil }
        if let register = item.read, register.value { return times[id]?.read ?? register.itime }
        return markTime(readMarks, after: item.read?.rank ?? 0, item.position)
    }

    /// When the item was archived; nil where it is not.
    func archivedAt(_ item: ItemState, _ id: ItemID) -> Milliseconds? {
        guard state.marks.isArchived(item) else { return nil }
        if let register = item.archived, register.value { return times[id]?.archived ?? register.itime }
        return markTime(archiveMarks, after: item.archived?.rank ?? 0, item.position)
    }

    /// When the item was seen; nil where it is not.
    func seenAt(_ item: ItemState, _ id: ItemID) -> Milliseconds? {
        guard state.marks.isSeen(item) else { return nil }
        return item.seen ? times[id]?.seen : markTime(seenMarks, after: 0, item.position)
    }

    // MARK: Appending

    /// Appends an entry that is encoded already, and folds it.
    mutating func append(
        _ entry: Entry, bytes: [UInt8], publish: Int64 = 0, chain: UInt64
    ) -> Appended {
        var item = ItemID(high: 0, low: 0)
        switch entry.kind {
        case .item(let id, _, _): item = id
        case .act(let act): note(act)
        case .removed, .catalogue, .unknown: break
        }
        let before = state.marks
        state.fold(entry)
        if case .item(let id, _, _) = entry.kind { sum &+= InboxSum.item(id, at: head) } else { sum = state.sum }
        if case .act(let act) = entry.kind, case .mark(let kind, let upTo, _) = act.effect {
            noteMark(kind, Mark(upTo: upTo, version: head, author: act.author), before, itime: act.itime)
        }
        self.chain = chain
        log.append(LogRow(chain: chain, time: entry.time, publish: publish, item: item, bytes: bytes))
        trimDeleted(entry)
        return Appended(
            inbox: key, position: head, chain: chain, sum: sum, content: EntryBytes(bytes), time: entry.time)
    }

    /// Notes when what an act makes true becomes true; before the fold. What is true already keeps its time.
    private mutating func note(_ act: Act) {
        switch act.effect {
        case .read(let ids, let on, _, let unseen, let alsoSeen):
            let unseen = Set(unseen)
            for id in ids {
                guard let item = state.items[id] else { continue }
                let before = readAt(item, id)
                if on || !unseen.contains(id) { noteSeen(item, id, act.itime) }
                times[id, default: Times()].read = on ? before ?? act.itime : nil
            }
            for id in alsoSeen {
                if let item = state.items[id] { noteSeen(item, id, act.itime) }
            }
        case .seen(let ids):
            for id in ids {
                if let item = state.items[id] { noteSeen(item, id, act.itime) }
            }
        case .archive(let ids, let on):
            for id in ids {
                guard let item = state.items[id] else { continue }
                times[id, default: Times()].archived = on ? archivedAt(item, id) ?? act.itime : nil
            }
        default: break
        }
    }

    private mutating func noteSeen(_ item: ItemState, _ id: ItemID, _ itime: Milliseconds) {
        guard !item.seen else { return }
        times[id, default: Times()].seen = seenAt(item, id) ?? itime
    }

    private mutating func noteMark(_ kind: MarkKind, _ mark: Mark, _ before: Marks, itime: Milliseconds) {
        let row = MarkTime(mark: mark, itime: itime)
        if before.read != state.marks.read { readMarks.append(row) }
        if before.seen != state.marks.seen { seenMarks.append(row) }
        if before.archive != state.marks.archive { archiveMarks.append(row) }
    }

    /// What is deleted below the floor loses its bytes at once: nothing reads them any more.
    private mutating func trimDeleted(_ entry: Entry) {
        guard floor > 0 else { return }
        let ids: [ItemID]
        switch entry.kind {
        case .removed(let items, _): ids = items
        case .act(let act):
            guard case .delete(let items) = act.effect else { return }
            ids = items
        default: return
        }
        for id in ids {
            if let item = state.items[id], item.position <= floor { log[Int(item.position) - 1].bytes = nil }
        }
    }
}

extension Box: InboxView where Value == MemoryInbox {
    var head: Position { value.head }
    var marks: Marks { value.state.marks }
    func item(_ id: ItemID) -> ItemState? { value.state.items[id] }
    func sent(_ uid: UInt64, by author: Author) -> Bool {
        value.acts(uid).contains { $0.author == author }
    }
    func opposed(
        to kind: MarkKind, upTo: Position, since observed: Position
    ) -> [(id: ItemID, register: Register)] {
        value.state.opposed(to: kind, upTo: upTo, since: observed)
    }
    func interests() -> Set<String>? { value.state.interests() }
    var isDevice: Bool { value.state.isDevice }
    func cell(_ key: PreferenceKey) -> PreferenceCell? { value.state.cell(key) }
    func cellCount() -> Int { value.state.cellCount() }
    func catalogue() -> Catalogue? { value.state.catalogue() }
    func hasFact(_ event: String, of item: ItemID) -> Bool { value.state.hasFact(event, of: item) }
}

extension Author {
    /// The order in which a store finds several authors of one uid: HTTP, then replicas by their ids.
    func precedes(_ other: Author) -> Bool {
        switch (self, other) {
        case (_, .api): false
        case (.api, _): true
        case (.replica(let left), .replica(let right)): (left.high, left.low) < (right.high, right.low)
        }
    }
}
