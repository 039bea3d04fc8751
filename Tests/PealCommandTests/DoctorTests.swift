import Foundation
import Testing

@testable import PealCommand

/// `peal doctor`, and what `--verbose` tells.
@Suite(.timeLimit(.minutes(2))) struct DoctorTests {
    private struct Row: Decodable {
        var section: String
        var check: String
        var state: String
        var text: String
        var advice: String?
    }

    private func doctor(
        _ environment: [String: String], _ words: String...
    ) throws -> (status: Int32, rows: [String: Row], whole: Finished) {
        let finished = try Peal.run(
            ["doctor", "--json"] + words, environment: ["LC_ALL": "C.UTF-8"].merging(environment) { $1 })
        var rows: [String: Row] = [:]
        for line in finished.lines {
            let row = try JSONDecoder().decode(Row.self, from: Data(line.utf8))
            rows["\(row.section) \(row.check)"] = row
        }
        return (finished.status, rows, finished)
    }

    @Test func `all is well: each part is looked at, and no secret is shown`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        let environment = hub.environment.merging(hub.publisher) { $1 }.merging(["PEAL_DIRECTORY": device.path]) { $1 }
        #expect(try Peal.run(["inbox", "--user", "Mary"], environment: environment).status == 0)
        let (status, rows, whole) = try doctor(environment)
        #expect(status == 0, "\(whole)")
        for name in [
            "versions peal", "versions libraries", "configuration file", "hub reachable", "hub ready",
            "hub credentials",
            "hub TLS", "hub clock", "hub WebSocket", "replicas disk", "replicas id-%4dary.peal", "terminal locale",
        ] { #expect(rows[name]?.state == "ok", "\(name): \(String(describing: rows[name]))") }
        #expect(!whole.output.contains(hub.secret))
        #expect(rows["replicas id-%4dary.peal"]?.text == "version 1, whole, 0 listed, 0 acts wait, 0 dead letters")
        let page = try Peal.run(["doctor", "--offline"], environment: environment)
        #expect(page.lines.first == "versions" && page.output.contains("  ok       peal             0.1.0"))
        #expect(
            try Peal.run(["doctor", "-q"], environment: environment.merging(["LANG": "C.UTF-8"]) { $1 }).output.isEmpty)
    }

    @Test func `what is wrong has its exit code and an advice`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        var environment = hub.environment.merging(hub.publisher) { $1 }.merging(["PEAL_DIRECTORY": device.path]) { $1 }
        #expect(try Peal.run(["mark", "all-read", "--user", "Bob"], environment: environment).status == 0)
        try Data(repeating: 7, count: 9_000).write(to: URL(fileURLWithPath: device.path + "/id-x.peal"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: device.path + "/id-x.peal")
        environment["PEAL_SECRET"] = "wrong"
        environment["LC_ALL"] = "C"
        let (status, rows, whole) = try doctor(environment)
        #expect(status == 1)
        #expect(
            rows["hub credentials"]?.state == "failed" && rows["hub credentials"]?.advice?.contains("--secret") == true)
        #expect(
            rows["replicas id-x.peal"]?.state == "failed"
                && whole.output.contains("chmod 600 \(device.path)\\/id-x.peal")
                || whole.output.contains("chmod 600 \(device.path)/id-x.peal*"))
        #expect(rows["terminal locale"]?.state == "warning")
        hub.stop()
        let away = try doctor(environment, "--secret-file", "/nonexistent")
        #expect(away.status == 1 && away.rows["hub reachable"]?.state == "failed")
        #expect(
            away.rows["hub reachable"]?.advice?.contains("Is the hub running") == true && away.rows["hub clock"] == nil)
        #expect(away.rows["configuration secret-file"]?.state == "failed")
        let config = device.path + "/config"
        try "prot = 1\n".write(toFile: config, atomically: true, encoding: .utf8)
        environment["PEAL_CONFIG"] = config
        #expect(
            try doctor(environment, "--offline").rows["configuration file"]?.text.contains("'prot' is no setting")
                == true)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")))
    func `a certificate's name and days are told, and one that is not trusted fails`() throws {
        let files = try Directory()
        let made = Process()
        made.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        made.arguments = [
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=hub.example", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", files.path + "/key.pem", "-out", files.path + "/cert.pem",
        ]
        made.standardError = FileHandle.nullDevice
        try made.run()
        made.waitUntilExit()
        let hub = try HubProcess(options: [
            "--tls-cert", files.path + "/cert.pem", "--tls-key", files.path + "/key.pem",
        ])
        let trusted = try doctor(hub.environment, "--ca", files.path + "/cert.pem")
        #expect(trusted.rows["hub TLS"]?.state == "warning", "\(trusted.whole)")
        #expect(trusted.rows["hub TLS"]?.text == "hub.example, trusted, good for 8 more days")
        #expect(
            trusted.rows["hub WebSocket"]?.state == "ok"
                && trusted.rows["hub WebSocket"]?.text.hasPrefix("wss://") == true)
        #expect(trusted.rows["hub credentials"]?.state == "skipped")
        let other = try doctor(hub.environment)
        #expect(other.status == 1 && other.rows["hub reachable"]?.state == "failed")
        #expect(other.rows["hub reachable"]?.text.contains("certificate") == true, "\(other.rows)")
    }

    @Test(arguments: [-3_600.25, -0.4, 0, 0.7, 61.5])
    func `a clock that tells whole seconds is known to a tenth after four answers`(offset: Double) throws {
        var clock = ClockOffset()
        var now = 1_800_000_000.3
        for turn in 0..<4 {
            if turn > 0 { now += clock.wait(now) ?? 0 }
            clock.take(Int64((now + 0.002 + offset).rounded(.down)), from: now, to: now + 0.004)
            now += 0.004
        }
        let value = try #require(clock.value)
        #expect(abs(value.offset - offset) <= value.uncertainty && value.uncertainty < 0.1)
    }

    @Test func `verbose tells requests and states, and nothing of what is in them`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        let environment = hub.environment.merging(hub.publisher) { $1 }.merging(["PEAL_DIRECTORY": device.path]) { $1 }
        let words = ["publish", "--user", "Mary", "--title", "hush-hush", "-v"]
        let published = try Peal.run(words, environment: environment)
        #expect(published.errors.hasPrefix("peal: POST /v1/publishes: 201 in "))
        let inbox = try Peal.run(["inbox", "--user", "Mary", "--json", "--verbose"], environment: environment)
        #expect(inbox.errors.contains("peal: opened \(device.path)/id-%4dary.peal in "), "\(inbox.errors)")
        #expect(inbox.errors.contains("peal: session live after "))
        for text in [published.errors, inbox.errors] {
            #expect(!text.contains("hush-hush") && !text.contains(hub.secret))
        }
        #expect(try Peal.run(["inbox", "--user", "Mary", "--offline", "-q"], environment: environment).errors.isEmpty)
    }
}
