/// One request of plain HTTP/1.1, with TLS where the URL says so; redirects are not followed.
public struct HTTPClientRequest: Sendable {
    /// `http://host[:port][/path]` or `https://…`, percent-encoded.
    public var url: String
    /// `GET`, `POST`, …
    public var method: String
    /// Names and values; `Host` and `Content-Length` are added. What cannot stand in a header is refused.
    public var headers: [(name: String, value: String)]
    /// The body; nil for none.
    public var body: [UInt8]?
    /// A PEM file of certificate authorities in place of the system's.
    public var authorityPath: String?
    /// `[user:password@]host:port` of an HTTP proxy, which is asked for a tunnel (CONNECT); nil for none.
    public var proxy: String?
    /// Seconds for all of it, for each address of the host.
    public var timeoutSeconds: Int
    /// A larger answer is a failure.
    public var maximumAnswerBytes: Int

    /// A request of its parts.
    public init(
        _ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        authorityPath: String? = nil, proxy: String? = nil, timeoutSeconds: Int = 30,
        maximumAnswerBytes: Int = 4 * 1024 * 1024
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.authorityPath = authorityPath
        self.proxy = proxy
        self.timeoutSeconds = timeoutSeconds
        self.maximumAnswerBytes = maximumAnswerBytes
    }

    /// The lines behind the first one and `Host`.
    ///
    /// - Throws: ``WebSocketError``: `url`, where a name or a value is none.
    func lines() throws(WebSocketError) -> String {
        var lines = ""
        for (name, value) in headers + (body.map { [("Content-Length", String($0.count))] } ?? []) {
            let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
            guard isName, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw WebSocketError(.url, "the header \(isName ? name : "") is none")
            }
            lines += "\(name): \(value)\r\n"
        }
        return lines
    }
}

/// What a server answered.
public struct HTTPClientAnswer: Sendable, Equatable {
    /// The status.
    public var status: Int
    /// The body, whole; empty where it was handed over as it came.
    public var body: [UInt8]
    /// The seconds of `Retry-After`; nil where there was none, or a date.
    public var retryAfterSeconds: Int?
    /// The server's clock, in seconds since 1970; nil where it did not say.
    package var date: Int64?
    /// The server's certificate; nil without TLS.
    package var certificate: ServerCertificate?
}

/// What a server's certificate says.
package struct ServerCertificate: Sendable, Equatable {
    /// The name in its subject; nil where it has none.
    package var name: String?
    /// Until when it is good, in seconds since 1970.
    package var end: Int64
}

extension WebSocketService {
    /// Carries out a request on this service's thread; a name is looked up on a thread of its own, and its addresses are
    /// tried one after the other. Callable from anywhere; the service has been started. A cancelled task drops it.
    ///
    /// - Parameters:
    ///   - request: what is asked.
    ///   - onBytes: gets an answer of 200 as it comes, on this service's thread; it may go on for ever then, and `timeoutSeconds` are those of a
    ///     silence.
    /// - Throws: ``WebSocketError``: `url` where URL, proxy or headers are none, `lost` where no whole answer came.
    public func answer(
        to request: HTTPClientRequest, onBytes: (@Sendable ([UInt8]) -> Void)? = nil
    ) async throws(WebSocketError) -> HTTPClientAnswer {
        let target = try WebSocketTarget(http: request.url)
        let proxy = try request.proxy.map { (text) throws(WebSocketError) in try WebSocketTarget(proxy: text) }
        let lines = try request.lines()
        let (answers, continuation) = AsyncStream.makeStream(of: HTTPExchange.Answer.self)
        let exchange = HTTPExchange(service: self, request, lines, through: proxy, onBytes, continuation)
        continuation.onTermination = { [weak self] _ in self?.post { exchange.drop() } }
        if !post({ exchange.begin(target) }) { continuation.finish() }
        for await answer in answers { return try answer.get() }
        throw WebSocketError(.lost, Task.isCancelled ? "the request was given up" : "the service was stopped")
    }
}
