/// An answer. The server adds `Date` and `Content-Length`, the latter for empty bodies too (but not for 204 and 304,
/// where the protocol forbids it).
package struct HTTPResponse: Sendable, Equatable {
    /// The status, 200–599.
    package let status: Int
    /// Fields beyond `Date`, `Content-Length`, `Content-Type`.
    package var headers: HTTPHeaders
    /// The media type, nil for none.
    package let contentType: String?
    /// The body; must be empty for 204 and 304.
    package let body: [UInt8]
    /// A body that goes on, in place of ``body``; nil for most.
    package private(set) var stream: HTTPStream?

    /// An answer. A status outside 200–599, or a body where none is allowed, is a programming error.
    package init(status: Int, headers: HTTPHeaders = HTTPHeaders(), contentType: String?, body: [UInt8]) {
        precondition((200...599).contains(status), "A response has a final status")
        precondition(body.isEmpty || (status != 204 && status != 304), "This status allows no body")
        self.status = status
        self.headers = headers
        self.contentType = contentType
        self.body = body
    }

    /// JSON text.
    package static func json(_ status: Int, _ body: [UInt8], headers: HTTPHeaders = HTTPHeaders()) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, contentType: "application/json; charset=utf-8", body: body)
    }

    /// Plain text.
    package static func text(_ status: Int, _ body: String, headers: HTTPHeaders = HTTPHeaders()) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: headers, contentType: "text/plain; charset=utf-8", body: Array(body.utf8))
    }

    /// Server-sent events, as they are written.
    package static func events(_ stream: HTTPStream) -> HTTPResponse {
        var response = HTTPResponse(
            status: 200, headers: ["Cache-Control": "no-store"], contentType: "text/event-stream", body: [])
        response.stream = stream
        return response
    }

    /// Whether two answers are the same; of a stream, the very same one.
    package static func == (left: HTTPResponse, right: HTTPResponse) -> Bool {
        left.status == right.status && left.headers == right.headers && left.contentType == right.contentType
            && left.body == right.body && left.stream === right.stream
    }

    /// No body.
    package static func empty(_ status: Int, headers: HTTPHeaders = HTTPHeaders()) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, contentType: nil, body: [])
    }
}
