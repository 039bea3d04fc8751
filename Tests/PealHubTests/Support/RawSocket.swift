import Dispatch
import Glibc
import PealModel
import PealWebSocket
import Synchronization

@testable import PealHub

/// A WebSocket client that answers nothing by itself and reads only when it is told to; every wait ends after ten seconds.
final class RawSocket {
    /// The request of a handshake that is taken.
    static let handshake =
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: \(wireSubprotocol)\r\n\r\n"

    private let client: RawHTTPClient

    /// Connects and waits for the handshake.
    init(_ hub: TestHub) throws {
        client = try hub.socketClient()
        try client.send(Self.handshake)
        let status = try client.response().status
        guard status == 101 else { throw RawHTTPError(what: "handshake: \(status)") }
    }

    /// Sends a frame.
    func send(_ frame: UpFrame) throws { try send(Array(frame.bytes)) }

    /// Sends a message; its mask is four zeros.
    func send(_ bytes: [UInt8]) throws {
        precondition(bytes.count < 65_536, "a length of two bytes")
        let head: [UInt8] =
            bytes.count < 126
            ? [0x81, 0x80 | UInt8(bytes.count)]
            : [0x81, 0x80 | 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        try write(head + [0, 0, 0, 0] + bytes)
    }

    /// Sends bytes as they are.
    func write(_ bytes: [UInt8]) throws { try client.send(bytes) }

    /// The next WebSocket frame.
    func next() throws -> (opcode: UInt8, payload: [UInt8]) {
        let head = try client.bytes(2)
        var count = Int(head[1] & 0x7F)
        if count >= 126 {
            count = try client.bytes(count == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) }
        }
        return (head[0] & 0x0F, try client.bytes(count))
    }

    /// The next frame of the hub's.
    func frame() throws -> DownFrame {
        while true {
            let (opcode, payload) = try next()
            if opcode == 1 { return try DownFrame(payload[...]) }
            if opcode == 8 { throw RawHTTPError(what: "closed \(payload)") }
        }
    }

    /// The code of the close that comes, and the messages that came before it.
    func close() throws -> (code: UInt16, messages: [[UInt8]]) {
        var messages: [[UInt8]] = []
        while true {
            let (opcode, payload) = try next()
            if opcode == 1 { messages.append(payload) }
            if opcode == 8 { return (UInt16(payload[0]) << 8 | UInt16(payload[1]), messages) }
        }
    }
}

extension TestHub {
    /// A TCP connection to the device side that has said nothing; it keeps the hub.
    func socketClient() throws -> RawHTTPClient {
        try RawHTTPClient(port: UInt16(server.webSocketPort), keeping: self)
    }
}

extension TestHub {
    /// Runs something on the hub's thread and waits for it: a test that awaits may wait for those that block.
    @discardableResult
    func onHub<R: Sendable>(_ body: @escaping @Sendable (isolated Hub) -> R) -> R {
        let hub = server.core.hub
        let result = Mutex<R?>(nil)
        let done = DispatchSemaphore(value: 0)
        hub.service.post {
            hub.assumeIsolated { hub in
                let value = body(hub)
                result.withLock { $0 = value }
            }
            done.signal()
        }
        done.wait()
        guard let value = result.withLock({ $0 }) else { preconditionFailure("the hub has stopped") }
        return value
    }

    /// Waits until what is being read of the logs is read, and told.
    func logsAreRead() {
        let done = DispatchSemaphore(value: 0)
        server.core.reader.read({ (_) throws(HubStoreError) in () }, completion: { _ in done.signal() })
        done.wait()
        onHub { _ in }
    }
}

/// Waits until something is so.
func until(_ what: String, within limit: Duration = .seconds(10), _ isSo: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + limit
    while try !isSo() {
        guard ContinuousClock.now < deadline else { throw RawHTTPError(what: "never: \(what)") }
        sched_yield()
    }
}
