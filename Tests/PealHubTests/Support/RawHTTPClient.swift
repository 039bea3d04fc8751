import Glibc
import Testing

/// What a server answered, parsed as far as the tests need.
struct RawHTTPResponse {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

struct RawHTTPError: Error {
    let what: String
}

/// A blocking client that sends bytes exactly as given; every wait ends after ten seconds.
final class RawHTTPClient {
    private let socket: Int32
    private let kept: AnyObject?
    private var buffer: [UInt8] = []

    init(port: UInt16, keeping kept: AnyObject? = nil) throws {
        self.kept = kept
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw RawHTTPError(what: "socket") }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw RawHTTPError(what: "connect: \(errno)") }
    }

    deinit { close(socket) }

    /// Sends text.
    func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends bytes; fails when the server has closed.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw RawHTTPError(what: "send: \(errno)") }
            sent += count
        }
    }

    /// Sends one request with an optional body and reads its answer.
    func request(
        _ method: String, _ target: String, headers: String = "", body: [UInt8]? = nil
    ) throws -> RawHTTPResponse {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: test\r\n\(headers)"
        if let body { text += "Content-Length: \(body.count)\r\n" }
        try send(Array((text + "\r\n").utf8) + (body ?? []))
        return try response(toHead: method == "HEAD")
    }

    /// Reads one answer.
    func response(toHead: Bool = false) throws -> RawHTTPResponse {
        var head = ""
        while true {
            let line = try line()
            if line.isEmpty { break }
            head += line + "\n"
        }
        var lines = head.split(separator: "\n").map(String.init)
        let words = lines.removeFirst().split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { throw RawHTTPError(what: "status line") }
        var response = RawHTTPResponse(status: status, headers: [], body: [])
        for line in lines {
            let colon = try #require(line.firstIndex(of: ":"))
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            response.headers.append((String(line[..<colon]), String(value)))
        }
        if !toHead, let length = response["Content-Length"].flatMap({ Int($0) }) {
            while buffer.count < length { try fill() }
            response.body = Array(buffer[..<length])
            buffer.removeFirst(length)
        }
        return response
    }

    /// Whether the server has closed the connection: waits for that or for a byte.
    func isClosed() -> Bool {
        guard buffer.isEmpty else { return false }
        do { try fill() } catch { return (error as? RawHTTPError)?.what == "closed" }
        return false
    }

    /// Whether the server has closed the connection, after whatever it sent.
    func isCut() -> Bool {
        do {
            while true {
                try fill()
                buffer.removeAll()
            }
        } catch { return (error as? RawHTTPError)?.what == "closed" }
    }

    /// Waits for the next byte, and leaves it there.
    func peek() throws -> UInt8 {
        var byte: UInt8 = 0
        guard recv(socket, &byte, 1, Int32(MSG_PEEK)) == 1 else { throw RawHTTPError(what: "peek: \(errno)") }
        return byte
    }

    /// Everything up to the end of the connection.
    func rest() throws -> String {
        while true {
            do { try fill() } catch let error as RawHTTPError where error.what == "closed" {
                return String(decoding: buffer, as: UTF8.self)
            }
        }
    }

    /// The next line.
    func line() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer[..<end].filter { $0 != UInt8(ascii: "\r") }
                buffer.removeFirst(end + 1)
                return String(decoding: line, as: UTF8.self)
            }
            try fill()
        }
    }

    /// The next bytes, so many.
    func bytes(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { try fill() }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func fill() throws {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket, &bytes, bytes.count, 0)
        if count == 0 || (count < 0 && errno == ECONNRESET) { throw RawHTTPError(what: "closed") }
        guard count > 0 else { throw RawHTTPError(what: "recv: \(errno)") }
        buffer += bytes[..<count]
    }
}
