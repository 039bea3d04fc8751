import Foundation
import PealModel
import PealReplica
import Testing

/// `peal inspect` as a person runs it: what it makes, what it refuses, and files that are damaged.
@Suite(.timeLimit(.minutes(2)))
struct InspectTests {
    private func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func names(_ bench: InspectBench) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bench.directory.path).sorted()
    }

    @Test func `no view changes a file, and none leaves anything beside it`() throws {
        let bench = try InspectBench()
        let before = (try names(bench), try Data(contentsOf: URL(fileURLWithPath: bench.phone)))
        for view in [
            [], ["items"], ["outbox"], ["dead"], ["journal"], ["sessions"], ["entries"], ["marks"], ["verify"],
            ["export"],
        ] {
            #expect(try bench.run(["inspect"] + view + ["phone.peal"]).status == 0)
        }
        let after = (try names(bench), try Data(contentsOf: URL(fileURLWithPath: bench.phone)))
        #expect(before == after)
    }

    @Test func `a file that is named like a command, or has a strange name, is looked at all the same`() throws {
        let bench = try InspectBench()
        for name in ["items", "a b?c#d%41.peal"] {
            try FileManager.default.copyItem(atPath: bench.phone, toPath: bench.directory.path + "/" + name)
            #expect(try bench.run(["inspect", "./" + name]).status == 0)
            #expect(try bench.run(["inspect", "items", name]).lines.count == 9)
        }
    }

    @Test func `pages follow each other`() throws {
        let bench = try InspectBench()
        let first = try bench.run(["inspect", "items", "--json", "--limit", "5", "phone.peal"])
        #expect(first.lines.count == 5 && first.errors == "There is more: --after 5\n")
        let second = try bench.run(["inspect", "items", "--json", "--limit", "5", "--after", "5", "phone.peal"])
        #expect(second.lines.count == 3 && second.errors.isEmpty)
        #expect(try object(second.lines[0])["number"] as? Int == 4)
    }

    @Test func `a file that is cut off is told to be so by every view, with exit code 5`() throws {
        let bench = try InspectBench()
        let whole = try Data(contentsOf: URL(fileURLWithPath: bench.phone))
        let path = bench.directory.path + "/cut.peal"
        for part in [3, 10, 15] {
            try whole.prefix(whole.count * part / 16).write(to: URL(fileURLWithPath: path))
            for view in [
                [], ["items"], ["outbox"], ["dead"], ["journal"], ["sessions"], ["entries"], ["marks"], ["verify"],
            ] {
                let done = try bench.run(["inspect"] + view + ["cut.peal"])
                #expect(done.status == 5, "\(part) \(view): \(done)")
                #expect((done.output + done.errors).contains("cut.peal is cut off"), "\(part) \(view): \(done)")
            }
        }
        let small = try bench.run(["inspect", "cut.peal"])
        #expect(small.errors.contains("peal inspect repair"))
    }

    @Test func `a page of a table that is overwritten is named, and the rest of the file is shown`() throws {
        let bench = try InspectBench()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: bench.phone))
        let root = Int(try rootPage(of: "journal", bench.phone))
        bytes.replaceSubrange((root - 1) * 4_096..<root * 4_096, with: Data(repeating: 0xA5, count: 4_096))
        try bytes.write(to: URL(fileURLWithPath: bench.directory.path + "/broken.peal"))
        let journal = try bench.run(["inspect", "journal", "broken.peal"])
        #expect(journal.status == 5 && journal.errors.contains("journal cannot be read any further"), "\(journal)")
        #expect(try bench.run(["inspect", "items", "broken.peal"]).status == 0)
        #expect(try bench.run(["inspect", "outbox", "broken.peal"]).lines.count == 4)
        let overview = try bench.run(["inspect", "broken.peal"])
        #expect(overview.status == 5 && overview.output.contains("Table journal cannot be read"), "\(overview)")
        let entries = try bench.run(["inspect", "entries", "broken.peal"])
        #expect(entries.status == 5 && entries.lines.count > 10, "\(entries)")
    }

    private func rootPage(of table: String, _ path: String) throws -> Int64 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c",
            "import sqlite3,sys; print(sqlite3.connect('file:'+sys.argv[1]+'?immutable=1',uri=True)"
                + ".execute('SELECT rootpage FROM sqlite_schema WHERE name=?',(sys.argv[2],)).fetchone()[0])", path,
            table,
        ]
        let done = try Peal.finish(process)
        return try #require(Int64(done.output.trimmingCharacters(in: .whitespacesAndNewlines)), "\(done)")
    }

    // MARK: What it makes

    @Test func `export writes every row as JSON Lines and items as CSV, without content unless it is asked for`() throws
    {
        let bench = try InspectBench()
        let lines = try bench.run(["inspect", "export", "phone.peal"])
        let kinds = try lines.lines.map { try object($0)["kind"] as? String ?? "" }
        #expect(kinds.filter { $0 == "item" }.count == 8 && kinds.filter { $0 == "outbox" }.count == 3)
        #expect(Set(kinds) == ["item", "outbox", "dead", "journal", "entry", "mark", "session"])
        #expect(!lines.output.contains("a title"))
        #expect(try bench.run(["inspect", "export", "--content", "phone.peal"]).output.contains("a title 3"))

        let csv = try bench.run(["inspect", "export", "--format", "csv", "--content", "phone.peal", "-o", "items.csv"])
        #expect(csv.status == 0 && csv.output.isEmpty)
        let path = bench.directory.path + "/items.csv"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("number,id,publish,") && text.contains(",a title 8,"))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let again = try bench.run(["inspect", "export", "--format", "csv", "phone.peal", "-o", "items.csv"])
        #expect(again.status == 1 && again.errors.contains("--force"))
        #expect(
            try bench.run(["inspect", "export", "--format", "csv", "--force", "phone.peal", "-o", "items.csv"]).status
                == 0)
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("a title"))
        let itself = try bench.run(["inspect", "export", "--force", "phone.peal", "-o", "./phone.peal"])
        #expect(itself.status == 2 && itself.errors.contains("FILE itself"))
        #expect(try bench.run(["inspect", "verify", "phone.peal"]).status == 0)
    }

    @Test func `a redacted copy is looked at like the file, and two of them are compared like the files`() throws {
        let bench = try InspectBench()
        for name in ["phone", "laptop"] {
            let done = try bench.run(["inspect", "redact", name + ".peal", "-o", name + "-redacted.peal"])
            #expect(done.status == 0 && done.output.contains("\(name)-redacted.peal is made"), "\(done)")
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: bench.directory.path + "/phone-redacted.peal"))
        for word in ["a title", "a text", "order:", "Mary", "shop", "a secret", "a nonce"] {
            #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) is in the copy")
        }
        for view in ["outbox", "journal", "sessions", "marks", "verify"] {
            let (whole, redacted) = (
                try bench.run(["inspect", view, "phone.peal"]), try bench.run(["inspect", view, "phone-redacted.peal"])
            )
            #expect(whole.output == redacted.output && redacted.status == 0, "\(view)")
        }
        let same = try bench.run(["inspect", "diff", "phone.peal", "phone-redacted.peal"])
        #expect(same.status == 0 && same.output.contains("Every item is shown alike."), "\(same)")
        let diff = try bench.run(["inspect", "diff", "phone-redacted.peal", "laptop-redacted.peal"])
        #expect(diff.status == 0 && diff.output.contains("it will agree when A's outbox is sent"), "\(diff)")
        #expect(
            try bench.run(["inspect", "export", "--format", "sqlite", "phone.peal", "-o", "rows.sqlite"]).status == 0)
        #expect(try bench.run(["inspect", "verify", "rows.sqlite"]).status == 0)
    }

    @Test func `two files of two inboxes are not compared`() throws {
        let bench = try InspectBench()
        let other = try Replica(
            path: bench.directory.path + "/other.peal", identity: .user(externalID: "Bob", email: nil), project: "shop")
        _ = try other.view()
        let done = try bench.run(["inspect", "diff", "phone.peal", "other.peal"])
        #expect(done.status == 1 && done.errors.contains("is of inbox inbox and other.peal of none yet"), "\(done)")
    }

    @Test func `repair makes a file beside the damaged one, says what is in it, and the app goes on with it`() throws {
        let bench = try InspectBench()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: bench.phone))
        let root = Int(try rootPage(of: "register", bench.phone))
        bytes.replaceSubrange((root - 1) * 4_096..<root * 4_096, with: Data(repeating: 0xA5, count: 4_096))
        try bytes.write(to: URL(fileURLWithPath: bench.phone))
        #expect(try bench.run(["inspect", "verify", "phone.peal"]).status == 5)
        let done = try bench.run(["inspect", "repair", "--yes", "phone.peal"])
        #expect(done.status == 0, "\(done)")
        #expect(done.output.contains("The outbox has 4 acts, as they were."))
        #expect(done.output.contains("asks its hub for a snapshot in the next session"))
        #expect(done.output.contains("then: mv phone.peal.repaired phone.peal"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.phone)) == bytes)
        #expect(try bench.run(["inspect", "outbox", "phone.peal.repaired"]).lines.count == 4)
        let again = try bench.run(["inspect", "repair", "--yes", "phone.peal"])
        #expect(again.status == 1 && again.errors.contains("is there already"), "\(again)")
        #expect(try !names(bench).contains { $0.contains("partial") })
    }

    @Test func `repair asks at a terminal, says what it knows to be wrong, and makes nothing without a yes`() throws {
        let bench = try InspectBench()
        let whole = try Data(contentsOf: URL(fileURLWithPath: bench.phone))
        try whole.prefix(whole.count - 6_000).write(to: URL(fileURLWithPath: bench.phone))
        func answer(_ word: String) throws -> Finished {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.currentDirectoryURL = URL(fileURLWithPath: bench.directory.path)
            let script = """
                import os, pty, sys
                pid, fd = pty.fork()
                if pid == 0: os.execv(sys.argv[1], [sys.argv[1], "inspect", "repair", "phone.peal"])
                os.write(fd, (sys.argv[2] + "\\n").encode())
                while True:
                    try: piece = os.read(fd, 4096)
                    except OSError: break
                    if not piece: break
                    os.write(1, piece)
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                """
            process.arguments = ["python3", "-c", script, Peal.binary.path, word]
            return try Peal.finish(process)
        }
        let no = try answer("no")
        #expect(no.status == 1 && no.output.contains("phone.peal is cut off") && no.output.contains("[y/N]"), "\(no)")
        #expect(try !names(bench).contains("phone.peal.repaired"))
        let yes = try answer("yes")
        #expect(yes.status == 0 && yes.output.contains("The outbox has"), "\(yes)")
        #expect(try names(bench).contains("phone.peal.repaired"))
    }

    @Test func `a dead letter is made again or forgotten in the file, and not while an app has it`() throws {
        let bench = try InspectBench()
        let line = try object(try bench.run(["inspect", "dead", "--json", "phone.peal"]).lines[0])
        let uid = try #require(line["uid"] as? String)
        let lease = try #require(try Lease.take(path: bench.phone))
        let refused = try bench.run(["inspect", "retry", uid, "phone.peal"])
        #expect(
            refused.status == 1 && refused.errors.contains("is in use") && refused.errors.contains("peal outbox retry"))
        lease.release()
        let retried = try bench.run(["inspect", "retry", uid, "phone.peal"])
        #expect(retried.status == 0 && retried.output.contains("\(uid) is made again as"), "\(retried)")
        #expect(try bench.run(["inspect", "dead", "phone.peal"]).output == "No dead letters\n")
        #expect(try bench.run(["inspect", "outbox", "--json", "phone.peal"]).lines.count == 4)
        let last = try object(try bench.run(["inspect", "outbox", "--json", "phone.peal"]).lines[3])
        let new = try #require(last["uid"] as? String)
        #expect(try bench.run(["inspect", "discard", new, "phone.peal"]).output == "\(new) is discarded\n")
        #expect(try bench.run(["inspect", "discard", "dead", "phone.peal"]).output == "No dead letters\n")
        #expect(try bench.run(["inspect", "verify", "phone.peal"]).status == 0)
    }
}
