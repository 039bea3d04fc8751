#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Where a server listens and what it lets a client use up.
package struct HTTPServerConfiguration: Sendable {
    /// Paths of PEM files.
    package struct TLS: Sendable {
        /// The certificate, followed by its chain.
        package var certificatePath: String
        /// The private key, without a password.
        package var keyPath: String
        /// TLS 1.2 and 1.3 with this certificate and key.
        package init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// A numeric address or a name; the first address of a name is used.
    package var host = "127.0.0.1"
    /// The port; 0 lets the system choose (`HTTPServer.boundPort`).
    package var port: UInt16 = 0
    /// Open connections at a time; more wait in the system's queue.
    package var maximumConnections = HubLimits().connections
    /// Open connections of one address; 0 for no limit. More are closed at once. Behind a proxy all share one address.
    package var maximumConnectionsPerAddress = 0
    /// Seconds without a byte after which a connection is closed; not counted while a handler works.
    package var idleSeconds = HubLimits().idleSeconds
    /// Seconds that a new connection may take until the head of its first request is there; ``HTTPServer/cutOverdue()`` looks.
    package var headSeconds = HubLimits().headSeconds
    /// Seconds that a client may take to read an answer; ``HTTPServer/cutOverdue()`` looks.
    package var answerSeconds = HubLimits().answerSeconds
    /// Seconds that a body may take from the end of the headers to its last byte, however steadily it trickles.
    package var bodySeconds = HubLimits().bodySeconds
    /// Bytes of the request line and the header fields together; beyond, 431 and the connection is closed.
    package var maximumHeaderBytes = HubLimits.headers
    /// Header fields; beyond, 431 and the connection is closed.
    package var maximumHeaderFields = HubLimits.headerFields
    /// Bytes of a body, whatever the handler allows; beyond, 413.
    package var maximumBodyBytes = HubLimits.body
    /// Bytes of a refused body that are read and dropped so that the connection stays usable; beyond, it is closed.
    package var maximumDrainedBytes = HubLimits.drainedBody
    /// TLS, or nil for plain HTTP.
    package var tls: TLS?
    /// Told of each answer, on the server's thread; must not block.
    package var answered: @Sendable (HTTPAnswered) -> Void = { _ in }
    /// Takes a line about a mistake of our own; called on any thread. Standard error unless replaced.
    package var log: @Sendable (String) -> Void = { line in
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }

    /// Loopback, a port of the system's choice, and limits that suit a hub.
    package init() {}
}

/// Why a server could not start.
package struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One reason; an open set.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the reason.
        package let rawValue: String
        /// A reason by name.
        package init(rawValue: String) { self.rawValue = rawValue }
        /// The host is neither an address nor a name that resolves.
        package static let unknownHost = Code(rawValue: "unknown_host")
        /// The address cannot be listened on (in use, not ours, not allowed), or TLS refused certificate or key.
        package static let cannotListen = Code(rawValue: "cannot_listen")
        /// The certificate or key file cannot be read.
        package static let unreadableFile = Code(rawValue: "unreadable_file")
    }
    /// The reason.
    package let code: Code
    /// What was tried, and what the system said.
    package let message: String
    /// The code and the message.
    package var description: String { "\(code.rawValue): \(message)" }
}
