import Foundation
import Testing

/// `peal tail --notify` with a `notify-send` that writes down what it is asked to show.
@Suite(.timeLimit(.minutes(2)))
struct TailNotifyTests {
    /// A folder with the program, and the environment in which it is found.
    private func presenter(exits status: Int32 = 0) throws -> (folder: Directory, environment: [String: String]) {
        let folder = try Directory()
        let program = folder.path + "/notify-send"
        let script = """
            #!/bin/sh
            for word in "$@"; do printf '%s\\0' "$word"; done >> "$NOTIFIED"
            printf '\\1' >> "$NOTIFIED"
            exit \(status)
            """
        try Data(script.utf8).write(to: URL(fileURLWithPath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        return (
            folder,
            [
                "PATH": folder.path + ":/usr/bin:/bin", "NOTIFIED": folder.path + "/shown",
                // It is asked only where there is a session to ask in.
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
            ]
        )
    }

    private func shown(_ folder: Directory) -> [[String]] {
        let bytes = FileManager.default.contents(atPath: folder.path + "/shown") ?? Data()
        return bytes.split(separator: 1).map { call in
            call.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
                String(decoding: $0, as: UTF8.self)
            }
        }
    }

    private func publish(_ hub: HubProcess, _ title: String, _ body: String) throws {
        let done = try Peal.run(
            "publish", "--user", "Mary", "--title", title, "--body", body, environment: hub.publisher)
        #expect(done.status == 0, "\(done.errors)")
    }

    @Test func `each item that comes live is handed to the desktop once, as text that nothing obeys`() throws {
        let hub = try HubProcess()
        let (folder, environment) = try presenter()
        let device = try Directory()
        try publish(hub, "before", "not told")
        let tail = try RunningTail(
            ["--user", "Mary", "--directory", device.path, "--notify", "--count", "3"], hub: hub,
            environment: environment)
        try tail.waitUntilLive()
        try publish(hub, "First", "one\ntwo")
        try publish(hub, "--urgency=critical", "$(touch stolen) <b>&")
        try publish(hub, "esc\u{1B}[2J\u{202E}", "")
        #expect(tail.end() == 0)
        let calls = shown(folder)
        #expect(
            calls.map { Array($0.dropFirst()) } == [
                ["--", "First", "one\ntwo"], ["--", "--urgency=critical", "$(touch stolen) &lt;b&gt;&amp;"],
                ["--", "esc [2J", ""],
            ])
        #expect(calls.allSatisfy { $0.first?.hasPrefix("--app-name=") == true })
        // They are shown, so they are not printed.
        #expect(tail.output.isEmpty)
    }

    @Test func `where the desktop does not take it, it is printed`() throws {
        let hub = try HubProcess()
        let (folder, environment) = try presenter(exits: 1)
        let device = try Directory()
        try publish(hub, "First", "one")
        let words = [
            "tail", "--user", "Mary", "--directory", device.path, "--notify", "--since", "all", "--count", "1",
        ]
        let failed = try Peal.run(words, environment: hub.environment.merging(environment) { $1 })
        #expect(failed.status == 0 && failed.output == "First\none\n")
        #expect(shown(folder).count == 1)
        // Without a session nobody is asked.
        var without = hub.environment.merging(environment) { $1 }
        without["DBUS_SESSION_BUS_ADDRESS"] = nil
        #expect(try Peal.run(words, environment: without).output == "First\none\n")
        #expect(shown(folder).count == 1)
        // What is handed on can be printed too.
        let (other, both) = try presenter()
        let json = try Peal.run(words + ["--json"], environment: hub.environment.merging(both) { $1 })
        #expect(json.lines.count == 1 && json.output.contains("First") && shown(other).count == 1)
    }
}
