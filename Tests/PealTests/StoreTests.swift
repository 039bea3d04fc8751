import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// Stores against a real hub: pages, exact changes, counts, and their lives.
@Suite struct StoreTests {
    private func titles(_ store: NotificationStore) -> [String] { store.map { $0.title ?? "" } }

    @Test func `pages come one after the other, with exact indexes, and the last says so`() async throws {
        let bench = try Bench()
        for number in 1...120 { try await bench.send("\(number)", to: "mary") }
        let user = try bench.app("a").connectUser(externalId: "mary")
        let store = user.store.build()
        let recorder = StoreRecorder()
        store.addContentObserver(recorder)
        store.addCountObserver(recorder)
        #expect(store.count == 0 && store.totalCount == 0 && !store.hasNextPage)

        let first = try await store.refresh()
        #expect(first.map(\.title) == (71...120).reversed().map { "\($0)" })
        #expect(recorder.take() == ["reload 50", "next true", "total 120", "unread 120", "unseen 120"])
        #expect(store.count == 50 && store.totalCount == 120 && store.hasNextPage)

        let second = try await store.fetch()
        #expect(second.count == 50 && second.first?.title == "70")
        #expect(recorder.take() == ["insert \(Array(50..<100))"])
        let third = try await store.fetch()
        #expect(third.count == 20 && third.last?.title == "1")
        #expect(recorder.take() == ["insert \(Array(100..<120))", "next false"])
        #expect(try await store.fetch().isEmpty)
        #expect(recorder.take().isEmpty)
        #expect(titles(store) == (1...120).reversed().map { "\($0)" })
        #expect(store[119].title == "1" && store.notifications().count == 120)
        #expect(store.enumerated().allSatisfy { $0.element.title == "\(120 - $0.offset)" })
    }

    @Test func `an act moves a notification between stores at once, and the echo changes nothing`() async throws {
        let bench = try Bench()
        for title in ["a", "b", "c"] { try await bench.send(title, to: "mary") }
        let user = try bench.app("a").connectUser(externalId: "mary")
        let (all, unread, read) = (user.store.build(), user.store.build(read: false), user.store.build(read: true))
        try await all.refresh()
        try await unread.fetch()
        try await read.fetch()
        let (inAll, inUnread, inRead) = (StoreRecorder(), StoreRecorder(), StoreRecorder())
        for (store, recorder) in [(all, inAll), (unread, inUnread), (read, inRead)] {
            store.addContentObserver(recorder)
            store.addCountObserver(recorder)
        }
        let b = all[1]
        let after = try await all.markAsRead(b)
        #expect(after.isRead && after.isSeen && after.id == b.id)
        #expect(inAll.take() == ["change [1]", "unread 2", "unseen 2"])
        #expect(inUnread.take() == ["delete [1]", "total 2", "unread 2", "unseen 2"])
        #expect(inRead.take() == ["insert [0]", "total 1"])
        // Reading twice counts once.
        try await all.markAsRead(b)
        #expect(try await user.settled())
        #expect(inAll.take().isEmpty && inUnread.take().isEmpty && inRead.take().isEmpty)
        #expect(all.unreadCount == 2 && all.unseenCount == 2)

        // Unread again: it stays seen, and comes back in its place.
        try await read.markAsUnread(b)
        #expect(inAll.take() == ["change [1]", "unread 3"])
        #expect(inUnread.take() == ["insert [1]", "total 3", "unread 3"])
        #expect(inRead.take() == ["delete [0]", "total 0"])
        #expect(titles(unread) == ["c", "b", "a"] && unread.unseenCount == 2)

        // A count that drops to 0 is told like any other.
        try await all.markAllRead()
        #expect(inAll.take() == ["change [0, 1, 2]", "unread 0", "unseen 0"])
        #expect(inUnread.take() == ["delete [0, 1, 2]", "total 0", "unread 0", "unseen 0"])
        #expect(inRead.take() == ["insert [0, 1, 2]", "total 3"])

        let archived = user.store.build(archived: true)
        try await archived.fetch()
        try await all.archive(all[0])
        #expect(inAll.take() == ["delete [0]", "total 2"] && titles(archived) == ["c"])
        try await archived.unarchive(archived[0])
        #expect(inAll.take() == ["insert [0]", "total 3"] && archived.isEmpty)
        try await all.delete(all[2])
        #expect(inAll.take() == ["delete [2]", "total 2"])
        #expect(try await user.settled())
        #expect(inAll.take().isEmpty)
        let gone = all[0]
        try await all.delete(gone)
        let error = await #expect(throws: PealError.self) { try await all.markAsRead(gone) }
        #expect(error?.code == .gone)
    }

