import PealWebSocket
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Gathers what happens on other threads; a test waits for a condition with a deadline.
final class Journal<Event: Sendable>: Sendable {
    private let events = Mutex<[Event]>([])

    func note(_ event: Event) { events.withLock { $0.append(event) } }

    var all: [Event] { events.withLock { $0 } }

    /// Waits until the events satisfy a condition; false after the deadline.
    func wait(seconds: Double = 10, until condition: ([Event]) -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < deadline {
            if condition(all) { return true }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return condition(all)
    }
}

/// A server that answers each message with the same message, and remembers what happened.
final class EchoServer: WebSocketServerHandler, @unchecked Sendable {
    // Only used on the service's thread, but for `journal`.
    let journal = Journal<String>()
    let service: WebSocketService
    private(set) var server: WebSocketServer!
    private var queues: [ConnectionID: [[UInt8]]] = [:]
    private let inbox = Mutex<[ConnectionID]>([])

    init(_ change: (inout WebSocketServerConfiguration) -> Void = { _ in }) throws {
        service = try WebSocketService(name: "echo-server")
        service.start()
        var configuration = WebSocketServerConfiguration(subprotocol: "peal.v1.json")
        change(&configuration)
        server = try WebSocketServer(service: service, configuration: configuration, handler: self)
    }

    var url: String { "ws://127.0.0.1:\(server.boundPort)/" }

    func opened(_ id: ConnectionID, peer: String) {
        inbox.withLock { $0.append(id) }
        journal.note("opened from \(peer)")
    }

    func received(_ id: ConnectionID, _ message: UnsafeRawBufferPointer) {
        journal.note("message \(message.count)")
        queues[id, default: []].append(Array(message))
        server.requestWrite(id)
    }

    func nextMessage(_ id: ConnectionID, into buffer: inout MessageBuffer) -> Bool {
        guard let first = queues[id]?.first else { return false }
        queues[id]?.removeFirst()
        buffer.append(first)
        return true
    }

    func closed(_ id: ConnectionID, code: UInt16, reason: String) {
        journal.note("closed \(code) \(reason)")
    }

    /// Closes every connection that was opened.
    func closeAll(code: UInt16, reason: String) {
        let ids = inbox.withLock { $0 }
        service.post { for id in ids { self.server.close(id, code: code, reason: reason) } }
    }

    /// Sends a message to every connection that was opened.
    func sendAll(_ message: [UInt8]) {
        let ids = inbox.withLock { $0 }
        service.post {
            for id in ids {
                self.queues[id, default: []].append(message)
                self.server.requestWrite(id)
            }
        }
    }
}

/// A client that remembers its events.
final class RecordingClient: WebSocketClientHandler, Sendable {
    let journal = Journal<WebSocketEvent>()
    let service: WebSocketService
    private let box = Mutex<WebSocketClient?>(nil)
    private let batchCount = Mutex(0)

    init(service: WebSocketService? = nil) throws {
        self.service = try service ?? WebSocketService(name: "test-client")
        self.service.start()
        let client = WebSocketClient(service: self.service, handler: self)
        box.withLock { $0 = client }
    }

    var client: WebSocketClient { box.withLock { $0! } }

    func connect(_ url: String, _ change: (inout WebSocketClientConfiguration) -> Void = { _ in }) throws {
        var configuration = WebSocketClientConfiguration(url: url, subprotocol: "peal.v1.json")
        change(&configuration)
        try client.connect(configuration)
    }

    func received(_ events: [WebSocketEvent]) {
        batchCount.withLock { $0 += 1 }
        for event in events { journal.note(event) }
    }

    /// How often it was told something.
    var batches: Int { batchCount.withLock { $0 } }

    var closes: [WebSocketEvent] {
        journal.all.filter { if case .closed = $0 { true } else { false } }
    }
}
