import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// Everything of the client from eight threads at once: what the thread sanitizer looks at.
@Suite struct EverythingAtOnceTests {
    @Test func `every call from eight threads at once neither traps nor races, and all agree afterwards`() async throws
    {
        let bench = try Bench()
        for number in 1...60 {
            try await bench.send(
                "\(number)", to: "mary", category: number % 2 == 0 ? "even" : "odd", topic: "t\(number % 3)")
        }
        let client = try bench.app("a")
        try await client.connectUser(externalId: "mary").store.build().refresh()
        await withTaskGroup(of: Void.self) { group in
            for seed in 1...8 as ClosedRange<UInt64> {
                group.addTask { await Self.doThings(client, seed) }
            }
        }
        // One more device shows the same.
        let user = try client.connectUser(externalId: "mary")
        #expect(try await user.settled())
        let here = user.store.build()
        try await here.refresh()
        while here.hasNextPage { try await here.fetch() }
        let other = try bench.app("b").connectUser(externalId: "mary").store.build()
        try await other.refresh()
        while other.hasNextPage { try await other.fetch() }
        #expect(other.notifications() == here.notifications())
        #expect(other.unreadCount == here.unreadCount && other.totalCount == here.totalCount)
    }

    private static func doThings(_ client: PealClient, _ seed: UInt64) async {
        // What each thread does is the same in each run; how they meet is not.
        var random = SplitMix64(seed: seed)
        let recorder = StoreRecorder { store, _ in _ = store.unreadCount }
        for step in 0..<40 {
            let name = step % 10 == 9 ? "paul" : "mary"
            guard let user = try? client.connectUser(externalId: name) else { continue }
            let store = user.store.build(
                read: [nil, .read, .unread].randomElement(using: &random) ?? nil,
                categories: [[], ["even"], ["odd", "even"]].randomElement(using: &random) ?? [])
            store.addContentObserver(recorder)
            store.addCountObserver(recorder)
            let item = store.notifications().randomElement(using: &random)
            switch (Int.random(in: 0..<16, using: &random), item) {
            case (0, _): store.refresh { _ in }
            case (1, let item?): store.markAsRead(item) { _ in }
            case (2, let item?): store.markAsUnread(item) { _ in }
            case (3, let item?): store.archive(item) { _ in }
            case (4, let item?): store.unarchive(item) { _ in }
            case (5, let item?): if seed == 1 { store.delete(item) { _ in } }
            case (6, _): store.markAllSeen { _ in }
            case (7, _): if step % 4 == 0 { store.markAllRead { _ in } }
            case (8, _): user.store.dispose(with: store.predicate)
            case (9, _):
                user.preferences.update(categorySlug: "odd", channelSlug: "email", enabled: step % 2 == 0) { _ in }
            case (10, _): _ = try? await user.preferences.fetch()
            case (11, _): if name == "paul" { client.disconnectUser(externalId: name) }
            case (12, let item?): _ = try? await store.delete(item, undoWithin: .seconds(5)).undo()
            case (13, _): store.removeContentObserver(recorder)
            default: _ = try? await store.fetch()
            }
            for notification in store { _ = (notification.title, notification.customAttributes) }
            _ = (client.status, user.status, store.hasNextPage, store.enumerated().map(\.offset), client.users.count)
            _ = NotificationStorePublisher(store).notifications
        }
    }
}