    @Test func `one act on several is one change with all indexes, ascending`() async throws {
        let bench = try Bench()
        for title in ["a", "b", "c", "d", "e"] { try await bench.send(title, to: "mary") }
        let user = try bench.app("a").connectUser(externalId: "mary")
        let store = user.store.build()
        try await store.refresh()
        let recorder = StoreRecorder()
        store.addContentObserver(recorder)
        let inbox = try await user.inbox()
        let some = [store[1].id, store[4].id, store[3].id]
        try await inbox.perform(.archive(items: some, on: true))
        #expect(await eventually { store.count == 2 })
        #expect(recorder.take() == ["delete [1, 3, 4]"])
        // Another device takes them back.
        let other = try bench.app("b").connectUser(externalId: "mary")
        #expect(try await user.settled())
        let archived = other.store.build(archived: true)
        #expect(await eventually { (try? await archived.refresh().count) == 3 })
        try await other.inbox().perform(.archive(items: some, on: false))
        #expect(await eventually { store.count == 5 })
        #expect(recorder.take() == ["insert [1, 3, 4]"])
        #expect(titles(store) == ["e", "d", "c", "b", "a"])
    }

    @Test func `mark all of a filtered store touches only what matches, and nothing that came later`() async throws {
        let bench = try Bench()
        for number in 1...4 {
            try await bench.send("billing \(number)", to: "mary", category: "billing", topic: "order:\(number % 2)")
        }
        try await bench.send("news", to: "mary", category: "news")
        try await bench.send("plain", to: "mary")
        let user = try bench.app("a").connectUser(externalId: "mary")
        let all = user.store.build()
        try await all.refresh()
        let billing = user.store.build(categories: ["billing"], topics: ["order:1", "order:7"])
        try await billing.fetch()
        #expect(titles(billing) == ["billing 3", "billing 1"] && billing.totalCount == 2 && billing.unreadCount == 2)
        try await billing.markAllSeen()
        #expect(billing.unseenCount == 0 && all.unseenCount == 4 && all.unreadCount == 6)
        try await billing.markAllRead()
        #expect(billing.unreadCount == 0 && all.unreadCount == 4)
        let neither = user.store.build(categories: ["billing", "news"])
        try await neither.fetch()
        #expect(neither.totalCount == 5 && neither.unreadCount == 3)
        #expect(user.store.build(predicate: StorePredicate(categories: ["news", "billing", "news"])) === neither)
    }

    @Test func `two fetches in flight never bring a page twice, nor do arrivals between pages`() async throws {
        let bench = try Bench()
        for number in 1...130 { try await bench.send("\(number)", to: "mary") }
        let user = try bench.app("a").connectUser(externalId: "mary")
        let store = user.store.build()
        try await store.refresh()
        try await bench.send("new", to: "mary")
        #expect(await eventually { store.first?.title == "new" })
        async let one = store.fetch()
        async let two = store.fetch()
        let pages = try await (one, two)
        #expect(pages.0.count + pages.1.count == 80)
        #expect(titles(store) == ["new"] + (1...130).reversed().map { "\($0)" })
    }

    @Test func `what is done offline shows, survives a restart, and reaches the other device`() async throws {
        let bench = try Bench()
        for title in ["a", "b", "c"] { try await bench.send(title, to: "mary") }
        do {
            let client = try bench.app("a")
            let user = try client.connectUser(externalId: "mary")
            try await user.store.build().refresh()
            #expect(try await client.disconnect(client.connectUser(externalId: "mary")) == 0)
        }
        do {
            // Nobody listens at this address.
            let client = try bench.app("a", hub: "http://127.0.0.1:1")
            let user = try client.connectUser(externalId: "mary")
            let store = user.store.build()
            try await store.refresh()
            #expect(titles(store) == ["c", "b", "a"])
            try await store.markAsRead(store[0])
            try await store.delete(store[2])
            #expect(titles(store) == ["c", "b"] && store.unreadCount == 1)
            #expect(await eventually { user.status.outboxDepth == 2 && user.status.state == .offline })
            #expect(user.status.lastError != nil && client.status == user.status)
            #expect(try await client.disconnect(client.connectUser(externalId: "mary")) == 2)
        }
        let user = try bench.app("a").connectUser(externalId: "mary")
        #expect(try await user.settled())
        let store = user.store.build()
        try await store.fetch()
        #expect(titles(store) == ["c", "b"] && store.unreadCount == 1)
        #expect(await eventually { user.status == ClientStatus(state: .live, lag: 0) })
        let other = try bench.app("b").connectUser(externalId: "mary").store.build()
        try await other.refresh()
        #expect(titles(other) == ["c", "b"] && other.unreadCount == 1)
    }

