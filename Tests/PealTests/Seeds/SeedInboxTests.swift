import Foundation
import Observation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// The promise of an inbox SDK, from its quick start to its push notifications, in the order in which apps read it: each sample has its
/// counterpart here, and each stated behaviour is asserted. `client` is the doc's `magicbell`.
@Suite struct SeedInboxTests {
    private func bench(_ titles: [String] = ["One", "Two", "Three"], to user: String = "richard") async throws -> Bench
    {
        let bench = try Bench()
        for title in titles { try await bench.send(title, to: user) }
        return bench
    }

    // MARK: Quick start

    @Test func `quick start: a client, a user, a store, its first page and its unread count`() async throws {
        let bench = try Bench()
        try await bench.post(
            "/notifications",
            #"{"notification":{"title":"Hello","content":"World","recipients":[{"email":"richard@example.com"}]}}"#)
        // "Create the client with your project's API key"
        let client = try bench.app("a")
        // "Set the user"
        let user = try client.connectUser(email: "richard@example.com")
        // "Create a store of notifications"
        let store = user.store.build()
        // "Fetch the first page of notifications", which a device that has never been connected has yet to get: `refresh` waits for it.
        let printed = await withCheckedContinuation { done in
            store.refresh { result in
                guard let notifications = try? result.get() else { return done.resume(returning: "") }
                done.resume(returning: "Count: \(store.unreadCount) \(notifications.map { $0.title ?? "" })")
            }
        }
        #expect(printed == #"Count: 1 ["Hello"]"#)
        #expect(store.first?.content == "World")
    }

    // MARK: The client

    @Test func `the client: a key, an optional secret, no log unless it is wanted`() async throws {
        let bench = try await bench()
        let lines = Mutex<[String]>([])
        let url = "http://127.0.0.1:\(bench.hub.httpPort)"
        let quiet = try PealClient(
            hub: url, apiKey: bench.hub.project.apiKey, directory: bench.directory + "/quiet",
            log: { line in lines.withLock { $0.append(line) } })
        let first = try quiet.connectUser(externalId: "richard")
        #expect(await eventually { first.status.state == .live })
        #expect(lines.withLock { $0.isEmpty })
        // ".debug enables logs": here of a user whom the hub refuses.
        let strict = try Bench(requiresHMAC: true)
        let talking = try PealClient(
            hub: "http://127.0.0.1:\(strict.hub.httpPort)", apiKey: strict.hub.project.apiKey, logLevel: .debug,
            directory: bench.directory + "/talking", log: { line in lines.withLock { $0.append(line) } })
        let refused = try talking.connectUser(externalId: "richard", hmac: "not-the-code")
        #expect(await eventually { refused.status.state == .stopped })
        #expect(lines.withLock { lines in lines.allSatisfy { !$0.contains("not-the-code") } })
        // "enable HMAC for your project and generate the user secret on your backend"
        let code = UserCode.code(of: "richard", secret: strict.hub.project.secret)
        let user = try strict.app("b").connectUser(externalId: "richard", hmac: code)
        #expect(await eventually { user.status.state == .live })
        // A hub's URL that is none, and a directory that cannot be, are errors with a sentence.
        let error = #expect(throws: PealError.self) { try PealClient(hub: "not a url", apiKey: "k", directory: "/tmp") }
        #expect(error?.code == .badURL && error?.message.isEmpty == false)
    }

    // MARK: Users

    @Test func `users: by email, by external id, by both; the same arguments give the same instance`() async throws {
        let bench = try await bench()
        let client = try bench.app("a")
        let byEmail = try client.connectUser(email: "richard@example.com")
        let byId = try client.connectUser(externalId: "001")
        let byBoth = try client.connectUser(email: "richard@example.com", externalId: "001")
        #expect(byEmail !== byId && byId !== byBoth && byBoth !== byEmail)
        let userOne = try client.connectUser(email: "mary@example.com")
        let userTwo = try client.connectUser(email: "mary@example.com")
        #expect(userOne === userTwo, "Both users reference to the same instance")
        // "display the status of notifications for all logged-in users simultaneously"
        try await bench.send("For 001", to: "001")
        try await bench.send("For richard", to: "richard")
        let richard = try client.connectUser(externalId: "richard")
        let (one, other) = (byId.store.build(), richard.store.build())
        #expect(await eventually { (try? await one.refresh().count) == 1 })
        #expect(await eventually { (try? await other.refresh().count) == 4 })
        #expect(one.unreadCount == 1 && other.unreadCount == 4)
        // "extend your own user object"
        struct Mine { let email: String }
        func peal(_ mine: Mine) throws -> User { try client.connectUser(email: mine.email) }
        #expect(try peal(Mine(email: "mary@example.com")) === userOne)
    }

    @Test func `logging out removes the notifications from memory and ends the connection, each of the three ways`()
        async throws
    {
        let bench = try await bench()
        let client = try bench.app("a")
        let users = [
            try client.connectUser(email: "richard@example.com"), try client.connectUser(externalId: "richard"),
            try client.connectUser(email: "richard@example.com", externalId: "richard"),
        ]
        let store = users[1].store.build()
        try await store.refresh()
        #expect(store.count == 3)
        client.disconnectUser(email: "richard@example.com")
        client.disconnectUser(externalId: "richard")
        client.disconnectUser(email: "richard@example.com", externalId: "richard")
        #expect(client.users.isEmpty)
        #expect(await eventually { store.isEmpty && store.unreadCount == 0 })
        for user in users { #expect(await eventually { user.core.statuses.hasFinished }) }
        #expect(await eventually { client.status == ClientStatus(state: .offline) })
        // Logged in again: everything is there, from the replica, at once.
        let again = try client.connectUser(externalId: "richard")
        #expect(again !== users[1])
        #expect(try await again.store.build().fetch().count == 3)
    }

    // MARK: Stores

    @Test func `stores: by state, category and topic, with their attributes`() async throws {
        let bench = try Bench()
        try await bench.send("plain", to: "richard")
        try await bench.send("bill", to: "richard", category: "billing")
        try await bench.send("order", to: "richard", topic: "order:001")
        let user = try bench.app("a").connectUser(externalId: "richard")
        let allNotifications = user.store.build()
        let readNotifications = user.store.build(read: true)
        let unreadNotifications = user.store.build(read: false)
        let archivedNotifications = user.store.build(archived: true)
        let billingNotifications = user.store.build(categories: ["billing"])
        let firstOrderNotifications = user.store.build(topics: ["order:001"])
        try await allNotifications.refresh()
        for store in [
            readNotifications, unreadNotifications, archivedNotifications, billingNotifications,
            firstOrderNotifications,
        ] { try await store.fetch() }
        #expect(allNotifications.count == 3 && allNotifications.totalCount == 3)
        #expect(readNotifications.isEmpty && unreadNotifications.count == 3 && archivedNotifications.isEmpty)
        #expect(billingNotifications.map(\.title) == ["bill"] && firstOrderNotifications.map(\.title) == ["order"])
        #expect(allNotifications.unreadCount == 3 && allNotifications.unseenCount == 3 && !allNotifications.hasNextPage)
        #expect(billingNotifications.predicate == StorePredicate(categories: ["billing"]))
        // "Notification stores are singletons."
        #expect(user.store.build(read: .unread) === unreadNotifications)
        #expect(user.store.build(predicate: StorePredicate()) === allNotifications)
        // The states can be variables, too.
        for isRead in [true, false] {
            #expect(user.store.build(read: .init(isRead)) === (isRead ? readNotifications : unreadNotifications))
        }
    }

    @Test
    func `methods: with a completion and async, and every store stays consistent, offline and after a restart too`()
        async throws
    {
        let bench = try await bench()
        do {
            let client = try bench.app("a")
            try await client.connectUser(externalId: "richard").store.build().refresh()
            try await client.disconnect(client.connectUser(externalId: "richard"))
        }
        let offline = try bench.app("a", hub: "http://127.0.0.1:1")
        let user = try offline.connectUser(externalId: "richard")
        let (store, unread) = (user.store.build(), user.store.build(predicate: StorePredicate(read: .unread)))
        try await store.fetch()
        try await unread.fetch()
        // "when a notification is read, stores with the predicate read: .unread will remove that notification, notifying all observers"
        let observer = StoreRecorder()
        unread.addContentObserver(observer)
        let read = await withCheckedContinuation { done in store.markAsRead(store[0]) { done.resume(returning: $0) } }
        #expect(try read.get().isRead)
        #expect(observer.take() == ["delete [0]"] && unread.map(\.title) == ["Two", "One"])
        let back = await withCheckedContinuation { done in store.markAsUnread(store[0]) { done.resume(returning: $0) } }
        #expect(try !back.get().isRead)
        #expect(observer.take() == ["insert [0]"])
        // Delete.
        let deleted = await withCheckedContinuation { done in store.delete(store[2]) { done.resume(returning: $0) } }
        #expect(throws: Never.self) { try deleted.get() }
        #expect(observer.take() == ["delete [2]"] && store.count == 2)
        // Archive, unarchive.
        let archived = await withCheckedContinuation { done in store.archive(store[1]) { done.resume(returning: $0) } }
        let one = try archived.get()
        #expect(one.isArchived && store.map(\.title) == ["Three"])
        let restored = await withCheckedContinuation { done in store.unarchive(one) { done.resume(returning: $0) } }
        #expect(try !restored.get().isArchived)
        #expect(store.map(\.title) == ["Three", "Two"])
        // All.
        await withCheckedContinuation { done in store.markAllSeen { _ in done.resume() } }
        #expect(store.unseenCount == 0 && store.unreadCount == 2)
        await withCheckedContinuation { done in store.markAllRead { _ in done.resume() } }
        #expect(store.unreadCount == 0 && unread.isEmpty)
        #expect(try await offline.disconnect(user) > 0)
        // Restarted, online: it is all still so, and the hub and another device have it too.
        let online = try bench.app("a").connectUser(externalId: "richard")
        #expect(try await online.settled())
        let here = online.store.build()
        try await here.fetch()
        #expect(here.map(\.title) == ["Three", "Two"] && here.unreadCount == 0 && here.unseenCount == 0)
        let other = try bench.app("b").connectUser(externalId: "richard").store.build()
        try await other.refresh()
        #expect(other.notifications() == here.notifications())
    }

    @Test func `advanced filters: read, seen, archived, categories, topics, and unread ones of a category`()
        async throws
    {
        let bench = try Bench()
        for title in ["a", "b"] { try await bench.send(title, to: "richard", category: "important") }
        try await bench.send("c", to: "richard")
        let user = try bench.app("a").connectUser(externalId: "richard")
        let store = user.store.build(predicate: StorePredicate(read: .unread, categories: ["important"]))
        try await store.refresh()
        #expect(store.map(\.title) == ["b", "a"])
        try await store.markAsRead(store[1])
        #expect(store.map(\.title) == ["b"] && store.totalCount == 1)
        let predicate = StorePredicate()
        #expect(predicate.read == nil && predicate.seen == nil && predicate.archived == false)
        #expect(predicate.categories.isEmpty && predicate.topics.isEmpty)
        let seen = user.store.build(seen: .seen)
        try await seen.fetch()
        #expect(seen.map(\.title) == ["a"])
        #expect(StorePredicate(seen: false) == StorePredicate(seen: .unseen))
        // "You can force the removal of a store"
        user.store.dispose(with: predicate)
        user.store.dispose(with: store.predicate)
        #expect(user.store.build(predicate: store.predicate) !== store)
    }

    // MARK: Accessing and observing

    @Test func `fetching page after page, resetting, and every way to walk the notifications`() async throws {
        let bench = try await bench((1...60).map { "\($0)" })
        let user = try bench.app("a").connectUser(externalId: "richard")
        let store = user.store.build()
        try await store.refresh()
        let observer = StoreRecorder()
        store.addContentObserver(observer)
        // "If store has next page available, load next page"
        #expect(store.hasNextPage)
        let second = await withCheckedContinuation { done in store.fetch { done.resume(returning: $0) } }
        #expect(try second.get().count == 10)
        #expect(observer.take() == ["insert \(Array(50..<60))", "next false"])
        // "To reset and fetch the store"
        try await store.refresh()
        #expect(observer.take() == ["reload 50", "next true"])

        var titles: [String] = []
        for i in 0..<store.count { titles.append(store[i].title ?? "") }
        var others: [String] = []
        store.forEach { others.append($0.title ?? "") }
        #expect(titles == others)
        others = []
        for notification in store { others.append(notification.title ?? "") }
        #expect(titles == others && store.notifications().map(\.title) == titles)
        for (index, notification) in store.enumerated() { #expect(notification.title == titles[index]) }
        #expect(Array(store.reversed()).map(\.title) == titles.reversed())
    }

    @Test func `observing: the classic way, as a sequence, and as an observable object`() async throws {
        let bench = try await bench()
        let user = try bench.app("a").connectUser(externalId: "richard")
        let store = user.store.build()
        try await store.refresh()
        let observer = StoreRecorder()
        store.addContentObserver(observer)
        store.addCountObserver(observer)
        var changes = store.changes.makeAsyncIterator()
        let bell = NotificationStorePublisher(store)
        #expect(bell.totalCount == 3 && bell.unreadCount == 3 && bell.notifications.count == 3 && !bell.hasNextPage)
        let told = Mutex(0)
        withObservationTracking {
            _ = bell.notifications
        } onChange: {
            told.withLock { $0 += 1 }
        }
        // "automatically updated when new notifications arrive"
        try await bench.send("Four", to: "richard")
        let change = await changes.next()
        #expect(change?.inserted == [0] && change?.notifications.first?.title == "Four" && change?.totalCount == 4)
        #expect(await eventually { bell.totalCount == 4 && bell.notifications.first?.title == "Four" })
        #expect(told.withLock { $0 } == 1)
        #expect(observer.take() == ["insert [0]", "total 4", "unread 4", "unseen 4"])
        // "or a notification's state changes", here on another device
        let other = try bench.app("b").connectUser(externalId: "richard").store.build()
        try await other.refresh()
        try await other.markAsRead(other[1])
        #expect(await changes.next()?.changed == [1])
        #expect(observer.take() == ["change [1]", "unread 3", "unseen 3"])
        #expect(await eventually { bell.unreadCount == 3 && bell.unseenCount == 3 })
        store.removeContentObserver(observer)
        try await store.delete(store[0])
        #expect(observer.take() == ["total 3", "unread 2", "unseen 2"])
    }

    // MARK: Preferences

    @Test func `preferences: fetched, updated in part, one channel alone, live, and offline`() async throws {
        let bench = try await bench([])
        try await bench.post(
            "/categories", method: "PUT",
            """
            {"categories":[{"slug":"new_comment","label":"New comment","channels":[{"slug":"in_app","label":"In app","enabled":true},
            {"slug":"email","label":"Email","enabled":false}]},{"slug":"security","label":"Security","channels":[
            {"slug":"email","label":"Email","enabled":true,"required":true}]}]}
            """)
        let client = try bench.app("a")
        let user = try client.connectUser(externalId: "richard")
        #expect(await eventually { (try? await user.preferences.fetch().categories.count) == 2 })
        let fetched = await withCheckedContinuation { done in user.preferences.fetch { done.resume(returning: $0) } }
        let preferences = try fetched.get()
        #expect(preferences.categories.map(\.label) == ["New comment", "Security"])
        #expect(preferences.categories[0].channels.map(\.enabled) == [true, false])
        #expect(preferences.categories[1].channels[0].isRequired)
        // "The update can be partial and only will affect the categories included in the object being sent"
        let part = NotificationPreferences(categories: [
            .init(slug: "new_comment", channels: [.init(slug: "email", enabled: true)])
        ])
        let updated = try await user.preferences.update(part)
        #expect(updated.categories[0].channels.map(\.enabled) == [true, true])
        #expect(updated.categories[1] == preferences.categories[1])
        var changes = user.preferences.changes.makeAsyncIterator()
        #expect(await changes.next() == updated)
        let alone = try await user.preferences.update(
            categorySlug: "new_comment", channelSlug: "in_app", enabled: false)
        #expect(alone.categories[0].channels.map(\.enabled) == [false, true])
        #expect(await changes.next() == alone)
        // Another device has it, and so has the hub.
        #expect(try await user.settled())
        let other = try bench.app("b").connectUser(externalId: "richard")
        #expect(await eventually { (try? await other.preferences.fetch()) == alone })
        // A required channel cannot be switched off: the hub refuses, and it is shown as it stands.
        try await user.preferences.update(categorySlug: "security", channelSlug: "email", enabled: false)
        #expect(await eventually { user.status.deadLetters == 1 })
        #expect(try await user.outbox().first?.outcome?.code == .denied)
        #expect(try await user.preferences.fetch() == alone)
        let error = await #expect(throws: PealError.self) {
            try await user.preferences.update(categorySlug: "", channelSlug: "email", enabled: true)
        }
        #expect(error?.code == .invalid)
        // Offline.
        try await client.disconnect(user)
        let offline = try bench.app("a", hub: "http://127.0.0.1:1").connectUser(externalId: "richard")
        let later = try await offline.preferences.update(
            categorySlug: "new_comment", channelSlug: "in_app", enabled: true)
        #expect(later.categories[0].channels.map(\.enabled) == [true, true])
    }
}
