/// What an answer was to, for whoever counts and logs. It holds no body; the target and the headers of `head` can hold secrets
/// and names: neither goes into a log.
package struct HTTPAnswered: Sendable {
    /// What the client finds in `X-Request-Id`.
    package var requestID: String
    /// The first path segment says whose surface it was.
    package var target: String
    /// The request; nil where it could not be read.
    package var head: HTTPRequestHead?
    /// The status that was sent.
    package var status: Int
    /// Bytes of the answer's body.
    package var bytes: Int
    /// From the request line to the answer.
    package var duration: Duration
    /// The other end's numeric address.
    package var peer: String
}

/// Names of requests, by which a line of the log and an answer are found together.
enum HTTPRequestID {
    /// Letters of a name that is taken from a client.
    static let limit = 64

    /// The client's own `X-Request-Id` where it is a short word, else a new one.
    static func of(_ headers: HTTPHeaders) -> String {
        if let given = headers["X-Request-Id"], isSane(given) { return given }
        return Hexadecimal.encode(RandomBytes.make(8))
    }

    /// Whether it can stand in a header and in a log as it is.
    static func isSane(_ text: String) -> Bool {
        (1...limit).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
                default: false
                }
            }
    }
}
