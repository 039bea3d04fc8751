import Foundation
import PealHub
import PealModel
import PealReplica
import PealSQLite
import Synchronization
import Testing

@testable import Peal

/// Lines that somebody logged.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func count(_ part: String) -> Int { lines.withLock { $0.count { $0.contains(part) } } }
}

@Suite(.timeLimit(.minutes(2)))
struct DivergenceTests {
    @Test(arguments: [
        // The rows were summed long ago: that is looked at when the hub welcomes the device.
        "UPDATE replica SET sum_computed = 1",
        // What was folded is not what the hub has: that shows with the first sum.
        "UPDATE replica SET sum = sum + 1",
    ])
    func `a replica whose file was edited is repaired by one snapshot of a real hub`(_ sql: String) async throws {
        let hubLines = Lines()
        let bench = try Bench(log: { hubLines.add($0) })
        for title in ["one", "two", "three"] { try await bench.publish(title, users: ["Mary"]) }
        let client = try bench.client("a")
        let path = client.path(of: .user(externalID: "Mary", email: nil))
        let first = try await client.user(externalID: "Mary")
        await first.connect()
        #expect(try await eventually { try await first.counts().total == 3 })
        await first.close()

        let file = try Connection(path: path)
        try file.execute("DELETE FROM item WHERE position = 2; \(sql)")

        let lines = Lines()
        let logged = try PealClient(
            hub: "http://127.0.0.1:\(bench.hub.httpPort)", apiKey: bench.hub.project.apiKey,
            logLevel: .debug, directory: bench.directory + "/a", log: { lines.add($0) })
        let inbox = try await logged.user(externalID: "Mary")
        let item = try #require(try await inbox.item(number: 1))
        try await inbox.perform(.read(items: [item.id], on: true, passive: false))
        await inbox.connect()
        #expect(try await eventually { try await inbox.counts() == Counts(total: 3, unread: 2, unseen: 2) })
        #expect(await eventually { await inbox.isSettled })
        #expect(try await inbox.outbox().isEmpty)
        try await bench.publish("four", users: ["Mary"])
        #expect(try await eventually { try await inbox.counts().total == 4 })
        #expect(lines.count("a snapshot repairs it") == 1)
        #expect(hubLines.count("differs from the log") == 1)
        await inbox.close()
        await bench.stop()
    }
}
