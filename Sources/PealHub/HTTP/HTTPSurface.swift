internal import PealModel

/// The families of routes, which differ in the shape of an error.
package enum HTTPSurface: Sendable, Hashable, CaseIterable {
    /// MagicBell's shape: `{"errors":[{"code","message"}]}`.
    case inbox
    /// Pusher Beams' shape: `{"error","description"}`.
    case interests
    /// Ours: `{"error":{"code","message"}}`.
    case native

    /// The surface a target belongs to, by its first segment; also for targets that cannot be decoded.
    package static func of(target: String) -> HTTPSurface {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }.drop { $0 == UInt8(ascii: "/") }
        let first = String(decoding: path.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        switch first {
        case "publish_api", "device_api", "customer_api", "reporting_api", "user_api": return .interests
        case "v1", "healthz", "readyz", "metrics", "config": return .native
        default: return .inbox
        }
    }

    /// A failure in this surface's shape.
    package func response(to failure: HTTPFailure) -> HTTPResponse {
        let code = Self.quoted(failure.code)
        let message = Self.quoted(failure.message)
        let body =
            switch self {
            case .inbox:
                #"{"errors":["#
                    + ([message] + failure.more.map(Self.quoted)).map { #"{"code":\#(code),"message":\#($0)}"# }
                    .joined(separator: ",") + "]}"
            case .interests: #"{"error":\#(Self.quoted(Self.title(failure.status))),"description":\#(message)}"#
            case .native: #"{"error":{"code":\#(code),"message":\#(message)}}"#
            }
        // Beams' clients know a body over the limit as 400.
        let status = self == .interests && failure.status == 413 ? 400 : failure.status
        return .json(status, Array(body.utf8), headers: failure.headers)
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: JSON.string(text).bytes, as: UTF8.self)
    }

    /// The short text that Beams puts into `error`.
    private static func title(_ status: Int) -> String {
        switch status {
        case 400: "Bad request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not found"
        case 405: "Method not allowed"
        case 409: "Conflict"
        case 413: "Request body too large"
        case 422: "Unprocessable entity"
        case 429: "Too many requests"
        case 503: "Service unavailable"
        default: status < 500 ? "Bad request" : "Internal error"
        }
    }
}
