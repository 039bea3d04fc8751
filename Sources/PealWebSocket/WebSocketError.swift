/// Why a socket, or a service, could not be made.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// What went wrong; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The word, for logs.
        public let rawValue: String
        /// A code of its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Memory or descriptors ran out.
        public static let resources = Code(rawValue: "resources")
        /// The port is taken or not allowed, or a TLS file cannot be read.
        public static let listen = Code(rawValue: "listen")
        /// A certificate or its key cannot be used.
        public static let certificate = Code(rawValue: "certificate")
        /// The connection was lost, or never made.
        public static let lost = Code(rawValue: "lost")
        /// The URL is none of ours.
        public static let url = Code(rawValue: "url")
    }

    /// What went wrong.
    public let code: Code
    /// A sentence that says what to look at.
    public let message: String

    /// An error of its parts.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The sentence.
    public var description: String { message }
}
