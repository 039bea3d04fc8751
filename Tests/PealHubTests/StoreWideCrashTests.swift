import PealModel
import PealSQLite
import Testing

@testable import PealHub

/// Wide fan-outs leave rows of `log` and `inbox` for later and share their bytes; no crash, rollback or settling at any moment
/// loses an entry, doubles one, or breaks a chain or a sum.
@Suite struct StoreWideCrashTests {
    @Test(arguments: 0..<24)
    func `every log is dense, chained, complete and rightly summed over crashes at any moment`(_ seed: UInt64) throws {
        var history = try WideHistory(seed: seed)
        for _ in 0..<24 { try history.step() }
        try history.check()
        try history.crash()
        try history.check()
    }

    @Test func `a crash between a chunk of a wide publish and its settling delivers each inbox one item`() throws {
        var hub = try StoreFixture()
        let count = 2 * SQLiteHubStore.deferredFrom + 5
        let devices = try (0..<count).map { try WideHistory.device(hub, replica: UInt64(3 * $0 + 1)) }
        let job = PublishRequest(
            project: hub.project.key, name: "pubid-wide", body: ItemBody(title: "wide", sent: hub.now),
            interests: ["wide"])
        try hub.commit { (store) throws(HubStoreError) in
            let sqlite = store as? SQLiteHubStore
            _ = try sqlite?.freeze(job, PublishTemplates(job, now: hub.now), recipients: [], now: hub.now)
        }
        // A crash after each chunk; another one in the middle of the next, which is then done again.
        var rounds = 0
        var goesOn = true
        while goesOn {
            hub = try hub.crashed()
            try hub.store.begin()
            _ = try hub.store.fanOut(limit: SQLiteHubStore.deferredFrom, now: hub.now)
            hub = try hub.crashed()
            goesOn = try hub.commit { (store) throws(HubStoreError) in
                try store.fanOut(limit: SQLiteHubStore.deferredFrom, now: hub.now) != nil
            }
            rounds += 1
            guard rounds < 20 else { throw Unexpected("the job does not end") }
        }
        #expect(rounds == 4)
        hub = try hub.crashed()
        for inbox in devices { try WideHistory.checkLog(hub, inbox, count: 2) }
        let behind = "SELECT count(*) FROM inbox i JOIN log l ON l.inbox = i.id AND l.position > i.head"
        #expect(try (hub.store as? SQLiteHubStore)?.database.int(behind) == 0)
    }

    @Test func `a settling whose last statement fails forgets no head`() throws {
        let hub = try StoreFixture()
        let devices = try (0..<SQLiteHubStore.deferredFrom).map { index in
            let admitted = try hub.joinDevice(replica: UInt64(index + 1))
            _ = try hub.push([hub.mutation(1, .interest(name: "wide", on: true))], admitted)
            return admitted
        }
        _ = try hub.publish("pubid-1", interests: ["wide"])
        let store = try #require(hub.store as? SQLiteHubStore)
        // The disk or memory fails at that very moment.
        let connection = store.database.connection
        try connection.execute(
            "CREATE TEMP TRIGGER fails BEFORE UPDATE OF indexed_seq ON meta BEGIN SELECT RAISE(ABORT, 'x'); END")
        try store.begin()
        #expect(throws: HubStoreError.self) { try store.settle() }
        store.rollback()
        try connection.execute("DROP TRIGGER temp.fails")
        let device = devices[7]
        let pushed = try hub.push([hub.mutation(2, .interest(name: "late", on: true))], device)
        #expect(pushed.appended.map(\.position) == [3])
        try WideHistory.checkLog(hub, device.inbox, count: 3)
    }

    @Test func `a welcome, a list and a push know an inbox's head that its row does not know`() throws {
        let hub = try StoreFixture()
        let devices = try (0..<SQLiteHubStore.deferredFrom).map { index in
            let admitted = try hub.joinDevice(replica: UInt64(index + 1))
            _ = try hub.push([hub.mutation(1, .interest(name: "wide", on: true))], admitted)
            return admitted
        }
        let result = try hub.publish("pubid-1", interests: ["wide"])
        let device = devices[7]
        let store = try #require(hub.store as? SQLiteHubStore)
        #expect(try store.database.int("SELECT head FROM inbox WHERE id = \(device.inbox.row)") == 1)
        #expect(try hub.reader.log(of: device.inbox).head == 2)
        let item = try StoreFixture.id(of: try #require(result.appended.first { $0.inbox == device.inbox }))
        let pushed = try hub.push([hub.mutation(2, .read(items: [item], on: true, passive: false))], device)
        #expect(pushed.appended.map(\.position) == [3])
        let again = try hub.publish("pubid-2", interests: ["wide"])
        #expect(again.appended.first { $0.inbox == device.inbox }?.position == 4)
        #expect(again.appended.first { $0.inbox == devices[8].inbox }?.position == 3)
        try WideHistory.checkLog(hub, device.inbox, count: 4)
    }

    @Test func `the items of a wide publish are stored once`() throws {
        let hub = try StoreFixture()
        let users = (0..<SQLiteHubStore.deferredFrom).map { "user\($0)" }
        let result = try hub.publish("pubid-1", to: users)
        let store = try #require(hub.store as? SQLiteHubStore)
        #expect(try store.database.int("SELECT count(*) FROM template") == 1)
        #expect(try store.database.int("SELECT count(bytes) FROM entry") == 0)
        for appended in result.appended {
            let stored = try hub.entries(appended.inbox)
            #expect(stored.map(\.bytes) == [appended.bytes])
            #expect(try Entry(appended.bytes[...]).bytes == appended.bytes)
        }
        #expect(Set(result.appended.map(\.bytes)).count == users.count)
    }
}

/// Devices with a common interest, what was published to them, and crashes in between.
private struct WideHistory {
    var hub: StoreFixture
    var random: SplitMix
    let inboxes: [InboxKey]
    /// The names that each inbox must have received, in order.
    var expected: [InboxKey: [String]] = [:]
    var published = 0

