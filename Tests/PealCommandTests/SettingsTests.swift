import Foundation
import Testing

@testable import PealCommand

/// Where `peal hub` gets its settings from: options, the environment, a file.
@Suite struct SettingsTests {
    private func parse(
        _ words: [String], _ environment: [String: String] = [:], file: String? = nil
    ) throws -> Arguments {
        let request = try Arguments.parse(["hub"] + words, root: root, environment: environment)
        guard case .run(_, let arguments) = request else { throw Failure(message: "help") }
        guard let file else { return arguments }
        let directory = try Directory()
        let path = directory.path + "/hub.conf"
        try file.write(toFile: path, atomically: true, encoding: .utf8)
        return try ConfigurationFile.apply(path, to: arguments, options: HubCommand.options)
    }

    private let root = Command(name: "peal", summary: "", subcommands: [HubCommand.command])

    @Test func `an option counts more than the environment, and that more than the file`() throws {
        let file = "# a comment\n\nhttp-port = 1\n host= \"::1\" \ninsecure = true\nrequire-hmac = no\n"
        #expect(try parse([], file: file).value("http-port") == "1")
        let environment = ["PEAL_HUB_HTTP_PORT": "2", "PEAL_HUB_INSECURE": "false"]
        let merged = try parse([], environment, file: file)
        #expect(merged.value("http-port") == "2" && merged.value("host") == "::1")
        #expect(!merged.has("insecure") && !merged.has("require-hmac"))
        #expect(try parse(["--http-port", "3"], environment, file: file).value("http-port") == "3")
        #expect(try parse(["--insecure"], environment, file: file).has("insecure"))
    }

    @Test(arguments: [
        ("host = a\nprot = 1\n", ":2: 'prot' is no setting."), ("host\n", ":1: this is no line"),
        ("host = a\n\nhost = b", ":3: 'host' is there twice."), ("insecure = perhaps", ":1: 'insecure' is a switch"),
        ("config = other", ":1: 'config' is no setting."), ("= 1", ":1: '' is no setting."),
    ])
    func `a wrong line is named by file, line and key`(file: String, message: String) throws {
        let error = #expect(throws: CommandError.self) { try parse([], file: file) }
        #expect(
            error?.code == .usage && error?.message.contains("/hub.conf" + message) == true, "\(error?.message ?? "")")
    }

    @Test func `a number in a file that is none is named by file, line and key`() throws {
        let arguments = try parse([], file: "host = a\nhttp-port = many\n")
        let error = #expect(throws: CommandError.self) { try arguments.int("http-port", in: 0...9, default: 1) }
        #expect(error?.message.hasSuffix("/hub.conf:2: 'http-port' takes a whole number from 0 to 9.") == true)
    }

    @Test func `what a first start makes is shown although the start fails, and what is refused makes nothing`() throws
    {
        let directory = try Directory()
        let running = try HubProcess()
        func hub(_ words: String...) throws -> Finished {
            try Peal.run(["hub", "--directory", directory.path + "/hub"] + words)
        }
        let catalogue = directory.path + "/catalogue.json"
        try "{".write(toFile: catalogue, atomically: true, encoding: .utf8)
        let nowhere = directory.path + "/none.pem"
        let missing = try hub("--tls-cert", nowhere, "--tls-key", catalogue)
        #expect(
            missing.status == 5 && missing.errors.contains("The certificate \(nowhere) is not there"), "\(missing)")
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/hub"))
        let broken = try hub("--catalogue", catalogue, "--http-port", "0", "--websocket-port", "0")
        #expect(broken.status == 1 && broken.output.isEmpty, "\(broken)")
        let taken = try hub("--http-port", "0", "--websocket-port", String(running.webSocketPort))
        #expect(taken.status == 1 && taken.errors.contains("--websocket-port"), "\(taken)")
        #expect(taken.output.contains("  secret    ") && taken.output.contains("  operator  "), "\(taken)")
    }

    @Test func `a second hub on a file does not start, and the first one goes on`() throws {
        let running = try HubProcess()
        let second = try Peal.run(
            "hub", "--directory", running.directory.path, "--http-port", "0", "--websocket-port", "0")
        #expect(second.status == 1 && second.errors.contains("another hub runs on"), "\(second)")
        let published = try Peal.run("publish", "--user", "Mary", "--title", "x", environment: running.publisher)
        #expect(published.status == 0)
        // The lock goes with the process, however it ends.
        running.stop(signal: SIGKILL)
        try running.start()
    }

    @Test func `a variable that is no number, or no switch, is named`() throws {
        let error = #expect(throws: CommandError.self) { try parse([], ["PEAL_HUB_INSECURE": "perhaps"]) }
        #expect(error?.message.contains("$PEAL_HUB_INSECURE is a switch") == true)
    }

    @Test func `every option of the hub has a variable of its name, and help says so`() throws {
        for option in HubCommand.options {
            #expect(option.environment == "PEAL_HUB_" + option.name.uppercased().replacing("-", with: "_"))
        }
        let help = try Peal.run("hub", "--help")
        #expect(help.output.contains("[$PEAL_HUB_HTTP_PORT]") && help.output.contains("backup"))
    }

    @Test func `a hub runs by a file alone, and does what it says`() throws {
        let directory = try Directory()
        let path = directory.path + "/hub.conf"
        try
            "directory = \(directory.path)/hub\nhttp-port = 0\nwebsocket-port = 0\nlog-level = info\nrequests-per-project = 1\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let hub = Peal.process(["hub", "--config", path, "--json"])
        let output = Pipe()
        hub.standardOutput = output
        hub.standardError = FileHandle.nullDevice
        try hub.run()
        let line = output.fileHandleForReading.availableData
        #expect(String(decoding: line, as: UTF8.self).contains("\"http\":\"http://127.0.0.1:"))
        hub.terminate()
        hub.waitUntilExit()
        #expect(hub.terminationStatus == 0)
        #expect(FileManager.default.fileExists(atPath: directory.path + "/hub/hub.sqlite"))
    }

    @Test func `the file and the unit in tools_deploy are good`() throws {
        let deploy = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("tools/deploy")
        let text = try String(contentsOf: deploy.appendingPathComponent("hub.conf"), encoding: .utf8)
        // Also the lines that are only shown.
        let shown = text.split(separator: "\n").map { line in
            line.hasPrefix("#") && line.contains(" = ") && !line.hasPrefix("# ")
                ? String(line.dropFirst()) : String(line)
        }
        var keys: Set<String> = []
        for line in shown where !line.hasPrefix("#") && line.contains("=") {
            _ = try parse([], file: line)
            keys.insert(String(line.prefix { $0 != " " }))
        }
        #expect(keys.contains("tls-cert") && keys.contains("host"))
        let verify = "/usr/bin/systemd-analyze"
        guard FileManager.default.isExecutableFile(atPath: verify) else { return }
        // The binary need not be installed where this runs.
        let unit = try String(contentsOf: deploy.appendingPathComponent("peal-hub.service"), encoding: .utf8)
            .replacing("/usr/local/bin/peal", with: "/bin/true")
        let directory = try Directory()
        try unit.write(toFile: directory.path + "/peal-hub.service", atomically: true, encoding: .utf8)
        let check = Process()
        check.executableURL = URL(fileURLWithPath: verify)
        check.arguments = ["verify", "--man=no", directory.path + "/peal-hub.service"]
        let said = Pipe()
        check.standardError = said
        check.standardOutput = said
        try check.run()
        let problems = String(decoding: said.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        check.waitUntilExit()
        #expect(check.terminationStatus == 0 && !problems.contains("peal-hub.service"), "\(problems)")
    }
}
