import PealModel
import Testing

@testable import PealHub

/// The rows of `log` that wide appends leave for later: readers see no difference, and no crash loses one.
@Suite struct StoreDeferredIndexTests {
    private let users = (0..<SQLiteHubStore.deferredFrom).map { "user\($0)" }

    private func store(_ hub: StoreFixture) throws -> SQLiteHubStore { try #require(hub.store as? SQLiteHubStore) }

    private func indexed(_ hub: StoreFixture) throws -> Int64 {
        try store(hub).database.int("SELECT count(*) FROM log")
    }

    /// A deferred, a direct, a deferred and a direct item in one inbox: what waits is not its tail.
    private func mixed() throws -> (StoreFixture, InboxKey) {
        let hub = try StoreFixture()
        let inbox = try hub.publish("pubid-1", to: users).appended[3].inbox
        _ = try hub.item(for: "user3")
        _ = try hub.publish("pubid-2", to: users)
        _ = try hub.item(for: "user3")
        return (hub, inbox)
    }

    private func check(_ hub: StoreFixture, _ inbox: InboxKey) throws {
        #expect(try hub.entries(inbox).map(\.position) == [1, 2, 3, 4])
        #expect(try hub.entries(inbox, after: 2).map(\.position) == [3, 4])
        var chain: UInt64 = 0
        var hasher = SHA256Hasher()
        for entry in try hub.entries(inbox) {
            chain = hasher.link(after: chain, entry: entry.bytes[...])
            #expect(try hub.reader.chain(of: inbox, at: entry.position) == chain)
        }
        let limited = try hub.reader.entries(of: inbox, after: 0, maxCount: 3, maxBytes: .max)
        #expect(limited.map(\.position) == [1, 2, 3])
        let page = try hub.reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: 3, maxBytes: .max)
        #expect(page.rows.map(\.state.position) == [4, 3, 2])
        #expect(!page.last && page.after == 2 && page.id == 4)
        let rest = try hub.reader.snapshotPage(of: inbox, id: 4, below: page.after, maxRows: 3, maxBytes: .max)
        #expect(rest.rows.map(\.state.position) == [1])
        #expect(rest.last && rest.rest == nil)
        let list = try hub.reader.list(ListQuery(now: hub.now), of: inbox)
        #expect(list.items.map(\.position) == [4, 3, 2, 1] && list.total == 4)
    }

    @Test func `readers see what is not indexed yet`() throws {
        let (hub, inbox) = try mixed()
        #expect(try store(hub).deferred.count == 2 * users.count)
        #expect(try indexed(hub) == 2)
        try check(hub, inbox)
    }

    @Test func `a narrow append is indexed at once`() throws {
        let hub = try StoreFixture()
        _ = try hub.publish("pubid-1", to: Array(users.dropLast()))
        #expect(try store(hub).deferred.count == 0)
        #expect(try indexed(hub) == Int64(users.count - 1))
    }

    @Test func `opening after a crash indexes what waited`() throws {
        let (hub, inbox) = try mixed()
        let later = try hub.crashed()
        #expect(try store(later).deferred.count == 0)
        #expect(try indexed(later) == Int64(2 * users.count + 2))
        try check(later, inbox)
        let watermark = "SELECT indexed_seq = (SELECT max(seq) FROM entry) FROM meta"
        #expect(try store(later).database.int(watermark) == 1)
        try check(try later.crashed(), inbox)
    }

    @Test func `closing settles, and the next open has nothing to do`() throws {
        let (hub, inbox) = try mixed()
        try hub.store.close()
        #expect(try indexed(hub) == Int64(2 * users.count + 2))
        try check(hub, inbox)
        try check(try hub.crashed(), inbox)
    }

    @Test func `settling belongs to the group commit: a rollback takes it back`() throws {
        let (hub, inbox) = try mixed()
        try store(hub).wantsSettling = true
        try hub.store.begin()
        #expect(try indexed(hub) == Int64(2 * users.count + 2))
        hub.store.rollback()
        #expect(try indexed(hub) == 2)
        try check(hub, inbox)
        try hub.store.begin()
        try hub.store.commit()
        #expect(try store(hub).deferred.count == 0)
        #expect(try indexed(hub) == Int64(2 * users.count + 2))
        try check(hub, inbox)
    }

    @Test func `a wide publish that is undone leaves nothing waiting`() throws {
        let (hub, inbox) = try mixed()
        let request = PublishRequest(
            project: hub.project.key, name: "pubid-x", body: ItemBody(title: "x", sent: hub.now),
            recipients: users.map { .init(identity: UserIdentity(externalID: $0)) })
        try hub.commit { (store) throws(HubStoreError) in
            do {
                try store.savepoint { () throws(HubStoreError) in
                    _ = try store.publish(request, now: hub.now)
                    throw HubStoreError(.failed, "a test's own")
                }
            } catch {}
        }
        #expect(try store(hub).deferred.count == 2 * users.count)
        try check(hub, inbox)
    }

    @Test func `many waiting rows are settled by themselves`() throws {
        let hub = try StoreFixture()
        let wide = (0..<500).map { "wide\($0)" }
        let rounds = SQLiteHubStore.deferredLimit / wide.count + 2
        for round in 0..<rounds { _ = try hub.publish("pubid-\(round)", to: wide) }
        #expect(try store(hub).deferred.count < SQLiteHubStore.deferredLimit)
        let inbox = try #require(try hub.reader.user(UserIdentity(externalID: "wide9"), in: hub.project.key)).inbox
        #expect(try hub.entries(inbox).map(\.position) == Array(1...Position(rounds)))
    }

    @Test func `the numbers of purged entries are not used again`() throws {
        let (hub, _) = try mixed()
        try store(hub).wantsSettling = true
        try hub.commit { (store) throws(HubStoreError) in
            let user = try store.user(UserIdentity(externalID: "user3"), in: hub.project.key)!
            _ = try store.deleteUser(user.key)
        }
        let last = try store(hub).database.int("SELECT max(seq) FROM entry")
        var rounds = 0
        while try hub.commit({ (store) throws(HubStoreError) in try store.upkeep(limit: 3, now: hub.now) }) {
            rounds += 1
            guard rounds < 100 else { throw Unexpected("upkeep does not end") }
        }
        #expect(try store(hub).database.int("SELECT max(seq) FROM entry") < last)
        let later = try hub.crashed()
        let id = try later.item(for: "user4")
        #expect(Int64(id.counter) > last)
        let inbox = try #require(try later.reader.user(UserIdentity(externalID: "user4"), in: hub.project.key)).inbox
        #expect(try later.crashed().entries(inbox).map(\.position) == [1, 2, 3])
    }
}
