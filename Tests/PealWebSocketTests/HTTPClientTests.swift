import Foundation
import PealWebSocket
import Testing

/// What a server does with the bytes of an answer.
private enum Ending { case inOrder, reset, never }

/// A server of one connection after the other that reads a request and answers with given bytes.
private final class RawServer: Sendable {
    let port: Int
    private let listener: Int32
    private let asked = Journal<String>()

    init(_ pieces: [String], _ ending: Ending = .inOrder) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 5) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try #require(isReady)
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let asked = asked
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Self.serve(connection, pieces, ending, asked)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    var url: String { "http://127.0.0.1:\(port)/a/path?q=1" }
    var requests: [String] { asked.all }

    private static func serve(_ connection: Int32, _ pieces: [String], _ ending: Ending, _ asked: Journal<String>) {
        var request = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isWhole(request) {
            let count = read(connection, &buffer, buffer.count)
            if count <= 0 { break }
            request += buffer.prefix(count)
        }
        asked.note(String(decoding: request, as: UTF8.self))
        for piece in pieces {
            _ = send(connection, piece, piece.utf8.count, Int32(MSG_NOSIGNAL))
            usleep(2_000)  // Another segment each, nothing is waited for.
        }
        if ending == .never { _ = read(connection, &buffer, 1) }
        if ending == .reset {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
        close(connection)
    }

    private static func isWhole(_ request: Data) -> Bool {
        let text = String(decoding: request, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let length = text.range(of: "Content-Length: ").flatMap { Int(text[$0.upperBound...].prefix { $0.isNumber }) }
        return text[end.upperBound...].utf8.count >= length ?? 0
    }
}

@Suite(.timeLimit(.minutes(4)))
struct HTTPClientTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n"

    private func withService<R>(_ body: (WebSocketService) async throws -> R) async throws -> R {
        let service = try WebSocketService()
        service.start()
        defer { service.stop() }
        return try await body(service)
    }

    /// The code of the error, or what was answered.
    private func outcome(_ request: HTTPClientRequest) async throws -> String {
        try await withService { service in
            do throws(WebSocketError) {
                return "answered \(try await service.answer(to: request).status)"
            } catch {
                return error.code.rawValue
            }
        }
    }

    @Test func `an answer comes whole, in however many pieces it was sent`() async throws {
        for pieces in [
            [Self.head + "hello world"], [Self.head, "hello", " world"], (Self.head + "hello world").map(String.init),
        ] {
            let server = try RawServer(pieces)
            let answer = try await withService {
                try await $0.answer(to: HTTPClientRequest("GET", server.url, headers: [("X-Some", "thing")]))
            }
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "hello world")
            let request = try #require(server.requests.first)
            #expect(request.hasPrefix("GET /a/path?q=1 HTTP/1.1\r\n"))
            #expect(request.contains("\r\nX-Some: thing\r\n"))
        }
    }

    @Test func `a large body is sent whole, and a chunked answer is put together`() async throws {
        let server = try RawServer([
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "6\r\n world\r\n0\r\n\r\n",
        ])
        let body = (0..<300_000).map { UInt8(0x61 + $0 % 26) }
        let answer = try await withService {
            try await $0.answer(to: HTTPClientRequest("POST", server.url, body: body))
        }
        #expect(answer.status == 404)
        #expect(String(decoding: answer.body, as: UTF8.self) == "hello world")
        let request = try #require(server.requests.first)
        #expect(request.contains("\r\nContent-Length: 300000\r\n"))
        #expect(request.hasSuffix("\r\n\r\n" + String(decoding: body, as: UTF8.self)))
    }

    @Test func `an answer that is taken as it comes is handed over in its order, and what cuts it is told`()
        async throws
    {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let pieces = [head, "5\r\nhello\r\n", "6\r\n world\r\n"]
        for (more, ending, wanted) in [
            (["0\r\n\r\n"], Ending.inOrder, "answered 200"), ([], .inOrder, "lost"), ([], .reset, "lost"),
            ([], .never, "lost"),
        ] as [([String], Ending, String)] {
            let server = try RawServer(pieces + more, ending)
            let taken = Journal<String>()
            let outcome = try await withService { service in
                do throws(WebSocketError) {
                    let request = HTTPClientRequest("GET", server.url, timeoutSeconds: 1)
                    let answer = try await service.answer(to: request) {
                        taken.note(String(decoding: $0, as: UTF8.self))
                    }
                    return "answered \(answer.status)\(String(decoding: answer.body, as: UTF8.self))"
                } catch {
                    return error.code.rawValue
                }
            }
            #expect(outcome == wanted, "\(more) \(ending)")
            // What a reset overtakes is lost.
            if ending != .reset { #expect(taken.all.joined() == "hello world", "\(more) \(ending)") }
        }
        let refusal = try RawServer(["HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"])
        let answer = try await withService {
            try await $0.answer(to: HTTPClientRequest("GET", refusal.url)) { _ in Issue.record("a refusal is no stream")
            }
        }
        #expect(answer.status == 404 && answer.body == Array("no".utf8))
    }

    @Test func `the seconds of Retry-After come with the answer, and a date does not`() async throws {
        for (line, wanted) in [
            ("Retry-After: 7\r\n", 7), ("retry-after: 0\r\n", 0), ("", nil), ("Retry-After: -1\r\n", nil),
            ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", nil), ("Retry-After: 99999999999\r\n", nil),
        ] as [(String, Int?)] {
            let server = try RawServer(["HTTP/1.1 503 Busy\r\n\(line)Content-Length: 0\r\n\r\n"])
            let answer = try await withService { try await $0.answer(to: HTTPClientRequest("GET", server.url)) }
            #expect(answer.status == 503 && answer.retryAfterSeconds == wanted, "\(line)")
        }
    }

    @Test func `an answer without a body is whole where its status has none, and cut where it has one`() async throws {
        for (head, wanted) in [
            ("HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", "answered 204"),
            ("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "answered 204"),
            ("HTTP/1.1 304 Not Modified\r\n\r\n", "answered 304"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", "lost"),
        ] {
            let server = try RawServer([head])
            let outcome = try await outcome(HTTPClientRequest("DELETE", server.url))
            #expect(outcome == wanted, "\(head)")
        }
    }

    /// Foundation's client ended the process at some of these (swift-corelibs-foundation #5285).
    @Test func `an answer that is cut anywhere is an error, never the end of the process`() async throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        // Where nothing but the end of the connection ends an answer, none can be told from one that was cut.
        let endless = "HTTP/1.0 200 OK\r\n\r\nhello worldX"
        for whole in [Self.head + "hello world", chunked, endless] {
            for count in stride(from: 0, to: whole.utf8.count - 1, by: 4) {
                for ending in [Ending.inOrder, .reset] {
                    let server = try RawServer([String(decoding: whole.utf8.prefix(count), as: UTF8.self)], ending)
                    #expect(try await outcome(HTTPClientRequest("GET", server.url)) == "lost", "\(count) of \(whole)")
                }
            }
        }
    }

    @Test func `what is no HTTP, too large, silent or not there is an error`() async throws {
        let garbage = try RawServer(["SSH-2.0-OpenSSH_9.2\r\n"])
        #expect(try await outcome(HTTPClientRequest("GET", garbage.url)) == "lost")
        let large = try RawServer([Self.head + "hello world"])
        #expect(try await outcome(HTTPClientRequest("GET", large.url, maximumAnswerBytes: 10)) == "lost")
        let silent = try RawServer(["HTTP/1.1 200 OK\r\n"], .never)
        #expect(try await outcome(HTTPClientRequest("GET", silent.url, timeoutSeconds: 1)) == "lost")
        #expect(try await outcome(HTTPClientRequest("GET", "http://127.0.0.1:1/")) == "lost")
        #expect(try await outcome(HTTPClientRequest("GET", "ftp://127.0.0.1/")) == "url")
        let split = HTTPClientRequest("GET", "http://127.0.0.1:1/", headers: [("X", "a\r\nY: b")])
        #expect(try await outcome(split) == "url")
    }

    @Test func `a redirect is told, and not followed`() async throws {
        let server = try RawServer(["HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"])
        #expect(try await outcome(HTTPClientRequest("GET", server.url)) == "answered 301")
    }

    @Test func `a request that is cancelled, or whose service stops, ends`() async throws {
        let server = try RawServer([], .never)
        let service = try WebSocketService()
        service.start()
        let cancelled = Task { try? await service.answer(to: HTTPClientRequest("GET", server.url)) }
        let stopped = Task { try? await service.answer(to: HTTPClientRequest("GET", server.url)) }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        service.stop()
        #expect(await stopped.value == nil)
    }
}
