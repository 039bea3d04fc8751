import Testing

@testable import PealHub

@Suite struct HTTPBodyTests {
    @Test func `a body comes back byte for byte, with its length or in chunks`() throws {
        let client = try HTTPTestServer().client()
        let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(try client.request("POST", "/echo", body: body).body == body)
        try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in stride(from: 0, to: body.count, by: 33_333) {
            let piece = Array(body[start..<min(start + 33_333, body.count)])
            try client.send(Array("\(String(piece.count, radix: 16));x=y\r\n".utf8) + piece + Array("\r\n".utf8))
        }
        try client.send("0\r\n\r\n")
        #expect(try client.response().body == body)
    }

    @Test func `one byte over the limit is 413 and the next request on the connection is served`() throws {
        let client = try HTTPTestServer().client()
        #expect(try client.request("POST", "/small", body: Array("0123456789".utf8)).text == "10")
        let refused = try client.request("POST", "/small", body: Array("0123456789a".utf8))
        #expect(refused.status == 413)
        #expect(refused["Connection"] == nil)
        #expect(try client.request("POST", "/small", body: []).text == "0")
        try client.send(
            "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n")
        #expect(try client.response().status == 413)
        #expect(try client.request("GET", "/users/a").text == "a")
    }

    @Test func `the server's own cap holds where a route has no limit`() throws {
        let server = try HTTPTestServer { $0.maximumBodyBytes = 1000 }
        let client = try server.client()
        #expect(try client.request("POST", "/echo", body: [UInt8](repeating: 1, count: 1000)).status == 200)
        #expect(try client.request("POST", "/echo", body: [UInt8](repeating: 1, count: 1001)).status == 413)
        #expect(try client.request("GET", "/users/a").text == "a")
    }

    @Test func `a body beyond the draining bound is 413 and the connection closes`() throws {
        let client = try HTTPTestServer().client()
        try client.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n")
        let response = try client.response()
        #expect(response.status == 413)
        #expect(response["Connection"]?.lowercased() == "close")
        #expect(client.isClosed())
    }

    @Test func `an endless chunked body is cut off`() throws {
        let server = try HTTPTestServer { $0.maximumDrainedBytes = 100_000 }
        let client = try server.client()
        try client.send("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        let piece = Array("10000\r\n".utf8) + [UInt8](repeating: 0, count: 0x10000) + Array("\r\n".utf8)
        #expect(throws: RawHTTPError.self) {
            for _ in 0..<10_000 { try client.send(piece) }
        }
        #expect(try server.client().request("GET", "/users/a").text == "a")
    }

    @Test func `Expect is answered with 100, or with 413 before the body is sent`() throws {
        let server = try HTTPTestServer()
        let client = try server.client()
        try client.send("POST /small HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try client.response().status == 100)
        try client.send("ab")
        #expect(try client.response().text == "2")
        try client.send("POST /small HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
        #expect(try client.response().status == 413)
    }

    @Test(
        arguments: [
            "Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n", "Content-Length: -1\r\n",
            "Content-Length: 1x\r\n", "Content-Length: \r\n",
        ])
    func `a request whose end is ambiguous is 400 and closes the connection`(fields: String) throws {
        let client = try HTTPTestServer().client()
        try client.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\n\(fields)\r\n0\r\n\r\nGET /users/smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try client.rest()
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
        #expect(!answer.contains("smuggled") && !answer.contains(" 200 "))
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "GET", "BREW"])
    func `the body of a refused request is never read as the next request`(method: String) throws {
        let client = try HTTPTestServer().client()
        let body = Array("GET /users/smuggled HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        for target in ["/nothing", "/users/%00", "/small"] {
            #expect(try client.request(method, target, body: body).status >= 400)
            #expect(try client.request("GET", "/users/next").text == "next")
        }
    }

    @Test func `a length beyond 64 bits is refused`() throws {
        let client = try HTTPTestServer().client()
        try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n")
        #expect((400..<500).contains(try client.response().status))
    }
}
