internal import CPealWebSocket

/// One WebSocket connection at a time (RFC 6455), for text messages, usable from any thread. Many clients can share a service.
///
/// What breaks the rules is closed as ``WebSocketServer`` does. A client that nobody holds any more drops its connection.
public final class WebSocketClient: Sendable {
    /// Messages that may wait for the socket.
    public static let maximumQueuedMessages = 256
    /// Bytes that may wait for the socket.
    public static let maximumQueuedBytes = 1024 * 1024

    private let service: WebSocketService
    private let core: ClientCore

    /// A client that is not connected.
    ///
    /// - Parameter handler: held weakly.
    public init(service: WebSocketService, handler: any WebSocketClientHandler) {
        self.service = service
        core = ClientCore(service: service, handler: handler)
    }

    deinit {
        let core = core
        service.post { core.drop() }
    }

    /// Connects; ``WebSocketEvent/opened`` or ``WebSocketEvent/closed(code:reason:)`` follows, unless the next call of this
    /// or ``disconnect()`` comes before. One that is open is dropped without an event. Does not block: a name is looked up
    /// on a thread of its own, and its addresses are tried one after the other.
    ///
    /// - Throws: ``WebSocketError``: `url`, where the URL or the proxy is none.
    public func connect(_ configuration: WebSocketClientConfiguration) throws(WebSocketError) {
        let target = try WebSocketTarget(configuration.url)
        let proxy: WebSocketTarget? =
            if let address = configuration.proxy { try WebSocketTarget(proxy: address) } else { nil }
        if target.isSecure, configuration.verifiesCertificate, target.host.contains(":") {
            throw WebSocketError(.url, "a certificate cannot be checked against an IPv6 address: name the server")
        }
        service.post { [core] in core.connect(to: target, through: proxy, configuration) }
    }

    /// Queues a message. Callable from anywhere.
    ///
    /// - Returns: false where nothing is open, it is closing, or the queue is full; nothing was queued then.
    public func send(_ bytes: [UInt8]) -> Bool {
        core.send(bytes)
    }

    /// Closes with a code and a reason of up to 123 bytes after what is queued; ``WebSocketEvent/closed(code:reason:)``
    /// follows within five seconds where something was open or under way. Callable from anywhere.
    public func close(code: UInt16, reason: String) {
        core.refuseMessages()
        service.post { [core] in core.close(code: code, reason: reason) }
    }

    /// Drops what is open or under way, without an event. Callable from anywhere.
    public func disconnect() {
        service.post { [core] in core.drop() }
    }

    /// Stops or resumes reading, so that the peer feels the back-pressure. While nothing is read, silence is not taken for a
    /// lost connection. Callable from anywhere; every connection begins with reading.
    public func setReading(_ on: Bool) {
        service.post { [core] in core.setReading(on) }
    }
}
