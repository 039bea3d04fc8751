#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The parts of a WebSocket URL (RFC 6455 section 3).
struct WebSocketTarget: Sendable, Equatable {
    /// What fits libwebsockets' own buffers.
    private static let maximumHost = 100
    private static let maximumPath = 2_000
    private static let maximumCredentials = 90

    var isSecure = false
    /// A name or an address, IPv6 without brackets.
    var host: String
    var port: Int
    var path = "/"
    /// Of a proxy `user:password`, which no description shows.
    private(set) var credentials: String?

    /// - Throws: ``WebSocketError``: `url`.
    init(_ url: String) throws(WebSocketError) {
        var rest = url[...]
        if rest.hasPrefix("wss://") {
            isSecure = true
            rest = rest.dropFirst(6)
        } else if rest.hasPrefix("ws://") {
            rest = rest.dropFirst(5)
        } else {
            throw WebSocketError(.url, "a WebSocket URL begins with ws:// or wss://")
        }
        let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        (host, port) = try Self.parts(of: rest[..<slash], defaultPort: isSecure ? 443 : 80)
        if slash != rest.endIndex { path = String(rest[slash...]) }
        if path.hasPrefix("?") { path = "/" + path }
        guard path.utf8.count <= Self.maximumPath, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }) else {
            throw WebSocketError(.url, "the path of a WebSocket URL is up to 2000 printable ASCII characters without #")
        }
    }

    /// The parts of an HTTP URL.
    ///
    /// - Throws: ``WebSocketError``: `url`.
    init(http url: String) throws(WebSocketError) {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw WebSocketError(.url, "an HTTP URL begins with http:// or https://")
        }
        try self.init("ws" + url.dropFirst(4))
        if isSecure, host.contains(":") {
            throw WebSocketError(.url, "a certificate cannot be checked against an IPv6 address: name the server")
        }
    }

    /// The parts of an HTTP proxy's `[user:password@]host:port`.
    ///
    /// - Throws: ``WebSocketError``: `url`.
    init(proxy: String) throws(WebSocketError) {
        var authority = proxy[...]
        if let at = authority.lastIndex(of: "@") {
            let pair = authority[..<at]
            guard pair.contains(":"), pair.utf8.count <= Self.maximumCredentials,
                pair.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x40 })
            else {
                throw WebSocketError(
                    .url,
                    "a proxy's user:password is up to \(Self.maximumCredentials) printable ASCII characters without @")
            }
            credentials = String(pair)
            authority = authority[authority.index(after: at)...]
        }
        (host, port) = try Self.parts(of: authority, defaultPort: 0)
        if port == 0 { throw WebSocketError(.url, "a proxy is host:port") }
    }

    private static func parts(of authority: Substring, defaultPort: Int) throws(WebSocketError) -> (String, Int) {
        var name = authority
        var port = defaultPort
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            let digits = authority[authority.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
                (1...65_535).contains(number)
            else { throw WebSocketError(.url, "a port is 1 to 65535") }
            port = number
            name = authority[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") {
            name = name.dropFirst().dropLast()
            var six = in6_addr()
            guard inet_pton(AF_INET6, String(name), &six) == 1 else {
                throw WebSocketError(.url, "only an IPv6 address stands in brackets")
            }
        } else {
            let allowed = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x2E
                    || byte == 0x5F
            }
            guard allowed, !name.isEmpty, name.utf8.count <= maximumHost else {
                throw WebSocketError(.url, "a host is a name in ASCII or an IP address")
            }
        }
        return (String(name), port)
    }

    /// The address, where no name has to be looked up.
    var literal: String? {
        if host == "localhost" { return "127.0.0.1" }
        var four = in_addr()
        return host.contains(":") || inet_pton(AF_INET, host, &four) == 1 ? host : nil
    }

    /// As the Host header has it.
    var hostHeader: String {
        if port == (isSecure ? 443 : 80) { return host.contains(":") ? "[\(host)]" : host }
        return Self.authority(host: host, port: port)
    }

    /// As libwebsockets takes this proxy at an address.
    func proxyAddress(_ address: String) -> String {
        (credentials.map { $0 + "@" } ?? "") + Self.authority(host: address, port: port)
    }

    /// Host and port in one.
    static func authority(host: String, port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
