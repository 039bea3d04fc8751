import Foundation
import Testing

@testable import PealCommand

/// Options that are typed once: the configuration file, its profiles, and `peal config`.
@Suite(.timeLimit(.minutes(2))) struct ProfileTests {
    private let root = Command(
        name: "peal", summary: "", options: GlobalOptions.all,
        subcommands: [InboxCommand.command, HubCommand.command, PublishCommand.command])

    private func parse(_ words: [String], file: String, _ more: [String: String] = [:]) throws -> Arguments {
        let directory = try Directory()
        let path = directory.path + "/config"
        try file.write(toFile: path, atomically: true, encoding: .utf8)
        let environment = more.merging(["PEAL_CONFIG": path]) { $1 }
        guard case .run(let command, let arguments) = try Arguments.parse(words, root: root, environment: environment)
        else { throw Failure(message: "help") }
        return try Profiles.apply(to: arguments, of: command, root: root, environment: environment)
    }

    private let file = """
        # mine
        hub = http://all
        key = k
        [shop]
        hub = http://shop
        user = Mary
        hmac = code
        [other]
        device = true
        """

    @Test
    func `the command line counts more than the environment, that more than the profile, that more than the rest`()
        throws
    {
        let variables = ["PEAL_HUB": "http://variable"]
        #expect(try parse(["inbox"], file: file).value("hub") == "http://all")
        #expect(try parse(["inbox", "--profile", "shop"], file: file).value("hub") == "http://shop")
        #expect(try parse(["inbox", "--profile", "shop"], file: file).value("key") == "k")
        #expect(try parse(["--profile", "shop", "inbox"], file: file, variables).value("hub") == "http://variable")
        let words = ["inbox", "--profile=shop", "--hub", "http://line"]
        #expect(try parse(words, file: file, variables).value("hub") == "http://line")
        #expect(try parse(["inbox"], file: file, ["PEAL_PROFILE": "shop"]).value("hub") == "http://shop")
        #expect(try parse(["inbox"], file: "profile = shop\n" + file).value("hub") == "http://shop")
        let none = try parse(["inbox", "--profile", "default"], file: "profile = shop\n" + file)
        #expect(none.value("hub") == "http://all")
    }

    @Test func `who it is comes from one place: another user has not the profile's proof`() throws {
        let bob = try parse(["inbox", "--profile", "shop", "--user", "Bob"], file: file)
        #expect(bob.all("user") == ["Bob"] && bob.value("hmac") == nil)
        let mary = try parse(["inbox", "--profile", "shop"], file: file)
        #expect(mary.all("user") == ["Mary"] && mary.value("hmac") == "code")
        #expect(try !parse(["inbox", "--profile", "other", "--user", "Bob"], file: file).has("device"))
        let given = try parse(["publish", "--secret-file", "x"], file: "secret = s\n", ["PEAL_SECRET": "t"])
        #expect(given.value("secret") == nil)
    }

    @Test func `a profile does not say what is done: not to whom is published, nor anything to a hub`() throws {
        #expect(try parse(["publish", "--profile", "shop"], file: file).all("user").isEmpty)
        #expect(try parse(["hub"], file: "directory = /x\njson = true\n").value("directory") == nil)
    }

    @Test(arguments: [
        ("hub = a\nprot = 1\n", ":2: 'prot' is no setting."), ("[a]\n[]\n", ":2: this section has no name"),
        ("[a]\nhub = b\nhub = c\n", ":3: 'hub' is there twice."),
        ("[a]\nprofile = b\n", ":2: 'profile' is no setting."),
        ("color = red\n", ":1: 'color' takes one of auto, always, never."),
    ])
    func `a wrong line is named`(file: String, message: String) throws {
        let error = #expect(throws: CommandError.self) { try parse(["inbox"], file: file) }
        #expect(
            error?.code == .usage && error?.message.contains("/config" + message) == true, "\(error?.message ?? "")")
    }

    @Test func `a profile that is not there is named, with those that are`() throws {
        let error = #expect(throws: CommandError.self) { try parse(["inbox", "--profile", "shap"], file: file) }
        #expect(error?.message.contains("no profile 'shap'") == true && error?.hint == "There are: shop, other.")
        let finished = try Peal.run("inbox", "--profile", "x")
        #expect(finished.status == 2 && finished.errors.contains("There is no profile 'x'"))
    }

    @Test func `config writes what it lists, keeps comments, and hides secrets`() throws {
        let directory = try Directory()
        let path = directory.path + "/deep/config"
        func config(_ words: String..., input: String? = nil) throws -> Finished {
            let process = Peal.process(["config"] + words, environment: ["PEAL_CONFIG": path])
            return try Peal.finish(process, input: input)
        }
        #expect(try config("list").status == 0)
        #expect(try config("get", "hub").status == 1)
        #expect(try config("set", "hub", "http://all").status == 0)
        #expect(try config("--profile", "shop", "set", "hub", "http://shop").status == 0)
        #expect(try config("--profile", "shop", "set", "secret", input: "hush\n").status == 0)
        #expect(try config("set", "prot", "1").errors.contains("'prot' is no setting"))
        #expect(try config("set", "color", "red").errors.contains("takes one of auto"))
        #expect(try config("use", "shap").status == 2)
        #expect(try config("get", "hub").output == "http://all\n")
        #expect(try config("use", "shop").status == 0)
        #expect(try config("get", "hub").output == "http://shop\n")
        var text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == "hub = http://all\nprofile = shop\n\n[shop]\nhub = http://shop\nsecret = hush\n")
        try ("# mine\n" + text).write(toFile: path, atomically: true, encoding: .utf8)
        let list = try config("list")
        #expect(list.output == "hub = http://all\nprofile = shop\n[shop] *\nhub = http://shop\nsecret = (hidden)\n")
        #expect(try !config("list", "--json").output.contains("hush"))
        #expect(try config("unset", "secret", "--profile", "shop").status == 0)
        #expect(try config("unset", "secret", "--profile", "shop").status == 1)
        #expect(try config("use", "default").status == 0)
        text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == "# mine\nhub = http://all\n\n[shop]\nhub = http://shop\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try config("path").output == path + "\n")
    }

    @Test func `a path is kept as one that holds in every folder`() throws {
        let directory = try Directory()
        let path = directory.path + "/config"
        for (key, value) in [("ca", "ca.pem"), ("secret-file", "~/secret"), ("directory", "/there")] {
            #expect(try Peal.run(["config", "set", key, value], environment: ["PEAL_CONFIG": path]).status == 0)
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines[0].hasPrefix("ca = /") && lines[0].hasSuffix("/ca.pem"))
        #expect(lines.dropFirst() == ["secret-file = ~/secret", "directory = /there"])
    }

    @Test func `a file of another key says so, and is taken over where the key was replaced`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func inbox(_ key: String, _ words: String...) throws -> Finished {
            try Peal.run(
                ["inbox", "--user", "Mary", "--json", "--directory", device.path, "--key", key] + words,
                environment: ["PEAL_HUB": hub.http])
        }
        // A key that nobody has leaves nothing that is of it.
        #expect(try inbox("mistyped").status == 4)
        #expect(try inbox(hub.key).status == 0)
        let rotated = try Peal.run(
            "projects", "rotate", hub.instance, "--key", "--json", "--directory", hub.directory.path)
        let object = try JSONSerialization.jsonObject(with: Data(rotated.output.utf8)) as? [String: Any]
        let key = try #require(object?["key"] as? String)
        #expect(
            try Peal.run(
                "mark", "all-read", "--user", "Mary", "--offline", "--key", hub.key, "--directory", device.path
            ).status == 0)
        let refused = try inbox(key)
        #expect(
            refused.status == 5 && refused.errors.contains("another project") && refused.errors.contains("--former-key")
        )
        let doctor = try Peal.run(
            ["doctor", "--offline", "--key", key, "--directory", device.path],
            environment: ["PEAL_CONFIG": "/nonexistent"])
        #expect(doctor.output.contains("of another project, or of a key that was replaced"), "\(doctor)")
        // A running hub looks at its file every few seconds.
        hub.stop()
        try hub.start()
        #expect(try inbox(key, "--former-key", hub.key).status == 0)
        let outbox = try Peal.run(
            ["outbox", "--user", "Mary", "--directory", device.path, "--key", key], environment: ["PEAL_HUB": hub.http])
        #expect(outbox.status == 0 && outbox.output == "The outbox is empty\n", "\(outbox)")
    }

    @Test func `a secret that others can read is told, and a secret in a file is used`() throws {
        let directory = try Directory()
        let (path, secret) = (directory.path + "/config", directory.path + "/secret")
        try "hub = http://127.0.0.1:1\nkey = k\nsecret = hush\n".write(toFile: path, atomically: true, encoding: .utf8)
        try "hush\n".write(toFile: secret, atomically: true, encoding: .utf8)
        func warning(_ mode: Int, _ words: String...) throws -> String {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: secret)
            return try Peal.run(["outbox", "--user", "Mary", "--offline"] + words, environment: ["PEAL_CONFIG": path])
                .errors
        }
        #expect(try warning(0o644).contains("holds a secret and others can read it (mode 644): chmod 600 \(path)"))
        #expect(try !warning(0o644, "-q").contains("chmod"))
        #expect(try !warning(0o600).contains("chmod"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: secret)
        #expect(try SecretFile.read(secret) == "hush")
        #expect(throws: CommandError.self) { try SecretFile.read(directory.path + "/none") }
    }

    @Test func `colours are where they are wanted and can be shown`() {
        func colours(_ color: Output.Color, _ isTerminal: Bool, _ variables: [String: String] = [:]) -> Bool {
            Output.hasColours(color, isTerminal: isTerminal) { variables[$0] }
        }
        #expect(colours(.auto, true) && !colours(.auto, false))
        #expect(colours(.always, false, ["NO_COLOR": "1", "TERM": "dumb"]))
        #expect(!colours(.never, true, ["CLICOLOR_FORCE": "1"]))
        #expect(!colours(.auto, true, ["NO_COLOR": "1"]) && colours(.auto, true, ["NO_COLOR": ""]))
        #expect(!colours(.auto, true, ["TERM": "dumb"]) && !colours(.auto, true, ["CLICOLOR": "0"]))
        #expect(colours(.auto, false, ["CLICOLOR_FORCE": "1"]) && !colours(.auto, false, ["CLICOLOR_FORCE": "0"]))
    }

    @Test func `color is of every command, also before its word`() throws {
        for words in [["--color=always", "frobnicate"], ["inbox", "--color", "always"]] {
            #expect(try Peal.run(words).status == 2)
        }
        let finished = try Peal.run("--color", "always", "inbox", "--key", "k")
        #expect(finished.errors.hasPrefix("\u{1B}[31mpeal:\u{1B}[0m Whose inbox?"))
        #expect(try Peal.run("inbox", "--key", "k").errors.hasPrefix("peal: Whose inbox?"))
    }
}
