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
    /// Whether ``nextMessage(_:into:)`` is to be asked again, after it has given a message; true unless a handler knows better.
    /// A handler that answers false calls ``WebSocketServer/requestWrite(_:)`` when there is more.
    func hasMore(_ id: ConnectionID) -> Bool
    /// The connection is gone; once for each that was opened. 1006 where no code came.
    func closed(_ id: ConnectionID, code: UInt16, reason: String)
}

extension WebSocketServerHandler {
    /// Asks again.
    public func hasMore(_ id: ConnectionID) -> Bool { true }
}

/// How a server listens.
public struct WebSocketServerConfiguration: Sendable {
    /// The IP address; nil for every interface.
    public var host: String? = "127.0.0.1"
    /// The port; 0 for any.
    public var port = 0
    /// The only subprotocol that is spoken; a handshake without it is refused.
    public var subprotocol: String
    /// Bytes of a message that comes in; a larger one closes 4104.
    public var maximumMessageBytes = 64 * 1024
    /// Seconds of silence before a ping; 0: none is sent.
    public var pingSeconds = 30
    /// Seconds of silence before a connection counts as lost; 0: it never does.
    public var hangupSeconds = 45
    /// Seconds from a connection to the end of its handshake, TLS included; one over it is closed.
    public var handshakeSeconds = 10
    /// Connections at once; a handshake over it is answered with HTTP status 503 and Retry-After.
    public var maximumConnections = 100_000
    /// Handshakes that are under way at once; with one more the oldest is closed.
    public var maximumHandshakes = 1_000
    /// A PEM file; nil for no TLS.
    public var certificatePath: String?
    /// A PEM file; it goes with ``certificatePath``.
    public var keyPath: String?

    /// A configuration with the defaults.
    public init(subprotocol: String) { self.subprotocol = subprotocol }
}
