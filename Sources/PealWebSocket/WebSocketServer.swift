internal import CPealWebSocket

/// A connection's number; no other connection of the process ever has it.
public struct ConnectionID: Hashable, Sendable {
    /// The number, for logs.
    public let rawValue: UInt64
}

/// What a server tells; every method is called on the service's thread and must not block.
public protocol WebSocketServerHandler: AnyObject, Sendable {
    /// A handshake is done.
    func opened(_ id: ConnectionID, peer: String)
    /// One whole text message came; it is valid UTF-8, and valid during the call only.
    func received(_ id: ConnectionID, _ message: UnsafeRawBufferPointer)
    /// The socket can be written. Appends one message and answers true, to be asked again; or answers false: nothing to send.
    func nextMessage(_ id: ConnectionID, into buffer: inout MessageBuffer) -> Bool
    /// The connection is gone; once for each that was opened. 1006 where no code came.
    func closed(_ id: ConnectionID, code: UInt16, reason: String)
}

/// How a server listens.
public struct WebSocketServerConfiguration: Sendable {
    /// The address; nil for every interface.
    public var host: String? = "127.0.0.1"
    /// The port; 0 for any.
    public var port = 0
    /// The only subprotocol that is spoken; a handshake without it is refused.
    public var subprotocol: String
    /// Bytes of a message that comes in; a larger one closes 4104.
    public var maximumMessageBytes = 64 * 1024
    /// Seconds of silence before a ping.
    public var pingSeconds = 30
    /// Seconds of silence before a connection counts as lost.
    public var hangupSeconds = 45
    /// Connections at once; more are refused.
    public var maximumConnections = 100_000
    /// A PEM file; nil for no TLS.
    public var certificatePath: String?
    /// A PEM file.
    public var keyPath: String?

    /// A configuration with the defaults.
    public init(subprotocol: String) { self.subprotocol = subprotocol }
}

/// A WebSocket server on a service (RFC 6455), for text messages of one subprotocol. A binary frame closes 4203, invalid UTF-8
/// closes 1007 (section 8.1). Messages are pulled when the socket can take them, so a slow reader costs no memory.
public final class WebSocketServer: @unchecked Sendable {
    // `core` and `listener` are only used on the service's thread.
    private let service: WebSocketService
    private let core: ServerCore
    /// The port that it listens on.
    public let boundPort: Int

    /// Listens. Blocks until the service's thread has done it; ``WebSocketService/start()`` comes first.
    ///
    /// - Throws: ``WebSocketError``: `listen`.
    public init(
        service: WebSocketService, configuration: WebSocketServerConfiguration, handler: any WebSocketServerHandler
    ) throws(WebSocketError) {
        self.service = service
        let core = ServerCore(handler: handler)
        self.core = core
        let port = service.runAndWait { core.listen(service, configuration) }
        guard let port else {
            throw WebSocketError(
                .listen,
                "cannot listen on \(configuration.host ?? "*"):\(configuration.port): the port is taken or not allowed"
                    + (configuration.certificatePath == nil ? "" : ", or the certificate or key cannot be read"))
        }
        boundPort = port
    }

    /// Asks for ``WebSocketServerHandler/nextMessage(_:into:)``. On the service's thread.
    public func requestWrite(_ id: ConnectionID) {
        if let connection = core.connections[id] { pws_want_write(connection) }
    }

    /// Closes with a code and a reason of up to 123 bytes, after the messages that the handler still gives. On the service's
    /// thread.
    public func close(_ id: ConnectionID, code: UInt16, reason: String) {
        if let connection = core.connections[id] { pws_close(connection, code, reason) }
    }

    /// Drops a connection. On the service's thread.
    public func abort(_ id: ConnectionID) {
        if let connection = core.connections[id] { pws_abort(connection) }
    }

    /// Stops listening and drops every connection; blocks until it is done. Not from the service's thread.
    public func stop() {
        let core = core
        _ = service.runAndWait {
            core.close()
            return 0
        }
    }
}

/// The part of a server that lives on the service's thread.
final class ServerCore: @unchecked Sendable {
    // Only used on the service's thread.
    private let handler: any WebSocketServerHandler
    private var server: OpaquePointer?
    private(set) var connections: [ConnectionID: OpaquePointer] = [:]
    private var buffer = MessageBuffer()

    init(handler: any WebSocketServerHandler) { self.handler = handler }

    func listen(_ service: WebSocketService, _ configuration: WebSocketServerConfiguration) -> Int? {
        // The owner outlives the server: events come until the service is destroyed.
        let owner = EventOwner { self.event($0, $1, $2, $3) }.retained()
        server = withOptionalCString(configuration.host) { host in
            withOptionalCString(configuration.certificatePath) { certificate in
                withOptionalCString(configuration.keyPath) { key in
                    configuration.subprotocol.withCString { subprotocol in
                        var options = pws_server_options()
                        options.host = host
                        options.port = Int32(configuration.port)
                        options.subprotocol = subprotocol
                        options.maximum_message = configuration.maximumMessageBytes
                        options.ping_seconds = Int32(configuration.pingSeconds)
                        options.hangup_seconds = Int32(configuration.hangupSeconds)
                        options.maximum_connections = Int32(configuration.maximumConnections)
                        options.certificate = certificate
                        options.key = key
                        return pws_listen(service.handle, &options, owner)
                    }
                }
            }
        }
        return server.map { Int(pws_port($0)) }
    }

    func close() {
        if let server { pws_server_close(server) }
        server = nil
    }

    private func event(
        _ connection: OpaquePointer, _ event: pws_event, _ code: UInt16, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        let id = ConnectionID(rawValue: pws_id(connection))
        switch event {
        case PWS_OPENED:
            connections[id] = connection
            handler.opened(id, peer: String(decoding: bytes, as: UTF8.self))
        case PWS_MESSAGE: handler.received(id, bytes)
        case PWS_WRITABLE:
            buffer.clear()
            guard handler.nextMessage(id, into: &buffer) else { return false }
            if !buffer.write(to: connection) { pws_abort(connection) }
            return true
        case PWS_CLOSED:
            connections[id] = nil
            handler.closed(id, code: code, reason: String(decoding: bytes, as: UTF8.self))
        default: break
        }
        return false
    }
}

/// Lends the C form of a string, or NULL.
func withOptionalCString<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}
