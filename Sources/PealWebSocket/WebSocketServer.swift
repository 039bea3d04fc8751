internal import CPealWebSocket

/// A WebSocket server on a service (RFC 6455), for text messages of one subprotocol.
///
/// Messages are pulled when the socket can take them, so a slow reader costs no memory. What breaks the rules is closed: 4104
/// a message over the limit, 4203 a binary message or one that is not UTF-8 (in place of RFC 6455's 1007, since our codes
/// say what a client shall do), 1002 a malformed frame. A handshake without the subprotocol gets HTTP status 400, a plain
/// request 426. It listens until ``stop()``, or until its service is stopped.
public final class WebSocketServer: Sendable {
    private let service: WebSocketService
    private let core: ServerCore
    /// The port that it listens on.
    public let boundPort: Int

    /// Listens. Blocks until the service's thread has done it; ``WebSocketService/start()`` comes first.
    ///
    /// - Parameter handler: kept until ``stop()`` or the end of the service.
    /// - Throws: ``WebSocketError``: `listen`.
    public init(
        service: WebSocketService, configuration: WebSocketServerConfiguration, handler: any WebSocketServerHandler
    ) throws(WebSocketError) {
        self.service = service
        let core = ServerCore(service: service, handler: handler)
        self.core = core
        let port = service.runAndWait { core.listen(configuration) } ?? nil
        guard let port else {
            throw WebSocketError(
                .listen,
                "cannot listen on \(configuration.host ?? "*"):\(configuration.port): the port is taken or not allowed"
                    + (configuration.certificatePath == nil ? "" : ", or the certificate or key cannot be read"))
        }
        boundPort = port
    }

    /// Gives handshakes from now on another certificate with its chain and key (PEM texts); open connections keep theirs. Blocks until
    /// the service's thread has done it. Not from the service's thread.
    ///
    /// - Throws: ``WebSocketError``: `certificate`, where the pair cannot be used; the old one stays.
    public func renew(certificate: [UInt8], key: [UInt8]) throws(WebSocketError) {
        let core = core
        let problem = service.runAndWait { core.renew(certificate, key) } ?? "the server has stopped"
        if let problem { throw WebSocketError(.certificate, problem) }
    }

    /// Asks for ``WebSocketServerHandler/nextMessage(_:into:)``. On the service's thread; harmless where the connection is
    /// gone.
    public func requestWrite(_ id: ConnectionID) {
        if let connection = core.connection(id) { pws_want_write(connection) }
    }

    /// Closes with a code and a reason of up to 123 bytes, after the messages that the handler still gives;
    /// ``WebSocketServerHandler/closed(_:code:reason:)`` follows, within five seconds. On the service's thread; the first
    /// code counts.
    public func close(_ id: ConnectionID, code: UInt16, reason: String) {
        if let connection = core.connection(id) { pws_close(connection, code, reason) }
    }

    /// Drops a connection; ``WebSocketServerHandler/closed(_:code:reason:)`` follows. On the service's thread.
    public func abort(_ id: ConnectionID) {
        if let connection = core.connection(id) { pws_abort(connection) }
    }

    /// Connections that are open. On the service's thread.
    public var connectionCount: Int { core.count }

    /// Refuses handshakes and drops every connection, with a closed event for each; blocks until it is done. The port is
    /// free once the service is stopped. Harmless when repeated, or when the service has stopped. Not from the service's thread.
    public func stop() {
        let core = core
        _ = service.runAndWait { core.close() }
    }
}
