/// What a client tells, in the order in which it happened.
public enum WebSocketEvent: Sendable, Equatable {
    /// The handshake is done, and the server speaks the subprotocol.
    case opened
    /// One whole text message, valid UTF-8.
    case message([UInt8])
    /// The connection is gone, or was not made: 1006 and a sentence then, 1005 where the peer gave no code. Nothing follows
    /// until the next connect.
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
    /// `[user:password@]host:port` of an HTTP proxy that is asked to CONNECT; nil for none. No environment variable is read.
    public var proxy: String?
    /// Seconds that connecting, TLS and handshake may take, for each address of the server; 0: the system's limits.
    public var connectTimeoutSeconds = 10
    /// Seconds of silence before a ping; 0: none is sent.
    public var pingSeconds = 30
    /// Seconds of silence before the connection counts as lost; 0: it never does.
    public var hangupSeconds = 45
    /// Bytes of a message that comes in; a larger one closes 4104.
    public var maximumMessageBytes = 256 * 1024

    /// A configuration with the defaults.
    public init(url: String, subprotocol: String) {
        self.url = url
        self.subprotocol = subprotocol
    }
}
