import Foundation
import PealModel
import Testing

@testable import PealHub

/// Heads, slow senders and slow readers of the HTTP side.
@Suite struct HubLimitsHTTPTests {
    /// Looks again and again, as if so much later, for who is over its time.
    private func cut(_ server: HTTPTestServer, after: Duration = .zero, until isClosed: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(9)
        let cutting = Count()
        let looking = OtherThread {
            while ContinuousClock.now < deadline, cutting.value == 0 {
                server.server.cutOverdue(at: .now + after)
                usleep(20_000)
            }
        }
        #expect(isClosed())
        cutting.add(1)
        try? looking.wait()
    }

    // MARK: Heads

    /// A request whose request line and fields have so many bytes, in so many fields.
    private func head(_ bytes: Int, fields: Int = 2, method: String = "GET") -> String {
        var head = "\(method) /users/a HTTP/1.1\r\nHost: a\r\n"
        for number in 2..<max(fields, 2) { head += "X-\(number): y\r\n" }
        let rest = bytes - head.utf8.count - "X: \r\n".utf8.count
        return head + "X: \(String(repeating: "x", count: max(1, rest)))\r\n\r\n"
    }

    @Test(arguments: [2, 100])
    func `request line and fields of 16 KiB are taken, and one byte more is 431 and closes`(fields: Int) throws {
        let server = try HTTPTestServer()
        let other = try server.client()
        let client = try server.client()
        for method in ["GET", "DELETE"] {
            try client.send(head(HubLimits.headers, fields: fields, method: method))
            #expect(try client.response().status == 200)
        }
        for past in [1, 2, 1_000] {
            let client = try server.client()
            try client.send(head(HubLimits.headers + past, fields: fields))
            let refused = try client.response()
            #expect(refused.status == 431 && refused["Connection"]?.lowercased() == "close")
            #expect(client.isClosed())
        }
        #expect(try other.request("GET", "/users/a").text == "a")
    }

    @Test func `a request line alone may have what there is for it and the fields`() throws {
        let server = try HTTPTestServer()
        let fixed = "GET /query?a= HTTP/1.1\r\nHost: a\r\n".utf8.count
        for (past, status) in [(0, 200), (1, 431)] {
            let client = try server.client()
            let value = String(repeating: "x", count: HubLimits.headers - fixed + past)
            try client.send("GET /query?a=\(value) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.response().status == status)
        }
    }

    @Test func `a hundred fields are taken, and one more is 431 and closes`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        try client.send(head(0, fields: HubLimits.headerFields))
        #expect(try client.response().status == 200)
        for past in [1, 50, 1_000] {
            let client = try server.client()
            try client.send(head(0, fields: HubLimits.headerFields + past))
            #expect(try client.response().status == 431, "\(past)")
            #expect(client.isClosed())
        }
        #expect(try client.request("GET", "/users/a").text == "a")
    }

    // MARK: Refused bodies

