import PealWebSocket
import Testing

@Suite(.timeLimit(.minutes(4)))
struct EchoTests {
    @Test(arguments: [0, 1, 125, 126, 4_096, 65_535, 65_536])
    func `a message of any size comes back whole`(size: Int) async throws {
        let server = try EchoServer { $0.maximumMessageBytes = 70_000 }
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.contains(.opened) })
        let message = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        #expect(client.client.send(message))
        #expect(await client.journal.wait { $0.contains(.message(message)) })
    }

    @Test func `messages keep their order`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.contains(.opened) })
        let messages = (0..<200).map { Array("message \($0)".utf8) }
        for message in messages { #expect(client.client.send(message)) }
        #expect(await client.journal.wait { $0.count == 201 })
        #expect(client.journal.all.dropFirst().elementsEqual(messages.map { .message($0) }))
    }

    @Test func `a close carries our code and reason both ways`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        let first = try RecordingClient()
        defer { first.service.stop() }
        try first.connect(server.url)
        #expect(await first.journal.wait { $0.contains(.opened) })
        server.closeAll(code: 4105, reason: "replaced")
        #expect(await first.journal.wait { $0.contains(.closed(code: 4105, reason: "replaced")) })
        #expect(await server.journal.wait { $0.contains("closed 4105 replaced") })

        try first.connect(server.url)
        #expect(await first.journal.wait { $0.filter { $0 == .opened }.count == 2 })
        first.client.close(code: 4000, reason: "bye")
        #expect(await server.journal.wait { $0.contains("closed 4000 bye") })
        #expect(await first.journal.wait { $0.contains(.closed(code: 4000, reason: "bye")) })
    }

    @Test func `what was queued before a close is still sent`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.contains(.opened) })
        for index in 0..<50 { #expect(client.client.send(Array("\(index)".utf8))) }
        client.client.close(code: 4000, reason: "done")
        #expect(await server.journal.wait { $0.contains("closed 4000 done") })
        #expect(server.journal.all.filter { $0.hasPrefix("message") }.count == 50)
    }

    @Test func `a message over the limit closes 4104, and the server goes on`() async throws {
        let server = try EchoServer { $0.maximumMessageBytes = 1_000 }
        defer { server.service.stop() }
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.contains(.opened) })
        #expect(client.client.send([UInt8](repeating: 0x61, count: 1_001)))
        #expect(await client.journal.wait { $0.contains(.closed(code: 4104, reason: "the message is too large")) })
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.filter { $0 == .opened }.count == 2 })
        let most = [UInt8](repeating: 0x61, count: 1_000)
        #expect(client.client.send(most))
        #expect(await client.journal.wait { $0.contains(.message(most)) })
    }

    @Test func `a port where nobody listens is a close with a sentence`() async throws {
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://127.0.0.1:1/")
        #expect(await client.journal.wait { !$0.isEmpty })
        guard case .closed(1006, let reason)? = client.journal.all.first else {
            Issue.record("\(client.journal.all)")
            return
        }
        #expect(!reason.isEmpty)
        #expect(!client.client.send([0x61]))
    }

    @Test func `a port that is taken is an error that says so`() throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        let port = server.server.boundPort
        #expect(throws: WebSocketError.self) { try EchoServer { $0.port = port } }
    }

    @Test func `connections over the limit are refused, and a free place is taken again`() async throws {
        let server = try EchoServer { $0.maximumConnections = 1 }
        defer { server.service.stop() }
        let first = try RecordingClient()
        defer { first.service.stop() }
        try first.connect(server.url)
        #expect(await first.journal.wait { $0.contains(.opened) })
        let second = try RecordingClient(service: first.service)
        try second.connect(server.url)
        #expect(await second.journal.wait { !$0.isEmpty })
        #expect(second.closes.count == 1)
        first.client.close(code: 4000, reason: "")
        #expect(await server.journal.wait { $0.contains { $0.hasPrefix("closed") } })
        try second.connect(server.url)
        #expect(await second.journal.wait { $0.contains(.opened) })
    }

    @Test func `stopping a service closes its connections once each`() async throws {
        let server = try EchoServer()
        let client = try RecordingClient()
        try client.connect(server.url)
        #expect(await client.journal.wait { $0.contains(.opened) })
        server.service.stop()
        #expect(await client.journal.wait { $0.contains { $0 != .opened } })
        client.service.stop()
        client.service.stop()
        #expect(client.closes.count == 1)
        #expect(server.journal.all.filter { $0.hasPrefix("closed") }.count == 1)
    }
}
