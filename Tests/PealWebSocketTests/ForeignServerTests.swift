import PealWebSocket
import Testing

/// Our client and PyPI's websockets as the server.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ForeignServerTests {
    /// Connects to a scene and waits for events that satisfy a condition.
    private func play(
        _ scene: String, _ change: (inout WebSocketClientConfiguration) -> Void = { _ in },
        then act: (RecordingClient) -> Void = { _ in }, until condition: ([WebSocketEvent]) -> Bool
    ) async throws -> (events: [WebSocketEvent], server: Program) {
        let (server, port) = try await Foreign.server()
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://127.0.0.1:\(port)/\(scene)", change)
        #expect(await client.journal.wait { !$0.isEmpty })
        act(client)
        #expect(await client.journal.wait(until: condition), "\(client.journal.all)")
        return (client.journal.all, server)
    }

    private func isClosed(_ events: [WebSocketEvent]) -> Bool {
        if case .closed? = events.last { true } else { false }
    }

    @Test(arguments: ["echo", "one-byte", "fragments"], [1, 126, 65_536])
    func `messages come back whole`(scene: String, size: Int) async throws {
        let text = Array(String(repeating: "é", count: size / 2).utf8) + (size % 2 == 1 ? [0x78] : [])
        let (events, _) = try await play(scene, then: { #expect($0.client.send(text)) }, until: { $0.count == 2 })
        #expect(events == [.opened, .message(text)])
    }

    @Test func `a message of 256 KiB arrives, and then the close`() async throws {
        let (events, _) = try await play("large", until: isClosed)
        let message = [UInt8](repeating: UInt8(ascii: "x"), count: 262_144)
        #expect(events == [.opened, .message(message), .closed(code: 4003, reason: "enough")])
    }

    @Test(arguments: [
        ("too-large", 4104, "the message is too large"), ("binary", 4203, "messages are text"),
        ("bad-utf8", 4203, "the message is not UTF-8"),
    ])
    func `what breaks the rules is closed with a code`(scene: String, code: UInt16, reason: String) async throws {
        let (events, server) = try await play(scene, until: isClosed)
        #expect(events == [.opened, .closed(code: code, reason: reason)])
        #expect(await server.says("closed \(code) \(reason)"))
    }

    @Test func `the server's code and reason are told, or that there were none`() async throws {
        let (with, _) = try await play("close-with-code", until: isClosed)
        #expect(with == [.opened, .closed(code: 4105, reason: "replaced")])
        let (without, _) = try await play("close-without-code", until: isClosed)
        #expect(without == [.opened, .closed(code: 1005, reason: "")])
    }

    @Test(arguments: [
        ("no-subprotocol", "the server did not take the subprotocol"),
        ("other-subprotocol", "the server did not take the subprotocol"),
        ("wrong-accept", "HS: Accept hash wrong"),
        ("forbidden", "the server answered with HTTP status 403"),
    ])
    func `a bad handshake is a close with a sentence`(scene: String, reason: String) async throws {
        let (events, _) = try await play(scene, until: isClosed)
        #expect(events == [.closed(code: 1006, reason: reason)])
    }

    @Test func `a server that never answers the handshake is given up`() async throws {
        let (events, _) = try await play("no-answer", { $0.connectTimeoutSeconds = 1 }, until: isClosed)
        #expect(events == [.closed(code: 1006, reason: "no answer within the time for connecting")])
    }

    @Test func `a server that resets the connection is a close`() async throws {
        let (events, _) = try await play("vanish", until: isClosed)
        #expect(events == [.opened, .closed(code: 1006, reason: "the connection was lost")])
    }

    @Test func `a server that answers no ping is given up`() async throws {
        let timing = { (configuration: inout WebSocketClientConfiguration) in
            configuration.pingSeconds = 1
            configuration.hangupSeconds = 2
        }
        let (events, _) = try await play("mute", timing, until: isClosed)
        #expect(events == [.opened, .closed(code: 1006, reason: "silence, not even an answer to a ping")])
    }

    @Test func `a server that is silent but answers pings is kept`() async throws {
        let (server, port) = try await Foreign.server()
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://127.0.0.1:\(port)/echo") {
            $0.pingSeconds = 1
            $0.hangupSeconds = 2
        }
        #expect(await server.lines.wait { $0.filter { $0 == "ping" }.count == 3 })
        #expect(client.journal.all == [.opened])
    }

    @Test func `a peer that takes nothing cannot hold a close`() async throws {
        let many = [UInt8](repeating: 0x61, count: 256 * 1024)
        let (events, _) = try await play(
            "mute",
            then: { client in
                // More than the socket's buffers take.
                while client.client.send(many) {}
                client.client.close(code: 4000, reason: "enough")
            }, until: isClosed)
        #expect(events == [.opened, .closed(code: 4000, reason: "enough")])
    }

    @Test func `the request names path and host`() async throws {
        let (server, port) = try await Foreign.server()
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://localhost:\(port)/echo?a=%2F&b=1")
        #expect(await client.journal.wait { $0 == [.opened] })
        #expect(await server.says("request /echo?a=%2F&b=1 host localhost:\(port)"))
    }

    @Test func `a proxy is asked for the name, and its tunnel carries messages`() async throws {
        let (server, port) = try await Foreign.server()
        let (proxy, proxyPort) = try await Foreign.server("proxy")
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://peal.invalid:\(port)/echo") { $0.proxy = "localhost:\(proxyPort)" }
        #expect(await client.journal.wait { $0 == [.opened] }, "\(client.journal.all)")
        #expect(client.client.send([0x61]))
        #expect(await client.journal.wait { $0 == [.opened, .message([0x61])] })
        #expect(proxy.lines.all.contains("connect peal.invalid:\(port)"))
        #expect(server.lines.all.contains("request /echo host peal.invalid:\(port)"))
    }
}
