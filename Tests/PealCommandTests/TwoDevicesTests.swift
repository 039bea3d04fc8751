import Foundation
import Testing

@Suite(.timeLimit(.minutes(3)))
struct TwoDevicesTests {
    private func publish(_ hub: HubProcess, _ title: String, to target: [String]) throws {
        let finished = try Peal.run(["publish", "--title", title] + target, environment: hub.publisher)
        #expect(finished.status == 0, "\(finished.errors)")
    }

    private func json(_ finished: Finished) throws -> [[String: Any]] {
        try finished.lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:] }
    }

    @Test func `two devices act offline, meet the hub again, and agree`() throws {
        let hub = try HubProcess()
        let phone = try Directory()
        let laptop = try Directory()
        func run(_ device: Directory, _ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "Mary", "--directory", device.path], environment: hub.environment)
        }
        for number in 1...3 { try publish(hub, "item \(number)", to: ["--user", "Mary"]) }
        #expect(try run(phone, "inbox", "--json").lines.count == 3)
        #expect(try run(laptop, "inbox", "--json").lines.count == 3)

        #expect(hub.stop() == 0)
        let offline = try run(phone, "mark", "read", "1", "2")
        #expect(offline.status == 0)
        #expect(offline.output == "queued\n")
        #expect(offline.errors.contains("offline"))
        #expect(try run(laptop, "mark", "delete", "2").output == "queued\n")
        #expect(try run(laptop, "mark", "archive", "3").output == "queued\n")
        let shown = try json(run(laptop, "inbox", "--json", "--offline"))
        #expect(shown.map { $0["title"] as? String } == ["item 1"])
        #expect(try run(laptop, "outbox", "--json", "--offline").lines.count == 2)

        try hub.start()
        for device in [phone, laptop, phone, laptop] { _ = try run(device, "inbox", "--json") }
        let left = try json(run(phone, "inbox", "--json", "--all"))
        let right = try json(run(laptop, "inbox", "--json", "--all"))
        #expect(left.map { $0["title"] as? String } == ["item 3", "item 1"])
        for (one, other) in zip(left, right) {
            #expect(NSDictionary(dictionary: one) == NSDictionary(dictionary: other))
        }
        #expect(left[1]["read"] as? Bool == true)
        #expect(left[0]["archived"] as? Bool == true)
        #expect(try run(phone, "outbox").output == "The outbox is empty\n")
        #expect(try run(laptop, "outbox").output == "The outbox is empty\n")
    }

    @Test func `an interest that was added offline reaches the hub later`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--directory", device.path], environment: hub.environment)
        }
        hub.stop()
        #expect(try run("interests", "add", "apple", "pear").output == "apple\npear\n")
        #expect(try run("interests", "remove", "pear").output == "apple\n")
        try hub.start()
        #expect(try run("interests", "list").output == "apple\n")
        try publish(hub, "for apples", to: ["--interest", "apple,pear"])
        let shown = try json(run("inbox", "--device", "--json"))
        #expect(shown.map { $0["title"] as? String } == ["for apples"])
        #expect(try run("interests", "set").status == 0)
        try publish(hub, "for nobody", to: ["--interest", "apple"])
        #expect(try run("inbox", "--device", "--json").lines.count == 1)
    }

    @Test func `a tail shows what comes, once and in order, over a restart of the hub`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        let tail = Peal.process(
            ["tail", "--user", "Mary", "--json", "--count", "6", "--directory", device.path],
            environment: hub.environment)
        let output = Pipe()
        let errors = Pipe()
        tail.standardOutput = output
        tail.standardError = errors
        try tail.run()
        // It says when it is live.
        var said = Data()
        while !String(decoding: said, as: UTF8.self).contains("live") {
            let piece = errors.fileHandleForReading.availableData
            if piece.isEmpty { break }
            said += piece
        }
        for number in 1...3 { try publish(hub, "item \(number)", to: ["--user", "Mary"]) }
        hub.stop(signal: SIGKILL)
        try hub.start()
        for number in 4...6 { try publish(hub, "item \(number)", to: ["--user", "Mary"]) }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        tail.waitUntilExit()
        #expect(tail.terminationStatus == 0)
        let titles = try text.split(separator: "\n").map {
            (try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["title"] as? String
        }
        #expect(titles == (1...6).map { "item \($0)" })
    }

    @Test func `while one process has the connection, another queues and the owner sends`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        try publish(hub, "item", to: ["--user", "Mary"])
        let owner = Peal.process(
            ["tail", "--user", "Mary", "--last", "1", "--directory", device.path], environment: hub.environment)
        let errors = Pipe()
        owner.standardOutput = FileHandle.nullDevice
        owner.standardError = errors
        try owner.run()
        defer { owner.terminate() }
        var said = Data()
        while !String(decoding: said, as: UTF8.self).contains("live") {
            let piece = errors.fileHandleForReading.availableData
            if piece.isEmpty { break }
            said += piece
        }
        let act = try Peal.run(
            "mark", "read", "1", "--user", "Mary", "--directory", device.path, environment: hub.environment)
        #expect(act.output == "done\n", "\(act)")
        let other = try Directory()
        let seen = try json(
            Peal.run("inbox", "--user", "Mary", "--json", "--directory", other.path, environment: hub.environment))
        #expect(seen.first?["read"] as? Bool == true)
    }

    @Test func `a wrong key is refused with exit code 4, and what was done is kept`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        var environment = hub.environment
        environment["PEAL_KEY"] = "wrong"
        let finished = try Peal.run(
            "inbox", "--user", "Mary", "--directory", device.path, environment: environment)
        #expect(finished.status == 4)
        #expect(finished.errors.contains("no project has this key"), "\(finished.errors)")
    }

    @Test func `a hub that is stopped as soon as it says that it listens stops cleanly, each time`() throws {
        let hub = try HubProcess()
        for _ in 1...8 {
            #expect(hub.stop() == 0)
            try hub.start()
        }
        #expect(hub.stop(signal: SIGINT) == 0)
    }
}
