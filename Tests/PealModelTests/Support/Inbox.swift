import PealModel

/// A hub in a few lines: one inbox, its log, and acts that are resolved and folded as the real one does it.
struct Inbox {
    private(set) var state: InboxState
    private(set) var log: [Entry] = []
    /// The hub's clock; a second passes with each entry.
    private(set) var now: Milliseconds = 1_000_000
    private var uids: UInt64 = 0x1000

    init(device: Bool = false) { state = InboxState(device: device) }

    var head: Position { state.head }

    mutating func append(_ kind: Entry.Kind) {
        now += 1_000
        let entry = Entry(time: now, kind: kind)
        log.append(entry)
        state.fold(entry)
    }

    @discardableResult
    mutating func publish(_ id: ItemID) -> Position {
        append(.item(id: id, publish: "p", body: Array(#"{"sent":1}"#.utf8)[...]))
        return head
    }

    /// Resolves and appends an act. `observed` is the head unless it is given, `at` the hub's time.
    @discardableResult
    mutating func act(
        _ operation: PealModel.Operation, by author: Author, observed: Position? = nil, at wall: Milliseconds? = nil,
        uid: UInt64? = nil
    ) -> Act {
        let act = resolve(operation, by: author, observed: observed, at: wall, uid: uid)
        append(.act(act))
        return act
    }

    /// Resolves an act without appending it.
    mutating func resolve(
        _ operation: PealModel.Operation, by author: Author, observed: Position? = nil, at wall: Milliseconds? = nil,
        uid: UInt64? = nil
    ) -> Act {
        uids += 1
        let mutation = Mutation(
            n: 1, uid: uid ?? uids, observed: observed ?? head, observedTime: 0,
            moment: wall.map { .wall($0) } ?? .age(0),
            operation: operation)
        return Resolver.resolve(mutation, by: author, in: state, now: now + 1_000)
    }

    func isRead(_ id: ItemID) -> Bool { state.marks.isRead(state.items[id]!) }
    func isSeen(_ id: ItemID) -> Bool { state.marks.isSeen(state.items[id]!) }
    func isArchived(_ id: ItemID) -> Bool { state.marks.isArchived(state.items[id]!) }
}

let phone = Author.replica(ReplicaID(high: 0xA, low: 1))
let tablet = Author.replica(ReplicaID(high: 0xB, low: 2))
let laptop = Author.replica(ReplicaID(high: 0xC, low: 3))

/// The item with a number, sorted by it.
func item(_ number: UInt64) -> ItemID {
    ItemID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000 | number)
}

/// A deliberate `read`.
func read(_ items: ItemID..., on: Bool = true) -> PealModel.Operation { .read(items: items, on: on, passive: false) }

/// A `read` that only says "was shown".
func shown(_ items: ItemID...) -> PealModel.Operation { .read(items: items, on: true, passive: true) }
