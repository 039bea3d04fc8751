import Foundation
import Testing

/// What a tail shows, and what it hands on.
@Suite(.timeLimit(.minutes(3)))
struct TailTests {
    private static let hostile = ["$(touch stolen); `touch stolen`", "'; touch stolen; '", "\"quoted\" {title} %s \\n"]

    private func publish(_ hub: HubProcess, _ words: String...) throws {
        let finished = try Peal.run(["publish", "--user", "Mary"] + words, environment: hub.publisher)
        #expect(finished.status == 0, "\(finished.errors)")
    }

    /// A hub with four items, and a device that has them.
    private func filled() throws -> (hub: HubProcess, device: Directory) {
        let hub = try HubProcess()
        for (number, title) in Self.hostile.enumerated() {
            try publish(
                hub, "--title", title, "--body", "one\ntwo\u{1B}[2J", "--category", "c\(number)", "--topic", "t",
                "--type", number == 1 ? "survey" : "message")
        }
        try publish(hub, "--title", "plain", "--url", "https://example.org/4")
        let device = try Directory()
        #expect(try tail(hub, device, "--since", "all", "--count", "4").lines.count == 4)
        return (hub, device)
    }

    private func tail(_ hub: HubProcess, _ device: Directory, _ words: String...) throws -> Finished {
        try Peal.run(
            ["tail", "--user", "Mary", "--directory", device.path] + words, environment: hub.environment)
    }

    @Test func `filters, beginnings and templates say which items are shown and how`() throws {
        let (hub, device) = try filled()
        hub.stop()
        func numbers(_ words: String...) throws -> String {
            let finished = try Peal.run(
                ["tail", "--user", "Mary", "--directory", device.path, "--offline", "--format", "{number}"] + words,
                environment: hub.environment)
            #expect(finished.status == 0, "\(finished.errors)")
            return finished.lines.joined(separator: " ")
        }
        #expect(try numbers("--since", "all") == "1 2 3 4")
        #expect(try numbers("--since", "#2") == "3 4")
        #expect(try numbers("--since=#9") == "")
        #expect(try numbers("--since", "2020-01-01") == "1 2 3 4")
        #expect(try numbers("--since", "2120-01-01") == "")
        #expect(try numbers("--since", "all", "--count", "2") == "1 2")
        #expect(try numbers("--last", "3") == "2 3 4")
        #expect(try numbers("--last", "1", "--topic", "t") == "3")
        #expect(try numbers() == "")
        #expect(try numbers("--since", "all", "--category", "c0,c2") == "1 3")
        #expect(try numbers("--since", "all", "--topic", "t", "--type", "survey") == "2")
        #expect(try numbers("--since", "all", "--search", "quoted") == "3")
        #expect(try numbers("--since", "all", "--read") == "")
        let line = try tail(
            hub, device, "--offline", "--since", "#2", "--format", #"{{{number}}}\t{title}|{content}|{url}|{type}\\"#)
        #expect(
            line.lines == [
                "{3}\t\(Self.hostile[2])|one two [2J||message\\", "{4}\tplain||https://example.org/4|message\\",
            ])
    }

