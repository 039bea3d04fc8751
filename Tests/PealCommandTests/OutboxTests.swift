import Foundation
import Testing

/// Dead letters, damaged rows, and many processes on one file, by the command.
@Suite(.timeLimit(.minutes(3)))
struct OutboxTests {
    private func rows(_ finished: Finished) throws -> [[String: Any]] {
        try finished.lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:] }
    }

    private func edit(_ file: String, _ sql: String) throws {
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = [
            "python3", "-c",
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit(); c.close()",
            file,
            sql,
        ]
        try python.run()
        python.waitUntilExit()
        #expect(python.terminationStatus == 0)
    }

    @Test func `a dead letter is listed with its reason, retried as a new act, and discarded`() throws {
        let folder = try Directory()
        let catalogue = URL(fileURLWithPath: folder.path + "/catalogue.json")
        func write(required: Bool) throws {
            let channel = #"{"slug": "email", "required": \#(required)}"#
            try Data(#"{"categories": [{"slug": "billing", "channels": [\#(channel)]}]}"#.utf8).write(to: catalogue)
        }
        try write(required: true)
        let hub = try HubProcess(options: ["--catalogue", catalogue.path])
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "mary", "--directory", device.path], environment: hub.environment)
        }
        for _ in 0..<2 {
            let refused = try run("preferences", "set", "billing", "email", "off")
            #expect(refused.status == 4 && refused.errors.contains("see `peal outbox`"), "\(refused)")
        }
        let listed = try rows(run("outbox", "--json"))
        let uids = listed.compactMap { $0["uid"] as? String }
        #expect(listed.map { $0["state"] as? String } == ["dead", "dead"])
        let table = try run("outbox").lines
        #expect(table[0].hasPrefix(uids[0]) && table[0].contains("denied: This channel is required"))

        // Nothing has changed on the hub: it is refused again, as a new act.
        let again = try rows(run("outbox", "retry", uids[0], "--json"))
        #expect(again.count == 2 && again.allSatisfy { $0["state"] as? String == "dead" })
        #expect(!again.contains { $0["uid"] as? String == uids[0] })
        #expect(try run("outbox", "retry", uids[0]).status == 1, "it is no dead letter any more")
        #expect(try rows(run("outbox", "discard", uids[1], "--json")).count == 1)
        #expect(hub.stop() == 0)
        try write(required: false)
        try hub.start()
        #expect(try run("outbox", "retry", "dead").output == "The outbox is empty\n")
        #expect(try run("preferences", "list").output.hasPrefix("off billing"))
        #expect(try run("outbox", "discard", "dead").output == "The outbox is empty\n")

        for (words, status) in [
            (["outbox", "burn", "dead"], 2), (["outbox", "retry"], 2), (["outbox", "discard", "xyz"], 2),
            (["outbox", "discard", "0123456789abcdef"], 1),
        ] as [([String], Int32)] {
            let wrong = try Peal.run(
                words + ["--user", "mary", "--directory", device.path], environment: hub.environment)
            #expect(wrong.status == status, "\(words): \(wrong)")
            #expect(!wrong.errors.isEmpty)
        }
    }

    @Test func `damaged and unknown acts are set aside one by one, with a sentence, and the others are sent`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "mary", "--directory", device.path], environment: hub.environment)
        }
        for number in 1...6 {
            let published = try Peal.run(
                ["publish", "--title", "item \(number)", "--user", "mary"], environment: hub.publisher)
            #expect(published.status == 0)
        }
        #expect(try run("inbox", "--json").lines.count == 6)
        for number in 1...6 { #expect(try run("mark", "read", String(number), "--offline").output == "queued\n") }
        try edit(
            device.path + "/id-mary.peal",
            """
            UPDATE outbox SET op = '{"op":"re' WHERE seq = 1;
            UPDATE outbox SET op = '{"op":"dance","items":[]}' WHERE seq = 3;
            UPDATE outbox SET op = '{"op":"read"}' WHERE seq = 4;
            UPDATE outbox SET op = 'null' WHERE seq = 6
            """)
        let listed = try rows(run("outbox", "--json"))
        #expect(listed.map { $0["state"] as? String } == ["dead", "dead", "dead", "dead"])
        for row in listed {
            let reason = (row["outcome"] as? [String: Any])?["reason"] as? String
            #expect(reason == "This act could not be read back from the file.")
        }
        #expect(try run("inbox").output.hasPrefix("6 listed, 4 unread"), "the other two arrived")
        let uid = try #require(listed[0]["uid"] as? String)
        let retried = try run("outbox", "retry", uid)
        #expect(retried.status == 1 && retried.errors.contains("Only a dead letter that can be read is retried."))
        #expect(try rows(run("outbox", "discard", uid, "--json")).count == 3)
        #expect(try run("outbox", "discard", "dead").output == "The outbox is empty\n")
        #expect(try run("mark", "read", "1").output == "done\n")
    }

    @Test func `no command fails with a locked database where many act on one file at once`() throws {
        let device = try Directory()
        let environment = ["PEAL_KEY": "key", "PEAL_HUB": "http://127.0.0.1:1"]
        func words(_ number: Int) -> [String] {
            ["interests", "add", "interest-\(number)", "--offline", "--directory", device.path]
        }
        // The file is new, too: all of them make it.
        let running = try (1...12).map { number in
            let process = Peal.process(words(number), environment: environment)
            let errors = Pipe()
            process.standardError = errors
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            return (process, errors)
        }
        for (process, errors) in running {
            let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(said)")
            #expect(!said.contains("lock") && !said.contains("busy"), "\(said)")
        }
        let listed = try Peal.run(
            "interests", "list", "--offline", "--directory", device.path, environment: environment)
        #expect(listed.lines.count == 12, "\(listed)")
    }
}
