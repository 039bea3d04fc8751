import Foundation
import Testing

/// Nobody reads any more: `peal … | head`.
@Suite(.timeLimit(.minutes(2))) struct ClosedPipeTests {
    /// Runs with a pipe as standard output whose reader ends after the first bytes.
    private func run(_ words: [String], _ environment: [String: String], reads: Bool = true) throws -> Finished {
        let process = Peal.process(words, environment: environment)
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try output.fileHandleForWriting.close()
        let text = reads ? output.fileHandleForReading.availableData : Data()
        try output.fileHandleForReading.close()
        let problems = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Finished(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: problems, as: UTF8.self))
    }

    @Test func `a list, and a list that stays, end quietly when their reader does`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        let environment = hub.environment.merging(hub.publisher) { $1 }
            .merging(["PEAL_DIRECTORY": device.path, "PEAL_USER": "Mary"]) { $1 }
        for title in ["one", "two"] {
            #expect(
                try Peal.run(["publish", "--user", "Mary", "--title", title], environment: environment).status == 0)
        }
        // Nothing more is published: it ends because its reader has.
        let stayed = try run(["inbox", "--watch"], environment)
        #expect([0, 141].contains(stayed.status) && stayed.errors.isEmpty, "\(stayed)")
        #expect(stayed.output.contains("2 listed"))
        for words in [
            ["inbox", "--json"], ["outbox"], ["config", "list"], ["tail", "--last", "1"], ["inbox", "--help"],
        ] {
            let finished = try run(words, environment, reads: false)
            #expect(
                [0, 141, SIGPIPE].contains(finished.status) && !finished.errors.contains("peal:"),
                "\(words) \(finished)")
        }
    }

    @Test func `what cannot be written is an error`() throws {
        let process = Peal.process(["inbox", "--help"])
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        #expect(text.contains("Standard output cannot be written"))
    }
}