    @Test func `deleting and archiving can be taken back within their time`() async throws {
        let bench = try Bench()
        for title in ["a", "b"] { try await bench.send(title, to: "mary") }
        let user = try bench.app("a").connectUser(externalId: "mary")
        let store = user.store.build()
        try await store.refresh()
        let held = try await store.delete(store[1], undoWithin: .seconds(60))
        #expect(titles(store) == ["b"])
        #expect(try await held.undo())
        #expect(titles(store) == ["b", "a"])
        #expect(try await !held.undo())
        let archived = try await store.archive(store[0], undoWithin: .seconds(60))
        #expect(try await archived.undo())
        #expect(titles(store) == ["b", "a"])
        await #expect(throws: PealError.self) { try await store.delete(store[0], undoWithin: .seconds(3_601)) }
        #expect(titles(store) == ["b", "a"])
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `whatever happens, each store shows what reading it anew shows, and its steps lead there`(seed: UInt64)
        async throws
    {
        let bench = try Bench()
        for number in 1...70 {
            try await bench.send(
                "\(number)", to: "mary", category: ["a", "b", nil][number % 3], topic: number % 2 == 0 ? "t" : nil)
        }
        let user = try bench.app("a").connectUser(externalId: "mary")
        let predicates = [
            StorePredicate(), StorePredicate(read: .unread), StorePredicate(categories: ["a"]),
            StorePredicate(read: .read, categories: ["a", "b"]), StorePredicate(archived: true),
            StorePredicate(seen: .unseen, archived: nil), StorePredicate(categories: ["b"], topics: ["t"]),
            StorePredicate(read: .unread, archived: nil, topics: ["t", "u"]),
        ]
        let stores = predicates.map { user.store.build(predicate: $0) }
        try await stores[0].refresh()
        for store in stores.dropFirst() { try await store.fetch() }
        let walkers = stores.map { store in StoreWalker(store) }
        var random = SplitMix64(seed: seed)
        let inbox = try await user.inbox()
        for _ in 0..<40 {
            let some = try await inbox.page(DeliveredQuery(archived: nil), limit: 70).items
                .filter { _ in Int.random(in: 0..<12, using: &random) == 0 }.map(\.id)
            switch Int.random(in: 0..<9, using: &random) {
            case 0...2: try await inbox.perform(.read(items: some, on: Bool.random(using: &random), passive: false))
            case 3: try await inbox.perform(.seen(items: some))
            case 4, 5: try await inbox.perform(.archive(items: some, on: Bool.random(using: &random)))
            case 6: if let one = some.first { try await inbox.perform(.delete(items: [one])) }
            case 7: try await inbox.perform(.mark(.read, upTo: Position.random(in: 1...70, using: &random)))
            default: try await bench.send("more", to: "mary", category: "a", topic: "t")
            }
        }
        #expect(try await user.settled())
        for (index, store) in stores.enumerated() {
            // In the context, so that nothing comes between.
            let shown = store.snapshot
            var page = try await inbox.page(predicates[index].query, limit: 1_000).items
            if store.hasNextPage { page = Array(page.prefix(store.count)) }
            #expect(shown.notifications.map(\.id) == page.map(\.id), "seed \(seed), \(predicates[index])")
            #expect(shown.notifications.map(\.isRead) == page.map(\.read), "seed \(seed), \(predicates[index])")
            let all = try await inbox.page(predicates[index].query, limit: 1_000).items
            #expect(shown.totalCount == all.count, "seed \(seed), \(predicates[index])")
            #expect(shown.unreadCount == all.count { !$0.read }, "seed \(seed), \(predicates[index])")
            #expect(shown.unseenCount == all.count { !$0.seen }, "seed \(seed), \(predicates[index])")
            #expect(walkers[index].ids == shown.notifications.map(\.id), "seed \(seed), \(predicates[index])")
        }
    }

    @Test func `what expires leaves list and counts by time alone`() async throws {
        let bench = try Bench()
        try await bench.send("stays", to: "mary", category: "a")
        let soon = Int(Date().timeIntervalSince1970) + 3
        try await bench.native(
            "/v1/publishes", "{\"users\":[\"mary\"],\"title\":\"goes\",\"category\":\"a\",\"expires_at\":\(soon)}")
        do {
            let client = try bench.app("a")
            try await client.connectUser(externalId: "mary").store.build().refresh()
            try await client.disconnect(client.connectUser(externalId: "mary"))
        }
        // No hub tells.
        let user = try bench.app("a", hub: "http://127.0.0.1:1").connectUser(externalId: "mary")
        let (all, some) = (user.store.build(), user.store.build(categories: ["a"]))
        try await all.fetch()
        try await some.fetch()
        #expect(await eventually { all.map(\.title) == ["stays"] && some.map(\.title) == ["stays"] })
        #expect(all.totalCount == 1 && some.totalCount == 1 && some.unreadCount == 1)
    }
}

/// Follows a store by the indexes it tells, as a table view does.
final class StoreWalker: NotificationStoreContentObserver, Sendable {
    private let list: Mutex<[ItemID]>

    init(_ store: NotificationStore) {
        list = Mutex(store.map(\.id))
        store.addContentObserver(self)
    }

    var ids: [ItemID] { list.withLock { $0 } }

    func didReloadStore(_ store: NotificationStore) { list.withLock { $0 = store.map(\.id) } }
    func store(_ store: NotificationStore, didInsertNotificationsAt indexes: [Int]) {
        list.withLock { for index in indexes { $0.insert(store[index].id, at: index) } }
    }
    func store(_ store: NotificationStore, didChangeNotificationAt indexes: [Int]) {
        list.withLock { for index in indexes { precondition($0[index] == store[index].id) } }
    }
    func store(_ store: NotificationStore, didDeleteNotificationAt indexes: [Int]) {
        list.withLock { for index in indexes.reversed() { $0.remove(at: index) } }
    }
    func store(_ store: NotificationStore, didChangeHasNextPage hasNextPage: Bool) {}
}
