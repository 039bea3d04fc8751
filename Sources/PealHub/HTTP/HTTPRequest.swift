/// A request method. The set is open: a client may send any token.
package struct HTTPMethod: RawRepresentable, Sendable, Hashable {
    /// The token, as sent; methods are case-sensitive.
    package let rawValue: String
    /// A method by its token.
    package init(rawValue: String) { self.rawValue = rawValue }
    /// GET.
    package static let get = HTTPMethod(rawValue: "GET")
    /// HEAD: GET without the body; the server leaves the body out by itself.
    package static let head = HTTPMethod(rawValue: "HEAD")
    /// POST.
    package static let post = HTTPMethod(rawValue: "POST")
    /// PUT.
    package static let put = HTTPMethod(rawValue: "PUT")
    /// PATCH.
    package static let patch = HTTPMethod(rawValue: "PATCH")
    /// DELETE.
    package static let delete = HTTPMethod(rawValue: "DELETE")
}

/// Who is at the other end of the connection; a proxy, if one stands in front.
package struct HTTPPeer: Sendable, Hashable {
    /// The numeric address; an IPv4 peer of a dual-stack socket is written as IPv4.
    package let address: String
    /// The port.
    package let port: UInt16
}

/// What is known of a request before its body is read.
package struct HTTPRequestHead: Sendable {
    /// The method.
    package let method: HTTPMethod
    /// The target, taken apart.
    package let target: HTTPTarget
    /// The header fields; all values are valid UTF-8.
    package let headers: HTTPHeaders
    /// The other end.
    package let peer: HTTPPeer
}

/// A complete request. A value; keep it as long as you like.
package struct HTTPRequest: Sendable {
    /// Everything but the body.
    package let head: HTTPRequestHead
    /// The body, at most as long as the limit that was in force; empty when there was none.
    package let body: [UInt8]
    /// Where in `segments` each `{name}` of the route's pattern stands.
    var parameterIndexes: [String: Int] = [:]
    /// The last parameter takes all segments that are left.
    var takesRest = false

    /// The method.
    package var method: HTTPMethod { head.method }
    /// The target, taken apart.
    package var target: HTTPTarget { head.target }
    /// The decoded path segments.
    package var segments: [String] { head.target.segments }
    /// The decoded query items.
    package var query: HTTPQuery { head.target.query }
    /// The header fields.
    package var headers: HTTPHeaders { head.headers }
    /// The other end.
    package var peer: HTTPPeer { head.peer }

    /// The segment that stands for `{name}` in the pattern of the route that matched; never empty.
    ///
    /// Asking for a name that the pattern does not have is a programming error and stops the process.
    /// - Parameter plusIsSpace: read a raw `+` as a space, for SDKs that write user ids so.
    package func parameter(_ name: String, plusIsSpace: Bool = false) -> String {
        guard let index = parameterIndexes[name] else {
            preconditionFailure("The pattern of this route has no parameter \(name)")
        }
        let segments = plusIsSpace ? target.segmentsWithPlusAsSpace : segments
        guard takesRest, index == parameterIndexes.values.max() else { return segments[index] }
        return segments[index...].joined(separator: "/")
    }

    /// Whether the body's media type is the given one, whatever its parameters (`application/json; charset=utf-8`).
    package func hasContentType(_ type: String) -> Bool {
        guard let value = headers["Content-Type"] else { return false }
        let essence = value.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        return HTTPHeaders.sameName(String(essence), type)
    }

    /// A request made by hand, for tests of routes that need no socket.
    package init(head: HTTPRequestHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}
