import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// An inbox of some thousand items, so that marks end inside blocks of the tally and between them.
private struct Wide {
    /// None, and names that Swift holds for the same although their bytes differ.
    static let categories = [nil, "a", "b", "caf\u{e9}", "cafe\u{301}"]
    var random: Seeded
    let folder = Folder()
    let clock = TestClock()
    let replica: Replica
    private(set) var items: [ItemID] = []
    private var head: Position = 0

    init(seed: UInt64, size: Int) throws {
        random = Seeded(seed)
        replica = try folder.open(clock: clock, seed: seed)
        try replica.connect(TestHub())
        while items.count < size { try publish(500) }
    }

    mutating func publish(_ count: Int) throws {
        try append((0..<count).map { _ in item() })
    }

    private mutating func item() -> Entry.Kind {
        let id = ItemID(time: clock.wall, counter: UInt64(items.count), random: random.next())
        items.append(id)
        let body = ItemBody(
            title: "title", category: Self.categories.randomElement(using: &random)!, sent: clock.wall,
            expires: random.chance(10) ? clock.wall + Int64.random(in: 1...60_000, using: &random) : nil,
            silent: random.chance(3))
        return .item(id: id, publish: "publish", body: body.bytes[...])
    }

    mutating func append(_ kinds: [Entry.Kind]) throws {
        let from = head
        head += Position(kinds.count)
        let entries = kinds.map { Entry(time: clock.wall, kind: $0).bytes[...] }
        let applied = try replica.apply(Batch(session: 1, from: from, to: head, chain: 1, entries: entries))
        #expect(applied.verdict == .folded)
    }

    mutating func some() -> [ItemID] {
        (0..<Int.random(in: 1...40, using: &random)).map { _ in items.randomElement(using: &random)! }
    }

    /// Anywhere, and often just at, below or above the end of a block.
    mutating func position() -> Position {
        guard random.chance(50) else { return Position.random(in: 0...head, using: &random) }
        return max(
            0,
            min(head, Position.random(in: 0...4, using: &random) * 1_024 + [-1, 0, 1].randomElement(using: &random)!))
    }

    mutating func kind() -> MarkKind { MarkKind.allCases.randomElement(using: &random)! }

    mutating func effect() -> Act.Effect {
        switch Int.random(in: 0..<7, using: &random) {
        case 0, 1: return .read(items: some(), on: random.chance(50), passive: false, unseen: [])
        case 2: return .seen(items: some())
        case 3, 4: return .archive(items: some(), on: random.chance(60))
        case 5: return .delete(items: some())
        default: return .mark(kind(), upTo: position(), except: random.chance(50) ? some() : [])
        }
    }

    mutating func operation() -> PealModel.Operation {
        switch Int.random(in: 0..<7, using: &random) {
        case 0, 1: return .read(items: some(), on: random.chance(50), passive: false)
        case 2: return .seen(items: some())
        case 3, 4: return .archive(items: some(), on: random.chance(60))
        case 5: return .delete(items: some())
        default: return .mark(kind(), upTo: position())
        }
    }

    /// The counts of categories are those of the list of everything.
    func checkCategories(_ place: Comment) throws {
        var all: [DeliveredItem] = []
        var next: PageCursor?
        repeat {
            let page = try replica.page(DeliveredQuery(), after: next, limit: 200)
            all += page.items
            next = page.next
        } while next != nil
        for lists in [["a"], ["b", "cafe\u{301}"], ["caf\u{e9}"], ["none"]] {
            let wanted = Set(lists.map { Array($0.utf8) })
            let items = all.filter { item in item.category.map { wanted.contains(Array($0.utf8)) } ?? false }
            let unread = items.count { !$0.read }
            let unseen = items.count { !$0.seen }
            let counts = try replica.counts(DeliveredQuery(categories: lists))
            #expect(counts == Counts(total: Int64(items.count), unread: Int64(unread), unseen: Int64(unseen)), place)
            let unreadCounts = try replica.counts(DeliveredQuery(categories: lists, read: false))
            #expect(unreadCounts.total == Int64(unread), place)
        }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try publish(Int.random(in: 1...200, using: &random))
        case 1: clock.advance(Int64.random(in: 0...5_000, using: &random))
        case 2: try append([.removed(items: some(), why: "expired")])
        case 3...6:
            let effect = effect()
            try append([
                .act(
                    Act(author: .api, n: nil, uid: random.next(), itime: clock.wall, outcome: .applied, effect: effect))
            ])
        case 7...10: try replica.enqueue(operation())
        default:
            // What waited first is decided, and takes no effect after all: its overlay goes.
            guard let first = try replica.nextPush(maximumCount: 1)?.mutations.first else { return }
            let act = Act(
                author: .replica(try replica.replicaID()), n: first.n, uid: first.uid, itime: clock.wall, outcome: .gone
            )
            try append([.act(act)])
        }
    }
}

@Suite struct CountTests {
    @Test(arguments: seeds(6)) func `counts are a recount, whatever marks, acts, pending ones and time make of them`(
        seed: Int
    ) throws {
        var wide = try Wide(seed: UInt64(seed), size: 3_000)
        for step in 0..<60 {
            try wide.step()
            guard step % 3 == 0 else { continue }
            let queries = wide.replica.queries
            let frame = try queries.frame()
            let counted = try Verifier(queries, nil).recount(overlaid: true, now: frame.now)
            #expect(try wide.replica.counts() == counted, "seed \(seed), step \(step)")
            try wide.checkCategories("seed \(seed), step \(step)")
        }
        #expect(try wide.replica.verify()["tally"]?.result == .passed)
    }

    @Test func `counts read one index or the tally, and never all that they count`() throws {
        let folder = Folder()
        let replica = try folder.open()
        for driver in [Driver.kept, .unread, .unseen] {
            let tally = try replica.connection.queryPlan(Queries.tallySQL(driver).description)
            #expect(tally == ["SEARCH tally USING PRIMARY KEY (category=? AND block>?)"])
            let expired = try replica.connection.queryPlan(Queries.expiredSQL(driver).description)
            #expect(expired == ["SEARCH item USING COVERING INDEX item_expires (expires<?)"])
        }
        var steps: [Int] = []
        for size in [2_000, 6_000] {
            let wide = try Wide(seed: 1, size: size)
            let before = wide.replica.connection.stepCount
            #expect(try wide.replica.counts().total > Int64(size) / 2)
            #expect(try wide.replica.counts(DeliveredQuery(categories: ["a", "b"])).total > Int64(size) / 4)
            steps.append(wide.replica.connection.stepCount - before)
        }
        #expect(steps[0] == steps[1])
    }
}
