import Foundation
import Testing

@Suite struct CommandLineTests {
    @Test func `help goes to standard output and ends well, nothing at all is a usage error`() throws {
        let help = try Peal.run("--help")
        #expect(help.status == 0)
        #expect(help.output.contains("exit codes: 0 done"))
        for word in [
            "hub", "publish", "inbox", "tail", "mark", "interests", "preferences", "outbox", "explain", "inspect",
            "projects", "devices", "users", "config", "doctor",
        ] {
            #expect(help.output.contains("\n  \(word) "), "\(word) is missing in the help")
        }
        let nothing = try Peal.run([])
        #expect(nothing.status == 2)
    }

    @Test(arguments: [
        ["hub"], ["publish"], ["inbox"], ["tail"], ["mark"], ["mark", "read"], ["mark", "all-read"], ["interests"],
        ["interests", "set"], ["projects", "list"], ["devices", "revoke"], ["users"], ["users", "set"],
        ["config", "set"],
        ["doctor"], ["preferences"], ["preferences", "set"], ["outbox"], ["explain"], ["inspect"],
    ])
    func `every command explains itself`(path: [String]) throws {
        let help = try Peal.run(path + ["--help"])
        #expect(help.status == 0)
        #expect(help.output.hasPrefix("peal \(path.joined(separator: " ")) – "))
        #expect(help.output.contains("usage: peal \(path.joined(separator: " "))"))
    }

    @Test(arguments: [
        (["frobnicate"], "'frobnicate' is no command of 'peal'"),
        (["inbox", "--frob"], "'--frob' is no option of 'inbox'"),
        (["inbox", "--limit"], "'--limit' needs a value"),
        (["inbox", "--key", "k", "--user", "u", "--limit", "0"], "--limit takes a whole number from 1 to 10000"),
        (["inbox", "--key", "k", "--user", "u", "--since", "soon"], "--since takes a time"),
        (["inbox", "--user", "u"], "--key is missing"),
        (["inbox", "--key", "k"], "Whose inbox?"),
        (["inbox", "--key", "k", "--user", "u", "--hub", "ftp://x"], "is not a hub's URL"),
        (["mark", "read"], "ITEM is missing"),
        (["interests", "add", "a b"], "'a b' is not an interest"),
        (["interests", "add", "¢"], "is not an interest"),
        (["preferences", "set", "billing", "email"], "VALUE is missing"),
        (["preferences", "set", "billing", "email", "maybe"], "'maybe' is neither on nor off"),
        (["hub", "--host", "0.0.0.0"], "Without TLS a hub listens on loopback only"),
        (["hub", "--tls-cert", "x"], "--tls-cert and --tls-key go together"),
        (["publish", "--instance", "i", "--secret", "s"], "To whom?"),
        (["publish", "--user", "Mary", "a", "title"], "'title' is one word too many"),
        (["publish", "--user", "Mary", "a title"], "'a title' stands for a file of publishes"),
        (["inspect", "phone.peal", "explain", "2"], "'explain' stands before what it is about: peal inspect explain"),
        (["explain", "2"], "FILE is missing"), (["explain", "phone.peal", "2"], "The item stands before the file"),
        (["publish", "--resume", "x"], "--resume goes with --file"),
        (["publish", "--file", "x", "a"], "One file at a time"), (["publish", "-"], "--key is missing"),
        (["-v", "--color", "pink", "inbox"], "--color takes one of auto, always, never"),
        (["--frob", "inbox"], "'--frob' is no option of 'peal'"),
        (["config", "set", "prot", "1"], "'prot' is no setting"),
        (["devices", "list", "--key", "k"], "Whose devices?"), (["users", "show", "Mary"], "--key is missing"),
    ])
    func `a mistake is named, on standard error, with exit code 2`(words: [String], says: String) throws {
        let directory = try Directory()
        let finished = try Peal.run(words, environment: ["PEAL_DIRECTORY": directory.path])
        #expect(finished.status == 2)
        #expect(finished.errors.contains(says), "\(finished.errors)")
        #expect(finished.output.isEmpty)
    }

    @Test func `a file that is no replica is named, with exit code 5`() throws {
        let directory = try Directory()
        let path = directory.path + "/note.peal"
        try Data("this is a note, not a database, and it is long enough to be read as one".utf8)
            .write(to: URL(fileURLWithPath: path))
        let finished = try Peal.run("inspect", path)
        #expect(finished.status == 5)
        #expect(
            finished.errors.contains("note.peal") || finished.errors.contains("not a database"), "\(finished.errors)")
        let missing = try Peal.run("inspect", directory.path + "/none.peal")
        #expect(missing.status == 5)
        let folder = try Peal.run("inspect", directory.path)
        #expect(folder.status == 5 && folder.errors.contains("is a folder"), "\(folder.errors)")
    }
}
