/// Something a client did wrong, or that we cannot do now; each surface writes it in its own shape.
package struct HTTPFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status, 400–599.
    package let status: Int
    /// A stable name, as `not_found`; an open set.
    package let code: String
    /// A sentence for the person who reads it; never a body, token or id.
    package let message: String
    /// Further sentences, where several things are wrong; a surface with a list of errors shows them.
    package let more: [String]
    /// Fields that belong to the answer (`Allow`, `Retry-After`).
    package let headers: HTTPHeaders

    /// The code and the message.
    package var description: String { "\(code): \(message)" }

    /// A failure. A status outside 400–599 or an empty message is a programming error.
    package init(
        status: Int, code: String, message: String, more: [String] = [], headers: HTTPHeaders = HTTPHeaders()
    ) {
        precondition((400...599).contains(status) && !message.isEmpty, "A failure has a status and a message")
        self.status = status
        self.code = code
        self.message = message
        self.more = more
        self.headers = headers
    }

    /// 400.
    package static func badRequest(_ code: String, _ message: String) -> HTTPFailure {
        HTTPFailure(status: 400, code: code, message: message)
    }
    /// 404: no such path.
    package static let notFound = HTTPFailure(status: 404, code: "not_found", message: "There is nothing at this path.")
    /// 405, with the methods that the path has.
    package static func methodNotAllowed(_ allowed: [HTTPMethod]) -> HTTPFailure {
        let allowed = allowed.map(\.rawValue).joined(separator: ", ")
        return HTTPFailure(
            status: 405, code: "method_not_allowed", message: "This path has the methods \(allowed).",
            headers: ["Allow": allowed])
    }
    /// 413.
    package static func bodyTooLarge(limit: Int) -> HTTPFailure {
        HTTPFailure(
            status: 413, code: "body_too_large", message: "The request body is larger than \(limit) bytes.")
    }
    /// 429, with the seconds after which the next one is let through.
    package static func tooManyRequests(seconds: Int) -> HTTPFailure {
        HTTPFailure(
            status: 429, code: "too_many_requests",
            message: "These are too many requests; try again after \(seconds) s.",
            headers: ["Retry-After": "\(seconds)"])
    }
    /// 431.
    package static let headersTooLarge = HTTPFailure(
        status: 431, code: "headers_too_large", message: "The request headers are too large.")
    /// 500: our own mistake.
    package static let internalError = HTTPFailure(
        status: 500, code: "internal_error", message: "The hub made a mistake; it has been logged.")
    /// 503: the hub is stopping.
    package static let stopping = HTTPFailure(
        status: 503, code: "unavailable", message: "The hub is stopping; try again shortly.",
        headers: ["Retry-After": "1"])
}
