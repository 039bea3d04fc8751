import Foundation
import PealModel
import PealWebSocket
import Synchronization

@testable import PealHub

/// A device's socket without a replica behind it: frames as they are, every wait ends after ten seconds.
final class TestDevice: WebSocketClientHandler, Sendable {
    /// One thread for every test's sockets.
    private static let service: WebSocketService = {
        guard let service = try? WebSocketService(name: "test-devices") else { fatalError("no socket service") }
        service.start()
        return service
    }()

    private let events = Mutex<[WebSocketEvent]>([])
    private let changed = DispatchSemaphore(value: 0)
    private let client = Mutex<WebSocketClient?>(nil)

    /// Connects and waits for the handshake.
    init(_ hub: TestHub) throws {
        let client = WebSocketClient(service: Self.service, handler: self)
        self.client.withLock { $0 = client }
        let url = "ws://127.0.0.1:\(hub.server.webSocketPort)/"
        try client.connect(WebSocketClientConfiguration(url: url, subprotocol: wireSubprotocol))
        let event = try next()
        guard event == .opened else { throw RawHTTPError(what: "not opened: \(event)") }
    }

    deinit { client.withLock { $0?.close(code: 1000, reason: "") } }

    func received(_ events: [WebSocketEvent]) {
        self.events.withLock { $0 += events }
        for _ in events { changed.signal() }
    }

    /// The next event.
    func next() throws -> WebSocketEvent {
        guard changed.wait(timeout: .now() + 10) == .success else { throw RawHTTPError(what: "nothing came") }
        return events.withLock { $0.removeFirst() }
    }

    /// The next frame.
    func frame() throws -> DownFrame {
        let event = try next()
        guard case .message(let bytes) = event else { throw RawHTTPError(what: "no frame: \(event)") }
        return try DownFrame(bytes[...])
    }

    /// The code of the close that comes, after whatever frames.
    func closeCode() throws -> UInt16 {
        while true {
            if case .closed(let code, _) = try next() { return code }
        }
    }

    /// Sends a frame.
    func send(_ frame: UpFrame) { send(frame.bytes) }

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) {
        let sent = client.withLock { $0?.send(bytes) ?? false }
        precondition(sent, "the socket is open and takes a frame")
    }

    /// Sends a frame, where the socket is open still.
    func offer(_ frame: UpFrame) { _ = client.withLock { $0?.send(frame.bytes) } }

    /// Sends a text as it is.
    func send(_ text: String) { send(Array(text.utf8)) }

    // MARK: Sessions

    /// Says hello and waits for the welcome.
    func welcome(_ hello: Hello) throws -> Welcome {
        send(.hello(hello))
        let frame = try frame()
        guard case .welcome(let welcome) = frame else { throw RawHTTPError(what: "no welcome: \(frame)") }
        return welcome
    }

    /// Waits for batches through a position, returns credit for them and gives the entries.
    func entries(through position: Position) throws -> [Entry] {
        var entries: [Entry] = []
        var reached: Position = -1
        while reached < position {
            let frame = try frame()
            guard case .batch(let batch) = frame else { throw RawHTTPError(what: "no batch: \(frame)") }
            if reached >= 0, batch.from != reached { throw RawHTTPError(what: "a gap after \(reached)") }
            reached = batch.to
            for entry in batch.entries { entries.append(try Entry(entry)) }
            send(.got(to: reached))
        }
        return entries
    }
}

extension TestHub {
    /// The first hello of a user's new replica.
    func hello(_ externalID: String, replica: ReplicaID? = nil, attempt: Int64 = 1, hmac: String? = nil) -> Hello {
        Hello(
            project: project.apiKey, inbox: .user(externalID: externalID, email: nil),
            replica: replica ?? ReplicaID(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max)),
            proof: Proof(hmac: hmac), attempt: attempt, nonce: "", cursor: .start)
    }
}
