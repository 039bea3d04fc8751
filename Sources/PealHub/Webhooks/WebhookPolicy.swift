internal import CPealCurl

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Which addresses webhooks may call: those that the operator lists, and no others.
///
/// A URL's host must be listed. What it resolves to is checked again: an address that is not public (loopback, private, link-local, shared,
/// reserved) is only called where that very address is listed, so that a name which points inwards opens nothing.
struct WebhookPolicy: Sendable {
    /// Names and addresses, in lower case, an IPv6 address without brackets; some with a port.
    private let hosts: Set<String>

    /// A policy of what the operator listed: `hooks.example.org`, `hooks.example.org:8443`, `127.0.0.1`, `[::1]:9000`.
    init(_ listed: [String]) {
        hosts = Set(listed.map { Self.bare($0.lowercased()) })
    }

    /// Whether nothing may be called at all.
    var isEmpty: Bool { hosts.isEmpty }

    /// Whether a URL may be called, as far as its text goes; nil for one that may not.
    func target(_ url: String) -> WebhookTarget? {
        guard let target = WebhookTarget(url) else { return nil }
        let isListed = hosts.contains(target.host) || hosts.contains("\(target.host):\(target.port)")
        return isListed ? target : nil
    }

    /// Whether an address that a name resolved to may be called.
    func allows(_ address: UnsafePointer<sockaddr>) -> Bool {
        guard let (bytes, port) = Self.endpoint(address) else { return false }
        if Self.isPublic(bytes) { return true }
        let text = Self.text(bytes)
        return hosts.contains(text) || hosts.contains("\(text):\(port)")
    }

    private static func bare(_ host: String) -> String {
        // "[::1]:9000" and "[::1]" are listed as "::1:9000" and "::1".
        host.filter { $0 != "[" && $0 != "]" }
    }

    // MARK: Addresses

    /// 4 or 16 bytes, and the port; an IPv4 address in IPv6's clothes is the IPv4 one. Nil for another family.
    private static func endpoint(_ address: UnsafePointer<sockaddr>) -> (bytes: [UInt8], port: Int)? {
        var bytes = [UInt8](repeating: 0, count: 16)
        var port: Int32 = 0
        switch peal_curl_address(address, &bytes, &port) {
        case 4: return (Array(bytes.prefix(4)), Int(port))
        case 16:
            let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return (isMapped ? Array(bytes[12...]) : bytes, Int(port))
        default: return nil
        }
    }

    static func text(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 64)
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether an address is one of the public internet (RFC 6890 and what followed).
    static func isPublic(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 4 else { return isPublic6(bytes) }
        let (a, b, c) = (bytes[0], bytes[1], bytes[2])
        switch a {
        case 0, 10, 127: return false
        case 100: return !(64...127).contains(b)
        case 169: return b != 254
        case 172: return !(16...31).contains(b)
        case 192: return !(b == 168 || b == 0 && (c == 0 || c == 2) || b == 88 && c == 99)
        case 198: return !(b == 18 || b == 19 || b == 51 && c == 100)
        case 203: return !(b == 0 && c == 113)
        default: return a < 224
        }
    }

    private static func isPublic6(_ bytes: [UInt8]) -> Bool {
        // Global unicast is 2000::/3; within it 6to4 and Teredo carry IPv4 addresses, and 2001:db8::/32 is for documents.
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        let isTransition = bytes[0] == 0x20 && (bytes[1] == 0x02 || bytes[1] == 0x01 && bytes[2] < 0x02)
        let isDocument = bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0x0D && bytes[3] == 0xB8
        return !isTransition && !isDocument
    }
}

/// The parts of a URL that decide whether it may be called.
struct WebhookTarget: Equatable, Sendable {
    /// In lower case, an IPv6 address without brackets.
    let host: String
    /// Told or by the scheme.
    let port: Int

    /// Nil for what is no plain http or https URL: with credentials, without a host, with a port that is none, or with anything but printable ASCII.
    init?(_ url: String) {
        guard (1...2_048).contains(url.utf8.count),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let lower = url.lowercased()
        let isSecure = lower.hasPrefix("https://")
        guard isSecure || lower.hasPrefix("http://") else { return nil }
        let authority = lower.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@"), !authority.contains("%") else { return nil }
        var host = authority
        var port = isSecure ? 443 : 80
        let colon = authority.lastIndex(of: ":")
        if let colon, authority.first != "[" || authority[..<colon].last == "]" {
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else { return nil }
            port = Int(number)
            host = authority[..<colon]
        }
        if host.first == "[" {
            guard host.last == "]" else { return nil }
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        let allowed = authority.first == "[" ? "0123456789abcdef:." : "0123456789abcdefghijklmnopqrstuvwxyz-."
        guard !host.isEmpty, host.allSatisfy({ allowed.contains($0) }) else { return nil }
        self.host = String(host)
        self.port = port
    }
}
