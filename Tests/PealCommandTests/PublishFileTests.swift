import Foundation
import Testing

@testable import PealCommand

/// `peal publish --file`: each line once, whatever happens in between.
@Suite(.timeLimit(.minutes(3))) struct PublishFileTests {
    /// A hub, a file of lines to Mary, and where results go.
    private struct World {
        let hub: HubProcess
        let directory = try! Directory()
        var environment: [String: String] { hub.environment.merging(hub.publisher) { $1 } }
        var lines: String { directory.path + "/lines.jsonl" }
        var progress: String { directory.path + "/progress" }
        var output: String { directory.path + "/output" }
        var errors: String { directory.path + "/errors" }

        init(_ count: Int, options: [String] = []) throws {
            hub = try HubProcess(options: options)
            let text = (0..<count).map { #"{"users":["Mary"],"title":"Number \#($0 + 1)"}"# + "\n" }
            try text.joined().write(toFile: lines, atomically: true, encoding: .utf8)
        }

        /// A run whose output goes to files.
        func start(_ words: String...) throws -> Process { try start(words) }

        func start(_ words: [String]) throws -> Process {
            let process = Peal.process(["publish", "--file", lines] + words, environment: environment)
            for path in [output, errors] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
            process.standardOutput = FileHandle(forWritingAtPath: output)
            process.standardError = FileHandle(forWritingAtPath: errors)
            process.standardInput = FileHandle.nullDevice
            try process.run()
            return process
        }

        func read(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

        func results() -> Int { read(output).count { $0 == "\n" } }

        func wait(_ condition: () -> Bool) throws {
            let deadline = Date(timeIntervalSinceNow: 60)
            while !condition() {
                guard Date() < deadline else { throw Failure(message: "in vain: \(read(errors))") }
                usleep(2_000)
            }
        }

        func run(_ words: String..., input: String? = nil) throws -> Finished { try run(words, input: input) }

        func run(_ words: [String], input: String? = nil) throws -> Finished {
            try Peal.finish(Peal.process(["publish"] + words, environment: environment), input: input)
        }

        /// The titles in an inbox.
        func titles(_ user: String = "Mary") throws -> [String] {
            let device = try Directory()
            let words = ["inbox", "--user", user, "--json", "--limit", "10000", "--directory", device.path]
            return try Peal.run(words, environment: hub.environment).lines.map { line in
                let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return row?["title"] as? String ?? ""
            }
        }

        func expectEachOnce(_ count: Int) throws {
            let titles = try titles()
            #expect(titles.count == count && Set(titles) == Set((1...count).map { "Number \($0)" }))
        }
    }

    @Test(arguments: [true, false])
    func `a run that is killed and given again publishes each line once`(resumes: Bool) throws {
        let world = try World(1_500)
        let more = resumes ? ["--resume", world.progress] : []
        for _ in 0..<2 {
            let process = try world.start(["--json", "--rate", "1000"] + more)
            try world.wait { world.results() >= 300 || !process.isRunning }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            #expect(process.terminationReason == .uncaughtSignal)
        }
        let last = try world.run(["--file", world.lines] + more)
        #expect(last.status == 0, "\(last.errors)")
        if resumes {
            // What the file knew was not even sent.
            #expect(last.output.contains("done before"), "\(last.output)")
        }
        try world.expectEachOnce(1_500)
        let again = try world.run(["--file", world.lines] + more)
        #expect(again.status == 0)
        try world.expectEachOnce(1_500)
    }

    @Test func `Ctrl-C finishes what is under way, says how to go on, and nothing is twice`() throws {
        let world = try World(400)
        let process = try world.start("--json", "--rate", "200", "--resume", world.progress)
        try world.wait { world.results() >= 20 }
        kill(process.processIdentifier, SIGINT)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 130)
        #expect(world.read(world.errors).contains("Go on by the same command"))
        let published = world.results()
        #expect(published < 400)
        let rest = try world.run("--file", world.lines, "--resume", world.progress)
        #expect(rest.output.hasPrefix("published \(400 - published) lines, \(published) done before in "))
        try world.expectEachOnce(400)
    }

    @Test func `a hub that restarts meanwhile is waited for`() throws {
        let world = try World(600)
        let process = try world.start("--json", "--rate", "600")
        try world.wait { world.results() >= 100 }
        world.hub.stop(signal: SIGKILL)
        try world.hub.start()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(world.read(world.errors))")
        #expect(world.results() == 600)
        try world.expectEachOnce(600)
    }

    @Test func `a hub that wants fewer requests is obeyed`() throws {
        let world = try World(40, options: ["--requests-per-project", "10"])
        let finished = try world.run("--file", world.lines)
        #expect(finished.status == 0 && finished.output.hasPrefix("published 40 lines in "), "\(finished.errors)")
        // The last of its logs tells of refusals, which nobody was told of.
        #expect(finished.errors.isEmpty)
    }

    @Test func `a rate is kept, and a hub that stays away is given up`() throws {
        let world = try World(31)
        let begin = ContinuousClock.now
        #expect(try world.run("--file", world.lines, "--rate", "30", "-q").status == 0)
        #expect(begin.duration(to: .now) > .milliseconds(990))
        world.hub.stop()
        let finished = try world.run("--file", world.lines, "--retry-for", "0")
        #expect(finished.status == 3 && finished.errors.contains("cannot be reached"))
        #expect(finished.errors.contains("Go on by the same command"))
    }

    @Test func `a bad line is named by number, field and limit; the others are published where that is wanted`() throws
    {
        let world = try World(0)
        let long = String(repeating: "x", count: 300)
        let text = """
            \u{FEFF}{"users":["Mary"],"title":"one"}

            nonsense
            {"users":["Mary"],"title":"\(long)"}
            {"title":"nobody"}
            [1]
            {"users":["Mary"],"title":"k","key":7}
            {"users":["Mary"],"title":"two","key":"mine"}\r
            {"users":["Mary"],"title":"three","key":"mine"}
            {"users":["Mary"],"title":"four"}
            """
        let finished = try world.run("-", "--keep-going", "--json", "-j", "1", input: text)
        #expect(finished.status == 1)
        for sentence in [
            "line 3: this is no JSON\n", "line 4: the hub refused (422): 'title' has 300 characters; at most 255",
            "line 5: the hub refused (422): One of 'interests' and 'users' must name somebody.",
            "line 6: this is no JSON object\n", "line 7: key: it has 1 to 255 characters",
            "line 9: the hub refused (409): This Idempotency-Key was used for another request",
            "published 3 lines, 6 failed in ",
        ] { #expect(finished.errors.contains(sentence), "\(sentence): \(finished.errors)") }
        let results = try finished.lines.map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
        #expect(results.map { $0["line"] as? Int } == [1, 3, 4, 5, 6, 7, 8, 9, 10])
        #expect(results.filter { $0["id"] != nil }.count == 3 && results[6]["key"] as? String == "mine")
        #expect(results[2]["code"] as? String == "unprocessable_entity")
        #expect(try Set(world.titles()) == ["one", "two", "four"])
        // Without --keep-going it ends there.
        let stopped = try world.run("-", "-j", "1", input: "nonsense\n{\"users\":[\"Bob\"],\"title\":\"one\"}\n")
        #expect(stopped.status == 1 && stopped.output.hasPrefix("published 0 lines, 1 failed"))
    }

    @Test func `lines that failed are tried again, and a progress file knows its input`() throws {
        let world = try World(0)
        func lines(_ second: String) -> String {
            #"{"users":["Mary"],"title":"one"}"# + "\n\(second)\n" + #"{"users":["Mary"],"title":"three"}"# + "\n"
        }
        let words = ["-", "--keep-going", "--resume", world.progress]
        func run(_ input: String, _ more: String...) throws -> Finished {
            try Peal.finish(Peal.process(["publish"] + words + more, environment: world.environment), input: input)
        }
        #expect(try run(lines("nonsense")).output.hasPrefix("published 2 lines, 1 failed"))
        #expect(
            try run(lines(#"{"users":["Mary"],"title":"two"}"#)).output.hasPrefix("published 1 line, 2 done before"))
        #expect(try run(lines("x")).output.hasPrefix("published 0 lines, 3 done before"))
        #expect(try Set(world.titles()) == ["one", "two", "three"])
        let other = try run("{}\n{}\n{}\n")
        #expect(other.status == 2 && other.errors.contains("is of another input: its number 3"))
        let elsewhere = try run("{}\n", "--key", "another")
        #expect(elsewhere.status == 2 && elsewhere.errors.contains("is of another hub or project"))
        let wrong = try world.run("-", "--resume", world.directory.path + "/lines.jsonl", input: "")
        #expect(wrong.status == 0)
        try "note\n".write(toFile: world.lines, atomically: true, encoding: .utf8)
        #expect(try world.run("-", "--resume", world.lines, input: "").errors.contains("is no file of `peal publish"))
    }

    @Test func `an array and an object over several lines are publishes too`() throws {
        let world = try World(0)
        let array = "[\n{\"users\":[\"Mary\"],\n\"title\":\"one\"}, {\"users\":[\"Mary\"],\"title\":\"two\"}, 3]"
        let finished = try world.run("-", "--keep-going", input: array)
        #expect(finished.errors == "element 3: this is no JSON object\n")
        #expect(finished.output.hasPrefix("published 2 elements, 1 failed"))
        #expect(try world.run("-", input: "{\"users\":[\"Mary\"],\n\"title\":\"three\"\n}\n").status == 0)
        #expect(try Set(world.titles()) == ["one", "two", "three"])
        #expect(try world.run("-", input: "[1,").status == 5)
        #expect(try world.run("--file", "/nonexistent").status == 5)
        #expect(try world.run("--file", "x", "--title", "y").errors.contains("--file and --title exclude each other"))
        #expect(try world.run("-", input: "").output.hasPrefix("published 0 lines in"))
        let refused = try world.run("-", "--secret", "wrong", input: #"{"users":["a"],"title":"b"}"#)
        #expect(refused.status == 4 && refused.errors.contains("Check --key and --secret."))
    }

    @Test func `progress is a line with a bar on a terminal, and with a time left`() {
        var value = ProgressBar.Value(
            share: 0.5, count: 1_000, word: "line", failed: 2, seconds: 10, fresh: 500, waits: nil)
        let line = ProgressBar.line(value, columns: 70)
        #expect(line.hasPrefix("[==========") && line.hasSuffix(" ] 50 % 1000 lines, 2 failed, 50/s, 0:20 left"))
        #expect(line.count <= 70)
        #expect(ProgressBar.line(value, columns: 20).count <= 20)
        #expect(ProgressBar.line(value, columns: nil) == "50 % 1000 lines, 2 failed, 50/s, 0:20 left")
        value.share = nil
        value.waits = "the hub\u{1B}[2J is away"
        #expect(ProgressBar.line(value, columns: nil) == "1000 lines, 2 failed, 50/s, waiting: the hub [2J is away")
    }

    @Test func `a terminal shows the progress while it lasts, and the summary at its end`() async throws {
        // It lasts until it is ended.
        let world = try World(5_000)
        let terminal = try Tmux(columns: 100, rows: 10, environment: world.environment)
        try terminal.command([Peal.binary.path, "publish", "--file", world.lines, "--rate", "20"])
        try await terminal.wait("the bar") { $0.contains("[") && $0.contains(" % ") && $0.contains(" left") }
        try terminal.press("C-c")
        let end = try await terminal.wait(for: "Go on by the same command")
        #expect(end.contains("published ") && !end.contains(" left"))
    }
}
