internal import CPealWebSocket
internal import Synchronization

/// What a client tells, in the order in which it happened.
public enum WebSocketEvent: Sendable, Equatable {
    /// The handshake is done.
    case opened
    /// One whole text message, valid UTF-8.
    case message([UInt8])
    /// The connection is gone, or was not made: 1006 and a sentence then. Nothing follows until the next connect.
    case closed(code: UInt16, reason: String)
}

/// What gets a client's events.
public protocol WebSocketClientHandler: AnyObject, Sendable {
    /// Called on the service's thread, once for each turn of its loop, with all that the turn brought. Must not block: hop to
    /// where the session lives.
    func received(_ events: [WebSocketEvent])
}

/// How a client connects.
public struct WebSocketClientConfiguration: Sendable {
    /// `ws://host[:port]/path` or `wss://…`.
    public var url: String
    /// The subprotocol that is asked for; a server that does not speak it is refused.
    public var subprotocol: String
    /// A PEM file of certificate authorities in place of the system's.
    public var authorityPath: String?
    /// Whether the server's certificate and name are checked; false is for tests only.
    public var verifiesCertificate = true
    /// Seconds that connecting, TLS and handshake may take.
    public var connectTimeoutSeconds = 10
    /// Seconds of silence before a ping.
    public var pingSeconds = 30
    /// Seconds of silence before the connection counts as lost.
    public var hangupSeconds = 45
    /// Bytes of a message that comes in; a larger one closes 4104.
    public var maximumMessageBytes = 256 * 1024

    /// A configuration with the defaults.
    public init(url: String, subprotocol: String) {
        self.url = url
        self.subprotocol = subprotocol
    }
}

/// One WebSocket connection at a time (RFC 6455), for text messages, usable from any thread. Many clients can share a service.
public final class WebSocketClient: @unchecked Sendable {
    /// Messages that may wait for the socket.
    public static let maximumQueuedMessages = 256
    /// Bytes that may wait for the socket.
    public static let maximumQueuedBytes = 1024 * 1024

    private struct Outgoing {
        var messages: [[UInt8]] = []
        var bytes = 0
        var open = false
    }

    private let service: WebSocketService
    private let outgoing = Mutex(Outgoing())
    // What follows is only used on the service's thread.
    private weak var handler: (any WebSocketClientHandler)?
    private var connection: OpaquePointer?
    private var attempt = 0
    private var owner: EventOwner?
    private var events: [WebSocketEvent] = []
    private var buffer = MessageBuffer()
    /// Dropped connections whose end has not been told yet.
    private var abandoned: [OpaquePointer: EventOwner] = [:]

    /// A client that is not connected.
    ///
    /// - Parameter handler: held weakly.
    public init(service: WebSocketService, handler: any WebSocketClientHandler) {
        self.service = service
        self.handler = handler
    }

    /// Connects; ``WebSocketEvent/opened`` or ``WebSocketEvent/closed(code:reason:)`` follows. One that is open is dropped
    /// without an event.
    ///
    /// - Throws: ``WebSocketError``: `url`.
    public func connect(_ configuration: WebSocketClientConfiguration) throws(WebSocketError) {
        let target = try WebSocketTarget(configuration.url)
        if target.needsNoLookup {
            service.post { self.connect(target, target.host == "localhost" ? "127.0.0.1" : target.host, configuration) }
        } else {
            // getaddrinfo blocks, so it has a thread of its own.
            Resolver.resolve(target.host) { address in
                self.service.post { self.connect(target, address, configuration) }
            }
        }
    }

