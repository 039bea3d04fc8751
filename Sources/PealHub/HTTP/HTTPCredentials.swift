/// What a request says of who it is in `Authorization` (RFC 9110 section 11, RFC 7617). Nothing here is checked.
struct HTTPCredentials {
    private let header: String

    init(_ headers: HTTPHeaders) { header = headers["Authorization"] ?? "" }

    /// The token of `Bearer`.
    var bearer: String? { rest(after: "bearer ") }

    /// User name and password of `Basic`.
    var basic: (name: String, password: String)? {
        guard let text = rest(after: "basic "), let bytes = Base64.standard.decode(text),
            let pair = String(validating: bytes, as: UTF8.self), let colon = pair.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
    }

    private func rest(after scheme: String) -> String? {
        header.lowercased().hasPrefix(scheme) ? String(header.dropFirst(scheme.count)) : nil
    }
}
