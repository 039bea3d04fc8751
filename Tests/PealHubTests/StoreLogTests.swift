import PealModel
import Testing

@testable import PealHub

@Suite struct StoreLogTests {
    @Test(arguments: StoreKind.all)
    func `positions are dense and the chain is the digest of the chain before and the bytes`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let item = try hub.item(for: "anna")
        _ = try hub.item(for: "anna")
        let pushed = try hub.push([hub.mutation(1, .read(items: [item], on: true, passive: false), observed: 2)], anna)
        #expect(pushed.appended.map(\.position) == [3])
        let entries = try hub.entries(anna.inbox)
        #expect(entries.map(\.position) == [1, 2, 3])
        var chain: UInt64 = 0
        var hasher = SHA256Hasher()
        for entry in entries {
            chain = hasher.link(after: chain, entry: entry.bytes[...])
            #expect(entry.chain == chain)
            #expect(try hub.reader.chain(of: anna.inbox, at: entry.position) == chain)
        }
        #expect(try hub.reader.chain(of: anna.inbox, at: 0) == 0)
        #expect(try hub.reader.chain(of: anna.inbox, at: 4) == nil)
        #expect(try hub.reader.log(of: anna.inbox).head == 3)
    }

    @Test(arguments: StoreKind.all)
    func `what is read ends at either limit, and one entry is always given`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        for _ in 0..<5 { _ = try hub.item(for: "anna") }
        let inbox = try #require(try hub.reader.user(UserIdentity(externalID: "anna"), in: hub.project.key)).inbox
        let size = try hub.entries(inbox)[0].bytes.count
        func read(_ after: Position, _ count: Int, _ bytes: Int) throws -> [Position] {
            try hub.reader.entries(of: inbox, after: after, maxCount: count, maxBytes: bytes).map(\.position)
        }
        #expect(try read(1, 2, .max) == [2, 3])
        #expect(try read(0, 10, 2 * size + 10) == [1, 2])
        #expect(try read(0, 10, 1) == [1])
        #expect(try read(5, 10, .max) == [])
    }

    @Test(arguments: StoreKind.all)
    func `a request that throws undoes itself alone`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        func request(_ name: String) -> PublishRequest {
            PublishRequest(
                project: hub.project.key, name: name, body: ItemBody(title: name, sent: hub.now),
                recipients: [.init(identity: UserIdentity(externalID: "anna"))])
        }
        let appended = try hub.commit { (store) throws(HubStoreError) -> [Appended] in
            let first = try store.savepoint { () throws(HubStoreError) in try store.publish(request("a"), now: hub.now)
            }
            do {
                try store.savepoint { () throws(HubStoreError) in
                    _ = try store.publish(request("b"), now: hub.now)
                    throw HubStoreError(.failed, "a test's own")
                }
            } catch {}
            let last = try store.savepoint { () throws(HubStoreError) in try store.publish(request("c"), now: hub.now) }
            return first.appended + last.appended
        }
        #expect(appended.map(\.position) == [1, 2])
        #expect(try hub.entries(appended[0].inbox).map(\.bytes) == appended.map(\.bytes))
    }

    @Test(arguments: StoreKind.all)
    func `a reader sees nothing before the commit, nor after a rollback`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let item = try hub.item(for: "anna")
        let inbox = try #require(try hub.reader.user(UserIdentity(externalID: "anna"), in: hub.project.key)).inbox
        try hub.store.begin()
        _ = try hub.store.act(.delete(items: [item]), uid: 7, observed: nil, in: inbox, now: hub.now)
        #expect(try hub.reader.log(of: inbox).head == 1)
        hub.store.rollback()
        #expect(try hub.entries(inbox).count == 1)
        #expect(try hub.reader.item(item, of: inbox, now: hub.now) != nil)
    }
}
