import Foundation
import Testing

/// What the command tells of files that were restored or copied (docs/operations.md, Restoring a backup).
@Suite(.timeLimit(.minutes(3)))
struct RestoreTests {
    private func copy(_ path: String, to target: String) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: target + suffix) }
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
        }
    }

    private func publish(_ hub: HubProcess, _ title: String) throws {
        let finished = try Peal.run(["publish", "--title", title, "--user", "mary"], environment: hub.publisher)
        #expect(finished.status == 0, "\(finished.errors)")
    }

    private func inspected(_ file: String) throws -> [String: Any] {
        let finished = try Peal.run("inspect", "--json", file)
        return try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any] ?? [:]
    }

    @Test func `after a hub was restored its log, the viewer, the tail and the inspector say so`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "mary", "--directory", device.path], environment: hub.environment)
        }
        let file = device.path + "/id-mary.peal"
        try publish(hub, "kept")
        #expect(hub.stop() == 0)
        let database = hub.directory.path + "/hub.sqlite"
        try copy(database, to: database + ".backup")
        try hub.start()
        try publish(hub, "lost")
        #expect(try run("inbox", "--json").lines.count == 2)
        #expect(try run("mark", "read", "1").output == "done\n")
        #expect(try inspected(file)["wentBack"] == nil)
        #expect(hub.stop() == 0)
        try copy(database + ".backup", to: database)
        try hub.start()

        let shown = try run("inbox")
        #expect(shown.status == 0)
        #expect(
            shown.errors.contains("note: the hub went back in time") && shown.errors.contains("1 notification that"),
            "\(shown.errors)")
        #expect(shown.output.hasPrefix("1 listed, 0 unread"), "\(shown.output)")
        #expect(try run("inbox").errors.isEmpty, "it is told once")
        let inspected = try Peal.run("inspect", file)
        #expect(inspected.output.contains("hub went back") && inspected.output.contains("1 notifications gone"))
        #expect(try self.inspected(file)["wentBackLost"] as? Int == 1)
        #expect(hub.errors.contains("1 device so far had seen more than this hub holds"), "\(hub.errors)")
        #expect(!hub.errors.contains("mary") && !hub.errors.contains(hub.secret))
        // The hub has the act that it had lost.
        let other = try Directory()
        let again = try Peal.run(
            "inbox", "--user", "mary", "--directory", other.path, environment: hub.environment)
        #expect(again.output.hasPrefix("1 listed, 0 unread"))
    }

    @Test func `a tail of a hub that is restored goes on with what is new there, and shows nothing twice`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        try publish(hub, "kept")
        let tail = try RunningTail(
            ["--user", "mary", "--directory", device.path, "--since", "all", "--format", "{number} {title}"], hub: hub)
        try tail.wait { tail.output == "1 kept\n" }
        // Its file and its log of changes, of one moment: nothing is written just now.
        let database = hub.directory.path + "/hub.sqlite"
        try copy(database, to: database + ".backup")
        for title in ["lost 1", "lost 2"] { try publish(hub, title) }
        try tail.wait { tail.output.hasSuffix("3 lost 2\n") }
        let other = try Directory()
        let late = try RunningTail(
            ["--user", "mary", "--directory", other.path, "--format", "{number} {title}"], hub: hub)
        try late.waitUntilLive()
        hub.stop(signal: SIGKILL)
        try copy(database + ".backup", to: database)
        try hub.start()
        for number in 1...3 { try publish(hub, "new \(number)") }
        try tail.wait { tail.output.contains("new 3") }
        try late.wait { late.output.contains("new 3") }
        #expect(late.end(by: SIGINT) == 130)
        #expect(late.output == "2 new 1\n3 new 2\n4 new 3\n")
        #expect(tail.end(by: SIGINT) == 130)
        let titles = tail.output.split(separator: "\n").map { $0.drop { $0 != " " }.dropFirst() }
        #expect(titles == ["kept", "lost 1", "lost 2", "new 1", "new 2", "new 3"])
        #expect(tail.errors.contains("note: the hub went back in time"), "\(tail.errors)")
    }

    @Test func `after a device's file was restored the viewer, the inspector and the hub's log say so`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "mary", "--directory", device.path], environment: hub.environment)
        }
        let file = device.path + "/id-mary.peal"
        for number in 1...3 { try publish(hub, "item \(number)") }
        #expect(try run("inbox", "--json").lines.count == 3)
        try copy(file, to: file + ".backup")
        #expect(try run("mark", "read", "1").output == "done\n")
        try copy(file + ".backup", to: file)
        #expect(try run("mark", "read", "2", "--offline").output == "queued\n")
        let shown = try run("inbox", "--unread", "--json")
        #expect(
            shown.errors.contains("note: this device's data was restored from a backup or copied"), "\(shown.errors)")
        #expect(shown.lines.count == 1, "nothing of either life is lost: \(shown)")
        #expect(try run("outbox").output == "The outbox is empty\n")
        let inspected = try Peal.run("inspect", file)
        #expect(inspected.output.contains("restored") && inspected.output.contains("it took a new id"))
        #expect(try self.inspected(file)["forked"] is Int)
        #expect(hub.errors.contains("1 device so far had a file that was restored or copied"), "\(hub.errors)")
    }
}
