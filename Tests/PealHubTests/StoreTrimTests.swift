import Foundation
import PealModel
import Testing

@testable import PealHub

/// Trimming (docs/sync.md section 8): what goes, what holds it back, and what stays.
@Suite struct StoreTrimTests {
    /// Keeps five entries and no cursor.
    private static let short = Retention(entries: 5, age: .max / 4, hold: 0, period: 0)

    private func upkeep(_ hub: StoreFixture, limit: Int = 100) throws {
        var rounds = 0
        // A round that has ended begins anew where the period is 0, so the end shows as false once.
        while try hub.commit({ (store) throws(HubStoreError) in try store.upkeep(limit: limit, now: hub.now) }) {
            rounds += 1
            guard rounds < 1_000 else { throw Unexpected("upkeep does not end") }
        }
    }

    private func floor(_ hub: StoreFixture, _ inbox: InboxKey) throws -> Position {
        try hub.reader.log(of: inbox).floor
    }

    @Test(arguments: StoreKind.all)
    func `entries above the limit go, live items and all chains stay`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind, retention: Self.short)
        let anna = try hub.join("anna", replica: 1)
        var ids: [ItemID] = []
        for _ in 0..<8 { ids.append(try hub.item(for: "anna")) }
        _ = try hub.push([hub.mutation(1, .delete(items: [ids[1]]), observed: 8)], anna)
        let chains = try (0...9).map { try hub.reader.chain(of: anna.inbox, at: $0) }
        try upkeep(hub)
        #expect(try floor(hub, anna.inbox) == 4)
        #expect(try hub.entries(anna.inbox, after: 4).map(\.position) == [5, 6, 7, 8, 9])
        let error = #expect(throws: HubStoreError.self) { try hub.entries(anna.inbox, after: 3) }
        #expect(error?.code == .belowFloor)
        #expect(try (0...9).map { try hub.reader.chain(of: anna.inbox, at: $0) } == chains)
        let page = try hub.reader.snapshotPage(of: anna.inbox, id: nil, below: nil, maxRows: 99, maxBytes: 99_999)
        #expect(page.rows.map(\.state.position) == [8, 7, 6, 5, 4, 3, 1])
        #expect(try hub.reader.list(ListQuery(now: hub.now), of: anna.inbox).total == 7)
        #expect(try hub.reader.item(ids[0], of: anna.inbox, now: hub.now) != nil)
        // A person can still act on what lies below the floor.
        hub.now += 1
        let act = try hub.push(
            [hub.mutation(2, .read(items: [ids[0]], on: true, passive: false), observed: 9)], anna)
        #expect(act.appended.count == 1)
        #expect(try hub.reader.item(ids[0], of: anna.inbox, now: hub.now)?.readAt == hub.now)
    }

    @Test func `what is trimmed leaves the file, and so does what is deleted below the floor`() throws {
        let hub = try StoreFixture(.sqlite, retention: Self.short)
        let anna = try hub.join("anna", replica: 1)
        let id = try hub.item(for: "anna")
        for n in 1...8 { _ = try hub.push([hub.mutation(Int64(n), .mark(.read, upTo: 1), observed: 1)], anna) }
        try upkeep(hub)
        let store = try #require(hub.store as? SQLiteHubStore)
        let empty = "SELECT count(*) FROM entry WHERE bytes IS NULL"
        #expect(try floor(hub, anna.inbox) == 4)
        #expect(try store.database.int(empty) == 3)
        _ = try hub.push([hub.mutation(9, .delete(items: [id]), observed: 1)], anna)
        #expect(try store.database.int(empty) == 4)
        #expect(try hub.reader.item(id, of: anna.inbox, now: hub.now) == nil)
    }

    @Test(arguments: StoreKind.all)
    func `items of wide publishes are trimmed like others, and those that are not deleted stay`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind, retention: Self.short)
        let users = (0..<SQLiteHubStore.deferredFrom).map { "user\($0)" }
        var ids: [ItemID] = []
        var inbox = InboxKey(row: 0)
        for number in 0..<8 {
            let appended = try hub.publish("pubid-\(number)", to: users).appended[3]
            ids.append(try StoreFixture.id(of: appended))
            inbox = appended.inbox
        }
        _ = try hub.commit { (store) throws(HubStoreError) in
            try store.remove([ids[0]], why: "retract", from: inbox, now: hub.now)
        }
        // What waits for its index holds the floor back until the next round.
        try upkeep(hub)
        try upkeep(hub)
        #expect(try floor(hub, inbox) == 4)
        #expect(try hub.entries(inbox, after: 4).map(\.position) == [5, 6, 7, 8, 9])
        let page = try hub.reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: 99, maxBytes: 99_999)
        #expect(page.rows.map(\.id) == ids.dropFirst().reversed())
        #expect(try hub.reader.item(ids[1], of: inbox, now: hub.now) != nil)
        #expect(try hub.reader.item(ids[0], of: inbox, now: hub.now) == nil)
    }

    @Test(arguments: StoreKind.all)
    func `what is old goes however few there are, and no more than is old`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind, retention: Retention(entries: 100, age: 10_000, hold: 0, period: 0))
        let anna = try hub.join("anna", replica: 1)
        for _ in 0..<4 {
            hub.now += 4_000
            _ = try hub.item(for: "anna")
        }
        try upkeep(hub)
        #expect(try floor(hub, anna.inbox) == 1)
        hub.now += 10_001
        try upkeep(hub)
        #expect(try floor(hub, anna.inbox) == 4)
        #expect(try hub.entries(anna.inbox, after: 4).isEmpty)
        #expect(
            try hub.admitted(hub.hello(.user(externalID: "anna", email: nil), replica: ReplicaID(high: 0, low: 9)))
                .welcome.mode == .snapshot)
    }

    @Test(arguments: StoreKind.all)
    func `a cursor holds the log back while its replica was seen lately, and no entry for ever`(
        _ kind: StoreKind
    ) throws {
        let retention = Retention(entries: 1, age: 20_000, hold: 60_000, period: 0)
        let hub = try StoreFixture(kind, retention: retention)
        let anna = try hub.join("anna", replica: 1)
        let other = try hub.join("anna", replica: 2)
        for _ in 0..<6 { _ = try hub.item(for: "anna") }
        func got(_ admitted: Admitted, _ position: Position) throws {
            try hub.commit { (store) throws(HubStoreError) in
                try store.acknowledge([(admitted.replica, position)], now: hub.now)
            }
        }
        try got(anna, 5)
        try got(other, 2)
        try upkeep(hub)
        #expect(try floor(hub, anna.inbox) == 2)
        hub.now += 50_000
        try got(anna, 6)
        try upkeep(hub)
        #expect(try floor(hub, anna.inbox) == 2)
        // The other has not been seen for 60 s.
        hub.now += 10_000
        try upkeep(hub)
        #expect(try floor(hub, anna.inbox) == 6)
        // One that is seen all the time and takes nothing does not keep an entry longer than age and hold.
        _ = try hub.item(for: "anna")
        for _ in 0..<9 {
            hub.now += 10_000
            try got(other, 2)
            try upkeep(hub)
        }
        #expect(try floor(hub, anna.inbox) == 7)
    }

    @Test(arguments: StoreKind.all)
    func `the floor rises in steps, and each inbox has its turn`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind, retention: Retention(entries: 2, age: .max / 4, hold: 0, period: 1_000))
        let anna = try hub.join("anna", replica: 1)
        let berta = try hub.join("berta", replica: 2)
        for _ in 0..<9 { _ = try hub.publish("pubid-\(hub.random.next())", to: ["anna", "berta"]) }
        func step(_ limit: Int) throws -> Bool {
            try hub.commit { (store) throws(HubStoreError) in try store.upkeep(limit: limit, now: hub.now) }
        }
        #expect(try step(3))
        #expect(try floor(hub, anna.inbox) == 3)
        var steps = 1
        while try step(3) { steps += 1 }
        #expect(try floor(hub, anna.inbox) == 7 && floor(hub, berta.inbox) == 7)
        #expect(steps > 4 && steps < 12)
        _ = try hub.publish("pubid-more", to: ["anna", "berta"])
        // The next round is not due yet.
        #expect(try !step(3))
        hub.now += 1_000
        while try step(1) {}
        #expect(try floor(hub, anna.inbox) == 8 && floor(hub, berta.inbox) == 8)
    }

    @Test(arguments: StoreKind.all)
    func `a cursor below the floor gets a snapshot, and one of another chain is ahead`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind, retention: Self.short)
        let first = try hub.join("anna", replica: 1)
        for _ in 0..<9 { _ = try hub.item(for: "anna") }
        var chains: [UInt64] = []
        for position in 0...9 { chains.append(try hub.reader.chain(of: first.inbox, at: Position(position)) ?? 0) }
        try upkeep(hub)
        var attempt: Int64 = 1
        func mode(_ position: Position, _ chain: UInt64) throws -> Admission.Mode {
            attempt += 1
            let cursor = Cursor(epoch: first.welcome.epoch, position: position, chain: chain)
            return try hub.admitted(
                hub.hello(
                    .user(externalID: "anna", email: nil), replica: ReplicaID(high: 0, low: 1), attempt: attempt,
                    nonce: first.welcome.nonce, cursor: cursor)
            ).welcome.mode
        }
        #expect(try mode(3, chains[3]) == .snapshot)
        #expect(try mode(3, chains[3] ^ 1) == .ahead)
        #expect(try mode(4, chains[4]) == .resume)
    }

    /// `PEAL_TRIM_SEEDS` asks for more.
    static let seeds = ProcessInfo.processInfo.environment["PEAL_TRIM_SEEDS"].flatMap { UInt64($0) } ?? 8

    @Test(arguments: StoreKind.all, 0..<StoreTrimTests.seeds)
    func `for every floor and every cursor above it, a snapshot and the log are the fold of the whole log`(
        _ kind: StoreKind, _ seed: UInt64
    ) throws {
        guard kind.plays(seed) else { return }
        var history = try TrimmedHistory(kind, seed: seed)
        for _ in 0..<25 { try history.group() }
        #expect(history.floors.count > 1, "seed \(seed): hardly anything was trimmed")
    }
}

