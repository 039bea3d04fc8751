import Foundation
import PostgresServer
import Testing

@testable import PealCommand

/// What every command says, a file each in `Golden`: its help, what it prints for people and for programs, and a mistake. Commands are those of the
/// table, so a new one fails here until it has its cases and they are kept: `PEAL_RECORD=1 swift test --filter CommandGoldenTests`, and look at what it
/// wrote. Those of `peal inspect` have cases of their own (`InspectGoldenTests`).
@Suite(.serialized, .timeLimit(.minutes(3)))
struct CommandGoldenTests {
    private static func commands(_ command: Command, _ path: [String] = []) -> [(path: [String], command: Command)] {
        let own = path + [command.name]
        return [(own, command)] + command.subcommands.flatMap { commands($0, own) }
    }

    private static let all = commands(RootCommand.command)

    @Test func `every command's help is as it is kept`() throws {
        for (path, command) in Self.all {
            let text = Help.text(command, path: path, everywhere: RootCommand.command.options)
            #expect(try GoldenText.difference("help-" + path.joined(separator: "-"), text) == nil)
        }
        let kept = try FileManager.default.contentsOfDirectory(atPath: GoldenText.folder).filter {
            $0.hasPrefix("help-")
        }
        // Without the trait PostgreSQL a command less is there, and an option.
        let isWhole = Self.all.contains { $0.path == ["peal", "hub", "migrate"] }
        #expect(!isWhole || Set(kept) == Set(Self.all.map { "help-" + $0.path.joined(separator: "-") + ".txt" }))
        let printed = try Peal.run("inbox", "--help")
        #expect(try GoldenText.difference("help-peal-inbox", printed.output) == nil)
    }

