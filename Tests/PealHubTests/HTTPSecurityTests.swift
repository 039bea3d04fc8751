import Foundation
import Testing

@testable import PealHub

/// TLS, spoken by the programs `openssl` and `curl`, where they are installed.
@Suite struct HTTPSecurityTests {
    private static let hasTools = ["/usr/bin/openssl", "/usr/bin/curl"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    private func withCertificate(_ body: (HTTPServerConfiguration.TLS) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("peal-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let tls = HTTPServerConfiguration.TLS(
            certificatePath: directory.path + "/cert.pem", keyPath: directory.path + "/key.pem")
        _ = try run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tls.keyPath, "-out",
                tls.certificatePath,
            ])
        try body(tls)
    }

    @Test(.enabled(if: hasTools))
    func `with a certificate the server speaks TLS 1.2 and 1.3 and nothing else`() throws {
        try withCertificate { tls in
            let server = try HTTPTestServer { $0.tls = tls }
            let url = "https://127.0.0.1:\(server.server.boundPort)/users/a%2Fb"
            let curl = ["-s", "--cacert", tls.certificatePath, "--max-time", "10"]
            #expect(try run("/usr/bin/curl", curl + [url]) == "a/b")
            #expect(try run("/usr/bin/curl", curl + ["--tls-max", "1.2", url]) == "a/b")
            #expect(try run("/usr/bin/curl", curl + ["--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0", url]).isEmpty)
            #expect(throws: RawHTTPError.self) { try server.client().request("GET", "/users/a") }
        }
    }

    @Test(.enabled(if: hasTools))
    func `a key that is missing or is no key is an error with a reason`() throws {
        try withCertificate { tls in
            var missing = tls
            missing.keyPath += "x"
            let unreadable = #expect(throws: HTTPServerError.self) { try HTTPTestServer { $0.tls = missing } }
            #expect(unreadable?.code == .unreadableFile)
            var wrong = tls
            wrong.keyPath = tls.certificatePath
            let refused = #expect(throws: HTTPServerError.self) { try HTTPTestServer { $0.tls = wrong } }
            #expect(refused?.code == .cannotListen)
        }
    }

    @Test(.enabled(if: hasTools), arguments: ["", "\u{16}\u{3}\u{1}", "GET / HTTP/1.1\r\n\r\n"])
    func `who does not end a TLS handshake is cut after its time on either listener, and others are served meanwhile`(
        start: String
    ) throws {
        try withCertificate { tls in
            let hub = try TestHub {
                $0.certificatePath = tls.certificatePath
                $0.keyPath = tls.keyPath
                $0.limits.headSeconds = 1
                $0.limits.handshakeSeconds = 1
            }
            let ports = [UInt16(hub.server.httpPort), UInt16(hub.server.webSocketPort)]
            let slow = try ports.flatMap { port in
                try (0..<20).map { _ in try RawHTTPClient(port: port, keeping: hub) }
            }
            for client in slow where !start.isEmpty { try client.send(start) }
            let curl = [
                "-s", "--cacert", tls.certificatePath, "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code}",
            ]
            for _ in 0..<2 {
                #expect(try run("/usr/bin/curl", curl + ["https://127.0.0.1:\(ports[0])/healthz"]) == "200")
                // Who does not want a socket gets an answer there, too, once its handshake is through.
                #expect(try run("/usr/bin/curl", curl + ["https://127.0.0.1:\(ports[1])/"]) == "426")
            }
            for client in slow { #expect(client.isCut()) }
        }
    }
}
