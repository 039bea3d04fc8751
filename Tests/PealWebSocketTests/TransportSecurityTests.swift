import PealWebSocket
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)))
struct TransportSecurityTests {
    /// The first events of a client that connects to our server with a certificate.
    private func connect(
        _ certificates: Certificates, to name: String, host: String = "localhost",
        _ change: (inout WebSocketClientConfiguration) -> Void
    ) async throws -> [WebSocketEvent] {
        let server = try EchoServer {
            $0.certificatePath = certificates.certificate(name)
            $0.keyPath = certificates.key(name)
        }
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("wss://\(host):\(server.server.boundPort)/", change)
        #expect(await client.journal.wait { !$0.isEmpty })
        guard client.journal.all.first == .opened else {
            #expect(server.journal.all.isEmpty)
            return client.journal.all
        }
        let message = [UInt8](repeating: 0x61, count: 60_000)
        #expect(client.client.send(message))
        #expect(await client.journal.wait { $0.count == 2 })
        client.client.close(code: 4000, reason: "done")
        #expect(await server.journal.wait { $0.last == "closed 4000 done" })
        #expect(client.journal.all.dropFirst().first == .message(message))
        return [.opened]
    }

    private func isRefused(_ events: [WebSocketEvent], naming part: String) -> Bool {
        guard events.count == 1, case .closed(1006, let reason)? = events.first else { return false }
        return reason.contains(part)
    }

    @Test func `a server is trusted where our authority signed for its name or its address`() async throws {
        let certificates = try await Certificates.shared.value
        for host in ["localhost", "127.0.0.1"] {
            let events = try await connect(certificates, to: "good", host: host) {
                $0.authorityPath = certificates.certificate("ca")
            }
            #expect(events == [.opened])
        }
    }

    @Test func `every other certificate is refused with the reason`() async throws {
        let certificates = try await Certificates.shared.value
        let ours = certificates.certificate("ca")
        let cases: [(name: String, authority: String?, reason: String)] = [
            ("wrong-name", ours, "hostname mismatch"), ("expired", ours, "expired"),
            ("self-signed", ours, "self-signed"),
            ("good", certificates.certificate("other"), "issuer"), ("good", nil, "issuer"),
            ("self-signed", nil, "self-signed"),
        ]
        for (name, authority, reason) in cases {
            let events = try await connect(certificates, to: name) { $0.authorityPath = authority }
            #expect(isRefused(events, naming: reason), "\(name) \(reason): \(events)")
        }
    }

    @Test func `a server behind a proxy shows its certificate to the client, not the proxy`() async throws {
        let certificates = try await Certificates.shared.value
        let (proxy, port) = try await Foreign.server("proxy")
        for (authority, isTrusted) in [("ca", true), ("other", false)] {
            let events = try await connect(certificates, to: "good") {
                $0.authorityPath = certificates.certificate(authority)
                $0.proxy = "127.0.0.1:\(port)"
            }
            #expect(isTrusted ? events == [.opened] : isRefused(events, naming: "issuer"), "\(events)")
        }
        #expect(proxy.lines.all.count { $0.hasPrefix("connect localhost:") } == 2)
    }

    @Test func `checking can be switched off for tests`() async throws {
        let certificates = try await Certificates.shared.value
        for name in ["wrong-name", "expired", "self-signed", "good"] {
            #expect(try await connect(certificates, to: name) { $0.verifiesCertificate = false } == [.opened])
        }
    }

    @Test func `clients that check and clients that do not share a service`() async throws {
        let certificates = try await Certificates.shared.value
        let server = try EchoServer {
            $0.certificatePath = certificates.certificate("self-signed")
            $0.keyPath = certificates.key("self-signed")
        }
        defer { server.service.stop() }
        let first = try RecordingClient()
        defer { first.service.stop() }
        let url = "wss://localhost:\(server.server.boundPort)/"
        try first.connect(url) { $0.verifiesCertificate = false }
        #expect(await first.journal.wait { $0 == [.opened] })
        let second = try RecordingClient(service: first.service)
        try second.connect(url)
        #expect(await second.journal.wait { !$0.isEmpty })
        #expect(isRefused(second.journal.all, naming: "self"), "\(second.journal.all)")
    }

    @Test func `a file that is no certificate is an error`() async throws {
        let certificates = try await Certificates.shared.value
        #expect(throws: WebSocketError.self) {
            try EchoServer {
                $0.certificatePath = certificates.key("good")
                $0.keyPath = certificates.key("good")
            }
        }
        #expect(throws: WebSocketError.self) {
            try EchoServer {
                $0.certificatePath = certificates.certificate("missing")
                $0.keyPath = certificates.key("missing")
            }
        }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("wss://localhost:1/") { $0.authorityPath = certificates.certificate("missing") }
        #expect(await client.journal.wait { !$0.isEmpty })
        #expect(isRefused(client.journal.all, naming: "authorities"), "\(client.journal.all)")
    }

    @Test func `a foreign client and our server understand each other`() async throws {
        let certificates = try await Certificates.shared.value
        let server = try EchoServer {
            $0.certificatePath = certificates.certificate("good")
            $0.keyPath = certificates.key("good")
            $0.maximumMessageBytes = 65_536
        }
        defer { server.service.stop() }
        let url = "wss://localhost:\(server.server.boundPort)/"
        let lines = try await Foreign.client("echo", url, authority: certificates.certificate("ca")).allLines()
        #expect(lines.filter { $0.hasSuffix(" same") }.count == 7, "\(lines)")
    }

    @Test(arguments: ["echo", "fragments"])
    func `our client and a foreign server understand each other`(scene: String) async throws {
        let certificates = try await Certificates.shared.value
        let (server, port) = try await Foreign.server(certificates.certificate("good"), certificates.key("good"))
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("wss://localhost:\(port)/\(scene)") { $0.authorityPath = certificates.certificate("ca") }
        #expect(await client.journal.wait { $0 == [.opened] }, "\(client.journal.all)")
        let message = [UInt8](repeating: 0x61, count: 250_000)
        #expect(client.client.send(message))
        #expect(await client.journal.wait { $0 == [.opened, .message(message)] })
        withExtendedLifetime(server) {}
    }

    @Test func `a plain client of a TLS port, and the other way round, ends with a close`() async throws {
        let certificates = try await Certificates.shared.value
        let secure = try EchoServer {
            $0.certificatePath = certificates.certificate("good")
            $0.keyPath = certificates.key("good")
        }
        defer { secure.service.stop() }
        let plain = try EchoServer()
        defer { plain.service.stop() }
        for url in ["ws://localhost:\(secure.server.boundPort)/", "wss://localhost:\(plain.server.boundPort)/"] {
            let client = try RecordingClient()
            defer { client.service.stop() }
            try client.connect(url)
            #expect(await client.journal.wait(seconds: 15) { !$0.isEmpty })
            #expect(client.closes.count == 1, "\(client.journal.all)")
        }
    }

    @Test func `an IPv6 address cannot be checked, so it is not tried`() throws {
        let client = try RecordingClient()
        defer { client.service.stop() }
        #expect(throws: WebSocketError.self) { try client.connect("wss://[::1]:1/") }
    }
}