/// One inbox that is trimmed all the time, the log that a hub without trimming would have, and every snapshot that was taken.
private struct TrimmedHistory {
    struct Taken {
        var page: Page
        var model: InboxState
    }

    let seed: UInt64
    let hub: StoreFixture
    let member: Admitted
    var random: SplitMix
    var model: InboxState
    var items: [ItemID] = []
    var chains: [UInt64] = [0]
    var taken: [Taken] = []
    var floors: Set<Position> = []
    var lastN: Int64 = 0

    init(_ kind: StoreKind, seed: UInt64) throws {
        self.seed = seed
        random = SplitMix(state: seed &* 97 &+ 5)
        let retention = Retention(
            entries: Int64.random(in: 0...9, using: &random),
            age: Milliseconds.random(in: 5_000...60_000, using: &random),
            hold: Milliseconds.random(in: 0...9_000, using: &random), period: 0)
        hub = try StoreFixture(kind, seed: seed, retention: retention)
        member = try hub.join("anna", replica: 1)
        model = InboxState()
    }

    mutating func group() throws {
        try hub.store.begin()
        for _ in 0..<Int.random(in: 1...7, using: &random) {
            hub.now += Milliseconds.random(in: 0...2_000, using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<4: try publish()
            case 4..<9: try push()
            case 9: try retract()
            case 10:
                try hub.store.acknowledge([(member.replica, .random(in: 0...model.head, using: &random))], now: hub.now)
            default: _ = try hub.store.upkeep(limit: Int.random(in: 1...9, using: &random), now: hub.now)
            }
        }
        try hub.store.commit()
        taken.append(
            Taken(
                page: try hub.reader.snapshotPage(
                    of: member.inbox, id: nil, below: nil, maxRows: .max, maxBytes: .max), model: model))
        try check()
    }

