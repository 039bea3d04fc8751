import Foundation
import Testing

/// A certificate that is exchanged while the hub runs.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")))
struct CertificateTests {
    /// Makes a self-signed pair at the paths.
    private func make(_ name: String, _ directory: String) throws {
        let made = Process()
        made.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        made.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=\(name)", "-keyout", directory + "/key.pem", "-out", directory + "/cert.pem",
        ]
        made.standardError = FileHandle.nullDevice
        try made.run()
        made.waitUntilExit()
        guard made.terminationStatus == 0 else { throw Failure(message: "openssl req") }
    }

    /// A TLS connection, by `openssl s_client`.
    private final class TLSClient {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()
        private var read = Data()

        init(port: Int, showing certificate: Bool = false) throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments =
                ["s_client", "-connect", "127.0.0.1:\(port)"] + (certificate ? [] : ["-quiet", "-ign_eof"])
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
        }

        deinit { if process.isRunning { process.terminate() } }

        func send(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }
        func send(_ bytes: [UInt8]) throws { try input.fileHandleForWriting.write(contentsOf: Data(bytes)) }

        /// Reads until a text has come; the test's own time limit ends it otherwise.
        func wait(for text: String) throws {
            try wait { $0.range(of: Data(text.utf8)) != nil }
            read = Data()
        }

        func wait(_ condition: (Data) -> Bool) throws {
            while !condition(read) {
                let piece = output.fileHandleForReading.availableData
                if piece.isEmpty { throw Failure(message: "closed after \(String(decoding: read, as: UTF8.self))") }
                read += piece
            }
        }

        /// Everything, after the end of what is sent.
        func finish() throws -> String {
            try input.fileHandleForWriting.close()
            return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
    }

    /// Whom a new connection meets.
    private func subject(_ port: Int) throws -> String {
        let text = try TLSClient(port: port, showing: true).finish()
        return ["first", "second", "third"].first { text.contains("CN=\($0)") || text.contains("CN = \($0)") } ?? text
    }

    private func wait(_ hub: HubProcess, for text: String, times: Int) throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while hub.errors.components(separatedBy: text).count - 1 < times {
            guard ContinuousClock.now < deadline else { throw Failure(message: "never said '\(text)': \(hub.errors)") }
            sched_yield()
        }
    }

    @Test(.timeLimit(.minutes(4)))
    func `after SIGHUP new connections get the new certificate, old ones live, and a bad pair changes nothing`() throws
    {
        let files = try Directory()
        try make("first", files.path)
        let hub = try HubProcess(
            options: ["--tls-cert", files.path + "/cert.pem", "--tls-key", files.path + "/key.pem"])
        let httpPort = try #require(URL(string: hub.http)?.port)
        let ports = [httpPort, hub.webSocketPort]
        #expect(try ports.map(subject) == ["first", "first"])
        let request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        let http = try TLSClient(port: httpPort)
        try http.send(request)
        try http.wait(for: "ok\n")
        let socket = try TLSClient(port: hub.webSocketPort)
        try socket.send(
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: peal.v1.json\r\n\r\n")
        try socket.wait(for: "\r\n\r\n")
        // Renewed more than once: each leaves the one before to its connections.
        for (times, name) in [(1, "second"), (2, "third")] {
            try make(name, files.path)
            kill(hub.process.processIdentifier, SIGHUP)
            try wait(hub, for: "read again", times: times)
            #expect(try ports.map(subject) == [name, name])
        }
        // Bad ones: no certificate, a key of another certificate, a file that is not there.
        let key = try Data(contentsOf: URL(fileURLWithPath: files.path + "/key.pem"))
        let damages: [() throws -> Void] = [
            { try "nothing".write(toFile: files.path + "/cert.pem", atomically: true, encoding: .utf8) },
            {
                try make("first", files.path)
                try key.write(to: URL(fileURLWithPath: files.path + "/key.pem"))
            },
            { try FileManager.default.removeItem(atPath: files.path + "/key.pem") },
        ]
        for (times, damage) in damages.enumerated() {
            try damage()
            kill(hub.process.processIdentifier, SIGHUP)
            try wait(hub, for: "The old certificate stays in use", times: times + 1)
            #expect(try ports.map(subject) == ["third", "third"])
        }
        // Both connections of the first certificate still serve.
        try http.send(request)
        try http.wait(for: "ok\n")
        try socket.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
        try socket.wait { $0.first == 0x88 }
        #expect(hub.stop() == 0)
    }

    @Test func `SIGHUP without TLS changes nothing and says so`() throws {
        let hub = try HubProcess()
        kill(hub.process.processIdentifier, SIGHUP)
        try wait(hub, for: "no certificate to read again", times: 1)
        #expect(hub.stop() == 0)
    }

    @Test func `a listener without TLS that others can reach needs a word, and warns`() throws {
        let refused = try Peal.run("hub", "--host", "0.0.0.0", "--directory", try Directory().path)
        #expect(refused.status == 2 && refused.errors.contains("--insecure") && refused.errors.contains("--tls-cert"))
        let hub = try HubProcess(options: ["--host", "0.0.0.0", "--insecure"])
        try wait(hub, for: "warning: listening without TLS on 0.0.0.0", times: 1)
        #expect(hub.stop() == 0)
    }
}
