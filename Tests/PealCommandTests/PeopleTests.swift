import Foundation
import Testing

@testable import PealCommand

/// `peal devices`, `peal users` and `peal projects`, against a hub.
@Suite(.timeLimit(.minutes(2))) struct PeopleTests {
    /// The first line of what was printed.
    private func object(_ finished: Finished) throws -> [String: Any] {
        try object(#require(finished.lines.first, "\(finished.errors)"))
    }

    private func object(_ line: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
    }

    private func run(_ hub: HubProcess, _ words: String..., device: Directory? = nil) throws -> Finished {
        var environment = hub.environment.merging(hub.publisher) { $1 }
        environment["PEAL_INSTANCE"] = nil
        environment["PEAL_DIRECTORY"] = device?.path
        return try Peal.run(words, environment: environment)
    }

    @Test func `a user's devices are listed and shown, and one that is revoked comes back as another`() throws {
        let hub = try HubProcess()
        let (phone, laptop) = (try Directory(), try Directory())
        let keyAndSecret = try run(hub, "publish", "-q", "--user", "Bob", "--title", "x")
        #expect(keyAndSecret.status == 0, "\(keyAndSecret.errors)")
        for device in [phone, laptop] {
            #expect(try run(hub, "inbox", "--user", "Mary", device: device).status == 0)
        }
        let table = try run(hub, "devices", "list", "--user", "Mary")
        try #require(table.lines.count == 3, "\(table)")
        #expect(table.lines[0].hasPrefix("ID "))
        #expect(table.lines[0].hasSuffix("KIND     PLATFORM  PUSH  LAST SEEN"))
        let rows = try run(hub, "devices", "list", "--user", "Mary", "--json").lines.map(object)
        let ids = rows.compactMap { $0["id"] as? String }
        try #require(ids.count == 2, "\(table)")
        #expect(
            ids.count == 2 && rows.allSatisfy { $0["kind"] as? String == "replica" && $0["push"] as? Bool == false })
        let one = try run(hub, "devices", "show", String(ids[0].prefix(12)), "--user", "Mary")
        #expect(one.output.contains("id          \(ids[0])\n") && one.output.contains("position    0 of 0"), "\(one)")
        #expect(
            try object(run(hub, "devices", "show", ids[0], "--user", "Mary", "--json"))["acts"] as? Int == 0)
        #expect(
            try run(hub, "devices", "show", "zz", "--user", "Mary").errors.contains("'zz' is no device of this user."))
        #expect(try run(hub, "devices", "show", "", "--user", "Mary").status == 1)
        let unasked = try run(hub, "devices", "revoke", ids[0], "--user", "Mary")
        #expect(unasked.status == 2 && unasked.errors.contains("Give --yes."))
        #expect(try run(hub, "devices", "revoke", ids[0], "--user", "Mary", "--yes").output == "revoked \(ids[0])\n")
        #expect(try run(hub, "devices", "list", "--user", "Mary", "--json").lines.count == 1)
        #expect(try run(hub, "devices", "list").errors.contains("Whose devices?"))
        #expect(try run(hub, "devices", "list", "--user", "Mary", "--secret", "wrong").status == 4)
    }

    @Test func `a user is set, shown safely, has inboxes, and is gone after delete`() throws {
        let hub = try HubProcess()
        let set = try run(
            hub, "users", "set", "Mary", "--first-name", "Ma\u{1B}[2Jry", "--add-email", "mary@example.org", "--phone",
            "+1", "--attributes", #"{"plan":"gold"}"#)
        #expect(set.status == 0 && set.output.contains("first name   Ma\u{241B}[2Jry\n"), "\(set)")
        #expect(!set.output.contains("\u{1B}"))
        let shown = try object(run(hub, "users", "show", "email:mary@example.org", "--json"))
        #expect(shown["external_id"] as? String == "Mary" && shown["phone_numbers"] as? [String] == ["+1"])
        #expect((shown["custom_attributes"] as? [String: String]) == ["plan": "gold"])
        let id = try #require(shown["id"] as? String)
        #expect(
            try run(hub, "users", "set", "id:\(id)", "--last-name", "Poppins").output.contains("last name    Poppins"))
        #expect(try run(hub, "users", "show", "Mary").output.contains("last name    Poppins"))
        let inboxes = try run(hub, "users", "inboxes", "Mary")
        #expect(inboxes.lines.last?.hasPrefix(id + "  user  0") == true, "\(inboxes)")
        #expect(try object(run(hub, "users", "inboxes", "Mary", "--json"))["total"] as? Int == 0)
        #expect(try run(hub, "users", "dead-letters", id).errors == "no dead letters\n")
        #expect(try run(hub, "users", "set", "Mary", "--attributes", "[").errors.contains("takes a JSON object"))
        #expect(try run(hub, "users", "delete", "Mary").status == 2)
        #expect(try run(hub, "users", "delete", "Mary", "-y").output == "deleted Mary\n")
        let gone = try run(hub, "users", "show", "Mary")
        #expect(gone.status == 4 && gone.errors.contains("404"))
        #expect(try run(hub, "users", "delete", "Mary", "-y").status == 4)
    }

    @Test func `projects are a table with aligned columns, by both names`() throws {
        let directory = try Directory()
        func projects(_ word: String, _ more: String...) throws -> Finished {
            try Peal.run([word] + more + ["--directory", directory.path])
        }
        #expect(try projects("projects", "create", "--name", "漢字の店").status == 0)
        #expect(try projects("project", "create", "--name", "Sh\u{1B}op", "--no-hmac").status == 0)
        let table = try projects("projects", "list")
        try #require(table.lines.count == 3, "\(table)")
        // Wide characters take two columns.
        let columns = table.lines.dropFirst().map { line in
            let key = line.split(separator: " ").first { $0.count == 40 } ?? ""
            return TerminalText.width(String(line.prefix(upTo: key.startIndex)))
        }
        #expect(Set(columns).count == 1 && columns[0] > 40 && !table.output.contains("\u{1B}"), "\(table.output)")
        let rows = try projects("project", "list", "--json").lines.map(object)
        #expect(rows.map { $0["name"] as? String } == ["漢字の店", "Sh\u{1B}op"])
        #expect(rows.allSatisfy { $0["secret"] == nil })
    }

    @Test func `a table is as wide as its widest cells, and shows nothing that steers a terminal`() {
        var table = Table("A", "B", "C")
        table.add("漢字", nil, "x")
        table.add("a\u{1B}b", "long one", "\u{202E}y")
        #expect(table.lines == ["A     B         C", "漢字  -         x", "a\u{241B}b   long one  \u{FFFD}y"])
    }
}
