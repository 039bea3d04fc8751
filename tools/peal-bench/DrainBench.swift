import CPealBench
import Foundation
import Peal
import PealModel
import PealReplica

/// 10,000 acts that were done offline, sent over a real loopback session to a hub in a process of its own.
enum DrainBench {
    static func run(_ words: [String]) async throws {
        let count = Int(words.first ?? "") ?? 10_000
        for isCounting in [false, true] {
            let directory = try makeDirectory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try HubFile.make(in: directory, items: count, kept: 0)
            if isCounting { statement_count_start() }
            try await measure(count, directory, isCounting)
        }
    }

    private static func measure(_ count: Int, _ directory: String, _ isCounting: Bool) async throws {
        let child = try Child(["hub", directory] + (isCounting ? ["count"] : []))
        defer { child.stop() }
        let values = child.line().split(separator: " ").map(String.init)
        guard values.count == 4 else { throw Failure("the hub did not start") }
        let files = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: files) }
        let client = try PealClient(hub: "http://127.0.0.1:\(values[0])", apiKey: values[2], directory: files)
        let inbox = try await client.user(externalID: "bench")
        await inbox.connect()
        while try await inbox.counts().total != Int64(count) { try await Task.sleep(for: .milliseconds(5)) }
        while !(await inbox.isSettled) { try await Task.sleep(for: .milliseconds(5)) }
        await inbox.disconnect()
        var items: [ItemID] = []
        var after: PageCursor?
        repeat {
            let page = try await inbox.page(DeliveredQuery(), after: after, limit: 1_000)
            items += page.items.map(\.id)
            after = page.next
        } while after != nil
        let acting = wallNow()
        for item in items { try await inbox.perform(.read(items: [item], on: true, passive: false)) }
        let acted = wallNow()
        let hubBefore = try used(child)
        let before = processCPU()
        let (statements, commits) = (statement_count(), commit_count())
        let begin = wallNow()
        await inbox.connect()
        while try await inbox.outboxCount() > 0 { try await Task.sleep(for: .milliseconds(5)) }
        let seconds = wallNow() - begin
        let hub = zip(try used(child), hubBefore).map { $0 - $1 }
        if isCounting {
            print(
                "    of \(count) acts: device \(statement_count() - statements) statements, \(commit_count() - commits) commits; hub \(Int(hub[1])) statements, \(Int(hub[2])) commits"
            )
        } else {
            print(
                String(
                    format:
                        "drain of %d acts (each durable in %.2f ms offline): outbox empty after %.2f s; CPU device %.2f s, hub %.2f s; load %@",
                    count, (acted - acting) * 1_000 / Double(count), seconds, (processCPU() - before) / 1e6,
                    hub[0] / 1e6, load()))
        }
        await inbox.close()
    }

    private static func used(_ child: Child) throws -> [Double] {
        try child.send("used")
        return child.line().split(separator: " ").compactMap { Double($0) }
    }
}

extension Inbox {
    /// Acts that wait, without reading each of them more often than every now and then.
    fileprivate func outboxCount() async throws -> Int {
        isSettled ? try outbox().count : 1
    }
}
