#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The parts of a WebSocket URL (RFC 6455 section 3).
struct WebSocketTarget: Sendable {
    var isSecure: Bool
    var host: String
    var port: Int
    var path: String

    /// - Throws: ``WebSocketError``: `url`.
    init(_ url: String) throws(WebSocketError) {
        var rest = url[...]
        if rest.hasPrefix("wss://") {
            isSecure = true
            rest = rest.dropFirst(6)
        } else if rest.hasPrefix("ws://") {
            isSecure = false
            rest = rest.dropFirst(5)
        } else {
            throw WebSocketError(.url, "a WebSocket URL begins with ws:// or wss://")
        }
        let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<slash]
        path = slash == rest.endIndex ? "/" : String(rest[slash...])
        if path.hasPrefix("?") { path = "/" + path }
        var name = authority
        port = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number) else {
                throw WebSocketError(.url, "the port of a WebSocket URL is 1 to 65535")
            }
            port = number
            name = authority[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        guard !name.isEmpty, !name.contains("@"), !name.contains(where: { $0.isWhitespace || $0.isNewline }),
            !path.contains(where: { $0.isWhitespace || $0.isNewline || $0 == "#" })
        else { throw WebSocketError(.url, "a WebSocket URL is ws[s]://host[:port]/path") }
        host = String(name)
    }

    /// An address, or a name that every machine knows.
    var needsNoLookup: Bool {
        if host == "localhost" { return true }
        var four = in_addr()
        var six = in6_addr()
        return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }
}

/// Looks names up on threads of their own, because getaddrinfo blocks.
enum Resolver {
    private final class Question {
        let host: String
        let answer: @Sendable (String?) -> Void
        init(_ host: String, _ answer: @escaping @Sendable (String?) -> Void) {
            self.host = host
            self.answer = answer
        }
    }

    /// Answers the first address of a name, or nil, on a thread that ends then.
    static func resolve(_ host: String, _ answer: @escaping @Sendable (String?) -> Void) {
        var thread = pthread_t()
        let question = Unmanaged.passRetained(Question(host, answer))
        let result = pthread_create(&thread, nil, { context in
            let question = Unmanaged<Question>.fromOpaque(context!).takeRetainedValue()
            question.answer(Resolver.address(of: question.host))
            return nil
        }, question.toOpaque())
        if result == 0 {
            pthread_detach(thread)
        } else {
            question.takeRetainedValue().answer(nil)
        }
    }

    private static func address(of host: String) -> String? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0, let first = list else { return nil }
        defer { freeaddrinfo(list) }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(
            first.pointee.ai_addr, first.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