    init(seed: UInt64) throws {
        let hub = try StoreFixture(seed: seed)
        self.hub = hub
        random = SplitMix(state: seed &* 104_729 &+ 11)
        inboxes = try (0..<SQLiteHubStore.deferredFrom + 6).map { try Self.device(hub, replica: UInt64($0 + 1)) }
    }

    static func device(_ hub: StoreFixture, replica: UInt64) throws -> InboxKey {
        let admitted = try hub.joinDevice(replica: replica)
        _ = try hub.push(
            ["wide", "narrow"].enumerated().filter { $0.element == "wide" || replica.isMultiple(of: 3) }.map {
                hub.mutation(Int64($0.offset + 1), .interest(name: $0.element, on: true))
            }, admitted)
        return admitted.inbox
    }

    mutating func step() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try crash()
        case 1: (hub.store as? SQLiteHubStore)?.wantsSettling = true
        case 2: try undone()
        case 3, 4: try act()
        default: try group()
        }
    }

    private func request(_ name: String) -> PublishRequest {
        PublishRequest(
            project: hub.project.key, name: name, body: ItemBody(title: name, sent: hub.now),
            interests: [name.hasPrefix("w") ? "wide" : "narrow"])
    }

    private mutating func name() -> String {
        published += 1
        return (Int.random(in: 0..<3, using: &random) > 0 ? "w" : "n") + "\(published)"
    }

    /// A replica's act over items whose inbox rows may be behind.
    private mutating func act() throws {
        let inbox = inboxes[Int.random(in: 0..<inboxes.count, using: &random)]
        let page = try hub.reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: .max, maxBytes: .max)
        guard let item = page.rows.randomElement(using: &random) else { return }
        let uid = random.next()
        let now = hub.now
        _ = try hub.commit { (store) throws(HubStoreError) in
            try store.act(
                .read(items: [item.id], on: uid & 1 == 0, passive: false), uid: uid, observed: nil, in: inbox, now: now)
        }
    }

    /// Some publishes in one group commit, one of them perhaps undone in its savepoint.
    private mutating func group() throws {
        hub.now += 1
        try hub.store.begin()
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let request = request(name())
            let isUndone = Int.random(in: 0..<5, using: &random) == 0
            let now = hub.now
            let store = hub.store
            do throws(HubStoreError) {
                let result = try store.savepoint { () throws(HubStoreError) in
                    let result = try store.publish(request, now: now)
                    if isUndone { throw HubStoreError(.failed, "a test's own") }
                    return result
                }
                for entry in result.appended { expected[entry.inbox, default: []].append(request.name) }
            } catch {
                guard isUndone else { throw error }
            }
        }
        try hub.store.commit()
    }

    /// A transaction that is lost.
    private mutating func undone() throws {
        try hub.store.begin()
        for _ in 0..<2 { _ = try hub.store.publish(request(name()), now: hub.now) }
        hub.store.rollback()
    }

    mutating func crash() throws { hub = try hub.crashed() }

    func check() throws {
        for inbox in inboxes {
            let names = expected[inbox, default: []]
            let entries = try Self.checkLog(hub, inbox, count: nil)
            let got = try entries.compactMap { entry -> String? in
                guard case .item(_, let publish, _) = try Entry(entry.bytes[...]).kind else { return nil }
                return publish
            }
            #expect(got == names)
            #expect(try hub.reader.log(of: inbox).head == entries.last?.position)
            let page = try hub.reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: .max, maxBytes: .max)
            #expect(page.rows.map(\.publish) == names.reversed())
        }
    }

    /// Dense and chained.
    @discardableResult
    static func checkLog(_ hub: StoreFixture, _ inbox: InboxKey, count: Int?) throws -> [LogEntry] {
        let entries = try hub.entries(inbox)
        #expect(entries.map(\.position) == Array(1...Position(count ?? max(entries.count, 1))))
        var chain: UInt64 = 0
        var hasher = SHA256Hasher()
        var state = InboxState(device: true)
        for entry in entries {
            state.fold(try Entry(entry.bytes[...]))
            chain = hasher.link(after: chain, entry: entry.bytes[...])
            #expect(entry.chain == chain)
            #expect(try hub.reader.chain(of: inbox, at: entry.position) == chain)
        }
        let standing = try hub.reader.sum(of: inbox)
        #expect(standing.head == state.head && standing.sum == state.sum)
        return entries
    }
}