    @Test func `every command's table, JSON and a mistake are as they are kept, and each mistake says what to do next`()
        throws
    {
        let bench = try Bench()
        var said: [String: [(words: [String], done: Finished)]] = [:]
        for words in Self.cases {
            let done = try bench.run(words.map { try bench.fill($0) })
            said[RootCommand.path(of: words).joined(separator: "-"), default: []].append((words, done))
            guard done.status != 0 else { continue }
            // A doctor says it beside what it found.
            let isAdvised = words[0] == "doctor" && done.output.contains("-> ")
            #expect(
                isAdvised || done.errors.split(separator: "\n").count > 1,
                "\(words) does not say what to do next: \(done.errors)")
        }
        for (path, command) in Self.all where command.run != nil && path.prefix(2) != ["peal", "inspect"] {
            let name = path.joined(separator: "-")
            let cases = said.removeValue(forKey: name) ?? []
            let isLong = Self.endless.contains(name)
            let hasJSON = command.options.contains { $0.name == "json" }
            #expect(
                cases.contains { $0.done.status != 0 } || Self.neverFails.contains(name), "\(name) has no mistake here")
            #expect(isLong || cases.contains { $0.done.status == 0 }, "\(name) has no output here")
            #expect(
                isLong || !hasJSON || cases.contains { $0.words.contains("--json") && $0.done.status == 0 },
                "\(name) has no JSON here")
            for (words, done) in cases where words.contains("--json") && done.status == 0 {
                for line in done.lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
            }
            let text = cases.map { bench.normal(GoldenText.transcript($0.words, $0.done)) }.joined(separator: "\n")
            #expect(try GoldenText.difference("said-" + name, text) == nil)
        }
        // What is left belongs to no command.
        for cases in said.values { for (words, done) in cases { #expect(done.status != 0, "\(words)") } }
    }

    /// What runs until it is stopped, or needs a database; other tests read what they say.
    private static let endless: Set<String> = ["peal-hub"]
    /// Whatever the words, they do what they can.
    private static let neverFails: Set<String> = []

    /// On one hub, in this order.
    private static let cases: [[String]] = [
        ["nonsense"], ["hub", "--http-port", "port"], ["hub", "--directory", "/dev/null/x"],
        ["publish", "--user", "Mary", "--title", "Your invoice", "--body", "It is here.", "--category", "billing"],
        ["publish", "--user", "Mary", "--title", "A parcel", "--json"],
        ["publish", "--user", "Mary", "--interest", "apple", "--title", "Both"],
        ["publish", "--user", "Bob", "--title", "For another"],
        ["publish", "--user", "Mary"], ["publish", "--user", "Mary", "--title", "x", "--secret", "wrong"],
        ["publish", "--file", "missing.jsonl"], ["publish", "lines.jsonl", "--concurrency", "1"],
        ["inbox", "--plain"], ["inbox", "--json"], ["inbox", "--unread", "--limit", "1", "--plain"],
        ["inbox", "--hub", "http://127.0.0.1:1", "--plain"], ["inbox", "--since", "yesterdayish"],
        ["inbox", "--nonsense"],
        ["tail", "--since", "all", "--count", "2"], ["tail", "--since", "all", "--count", "1", "--json"],
        ["tail", "--since", "all", "--count", "2", "--format", "{number} {title}"], ["tail", "--format", "{nonsense}"],
        ["mark", "read", "2"], ["mark", "unread", "2", "--json"], ["mark", "unread", "2"],
        ["mark", "read", "2", "--json"],
        ["mark", "seen", "2"], ["mark", "seen", "3", "--json"], ["mark", "archive", "3"],
        ["mark", "archive", "2", "--json"],
        ["mark", "unarchive", "3"], ["mark", "unarchive", "2", "--json"], ["mark", "delete", "4"],
        ["mark", "delete", "3", "--json"], ["mark", "all-read"], ["mark", "all-read", "--json"],
        ["mark", "read", "99"], ["mark", "unread", "x"], ["mark", "seen"], ["mark", "archive", "99"],
        ["mark", "unarchive", "99"], ["mark", "delete", "99"], ["mark", "all-read", "2"], ["mark", "nonsense"],
        ["preferences", "list"], ["preferences", "list", "--json"], ["preferences", "set", "billing", "email", "off"],
        ["preferences", "set", "billing", "email", "on", "--json"],
        ["preferences", "set", "billing", "email", "perhaps"],
        ["preferences", "list", "nonsense"],
        ["interests", "add", "apple", "pear"], ["interests", "list"], ["interests", "list", "--json"],
        ["interests", "remove", "pear"], ["interests", "add", "plum", "--json"],
        ["interests", "remove", "plum", "--json"],
        ["interests", "set", "apple"], ["interests", "set", "apple", "--json"], ["interests", "add", "a b"],
        ["interests", "remove"], ["interests", "set", "a b"], ["interests", "list", "nonsense"],
        ["mark", "read", "2", "--offline"], ["outbox", "--offline"], ["outbox", "--offline", "--json"],
        ["outbox", "nonsense"], ["outbox", "retry", "0000000000000001", "--offline"],
        ["explain", "2", "devices/id-%4dary.peal"], ["explain", "2", "devices/id-%4dary.peal", "--json"],
        ["explain", "99", "devices/id-%4dary.peal"], ["explain", "2", "missing.peal"],
        ["devices", "list"], ["devices", "list", "--json"], ["devices", "list", "--secret", "wrong"],
        ["devices", "show", "{device}"], ["devices", "show", "{device}", "--json"],
        ["devices", "show", "nonsense"], ["devices", "revoke", "nonsense"],
        ["users", "show", "Mary"], ["users", "show", "Mary", "--json"], ["users", "show", "Nobody"],
        ["users", "set", "Mary", "--first-name", "Mary"], ["users", "set", "Mary", "--last-name", "M", "--json"],
        ["users", "set", "Mary", "--attributes", "nonsense"], ["users", "inboxes", "Mary"],
        ["users", "inboxes", "Mary", "--json"],
        ["users", "dead-letters", "{inbox}"], ["users", "dead-letters", "{inbox}", "--json"],
        ["users", "inboxes", "nonsense", "more"], ["users", "dead-letters", "nonsense"],
        ["users", "delete", "Nobody", "--yes"],
        ["config", "path"], ["config", "set", "hub", "http://127.0.0.1:9"], ["config", "set", "nonsense", "x"],
        ["config", "--profile", "shop", "set", "user", "Bob"], ["config", "list"], ["config", "list", "--json"],
        ["config", "get", "hub"], ["config", "get", "nonsense"], ["config", "use", "shop"],
        ["config", "use", "nonsense"],
        ["config", "unset", "hub"], ["config", "unset", "nonsense"], ["config", "list", "x"], ["config", "path", "x"],
        ["projects", "create", "--directory", "other", "--name", "Shop"],
        ["projects", "create", "--directory", "other", "--name", "Bar", "--json"],
        ["projects", "list", "--directory", "other"], ["projects", "list", "--directory", "other", "--json"],
        ["projects", "operator", "--directory", "other"], ["projects", "operator", "--directory", "other", "--json"],
        ["projects", "create", "--directory", "/dev/null/x"], ["projects", "list", "--directory", "missing"],
        ["projects", "rotate", "nonsense", "--secret", "--directory", "other"],
        ["projects", "revoke", "nonsense", "--directory", "other"], ["projects", "operator", "--directory", "missing"],
        ["hub", "backup", "copy.sqlite", "--directory", "hub"],
        ["hub", "backup", "copy2.sqlite", "--directory", "hub", "--json"],
        ["hub", "migrate"], ["hub", "migrate", "--from", "missing.sqlite", "--to", "postgresql://127.0.0.1:1/none"],
        ["hub", "backup", "copy.sqlite", "--directory", "missing"],
        ["hub", "restore", "missing.sqlite", "--directory", "new"],
        ["hub", "restore", "copy.sqlite", "--directory", "new"],
        ["hub", "restore", "copy.sqlite", "--directory", "new2", "--json"],
        ["hub", "migrate", "--from", "sqlite:copy.sqlite", "--to", "nonsense"],
        ["hub", "migrate", "--from", "sqlite:copy.sqlite", "--to", "{database}"],
        ["hub", "migrate", "--from", "copy2.sqlite", "--to", "{database}", "--json"],
        ["doctor", "--offline", "--hub", "http://127.0.0.1:1"], ["doctor", "--offline", "--json"],
        ["doctor", "--hub", "nonsense"],
        // What ends things comes last.
        ["projects", "rotate", "{project}", "--secret", "--directory", "other"],
        ["projects", "rotate", "{project}", "--key", "--directory", "other", "--json"],
        ["projects", "revoke", "{project}", "--directory", "other"],
        ["projects", "revoke", "{project}", "--close", "--directory", "other", "--json"],
        ["devices", "revoke", "{device}", "--yes", "--json"],
        ["users", "delete", "Mary", "--yes"], ["users", "delete", "Bob", "--yes", "--json"],
        ["completions", "fish"], ["completions", "words", "--", "insp"], ["completions", "tcsh"],
        ["man", "pages"], ["man", "/dev/null/pages"],
    ]
}

