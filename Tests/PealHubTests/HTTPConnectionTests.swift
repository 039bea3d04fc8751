import Glibc
import Testing

@testable import PealHub

@Suite struct HTTPConnectionTests {
    @Test func `an empty 200 has a Content-Length, a 204 has none, and both keep the connection`() throws {
        let client = try HTTPTestServer().client()
        let empty = try client.request("GET", "/empty")
        #expect(empty.status == 200)
        #expect(empty["Content-Length"] == "0")
        #expect(empty["Date"] != nil)
        let none = try client.request("GET", "/v1/thing")
        #expect(none.status == 204)
        #expect(none["Content-Length"] == nil)
        for number in 0..<50 { #expect(try client.request("GET", "/users/\(number)").text == "\(number)") }
    }

    @Test func `requests sent at once are answered in order`() throws {
        let client = try HTTPTestServer().client()
        try client.send((0..<20).map { "GET /users/\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
        for number in 0..<20 { #expect(try client.response().text == "\(number)") }
    }

    @Test func `a request that trickles in does not hold up the others`() throws {
        let server = try HTTPTestServer()
        let slow = try server.client()
        let quick = try server.client()
        for byte in "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc".utf8 {
            try slow.send([byte])
            #expect(try quick.request("GET", "/users/q").text == "q")
        }
        #expect(try slow.response().text == "abc")
    }

    @Test func `64 connections at once are all served`() throws {
        let server = try HTTPTestServer()
        let clients = try (0..<64).map { _ in try server.client() }
        for (number, client) in clients.enumerated() {
            try client.send("GET /users/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
        }
        for (number, client) in clients.enumerated() { #expect(try client.response().text == "\(number)") }
        #expect(server.server.connections == 64)
    }

    @Test func `an answer may come from another thread, and others are served meanwhile`() throws {
        let server = try HTTPTestServer()
        let waiting = try (0..<8).map { _ in try server.client() }
        for client in waiting { try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(try server.client().request("GET", "/users/a").text == "a")
        for _ in waiting { try server.held.next().send(.text(200, "late")) }
        for client in waiting {
            #expect(try client.response().text == "late")
            #expect(try client.request("GET", "/users/b").text == "b")
        }
    }

    @Test func `answers race with suspension and none is lost`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        let held = server.held
        let answering = OtherThread {
            for number in 0..<500 { try held.next().send(.text(200, "\(number)")) }
        }
        for number in 0..<500 { #expect(try client.request("GET", "/held").text == "\(number)") }
        try answering.wait()
    }

    @Test func `a client that leaves while its answer is pending harms nobody`() throws {
        let server = try HTTPTestServer()
        do {
            let client = try server.client()
            try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        }
        try server.held.next().send(.text(200, "nobody there"))
        #expect(try server.client().request("GET", "/users/a").text == "a")
    }

    @Test func `a handler that forgets to answer is answered with 500 and logged`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        #expect(try client.request("GET", "/forgotten").status == 500)
        try client.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try server.held.next()
        #expect(try client.response().status == 500)
        #expect(server.log.lines == Array(repeating: "HTTP: a handler gave no answer (GET, 1 segments)", count: 2))
    }

    @Test func `a header that would break the answer is left out and logged`() throws {
        let server = try HTTPTestServer()
        let response = try server.client().request("GET", "/badheader")
        #expect(response["X-Bad"] == nil)
        #expect(response["X-Other"] == nil)
        #expect(response["X-Good"] == "c")
        #expect(server.log.lines.count == 1)
    }

    @Test func `answering twice stops the process`() async {
        await #expect(processExitsWith: .failure) {
            let responder = HTTPResponder { _ in }
            responder.send(.empty(200))
            responder.send(.empty(200))
        }
    }

    @Test func `too many headers are refused, whatever their size, and never with a 500`() throws {
        let server = try HTTPTestServer()
        for size in stride(from: 15_000, to: 70_000, by: 1_777) {
            let client = try server.client()
            try? client.send(
                "GET /users/a HTTP/1.1\r\nHost: a\r\nX-Long: \(String(repeating: "x", count: size))\r\n\r\n")
            if let status = try? client.response().status { #expect([200, 431].contains(status)) }
        }
        for count in [100, 500, 1_000, 3_000, 10_000] {
            let client = try server.client()
            let fields = (0..<count).map { "X-\($0): y\r\n" }.joined()
            try? client.send("GET /users/a HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
            if let status = try? client.response().status { #expect([200, 431].contains(status), "\(count)") }
        }
        #expect(try server.client().request("GET", "/users/a").text == "a")
        #expect(server.server.connections <= 64)
    }

    @Test func `long targets and many query items are refused or served, never with a 500`() throws {
        let server = try HTTPTestServer()
        for count in [10, 400, 2_000, 4_000, 8_000, 30_000] {
            for piece in ["a&", "a=b&", "aaaaaaaa"] {
                let client = try server.client()
                try? client.send(
                    "GET /users/a?\(String(repeating: piece, count: count)) HTTP/1.1\r\nHost: a\r\n\r\n")
                let status = try client.response().status
                #expect([200, 414, 431].contains(status), "\(count) \(piece)")
            }
        }
        #expect(try server.client().request("GET", "/users/a").text == "a")
    }

    @Test func `noise is refused and harms nobody`() throws {
        let server = try HTTPTestServer()
        let noises = [
            "\r\n\r\n\r\n", "GET\r\n\r\n", "GET \r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0\0", "GET /\r\n\r\n",
            "GET /users/a HTTP/1.1\r\n\r\n", ":\r\n:\r\n\r\n", "GET /users/a b HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        ]
        for noise in noises {
            do {
                let client = try server.client()
                try client.send(noise)
                try client.send("GET /users/z HTTP/1.1\r\nConnection: close\r\nHost: a\r\n\r\n")
                let status = try client.response().status
                #expect([200, 400, 404, 413, 505].contains(status), "\(noise.debugDescription)")
            } catch is RawHTTPError {}
            #expect(try server.client().request("GET", "/users/a").text == "a")
        }
    }

    @Test func `more connections of one address than allowed are turned away`() throws {
        let server = try HTTPTestServer { $0.maximumConnectionsPerAddress = 2 }
        let first = try server.client()
        let second = try server.client()
        #expect(try first.request("GET", "/users/a").text == "a")
        #expect(try second.request("GET", "/users/a").text == "a")
        #expect(throws: RawHTTPError.self) { try server.client().request("GET", "/users/a") }
        #expect(try first.request("GET", "/users/a").text == "a")
    }

    @Test func `a silent connection is closed after its time`() throws {
        let server = try HTTPTestServer { $0.idleSeconds = 1 }
        let client = try server.client()
        try client.send("GET /users/a HT")
        #expect(client.isClosed())
    }

    @Test func `a body that takes too long is cut off however steadily it trickles`() throws {
        let server = try HTTPTestServer { $0.bodySeconds = 0 }
        let client = try server.client()
        try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")
        #expect(client.isClosed())
    }

    @Test func `the peer's address is known`() throws {
        #expect(try HTTPTestServer().client().request("GET", "/peer").text == "127.0.0.1")
    }

    @Test func `a port in use and an unknown host are errors with a reason`() throws {
        let server = try HTTPTestServer()
        let inUse = #expect(throws: HTTPServerError.self) {
            try HTTPTestServer { $0.port = server.server.boundPort }
        }
        #expect(inUse?.code == .cannotListen)
        #expect(inUse?.message.contains("in use") == true)
        let unknown = #expect(throws: HTTPServerError.self) { try HTTPTestServer { $0.host = "not a host" } }
        #expect(unknown?.code == .unknownHost)
    }
}
