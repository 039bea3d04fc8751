import PealWebSocket
import Synchronization
import Testing

/// Sends numbered messages of 4,008 bytes to everybody without end, by the pull model.
final class EndlessServer: WebSocketServerHandler, @unchecked Sendable {
    // `sent` is only used on the service's thread, as `server` is after it was set.
    let service: WebSocketService
    private(set) var server: WebSocketServer!
    private var sent: [ConnectionID: Int] = [:]
    let order = Journal<ConnectionID>()

    init() throws {
        service = try WebSocketService(name: "endless-server")
        service.start()
        var configuration = WebSocketServerConfiguration(subprotocol: "peal.v1.json")
        configuration.pingSeconds = 0
        configuration.hangupSeconds = 0
        server = try WebSocketServer(service: service, configuration: configuration, handler: self)
    }

    func opened(_ id: ConnectionID, peer: String) {
        order.note(id)
        service.post { self.server.requestWrite(id) }
    }

    func received(_ id: ConnectionID, _ message: UnsafeRawBufferPointer) {}

    func nextMessage(_ id: ConnectionID, into buffer: inout MessageBuffer) -> Bool {
        let number = sent[id, default: 0]
        sent[id] = number + 1
        let digits = String(number)
        buffer.append(Array((String(repeating: "0", count: 8 - digits.count) + digits).utf8))
        buffer.append(Self.rest)
        return true
    }

    func closed(_ id: ConnectionID, code: UInt16, reason: String) {}

    private static let rest = [UInt8](repeating: UInt8(ascii: "x"), count: 4_000)

    /// How many messages were taken for a connection.
    func count(_ id: ConnectionID) async -> Int {
        await withCheckedContinuation { continuation in
            service.post { continuation.resume(returning: self.sent[id, default: 0]) }
        }
    }
}

@Suite(.serialized, .timeLimit(.minutes(2)))
struct BackPressureTests {
    @Test func `a reader that does not read is asked for nothing, and gets all in order when it reads`() async throws {
        let server = try EndlessServer()
        defer { server.service.stop() }
        let slow = try Foreign.client("slow", "ws://127.0.0.1:\(server.server.boundPort)/")
        #expect(await slow.says("opened peal.v1.json"))
        let id = try #require(server.order.all.first)
        // A second reader shows that the loop turns; while it gets thousands, the first one stands still.
        let fast = try Foreign.client("slow", "ws://127.0.0.1:\(server.server.boundPort)/")
        #expect(await fast.says("opened peal.v1.json"))
        try fast.write("go")
        #expect(await fast.says("read 5000"))
        let before = await server.count(id)
        #expect(await fast.says("read 10000"))
        #expect(await server.count(id) == before)
        // What the kernel's buffers took.
        #expect(before * 4_008 < 16 * 1024 * 1024)
        try slow.write("go")
        #expect(await slow.says("read \((before / 1_000 + 2) * 1_000)"))
    }

    @Test func `a client that stops reading gets nothing until it reads again`() async throws {
        let (foreign, port) = try await Foreign.server()
        let paused = try RecordingClient()
        defer { paused.service.stop() }
        try paused.connect("ws://127.0.0.1:\(port)/flood")
        #expect(await paused.journal.wait { $0.count > 2 })
        paused.client.setReading(false)
        let other = try RecordingClient(service: paused.service)
        try other.connect("ws://127.0.0.1:\(port)/echo")
        #expect(await other.journal.wait { $0 == [.opened] })
        let before = paused.journal.all.count
        for round in 1...100 {
            #expect(other.client.send([0x61]))
            #expect(await other.journal.wait { $0.count == round + 1 })
        }
        #expect(paused.journal.all.count == before)
        paused.client.setReading(true)
        #expect(await paused.journal.wait(seconds: 30) { $0.count == 4_001 })
        let numbers = paused.journal.all.compactMap { event -> Int? in
            guard case .message(let bytes) = event else { return nil }
            return Int(String(decoding: bytes.prefix(8), as: UTF8.self))
        }
        #expect(numbers == Array(0..<4_000))
        withExtendedLifetime(foreign) {}
    }

    @Test func `a full queue takes nothing more, and says so`() async throws {
        let (foreign, port) = try await Foreign.server()
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://127.0.0.1:\(port)/mute")
        #expect(await client.journal.wait { $0 == [.opened] })
        let message = [UInt8](repeating: 0x61, count: 256 * 1024)
        var taken = 0
        while client.client.send(message), taken < 1_000 { taken += 1 }
        #expect(taken < 1_000)
        #expect(!client.client.send([UInt8](repeating: 0x61, count: WebSocketClient.maximumQueuedBytes + 1)))
        withExtendedLifetime(foreign) {}
    }

    @Test func `what comes in one turn is told in one batch`() async throws {
        let (foreign, port) = try await Foreign.server()
        let client = try RecordingClient()
        defer { client.service.stop() }
        try client.connect("ws://127.0.0.1:\(port)/flood")
        #expect(await client.journal.wait(seconds: 30) { $0.count == 4_001 })
        #expect(client.batches < 4_001)
        withExtendedLifetime(foreign) {}
    }
}