/// A hub and a person's device, and what is run on them.
private final class Bench {
    let hub: HubProcess
    let directory: Directory

    init() throws {
        directory = try Directory()
        let catalogue = directory.path + "/catalogue.json"
        try Data(
            #"{"categories":[{"slug":"billing","label":"Billing","channels":[{"slug":"email","label":"Email","required":false,"enabled":true}]}]}"#
                .utf8
        ).write(to: URL(fileURLWithPath: catalogue))
        try Data(
            """
            {"users":["Mary"],"title":"One of a file"}
            {"users":["Mary"],"title":"Another of a file"}

            """.utf8
        ).write(to: URL(fileURLWithPath: directory.path + "/lines.jsonl"))
        hub = try HubProcess(options: ["--catalogue", catalogue])
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/hub", withDestinationPath: hub.directory.path)
    }

    func run(_ words: [String]) throws -> Finished {
        var environment = hub.environment.merging(hub.publisher) { $1 }
        environment.merge(["PEAL_USER": "Mary", "PEAL_DIRECTORY": "devices", "HOME": directory.path]) { $1 }
        if words.first == "config" { environment = ["HOME": directory.path] }
        // Interests are of a device, not of a person.
        if words.first == "interests" || words.prefix(2) == ["projects", "create"] { environment["PEAL_USER"] = nil }
        let process = Peal.process(words, environment: environment)
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        return try Peal.finish(process)
    }

