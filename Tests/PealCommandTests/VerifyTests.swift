import Foundation
import Testing

@Suite(.timeLimit(.minutes(3)))
struct VerifyTests {
    private func checks(_ finished: Finished) throws -> [String: String] {
        let object = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
        let checks = try #require(object?["checks"] as? [[String: Any]])
        return Dictionary(
            uniqueKeysWithValues: checks.map { ($0["name"] as? String ?? "", $0["result"] as? String ?? "") })
    }

    private func python(_ words: String...) throws {
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = ["python3", "-c"] + words
        try python.run()
        python.waitUntilExit()
        #expect(python.terminationStatus == 0)
    }

    /// Changes the file as another program would.
    private func edit(_ file: String, _ sql: String) throws {
        try python(
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); c.close()", file,
            sql)
    }

    /// Overwrites the first page of a table.
    private func breakPage(of table: String, _ file: String) throws {
        try python(
            """
            import sqlite3,sys
            c=sqlite3.connect(sys.argv[1]); c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size=c.execute("PRAGMA page_size").fetchone()[0]
            page=c.execute("SELECT rootpage FROM sqlite_schema WHERE name=?", (sys.argv[2],)).fetchone()[0]
            c.close()
            f=open(sys.argv[1], "r+b"); f.seek((page-1)*size); f.write(b"\\xa5"*size); f.close()
            """, file, table)
    }

    @Test func `inspect verify checks a file by itself and against its hub`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "Mary", "--directory", device.path], environment: hub.environment)
        }
        for number in 1...3 {
            let published = try Peal.run(
                ["publish", "--title", "a title \(number)", "--user", "Mary"], environment: hub.publisher)
            #expect(published.status == 0, "\(published.errors)")
        }
        #expect(try run("inbox", "--json").lines.count == 3)
        #expect(try run("mark", "read", "1").output == "done\n")
        #expect(try run("mark", "archive", "2", "--offline").output == "queued\n")
        let file = device.path + "/id-%4dary.peal"

        let alone = try Peal.run("inspect", "verify", file)
        #expect(alone.status == 0, "\(alone.output)")
        #expect(alone.output.contains("sum         ok       the kept sum is that of the rows"))
        #expect(!alone.output.contains("FAILED") && !alone.output.contains("a title"))
        let both = try Peal.run("inspect", "verify", "--json", "--hub", hub.http, file)
        #expect(both.status == 0, "\(both)")
        let results = try checks(both)
        #expect(results["hubSum"] == "passed" && results["hubCounts"] == "passed" && results["hubChain"] == "passed")
        #expect(results.count == 20 && results["hubItems"] == "passed")

        // Another device goes on: the file is behind.
        let other = try Directory()
        let marked = try Peal.run(
            "inbox", "--json", "--user", "Mary", "--directory", other.path, environment: hub.environment)
        #expect(marked.lines.count == 3)
        _ = try Peal.run(
            "mark", "seen", "3", "--user", "Mary", "--directory", other.path, environment: hub.environment)
        let behind = try checks(Peal.run("inspect", "verify", "--json", "--hub", hub.http, file))
        #expect(behind["hubSum"] == "skipped" && behind["hubChain"] == "passed")
        #expect(try run("inbox", "--json").status == 0)

        try edit(file, "UPDATE item SET archived = 1, archived_rank = 4 WHERE position = 3")
        let damaged = try Peal.run("inspect", "verify", "--json", "--hub", hub.http, file)
        #expect(damaged.status == 5)
        let failed = try checks(damaged)
        #expect(
            failed["sum"] == "failed" && failed["registers"] == "failed" && failed["hubCounts"] == "failed"
                && failed["hubItems"] == "failed")
        #expect(failed["integrity"] == "passed" && failed["outbox"] == "passed")

        hub.stop()
        let offline = try Peal.run("inspect", "verify", "--hub", hub.http, file)
        #expect(
            offline.status == 5 && offline.output.contains("FAILED") && offline.errors.contains("cannot be reached"))
        let good = other.path + "/id-%4dary.peal"
        #expect(try Peal.run("inspect", "verify", good).status == 0)
        #expect(try Peal.run("inspect", "verify", "--hub", hub.http, good).status == 3)
        #expect(try Peal.run("inspect", "--hub", hub.http, good).status == 2)
    }

    @Test func `a file with broken pages is never called good, and is looked at as far as it goes`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        for number in 1...2 {
            let published = try Peal.run(
                ["publish", "--title", "a title \(number)", "--user", "Mary"], environment: hub.publisher)
            #expect(published.status == 0)
        }
        let listed = try Peal.run(
            "inbox", "--json", "--user", "Mary", "--directory", device.path, environment: hub.environment)
        #expect(listed.lines.count == 2)
        let file = device.path + "/id-%4dary.peal"
        #expect(try Peal.run("inspect", file).status == 0)
        let whole = device.path + "/copy.peal"
        try FileManager.default.copyItem(atPath: file, toPath: whole)
        try breakPage(of: "mark", file)
        let plain = try Peal.run("inspect", file)
        #expect(plain.status == 5, "\(plain)")
        #expect(!plain.output.contains("integrity       ok"))
        #expect(plain.errors.contains("`peal inspect repair` makes a file of what can be read"))
        try breakPage(of: "journal", whole)
        #expect(try Peal.run("inspect", "verify", whole).status == 5)
        let other = try Peal.run("inspect", whole)
        #expect(other.status == 5 && !other.output.contains("integrity       ok"), "\(other)")
        let verified = try Peal.run("inspect", "verify", file)
        #expect(verified.status == 5, "\(verified)")
        #expect(verified.output.contains("integrity   FAILED") && verified.output.contains("marks       FAILED"))
        #expect(verified.output.contains("identity    ok"), "\(verified)")
        #expect(!verified.output.contains("a title"))
    }

    @Test func `a device's own inbox is compared with the project's secret`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        #expect(
            try Peal.run(
                "interests", "add", "apple", "--directory", device.path, environment: hub.environment
            ).output == "apple\n")
        let file = device.path + "/device.peal"
        #expect(try Peal.run("inspect", "verify", "--hub", hub.http, file).status == 2)
        let checked = try Peal.run(
            "inspect", "verify", "--json", "--hub", hub.http, "--secret", hub.secret, file)
        #expect(checked.status == 0, "\(checked)")
        #expect(try checks(checked)["hubSum"] == "passed")
        let wrong = try Peal.run("inspect", "verify", "--hub", hub.http, "--secret", "x", file)
        #expect(wrong.status == 4, "\(wrong)")
    }
}
