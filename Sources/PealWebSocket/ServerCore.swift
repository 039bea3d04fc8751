internal import CPealWebSocket

/// The part of a server that lives on the service's thread.
// `service` is Sendable; the rest is only used on the service's thread, which `connection` and `count` check.
final class ServerCore: EventOwner, @unchecked Sendable {
    private let service: WebSocketService
    private var handler: (any WebSocketServerHandler)?
    private var server: OpaquePointer?
    private var connections: [UInt64: OpaquePointer] = [:]
    private var buffer = MessageBuffer()

    init(service: WebSocketService, handler: any WebSocketServerHandler) {
        self.service = service
        self.handler = handler
    }

    var count: Int {
        service.checkIsolated()
        return connections.count
    }

    func connection(_ id: ConnectionID) -> OpaquePointer? {
        service.checkIsolated()
        return connections[id.rawValue]
    }

    /// - Returns: the port, or nil.
    func listen(_ configuration: WebSocketServerConfiguration) -> Int? {
        guard let handle = service.openHandle else { return nil }
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
                        options.handshake_seconds = Int32(configuration.handshakeSeconds)
                        options.maximum_connections = Int32(configuration.maximumConnections)
                        options.maximum_handshakes = Int32(configuration.maximumHandshakes)
                        options.certificate = certificate
                        options.key = key
                        return pws_listen(handle, &options, pointer)
                    }
                }
            }
        }
        guard let server else { return nil }
        service.keep(self)
        return Int(pws_port(server))
    }

    /// - Returns: why the pair cannot be used; nil where it is.
    func renew(_ certificate: [UInt8], _ key: [UInt8]) -> String? {
        guard let server, service.openHandle != nil else { return "the server has stopped" }
        return certificate.withUnsafeBytes { certificate in
            key.withUnsafeBytes { key in
                pws_server_renew(
                    server, certificate.baseAddress?.assumingMemoryBound(to: CChar.self), certificate.count,
                    key.baseAddress?.assumingMemoryBound(to: CChar.self), key.count
                ).map { String(cString: $0) }
            }
        }
    }

    func close() {
        if let server, service.openHandle != nil { pws_server_close(server) }
        server = nil
        handler = nil
        service.letGo(self)
    }

    /// A handler that holds its server is a cycle no longer.
    override func serviceEnded() {
        server = nil
        handler = nil
    }

    override func take(
        _ event: pws_event, of connection: OpaquePointer, code: UInt16, bytes: UnsafeRawBufferPointer
    ) -> Bool {
        guard let handler else { return false }
        let id = ConnectionID(rawValue: pws_id(connection))
        switch event {
        case PWS_OPENED:
            connections[id.rawValue] = connection
            handler.opened(id, peer: String(decoding: bytes, as: UTF8.self))
        case PWS_MESSAGE: handler.received(id, bytes)
        case PWS_WRITABLE:
            buffer.clear()
            return handler.nextMessage(id, into: &buffer) && buffer.write(to: connection) && handler.hasMore(id)
        case PWS_CLOSED:
            connections[id.rawValue] = nil
            handler.closed(id, code: code, reason: String(decoding: bytes, as: UTF8.self))
        default: break
        }
        return false
    }
}
