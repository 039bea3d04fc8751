import PealWebSocket
import Testing

/// Our server and PyPI's websockets as the client.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ForeignClientTests {
    @Test func `messages of many sizes come back, and a close is answered`() async throws {
        let server = try EchoServer { $0.maximumMessageBytes = 65_536 }
        defer { server.service.stop() }
        let lines = try await Foreign.client("echo", server.url).allLines()
        let sizes = [0, 1, 125, 126, 1_024, 65_535, 65_536]
        #expect(lines == ["opened peal.v1.json"] + sizes.map { "\($0) same" } + ["closed 4000 bye"])
        #expect(await server.journal.wait { $0.contains("closed 4000 bye") })
    }

    @Test func `fragments with a ping between them are one message`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        #expect(try await Foreign.client("fragments", server.url).says("same pong"))
        #expect(server.journal.all.filter { $0.hasPrefix("message") }.count == 1)
    }

    @Test func `a client that writes one byte at a time is understood`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        #expect(try await Foreign.client("one_byte", server.url).says("same pong"))
    }

    @Test(arguments: [
        ("binary", "closed 4203 messages are text"),
        ("bad_utf8", "closed 4203 the message is not UTF-8"),
        ("cut_utf8", "closed 4203 the message is not UTF-8"),
        ("too_large", "closed 4104 the message is too large"),
        ("too_large_in_fragments", "closed 4104 the message is too large"),
        ("claims_too_much", "closed 4104 the message is too large"),
        ("reserved_bits", "closed 1002 rsv bits"),
    ])
    func `what breaks the rules is closed with a code, and others are served on`(scene: String, end: String)
        async throws
    {
        let server = try EchoServer()
        defer { server.service.stop() }
        let lines = try await Foreign.client(scene, server.url).allLines()
        #expect(lines == ["opened peal.v1.json", end])
        #expect(await server.journal.wait { $0.contains { $0.hasPrefix("closed") } })
        #expect(server.journal.all.filter { $0.hasPrefix("message") }.isEmpty)
        #expect(try await Foreign.client("fragments", server.url).says("same pong"))
    }

    @Test(arguments: ["no_subprotocol", "other_subprotocol"])
    func `a handshake without the subprotocol is refused`(scene: String) async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        #expect(try await Foreign.client(scene, server.url).allLines() == ["refused 400"])
        #expect(server.journal.all.isEmpty)
    }

    @Test func `the subprotocol is chosen from several`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        #expect(try await Foreign.client("several", server.url).says("opened peal.v1.json"))
    }

    @Test func `connections over the limit get HTTP status 503`() async throws {
        let server = try EchoServer { $0.maximumConnections = 1 }
        defer { server.service.stop() }
        let first = try Foreign.client("mute", server.url)
        #expect(await first.says("opened peal.v1.json"))
        #expect(try await Foreign.client("echo", server.url).allLines() == ["refused 503"])
        #expect(server.journal.all.count == 1)
    }

    @Test func `a client that resets the connection is closed once`() async throws {
        let server = try EchoServer()
        defer { server.service.stop() }
        _ = try await Foreign.client("vanish", server.url).allLines()
        #expect(await server.journal.wait { $0.contains("closed 1006 the connection was lost") })
        #expect(server.journal.all.count == 2)
    }

    @Test func `a client that answers no ping is dropped, one that does is kept`() async throws {
        let server = try EchoServer {
            $0.pingSeconds = 1
            $0.hangupSeconds = 2
        }
        defer { server.service.stop() }
        let alive = try RecordingClient()
        defer { alive.service.stop() }
        try alive.connect(server.url)
        #expect(await alive.journal.wait { $0.contains(.opened) })
        let mute = try Foreign.client("mute", server.url)
        #expect(await mute.says("opened peal.v1.json"))
        let end = "closed 1006 silence, not even an answer to a ping"
        #expect(await server.journal.wait { $0.contains(end) })
        #expect(server.journal.all.filter { $0.hasPrefix("closed") } == [end])
        #expect(alive.client.send([0x61]))
        #expect(await alive.journal.wait { $0.contains(.message([0x61])) })
    }
}