    /// A word, or the id that it stands for.
    func fill(_ word: String) throws -> String {
        let (words, key): ([String], String)
        switch word {
        case "{device}": (words, key) = (["devices", "list", "--json"], "id")
        case "{inbox}": (words, key) = (["users", "inboxes", "Mary", "--json"], "id")
        case "{project}": (words, key) = (["projects", "list", "--directory", "other", "--json"], "instance")
        case "{database}":
            let server = try PostgresServer.shared()
            return server.address(try server.makeDatabase())
        default: return word
        }
        let line = try #require(try run(words).lines.first, "\(words) lists nothing")
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return try #require((object?[key] ?? object?["inbox"]) as? String, "\(line)")
    }

    /// Without what is another each time: times, ids, ports, places, sizes, versions.
    func normal(_ text: String) -> String {
        var text = text
        for (value, name) in [
            (hub.secret, "SECRET"), (hub.key, "KEY"), (hub.instance, "INSTANCE"), (hub.directory.path, "HUB"),
            (directory.path, "HERE"), (directory.path.replacing("//", with: "/"), "HERE"),
            (hub.directory.path.replacing("//", with: "/"), "HUB"),
        ] where !value.isEmpty { text = text.replacing(value, with: name) }
        let patterns: [(String, String)] = [
            (#"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"#, "UUID"),
            (#"20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9:.]{5,}Z?"#, "TIME"), (#"20[0-9]{2}-[0-9]{2}-[0-9]{2}"#, "DAY"),
            (#"\b[0-9]{2}:[0-9]{2}(:[0-9]{2})?\b"#, "CLOCK"), (#"\b1[0-9]{12}\b"#, "MILLISECONDS"),
            (#"\b1[0-9]{9}(\.[0-9]+)?\b"#, "SECONDS"), (#"127\.0\.0\.1:[0-9]{4,5}"#, "LOOPBACK:PORT"),
            (#"127\.0\.0\.1"#, "LOOPBACK"),
            (#"\b[0-9a-zA-Z]{40,}\b"#, "LONG"), (#"\b[0-9a-f]{32}\b"#, "HEX32"), (#"\b[0-9a-f]{16}\b"#, "HEX16"),
            (#"\b[0-9]+(\.[0-9]+)? (ms|s|MB|MiB|GB|GiB|KB|KiB|bytes)\b"#, "N $2"), (#"\b[0-9]+/s"#, "N/s"),
            (#"(bytes +)[0-9]+"#, "$1N"), (#"postgresql://[^ ]+"#, "DATABASE"),
            (#"(moved +|inboxes +|heads |sums |of )[0-9a-f]+( rows|,| in| tables| and)"#, "$1N$2"),
            (#""(rows|inboxes|heads|done|total)":[0-9]+"#, "\"$1\":N"), (#""sum":"[0-9a-f]+""#, "\"sum\":\"N\""),
            (#"\b[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*"#, "VERSION"),
            (#""(bytes|pages|duration|milliseconds)":[0-9.]+"#, "\"$1\":N"), (" {2,}", "  "),
        ]
        for (pattern, with) in patterns {
            text = text.replacingOccurrences(of: pattern, with: with, options: .regularExpression)
        }
        return text
    }
}