    @Test func `a refused body of 4 MiB is read and dropped, and a larger one closes the connection`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        let most = [UInt8](repeating: 120, count: HubLimits.drainedBody)
        #expect(try client.request("POST", "/small", body: most).status == 413)
        #expect(try client.request("GET", "/users/a").text == "a")
        let larger = try server.client()
        try larger.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: \(most.count + 1)\r\n\r\n")
        let refused = try larger.response()
        #expect(refused.status == 413 && refused["Connection"]?.lowercased() == "close")
        #expect(larger.isClosed())
        #expect(try client.request("GET", "/users/a").text == "a")
    }

    @Test func `a refused body of unknown length may have 4 MiB, too`() throws {
        let server = try HTTPTestServer()
        let other = try server.client()
        let head = Array("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        func body(_ count: Int) -> [UInt8] {
            Array("\(String(count, radix: 16))\r\n".utf8) + [UInt8](repeating: 120, count: count)
                + Array("\r\n0\r\n\r\n".utf8)
        }
        let client = try server.client()
        try client.send(head + body(HubLimits.drainedBody))
        #expect(try client.response().status == 413)
        #expect(try client.request("GET", "/users/a").text == "a")
        let larger = try server.client()
        try? larger.send(head + body(HubLimits.drainedBody + 1))
        #expect(larger.isClosed())
        #expect(try other.request("GET", "/users/a").text == "a")
    }

    // MARK: Times

    /// Something that a client may take so many seconds for.
    struct Slow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var seconds: Int
        /// Begins; the server knows of it afterwards.
        var begin: @Sendable (HTTPTestServer, RawHTTPClient) throws -> Void
        /// Ends it in time: the status of the answer.
        var end: @Sendable (RawHTTPClient) throws -> Int
    }

    static let slow: [Slow] = [
        Slow(testDescription: "the first head", seconds: 20) { server, client in
            let before = server.server.connections
            try client.send("GET /users/a HTTP/1.1\r\n")
            while server.server.connections == before - 1 { sched_yield() }
        } end: { client in
            try client.send("Host: a\r\n\r\n")
            return try client.response().status
        },
        Slow(testDescription: "the next head", seconds: 30) { _, client in
            _ = try client.request("GET", "/users/a")
            try client.send("GET /users/a HTTP/1.1\r\n")
        } end: { client in
            try client.send("Host: a\r\n\r\n")
            return try client.response().status
        },
        Slow(testDescription: "a body", seconds: 40) { _, client in
            try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            _ = try client.response()
            try client.send("a")
        } end: { client in
            try client.send("b")
            return try client.response().status
        },
        Slow(testDescription: "an answer", seconds: 50) { server, client in
            try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
            // More than the sockets take.
            let body = [UInt8](repeating: 120, count: 24 << 20)
            try server.held.next().send(HTTPResponse(status: 200, contentType: nil, body: body))
            // Its first bytes are on their way: its time runs.
            _ = try client.peek()
        } end: { client in
            try client.response().status
        },
    ]

    @Test(arguments: slow)
    func `who is done a second before its time is served, and who is not a second after it is cut`(
        example: Slow
    ) throws {
        let server = try HTTPTestServer {
            $0.headSeconds = 20
            $0.idleSeconds = 30
            $0.bodySeconds = 40
            $0.answerSeconds = 50
        }
        let inTime = try server.client()
        try example.begin(server, inTime)
        server.server.cutOverdue(at: .now + .seconds(example.seconds - 1))
        #expect(try example.end(inTime) == 200)
        let late = try server.client()
        try example.begin(server, late)
        cut(server, after: .seconds(example.seconds + 1)) { late.isCut() }
        #expect(try server.client().request("GET", "/users/a").text == "a")
    }

    @Test func `a head that trickles is cut after its time, and others are served meanwhile`() throws {
        let server = try HTTPTestServer { $0.headSeconds = 1 }
        let other = try server.client()
        #expect(try other.request("GET", "/users/a").text == "a")
        nonisolated(unsafe) let slow = try server.client()
        try slow.send("GET /users/b HTTP/1.1\r\nHost: a\r\n")
        let trickling = OtherThread {
            while (try? slow.send("X: y\r\n")) != nil { usleep(50_000) }
        }
        cut(server) { slow.isClosed() }
        try trickling.wait()
        #expect(try other.request("GET", "/users/a").text == "a")
    }

    @Test func `a body that trickles is cut after its time`() throws {
        let server = try HTTPTestServer { $0.bodySeconds = 1 }
        let other = try server.client()
        #expect(try other.request("GET", "/users/a").text == "a")
        let slow = try server.client()
        try slow.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx")
        cut(server) { slow.isClosed() }
        #expect(try other.request("GET", "/users/a").text == "a")
    }

    @Test func `who does not read answers is cut after its time`() throws {
        let server = try HTTPTestServer { $0.answerSeconds = 1 }
        let other = try server.client()
        #expect(try other.request("GET", "/users/a").text == "a")
        nonisolated(unsafe) let slow = try server.client()
        let request = Array("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 262144\r\n\r\n".utf8)
        let body = [UInt8](repeating: 120, count: 262_144)
        let sending = OtherThread {
            for _ in 0..<200 { try slow.send(request + body) }
        }
        cut(server) {
            // The sender learns of it; its own time limit would be another error.
            do {
                try sending.wait()
                return false
            } catch {
                return (error as? RawHTTPError)?.what != "send: \(EAGAIN)"
            }
        }
        #expect(try other.request("GET", "/users/a").text == "a")
    }

    @Test func `a body that goes on is not cut while its client takes what there is`() throws {
        let server = try HTTPTestServer { $0.answerSeconds = 1 }
        let client = try server.client()
        try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        let stream = HTTPStream(drained: {}, over: {})
        try server.held.next().send(.events(stream))
        stream.write(Array("one\n".utf8))
        while try client.line() != "one" {}
        // Longer than an answer may take.
        let end = ContinuousClock.now + .milliseconds(1_300)
        while ContinuousClock.now < end { server.server.cutOverdue() }
        stream.write(Array("two\n".utf8))
        while try client.line() != "two" {}
        stream.end()
    }

    @Test func `who takes nothing of a body that goes on is cut after its time`() throws {
        let server = try HTTPTestServer { $0.answerSeconds = 1 }
        let client = try server.client()
        try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        let over = Count()
        let stream = HTTPStream(drained: {}, over: { over.add(1) })
        try server.held.next().send(.events(stream))
        // More than the sockets take.
        stream.write([UInt8](repeating: 120, count: 32 << 20))
        let deadline = ContinuousClock.now + .seconds(9)
        while over.value == 0, ContinuousClock.now < deadline { server.server.cutOverdue() }
        #expect(over.value == 1)
        withExtendedLifetime(client) {}
    }

    @Test func `a handler that works for long is not cut`() throws {
        let server = try HTTPTestServer {
            $0.headSeconds = 0
            $0.idleSeconds = 1
        }
        let client = try server.client()
        try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        let responder = try server.held.next()
        for _ in 0..<3 { server.server.cutOverdue() }
        responder.send(.text(200, "late"))
        #expect(try client.response().text == "late")
    }
}