    @Test func `a program gets each item in its environment and on its input, and nothing of it is run`() throws {
        let (hub, device) = try filled()
        let work = try Directory()
        let script = work.path + "/on item"
        try Data(
            "#!/bin/sh\ncd '\(work.path)' && printf '%s|%s|%s\\n' \"$PEAL_TITLE\" \"$PEAL_URL\" \"$*\" && cat >> json\n"
                .utf8
        )
        .write(to: URL(fileURLWithPath: script))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let words = ["--since", "all", "--count", "4", "--exec", script, "--", "--help", "$(touch stolen)"]
        var environment = hub.environment
        environment["PEAL_URL"] = "of somebody else"
        let finished = try Peal.run(
            ["tail", "--user", "Mary", "--directory", device.path] + words, environment: environment)
        #expect(finished.status == 0, "\(finished.errors)")
        let rest = "--help $(touch stolen)"
        #expect(finished.lines == Self.hostile.map { "\($0)||\(rest)" } + ["plain|https://example.org/4|\(rest)"])
        let json = try String(contentsOfFile: work.path + "/json", encoding: .utf8).split(separator: "\n")
        let titles = try json.map {
            (try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["title"] as? String
        }
        #expect(titles == Self.hostile + ["plain"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: work.path).sorted() == ["json", "on item"])

        let failing = try tail(hub, device, "--since", "all", "--offline", "--exec", "false")
        #expect(failing.status == 0)
        #expect(failing.errors.contains("false ended with 1, at item 4"), "\(failing.errors)")
        let stopping = try tail(hub, device, "--since", "all", "--offline", "--exec", "false", "--exec-stop")
        #expect(stopping.status == 1)
        #expect(stopping.errors.contains("at item 1") && !stopping.errors.contains("at item 2"), "\(stopping.errors)")
        let shown = try tail(hub, device, "--since", "#3", "--offline", "--notify")
        #expect(shown.output == "plain\nhttps://example.org/4\n")
    }

    @Test(arguments: [
        (["--since", "#x"], "takes '#' and a number"), (["--since", "12"], "a position is '#12'"),
        (["--since", "all", "--last", "1"], "exclude each other"), (["--format", "{nope}"], "number, id, title"),
        (["--format", "{title"], "without a '}'"), (["--format", "x", "--json"], "exclude each other"),
        (["word"], "one word too many"), (["--exec", "no-such-program"], "is no program"),
        (["--exec", "--", "true"], "is no program"), (["--exec", "/etc/passwd"], "chmod +x /etc/passwd"),
        (["--interest", "apple"], "peal interests add apple"),
    ])
    func `a mistake is named, with exit code 2`(words: [String], says: String) throws {
        let directory = try Directory()
        let finished = try Peal.run(
            ["tail", "--key", "k", "--user", "u", "--directory", directory.path] + words,
            environment: ["PEAL_HUB": "http://127.0.0.1:1"])
        #expect(finished.status == 2)
        #expect(finished.errors.contains(says), "\(finished.errors)")
        #expect(finished.output.isEmpty)
    }

    @Test func `a new device begins with what comes, and an interest's tail shows its items alone`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        for name in ["apple", "pear"] {
            #expect(
                try Peal.run(
                    "interests", "add", name, "--directory", device.path, environment: hub.environment
                ).status == 0)
        }
        func send(_ title: String, _ interest: String) throws {
            let sent = try Peal.run(
                "publish", "--interest", interest, "--title", title, environment: hub.publisher)
            #expect(sent.status == 0)
        }
        try send("old", "apple")
        let tail = try RunningTail(
            ["--interest", "apple", "--count", "3", "--directory", device.path, "--format", "{title} {interests}"],
            hub: hub)
        try tail.waitUntilLive()
        try send("one", "apple")
        try send("other", "pear")
        try send("two", "apple")
        #expect(tail.end() == 0)
        // It was away while the first came: that one is news for this device.
        #expect(tail.output == "old apple\none apple\ntwo apple\n", "what came while this device was away is news, too")

