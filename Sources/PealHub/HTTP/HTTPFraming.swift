/// How the end of a request's body is told. Ambiguous requests are refused: a proxy in front and this server must not
/// disagree about where the next request begins.
struct HTTPFraming: Equatable {
    /// What is known of the length.
    enum Body: Equatable {
        /// Exactly this many bytes; 0 when there is no body.
        case length(UInt64)
        /// Chunked; the length is not known.
        case chunked
    }
    /// The length of the body.
    let body: Body
    /// The client waits for `100 Continue` before it sends the body.
    let expectsContinue: Bool

    /// Reads the framing fields.
    init(_ headers: HTTPHeaders) throws(HTTPFailure) {
        let lengths = headers.values("Content-Length")
        let encodings = headers.values("Transfer-Encoding")
        guard lengths.count + encodings.count <= 1 else {
            throw .badRequest("ambiguous_length", "The length of the request body is given more than once.")
        }
        if let encoding = encodings.first {
            guard HTTPHeaders.sameName(encoding, "chunked") else {
                throw .badRequest("unknown_transfer_encoding", "The only transfer encoding understood is chunked.")
            }
            body = .chunked
        } else if let length = lengths.first {
            guard let length = UInt64(length), lengths[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                throw .badRequest("bad_length", "The Content-Length is not a number.")
            }
            body = .length(length)
        } else {
            body = .length(0)
        }
        expectsContinue = headers["Expect"].map { HTTPHeaders.sameName($0, "100-continue") } ?? false
    }
}