    private func connect(_ target: WebSocketTarget, _ address: String?, _ configuration: WebSocketClientConfiguration) {
        drop()
        attempt += 1
        let number = attempt
        guard let address else {
            note(.closed(code: 1006, reason: "the name \(target.host) has no address"))
            return
        }
        // Kept while libwebsockets holds the pointer: until the closed event.
        let owner = EventOwner { self.event($0, $1, $2, $3) }
        let pointer = owner.retained()
        self.owner = owner
        let made = withOptionalCString(configuration.authorityPath) { authority in
            address.withCString { address in
                target.host.withCString { host in
                    target.path.withCString { path in
                        configuration.subprotocol.withCString { subprotocol in
                            var options = pws_client_options()
                            options.address = address
                            options.host = host
                            options.port = Int32(target.port)
                            options.path = path
                            options.subprotocol = subprotocol
                            options.maximum_message = configuration.maximumMessageBytes
                            options.ping_seconds = Int32(configuration.pingSeconds)
                            options.hangup_seconds = Int32(configuration.hangupSeconds)
                            options.tls = target.isSecure
                            options.verify = configuration.verifiesCertificate
                            options.authority = authority
                            return pws_connect(service.handle, &options, pointer)
                        }
                    }
                }
            }
        }
        connection = made
        guard made != nil else { return }
        service.post(afterMilliseconds: Int64(configuration.connectTimeoutSeconds) * 1_000) {
            let open = self.outgoing.withLock { $0.open }
            if self.attempt == number, !open, let connection = self.connection { pws_abort(connection) }
        }
    }

    /// Drops what is open; its events no longer matter.
    private func drop() {
        outgoing.withLock { $0 = Outgoing() }
        if let connection, let owner {
            abandoned[connection] = owner
            pws_abort(connection)
        }
        connection = nil
        owner = nil
    }

    /// Queues a message. Callable from anywhere.
    ///
    /// - Returns: false where nothing is open or the queue is full; nothing was queued then.
    public func send(_ bytes: [UInt8]) -> Bool {
        let (queued, first) = outgoing.withLock { outgoing in
            guard outgoing.open, outgoing.messages.count < Self.maximumQueuedMessages,
                outgoing.bytes + bytes.count <= Self.maximumQueuedBytes
            else { return (false, false) }
            outgoing.messages.append(bytes)
            outgoing.bytes += bytes.count
            return (true, outgoing.messages.count == 1)
        }
        if first {
            service.post { if let connection = self.connection { pws_want_write(connection) } }
        }
        return queued
    }

    /// Closes with a code and a reason of up to 123 bytes after what is queued; ``WebSocketEvent/closed(code:reason:)``
    /// follows. Callable from anywhere.
    public func close(code: UInt16, reason: String) {
        service.post { if let connection = self.connection { pws_close(connection, code, reason) } }
    }

    /// Stops or resumes reading, so that the peer feels the back-pressure. Callable from anywhere.
    public func setReading(_ on: Bool) {
        service.post { if let connection = self.connection { pws_read(connection, on) } }
    }

    // MARK: Events

    private func note(_ event: WebSocketEvent) {
        events.append(event)
        if events.count == 1 { service.deliverAfterTurn(self) }
    }

    /// Hands over what a turn brought. On the service's thread.
    func deliver() {
        let batch = events
        events.removeAll(keepingCapacity: true)
        if !batch.isEmpty { handler?.received(batch) }
    }

    private func event(
        _ connection: OpaquePointer, _ event: pws_event, _ code: UInt16, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        if event == PWS_CLOSED, let owner = abandoned.removeValue(forKey: connection) {
            release(owner)
            return false
        }
        guard abandoned[connection] == nil else { return false }
        switch event {
        case PWS_OPENED:
            outgoing.withLock { $0.open = true }
            note(.opened)
        case PWS_MESSAGE: note(.message(Array(bytes)))
        case PWS_WRITABLE: return writable(connection)
        case PWS_CLOSED:
            self.connection = nil
            outgoing.withLock { $0 = Outgoing() }
            note(.closed(code: code, reason: String(decoding: bytes, as: UTF8.self)))
            if let owner { release(owner) }
            owner = nil
        default: break
        }
        return false
    }

    private func release(_ owner: EventOwner) {
        // Released after this call has returned: the caller still uses the object.
        service.post { owner.release() }
    }

    private func writable(_ connection: OpaquePointer) -> Bool {
        let message: [UInt8]? = outgoing.withLock { outgoing in
            guard !outgoing.messages.isEmpty else { return nil }
            let message = outgoing.messages.removeFirst()
            outgoing.bytes -= message.count
            return message
        }
        guard let message else { return false }
        buffer.clear()
        buffer.append(message)
        if !buffer.write(to: connection) { pws_abort(connection) }
        return true
    }
}
