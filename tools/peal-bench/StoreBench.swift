import CPealBench
import Dispatch
import Foundation
import Peal
import PealModel
import PealReplica

/// Stores of an inbox of many items: the first page, what a commit costs with so many stores open, and the memory of one.
enum StoreBench {
    static func run(_ words: [String]) async throws {
        for size in words.isEmpty ? [1_000, 100_000] : words.compactMap(Int.init) { try await run(size) }
    }

    private static func run(_ size: Int) async throws {
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Nobody listens there: everything is this device's own.
        let client = try PealClient(
            hub: "http://127.0.0.1:1", apiKey: "bench", directory: directory,
            callbacks: .queue(DispatchQueue(label: "bench")))
        let path = client.path(of: .user(externalID: "bench", email: nil))
        _ = try foldSeconds(path, Source(count: size, rows: false).frames(of: 500))
        let user = try client.connectUser(externalId: "bench")
        let inbox = try await user.inbox()
        let predicates: [(String, StorePredicate)] = [
            ("all", StorePredicate()), ("unread", StorePredicate(read: .unread)),
            ("one category", StorePredicate(categories: ["category-1"])),
            ("two categories, unread", StorePredicate(read: .unread, categories: ["category-2", "category-3"])),
            ("archived", StorePredicate(archived: true)),
        ]
        var lines: [String] = []
        for (name, predicate) in predicates {
            var times = Samples()
            for _ in 0..<20 {
                user.store.dispose(with: predicate)
                let begin = wallNow()
                let store = user.store.build(predicate: predicate)
                try await store.fetch()
                times.values.append((wallNow() - begin) * 1_000)
            }
            lines.append(String(format: "%@ %.2f ms (most %.2f)", name, times.percentile(0.5), times.values.max() ?? 0))
        }
        print("store of \(size) items, build to first page: \(lines.joined(separator: ", ")); load \(load())")
        for (_, predicate) in predicates { user.store.dispose(with: predicate) }
        try await changes(size, user, inbox, predicates)
        try memory(size, await heap(user))
        try await client.disconnect(user)
    }

    /// An act, with no store open, with each alone and with all of them: what a store adds to it is its difference.
    private static func changes(
        _ size: Int, _ user: User, _ inbox: Inbox, _ predicates: [(String, StorePredicate)]
    ) async throws {
        var next = 1
        func acts(_ count: Int) async throws -> Double {
            var times = Samples()
            for _ in 0..<count {
                let item = Source.id(size - next % 40)
                let isRead = (next / 40) % 2 == 0
                next += 1
                let used = threadCPU().values.reduce(0, +)
                try await inbox.perform(.read(items: [item], on: isRead, passive: false))
                times.values.append(threadCPU().values.reduce(0, +) - used)
            }
            return times.percentile(0.5)
        }
        _ = try await acts(40)
        let bare = try await acts(200)
        var parts: [String] = []
        for (name, predicate) in predicates {
            try await user.store.build(predicate: predicate).fetch()
            parts.append(String(format: "%@ %.0f µs", name, try await acts(200) - bare))
            user.store.dispose(with: predicate)
            _ = try await inbox.counts()
        }
        print(
            String(
                format: "store of %d items, a live change (CPU beyond that of the act, %.0f µs): ", size, bare)
                + parts.joined(separator: ", ") + "; load \(load())")
    }

    /// Bytes of the heap that a second store of the inbox takes, with what the first one made SQLite keep already there.
    private static func heap(_ user: User) async throws -> Int {
        try await user.store.build().fetch()
        let before = baseline_heap()
        let store = user.store.build(read: .unread)
        try await store.fetch()
        return Int(baseline_heap()) - Int(before)
    }

    private static func memory(_ size: Int, _ bytes: Int) throws {
        print("store of \(size) items, a first page of 50: \(bytes / 1_024) KiB of heap")
    }
}
