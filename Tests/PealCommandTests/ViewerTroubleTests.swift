import Foundation
import Testing

import PealModel
@testable import PealReplica
@testable import PealSQLite

/// `peal inbox` on a real terminal where something is not as it should be: a slow index, a hub that stands still, a file that cannot be opened,
/// text that is pasted.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ViewerTroubleTests {
    private func viewer(_ device: Directory, _ more: String...) -> [String] {
        [Peal.binary.path, "inbox", "--user", "mary", "--directory", device.path] + more
    }

    /// A file with so many items, `word 1` the oldest.
    private func fill(_ device: Directory, _ count: Int) throws -> String {
        let path = device.path + "/id-mary.peal"
        var hub = TestHub()
        hub.publish("word 1")
        let replica = try Replica(path: path, identity: .user(externalID: "mary", email: nil), project: "k")
        let hello = try replica.hello(proof: Proof())
        _ = try replica.welcomed(hub.welcome(hello, nonce: "n", secret: "s"))
        _ = try replica.apply(hub.batch(from: 0))
        let row = try replica.connection.prepare("SELECT name FROM pragma_table_info('item')")
        var names: [String] = []
        while try row.step() { names.append(row.text(0)) }
        let values = names.map { name in
            ["position": "i", "id": "randomblob(16)", "body": "replace(body, 'word 1', 'word ' || i)"][name] ?? name
        }
        try replica.connection.execute(
            """
            WITH RECURSIVE numbers(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < \(count))
            INSERT INTO item (\(names.joined(separator: ", "))) SELECT \(values.joined(separator: ", "))
            FROM item, numbers WHERE position = 1
            """)
        // The newest ones are in the index of words.
        _ = try replica.fillWords()
        return path
    }

    @Test func `what the index has is found while it is being filled, and then the rest`() async throws {
        let device = try Directory()
        let path = try fill(device, 6_000)
        let tmux = try Tmux(columns: 80, rows: 24)
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait(for: "word 6000")
        // Nobody else can write, so the index stays as it is.
        let writer = try Connection(path: path)
        try writer.execute("BEGIN IMMEDIATE")
        try tmux.type("/word 1")
        try await tmux.wait(for: "Search: word 1")
        try tmux.press("Enter")
        try await tmux.wait("the newest, while it searches") {
            $0.contains("word 1999") && $0.contains(" · searching")
        }
        try writer.execute("COMMIT")
        try await tmux.wait("all of it", seconds: 40) { $0.contains("word 1999") && !$0.contains("searching") }
        try tmux.type("G")
        try await tmux.wait("the oldest") { screen in
            screen.split(separator: "\n").contains { $0.hasPrefix("›") && $0.hasSuffix("word 1") }
        }
        try tmux.press("q")
        try await tmux.wait("the end") { !$0.contains("unread of") }
    }

    @Test func `text that is pasted presses no key`() async throws {
        let device = try Directory()
        _ = try fill(device, 3)
        let tmux = try Tmux(columns: 80, rows: 24)
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait(for: "word 3")
        try tmux.paste("dA\nq")
        try await tmux.wait("the advice") { $0.contains("press / first") && $0.contains("● ") && $0.contains("word 3") }
        try tmux.press("/")
        try await tmux.wait(for: "Search:")
        try tmux.paste("word\nq\t3")
        try await tmux.wait(for: "Search: word q 3")
        try tmux.press("C-u")
        try tmux.paste("word 2\r")
        try await tmux.wait(for: "Search: word 2")
        try tmux.press("Enter")
        try await tmux.wait("what was found") { $0.contains("word 2") && !$0.contains("word 3") }
        try tmux.press("q")
        try await tmux.wait("the end") { !$0.contains("unread of") }
    }

    @Test func `a file that cannot be opened is tried again`() async throws {
        let device = try Directory()
        let path = device.path + "/id-mary.peal"
        let note = Data("this is a note and no database, long enough to be looked at".utf8)
        try note.write(to: URL(fileURLWithPath: path))
        let tmux = try Tmux(columns: 80, rows: 24)
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait("the problem") {
            $0.contains("Something went wrong") && $0.contains("✗ not open") && $0.contains("R try again")
        }
        try FileManager.default.removeItem(atPath: path)
        try tmux.press("R")
        try await tmux.wait(for: "Nothing is here yet")
        try tmux.press("q")
        try await tmux.wait("the end") { !$0.contains("unread of") }
        // And by itself.
        try FileManager.default.removeItem(atPath: path)
        try note.write(to: URL(fileURLWithPath: path))
        try tmux.command(viewer(device, "--key", "k", "--offline"))
        try await tmux.wait(for: "✗ not open")
        try FileManager.default.removeItem(atPath: path)
        try await tmux.wait(for: "Nothing is here yet")
        try tmux.press("q")
        try await tmux.wait("the end") { !$0.contains("unread of") }
    }

    @Test func `a hub that stands still in the middle is told, and its going on is, too`() async throws {
        let hub = try HubProcess()
        // As many as take a moment to come in.
        let count = 3_000
        let lines = (1...count).map {
            "{\"users\":[\"mary\"],\"title\":\"item \($0)\",\"content\":\"\(String(repeating: "x", count: 2_000))\"}\n"
        }
        let input = try Directory()
        try Data(lines.joined().utf8).write(to: URL(fileURLWithPath: input.path + "/lines.jsonl"))
        let published = try Peal.run(
            ["publish", input.path + "/lines.jsonl", "--concurrency", "64", "--quiet"], environment: hub.publisher)
        #expect(published.status == 0, "\(published.errors)")
        defer { kill(hub.process.processIdentifier, SIGCONT) }
        for _ in 1...5 {
            let device = try Directory()
            let tmux = try Tmux(columns: 80, rows: 24, environment: hub.environment)
            try tmux.command(viewer(device))
            // Some have come, and not all.
            try await tmux.wait("the first items") {
                $0.contains("item ") || $0.contains("unread of") && !$0.contains("of 0")
            }
            kill(hub.process.processIdentifier, SIGSTOP)
            let screen = try await tmux.wait("a stall, or the end of the loading", seconds: 40) {
                $0.contains("◌ stalled") || $0.contains("no progress") || $0.contains("unread of 3,000")
            }
            kill(hub.process.processIdentifier, SIGCONT)
            try await tmux.wait("all of it", seconds: 60) { $0.contains("● live") && $0.contains("unread of 3,000") }
            try tmux.press("q")
            if !screen.contains("unread of 3,000") { return }
        }
        Issue.record("the hub was never stopped in the middle")
    }
}
