import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// The three examples as the programs that they are, against a real hub.
@Suite struct ExampleTests {
    /// A running example: what it prints, and its standard input.
    private final class Program: Sendable {
        private let process = Process()
        private let input = Pipe()
        private let written = Pipe()
        private let text = Mutex("")

        init(_ name: String, _ arguments: [String], environment: [String: String]) throws {
            process.executableURL = try Self.binary(name)
            process.arguments = arguments
            // Nothing of the machine's own settings, but those of a sanitizer that this runs under.
            let sanitizer = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
            process.environment = ["PATH": "/usr/bin:/bin"].merging(sanitizer) { $1 }.merging(environment) { $1 }
            process.standardInput = input
            process.standardOutput = written
            written.fileHandleForReading.readabilityHandler = { [weak self] handle in
                let bytes = handle.availableData
                if bytes.isEmpty { handle.readabilityHandler = nil }
                self?.text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
            }
            try process.run()
        }

        deinit { if process.isRunning { process.terminate() } }

        /// The test runner's own path is the bundle's; programs lie beside it.
        private static func binary(_ name: String) throws -> URL {
            var directory = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            for _ in 0..<4 {
                let candidate = directory.appendingPathComponent(name)
                if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
                directory.deleteLastPathComponent()
            }
            throw PealError(.file, "'\(name)' is not built")
        }

        func prints(_ line: String) async -> Bool {
            await eventually(seconds: 5) { self.text.withLock { $0.contains(line) } }
        }

        var output: String { text.withLock { $0 } }

        func type(_ line: String) { input.fileHandleForWriting.write(Data("\(line)\n".utf8)) }
        func endInput() { try? input.fileHandleForWriting.close() }
        func terminate() { process.terminate() }
        func ends() async -> Bool { await eventually { !self.process.isRunning } }
        var status: Int32 { process.terminationStatus }
    }

    private func hubWords(_ bench: Bench, hub: String? = nil) -> [String] {
        [hub ?? "http://127.0.0.1:\(bench.hub.httpPort)", bench.hub.project.apiKey]
    }

    @Test func `the console inbox lists, follows, and marks read`() async throws {
        let bench = try Bench()
        try await bench.send("First", to: "mary")
        let program = try Program(
            "ConsoleInbox", hubWords(bench) + ["mary"], environment: ["XDG_DATA_HOME": bench.directory + "/console"])
        #expect(await program.prints("• 1  First"))
        #expect(await program.prints("1 unread of 1"))
        try await bench.send("Second", to: "mary")
        #expect(await program.prints("• 2  Second"))
        program.type("1")
        #expect(await program.prints("  1  First"), "\(program.output)")
        program.endInput()
        #expect(await program.ends() && program.status == 0, "\(program.output)")
        let store = try bench.app("other").connectUser(externalId: "mary").store.build()
        #expect(await eventually { (try? await store.refresh()) != nil && store.unreadCount == 1 })
    }

    @Test func `the service reacts once to each, also to what came while it was down, and stops when told`()
        async throws
    {
        let bench = try Bench()
        try await bench.send("While down", to: "builder", category: "deploy")
        try await bench.send("Something else", to: "builder", category: "chat")
        let log = bench.directory + "/log"
        let script = bench.directory + "/react"
        try "#!/bin/sh\necho \"$PEAL_TITLE\" >> \(log)\n".write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        for title in ["$(touch /tmp/never); `x`", "Last"] {
            let program = try Program(
                "NotificationService", hubWords(bench) + ["builder", "deploy", script],
                environment: ["STATE_DIRECTORY": bench.directory + "/service"])
            #expect(title == "Last" ? true : await program.prints("done: 1 While down"))
            try await bench.send(title, to: "builder", category: "deploy")
            #expect(await program.prints(title))
            program.terminate()
            #expect(
                await program.ends() && program.status == 0 && program.output.hasSuffix("stopped\n"),
                "\(program.output)")
        }
        let reacted = try String(contentsOfFile: log, encoding: .utf8)
        #expect(reacted == "While down\n$(touch /tmp/never); `x`\nLast\n")
    }

    @Test func `the kiosk works without a hub, and sends what was acknowledged when there is one`() async throws {
        let bench = try Bench()
        let words = hubWords(bench)
        let directory = bench.directory + "/kiosk"
        let first = try Program("Kiosk", words + [directory, "lobby"], environment: [:])
        #expect(await first.prints("live, 0 to acknowledge, 0 to be sent"), "\(first.output)")
        let web = JSON.object([("notification", .object([("title", .string("Lift out of order"))]))])
        _ = try await bench.api().publish(platforms: .object([("web", web)]), to: .interests(["lobby"]))
        #expect(await first.prints("Lift out of order"))
        first.type("q")
        #expect(await first.ends() && first.status == 0)

        let offline = try Program("Kiosk", ["http://127.0.0.1:1", words[1], directory, "lobby"], environment: [:])
        #expect(await offline.prints("1 to acknowledge, 0 to be sent"))
        offline.type("")
        #expect(await offline.prints("0 to acknowledge, 1 to be sent"))
        offline.type("q")
        #expect(await offline.ends() && offline.status == 0)

        let again = try Program("Kiosk", words + [directory, "lobby"], environment: [:])
        #expect(await again.prints("live, 0 to acknowledge, 0 to be sent"), "\(again.output)")
        again.type("q")
        #expect(await again.ends())
    }
}