        try publish(hub, "--title", "before the device")
        let fresh = try RunningTail(
            ["--user", "Mary", "--count", "1", "--directory", device.path, "--format", "{title}"], hub: hub)
        try fresh.waitUntilLive()
        try publish(hub, "--title", "after")
        #expect(fresh.end() == 0)
        #expect(fresh.output == "after\n")
    }

    @Test(.timeLimit(.minutes(4)))
    func `Ctrl-C ends a tail, also one whose reader does not read or whose program runs on`() throws {
        let (hub, device) = try filled()
        let arguments = ["--user", "Mary", "--directory", device.path]
        let idle = try RunningTail(arguments, hub: hub)
        try idle.waitUntilLive()
        #expect(idle.end(by: SIGINT) == 130)

        let work = try Directory()
        let busy = try RunningTail(
            arguments + [
                "--offline", "--since", "all", "--exec", "sh", "--", "-c",
                "echo $$ > \(work.path)/new && mv \(work.path)/new \(work.path)/pid && exec sleep 60",
            ], hub: hub)
        try busy.wait { FileManager.default.fileExists(atPath: work.path + "/pid") }
        let text = try String(contentsOfFile: work.path + "/pid", encoding: .utf8)
        let child = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(child, 0) == 0)
        #expect(busy.end(by: SIGINT) == 130)
        #expect(kill(child, 0) != 0)

        // Four lines of 64 KiB fill a pipe.
        let stuck = Pipe()
        let full = try RunningTail(
            arguments + ["--offline", "--since", "all", "--format", String(repeating: "x", count: 65_536)], hub: hub,
            output: stuck.fileHandleForWriting)
        try full.wait {
            var waiting: Int32 = 0
            return ioctl(stuck.fileHandleForReading.fileDescriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 60_000
        }
        #expect(full.end(by: SIGINT) == 130)
    }

    @Test func `a tail ends well, and at once, when nobody reads it any more`() throws {
        let (hub, device) = try filled()
        let pipe = Pipe()
        let tail = try RunningTail(
            ["--user", "Mary", "--directory", device.path, "--last", "2", "--format", "{number}"], hub: hub,
            output: pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        var text = Data()
        while text.count < 4 { text += pipe.fileHandleForReading.availableData }
        #expect(String(decoding: text, as: UTF8.self) == "3\n4\n")
        try tail.waitUntilLive()
        try pipe.fileHandleForReading.close()
        #expect(tail.end() == 0)
        #expect(tail.errors == "live\n")
    }

    @Test
    func `what the connection does is told dim on a terminal that shows it, plain elsewhere, and not at all if quiet`()
        throws
    {
        let (hub, device) = try filled()
        for (words, environment, says) in [
            ([], ["TERM": "xterm"], "\u{1B}[2mlive\u{1B}[0m\r\n"), ([], ["TERM": "dumb"], "live\r\n"),
            ([], ["TERM": "xterm", "NO_COLOR": "1"], "live\r\n"), (["--quiet"], ["TERM": "xterm"], ""),
        ] {
            var master: Int32 = -1
            var terminal: Int32 = -1
            #expect(openpty(&master, &terminal, nil, nil, nil) == 0)
            let tail = try RunningTail(
                ["--user", "Mary", "--directory", device.path, "--count", "1", "--format", "{title}"] + words, hub: hub,
                environment: environment, errors: FileHandle(fileDescriptor: terminal, closeOnDealloc: true))
            _ = fcntl(master, F_SETFL, O_NONBLOCK)
            var said = Data()
            func read() -> Data {
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let count = Glibc.read(master, &bytes, bytes.count)
                if count > 0 { said += bytes[..<count] }
                return said
            }
            if !says.isEmpty { try tail.wait { read().count >= says.utf8.count } }
            try publish(hub, "--title", "next")
            #expect(tail.end() == 0)
            #expect(tail.output == "next\n")
            #expect(String(decoding: read(), as: UTF8.self) == says)
            close(master)
        }
    }

    @Test func `a hub that stays away is told once, or at each try where that is wanted`() throws {
        let (hub, device) = try filled()
        hub.stop()
        let arguments = ["--user", "Mary", "--directory", device.path]
        let each = try RunningTail(arguments + ["--follow-reconnect"], hub: hub)
        try each.wait { each.errors.split(separator: "\n").count >= 3 }
        #expect(each.end(by: SIGTERM) == 130)
        #expect(
            each.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("offline") && $0.hasSuffix(" s") },
            "\(each.errors)")
    }
}
