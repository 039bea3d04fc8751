import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// Users of a client: who they are, how they end, and that nothing of them stays.
@Suite struct UserTests {
    @Test func `the same arguments give the same user, and none that only looks alike`() throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let mary = try client.connectUser(email: "Mary@example.com")
        #expect(try client.connectUser(email: "mary@example.com") === mary)
        #expect(try client.connectUser(externalId: "mary@example.com") !== mary)
        let both = try client.connectUser(email: "mary@example.com", externalId: "001")
        #expect(both !== mary)
        #expect(try client.connectUser(email: "mary@example.com", externalId: "001") === both)
        #expect(try client.connectUser(externalId: "001") !== both)
        #expect(client.users.count == 4)
        for (name, value) in [("email", ""), ("long", String(repeating: "x", count: 256))] {
            #expect(throws: PealError.self, "\(name)") { try client.connectUser(externalId: value) }
        }
        // Composed and decomposed letters are two ids, as for the hub.
        #expect(try client.connectUser(externalId: "\u{e9}") !== client.connectUser(externalId: "e\u{301}"))
    }

    @Test func `each user has notifications of their own, and an old user's store is empty after a switch`()
        async throws
    {
        let bench = try Bench()
        try await bench.send("for mary", to: "mary")
        try await bench.send("for paul", to: "paul")
        let client = try bench.app("a")
        let mary = try client.connectUser(externalId: "mary").store.build()
        let paul = try client.connectUser(externalId: "paul").store.build()
        try await mary.refresh()
        try await paul.refresh()
        #expect(mary.map(\.title) == ["for mary"] && paul.map(\.title) == ["for paul"])
        let recorder = StoreRecorder()
        mary.addContentObserver(recorder)
        mary.addCountObserver(recorder)
        try await client.disconnect(client.connectUser(externalId: "mary"))
        #expect(mary.isEmpty && mary.unreadCount == 0)
        #expect(recorder.take() == ["reload 0", "total 0", "unread 0", "unseen 0"])
        try await bench.send("more for mary", to: "mary")
        await #expect(throws: PealError.self) { try await mary.fetch() }
        #expect(mary.isEmpty && recorder.take().isEmpty)
        let again = try client.connectUser(externalId: "mary").store.build()
        #expect(again !== mary)
        #expect(await eventually { (try? await again.refresh().map(\.title)) == ["more for mary", "for mary"] })
        #expect(paul.map(\.title) == ["for paul"])
    }

    @Test func `a disposed store ends, and a new one of its predicate works`() async throws {
        let bench = try Bench()
        try await bench.send("a", to: "mary")
        let user = try bench.app("a").connectUser(externalId: "mary")
        let store = user.store.build(read: .unread)
        try await store.refresh()
        let recorder = StoreRecorder()
        store.addContentObserver(recorder)
        var changes = store.changes.makeAsyncIterator()
        user.store.dispose(with: StorePredicate(read: .unread))
        #expect(await changes.next()?.isReload == true)
        #expect(await changes.next() == nil)
        #expect(recorder.take() == ["reload 0"])
        let again = user.store.build(read: .unread)
        #expect(again !== store)
        try await again.fetch()
        #expect(again.count == 1 && store.isEmpty)
    }

    @Test func `an observer that leaves within a callback gets nothing more, and none is held`() async throws {
        let bench = try Bench()
        try await bench.send("a", to: "mary")
        let user = try bench.app("a").connectUser(externalId: "mary")
        let store = user.store.build()
        let leaver = Mutex<StoreRecorder?>(nil)
        let leaving = StoreRecorder { store, _ in
            if let me = leaver.withLock({ $0 }) {
                store.removeContentObserver(me)
                store.removeCountObserver(me)
            }
        }
        leaver.withLock { $0 = leaving }
        let staying = StoreRecorder()
        for observer in [leaving, staying] {
            store.addContentObserver(observer)
            store.addContentObserver(observer)
            store.addCountObserver(observer)
        }
        weak var forgotten: StoreRecorder?
        do {
            let observer = StoreRecorder()
            store.addContentObserver(observer)
            forgotten = observer
        }
        #expect(forgotten == nil)
        try await store.refresh()
        #expect(leaving.take() == ["reload 1"])
        #expect(staying.take() == ["reload 1", "total 1", "unread 1", "unseen 1"])
    }

    @Test func `nothing of a user, a store or a client stays after disconnect`() async throws {
        let bench = try Bench()
        try await bench.send("a", to: "mary")
        var living: [@Sendable () -> String?] = []
        func watch(_ objects: any AnyObject & Sendable...) {
            for object in objects {
                let name = "\(type(of: object))"
                living.append({ [weak object] in object == nil ? nil : name })
            }
        }
        do {
            let client = try bench.app("a")
            let mary = try client.connectUser(externalId: "mary")
            let list = mary.store.build()
            try await list.refresh()
            watch(client, mary, list, mary.store, mary.preferences, mary.core, try await mary.inbox())
            try await client.disconnect(client.connectUser(externalId: "mary"))
        }
        // Neither without: the last reference ends it.
        do {
            let client = try bench.app("b")
            let mary = try client.connectUser(externalId: "mary")
            try await mary.store.build().refresh()
            watch(client, mary, mary.core, try await mary.inbox())
        }
        let watched = living
        let areGone = await eventually { watched.allSatisfy { $0() == nil } }
        #expect(areGone, "\(watched.compactMap { $0() })")
    }

    @Test func `acts that were not sent keep a replica from being erased, unless somebody insists`() async throws {
        let bench = try Bench()
        try await bench.send("a", to: "mary")
        let first = try bench.app("a")
        try await first.connectUser(externalId: "mary").store.build().refresh()
        try await first.disconnect(first.connectUser(externalId: "mary"))
        let client = try bench.app("a", hub: "http://127.0.0.1:1")
        let store = try client.connectUser(externalId: "mary").store.build()
        try await store.fetch()
        try await store.markAsRead(store[0])
        let path = client.path(of: .user(externalID: "mary", email: nil))
        let error = await #expect(throws: PealError.self) {
            try await client.disconnect(client.connectUser(externalId: "mary"), eraseReplica: true)
        }
        #expect(error?.code == .pending && store.count == 1)
        #expect(
            try await client.disconnect(client.connectUser(externalId: "mary"), force: true, eraseReplica: true) == 1)
        let left = try FileManager.default.contentsOfDirectory(atPath: bench.directory + "/a")
        #expect(!FileManager.default.fileExists(atPath: path) && left.isEmpty, "\(left)")
        #expect(try await client.disconnect(client.connectUser(externalId: "nobody")) == 0)
    }

    @Test func `a code that comes later lets in a user who was refused`() async throws {
        let bench = try Bench(requiresHMAC: true)
        try await bench.send("a", to: "mary")
        let client = try bench.app("a")
        let mary = try client.connectUser(externalId: "mary", hmac: "wrong")
        #expect(await eventually { mary.status.state == .stopped })
        #expect(mary.status.lastError?.isEmpty == false)
        let code = UserCode.code(of: "mary", secret: bench.hub.project.secret)
        #expect(try client.connectUser(externalId: "mary", hmac: code) === mary)
        #expect(await eventually { mary.status.state == .live })
        let secret = try PealClient(
            hub: "http://127.0.0.1:\(bench.hub.httpPort)", apiKey: bench.hub.project.apiKey,
            apiSecret: bench.hub.project.secret, directory: bench.directory + "/c")
        let other = try secret.connectUser(externalId: "mary")
        #expect(await eventually { other.status.state == .live })
    }

    @Test func `a cancelled call ends at once`() async throws {
        let bench = try Bench()
        let client = try bench.app("a", hub: "http://127.0.0.1:1")
        let store = try client.connectUser(externalId: "mary").store.build()
        let task = Task { try await store.refresh() }
        task.cancel()
        let error = await #expect(throws: PealError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }
}