    private mutating func fold(_ appended: Appended?) throws {
        guard let appended else { return }
        model.fold(try Entry(appended.bytes[...]))
        chains.append(appended.chain)
    }

    private mutating func publish() throws {
        let request = PublishRequest(
            project: hub.project.key, name: "pubid-\(random.next())", body: ItemBody(title: "t", sent: hub.now),
            recipients: [.init(identity: UserIdentity(externalID: "anna"))])
        let appended = try hub.store.publish(request, now: hub.now).appended.first
        if let appended { items.append(try StoreFixture.id(of: appended)) }
        try fold(appended)
    }

    private mutating func some() -> [ItemID] {
        (0..<2).compactMap { _ in items.randomElement(using: &random) }
    }

    private mutating func push() throws {
        lastN += 1
        let operation: PealModel.Operation =
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: .read(items: some(), on: Bool.random(using: &random), passive: false)
            case 2: .archive(items: some(), on: Bool.random(using: &random))
            case 3:
                .mark(.allCases.randomElement(using: &random)!, upTo: .random(in: 0...(model.head + 1), using: &random))
            case 4: .delete(items: some())
            default: .seen(items: some())
            }
        let result = try hub.store.push(
            [hub.mutation(lastN, operation, observed: .random(in: 0...model.head, using: &random))],
            from: member.replica, session: member.welcome.session, now: hub.now)
        try fold(result.appended.first)
    }

    private mutating func retract() throws {
        try fold(try hub.store.remove(some(), why: "retract", from: member.inbox, now: hub.now))
    }

    private mutating func check() throws {
        let log = try hub.reader.log(of: member.inbox)
        floors.insert(log.floor)
        #expect(log.head == model.head, "seed \(seed)")
        for (position, chain) in chains.enumerated() {
            #expect(try hub.reader.chain(of: member.inbox, at: Position(position)) == chain, "seed \(seed)")
        }
        for one in taken {
            let alive = one.model.items.filter { !$0.value.deleted }
            #expect(Dictionary(uniqueKeysWithValues: one.page.rows.map { ($0.id, $0.state) }) == alive, "seed \(seed)")
            #expect(one.page.rest?.marks == one.model.marks, "seed \(seed)")
            guard one.page.at >= log.floor else {
                #expect(throws: HubStoreError.self, "seed \(seed)") {
                    try hub.entries(member.inbox, after: one.page.at)
                }
                continue
            }
            var state = one.model
            for entry in try hub.entries(member.inbox, after: one.page.at) { state.fold(try Entry(entry.bytes[...])) }
            #expect(state == model, "seed \(seed), cursor \(one.page.at), floor \(log.floor)")
        }
    }
}
