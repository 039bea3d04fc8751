import Foundation
import Testing

/// What `peal inspect` says, kept word by word in `Golden`; `PEAL_RECORD=1 swift test --filter InspectGoldenTests` writes it anew.
@Suite(.timeLimit(.minutes(2)))
struct InspectGoldenTests {
    @Test func `every view's table and JSON are as they are kept`() throws {
        let bench = try InspectBench()
        let views: [(String, [String])] = [
            ("overview", ["phone.peal"]), ("items", ["items", "phone.peal"]),
            ("items-content", ["items", "--content", "--limit", "2", "phone.peal"]),
            ("outbox", ["outbox", "phone.peal"]),
            ("outbox-content", ["outbox", "--content", "phone.peal"]), ("dead", ["dead", "phone.peal"]),
            ("journal", ["journal", "phone.peal"]), ("sessions", ["sessions", "phone.peal"]),
            ("entries", ["entries", "phone.peal"]),
            ("entries-content", ["entries", "--content", "--limit", "3", "phone.peal"]),
            ("marks", ["marks", "phone.peal"]), ("explain", ["explain", "6", "phone.peal"]),
            ("verify", ["verify", "phone.peal"]), ("diff", ["diff", "phone.peal", "laptop.peal"]),
        ]
        for (name, words) in views {
            for json in [false, true] {
                let all = ["inspect"] + words + (json ? ["--json"] : [])
                let done = try bench.run(all)
                let title = "inspect-\(name)\(json ? "-json" : "")"
                #expect(try GoldenText.difference(title, GoldenText.transcript(all, done)) == nil)
                #expect(done.status == 0, "\(name): \(done)")
                if !name.hasSuffix("-content") {
                    for word in ["a title", "a text", "order:", "a nonce", "a secret", "\u{1B}"] {
                        #expect(!done.output.contains(word), "\(name) shows \(word)")
                    }
                }
                if json {
                    for line in done.lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
                }
            }
        }
    }

    @Test func `what is made and written is told as it is kept`() throws {
        let made: [(String, [String])] = [
            ("export", ["export", "phone.peal"]),
            ("export-csv", ["export", "--format", "csv", "--content", "phone.peal"]),
            ("redact", ["redact", "phone.peal", "-o", "copy.peal"]),
            ("redact-json", ["redact", "--json", "phone.peal", "-o", "copy.peal"]),
            ("repair", ["repair", "--yes", "phone.peal"]),
            ("repair-json", ["repair", "--yes", "--json", "phone.peal"]),
            ("discard", ["discard", "dead", "phone.peal"]),
            ("discard-json", ["discard", "--json", "dead", "phone.peal"]),
        ]
        for (name, words) in made {
            let bench = try InspectBench()
            let done = try bench.run(["inspect"] + words)
            #expect(done.status == 0, "\(done)")
            #expect(
                try GoldenText.difference("inspect-\(name)", GoldenText.transcript(["inspect"] + words, done)) == nil)
        }
    }

    @Test func `the page on the inspector shows what the commands say`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("docs/inspector.md"), encoding: .utf8)
        var kept = Set<String>()
        for name in try FileManager.default.contentsOfDirectory(atPath: GoldenText.folder) {
            let text = try String(contentsOfFile: GoldenText.folder + "/" + name, encoding: .utf8)
            kept.insert(text.components(separatedBy: "\n--- ")[0])
        }
        // Blocks are indented, and no line within one is empty.
        var blocks: [[String]] = [[]]
        for line in page.components(separatedBy: "\n") {
            if line.hasPrefix("    ") {
                blocks[blocks.count - 1].append(String(line.dropFirst(4)))
            } else {
                blocks.append([])
            }
        }
        let shown = blocks.map { $0.joined(separator: "\n") }.filter { $0.hasPrefix("$ peal inspect") }
        #expect(shown.count == 11)
        #expect(shown.filter { !kept.contains($0) } == [])
    }

    @Test func `every mistake is told as it is kept`() throws {
        let bench = try InspectBench()
        try Data("this is a note and no database".utf8).write(
            to: URL(fileURLWithPath: bench.directory.path + "/note.peal"))
        try Data().write(to: URL(fileURLWithPath: bench.directory.path + "/empty.peal"))
        let mistakes: [(String, [String])] = [
            ("no-file", []), ("missing", ["missing.peal"]), ("note", ["items", "note.peal"]),
            ("empty", ["verify", "empty.peal"]),
            ("too-many", ["item", "phone.peal"]), ("limit", ["items", "--limit", "0", "phone.peal"]),
            ("after", ["items", "--after", "x", "phone.peal"]), ("explain-unknown", ["explain", "99", "phone.peal"]),
            ("explain-word", ["explain", "x", "phone.peal"]),
            ("hub-alone", ["--hub", "http://127.0.0.1:1", "phone.peal"]),
            ("diff-one", ["diff", "phone.peal"]), ("format", ["export", "--format", "xml", "phone.peal"]),
            ("sqlite-nowhere", ["export", "--format", "sqlite", "phone.peal"]),
            ("redact-nowhere", ["redact", "phone.peal"]),
            ("redact-there", ["redact", "phone.peal", "-o", "laptop.peal"]),
            ("export-there", ["export", "phone.peal", "-o", "laptop.peal"]),
            ("repair-no-terminal", ["repair", "phone.peal"]),
            ("retry-word", ["retry", "x", "phone.peal"]),
            ("retry-unknown", ["retry", "0000000000000001", "laptop.peal"]),
            ("discard-unknown", ["discard", "0000000000000001", "laptop.peal"]),
        ]
        for (name, words) in mistakes {
            let done = try bench.run(["inspect"] + words)
            #expect(done.status != 0, "\(name)")
            #expect(!done.errors.isEmpty, "\(name)")
            #expect(
                try GoldenText.difference(
                    "inspect-error-\(name)", GoldenText.transcript(["inspect"] + words, done)) == nil)
        }
    }
}
