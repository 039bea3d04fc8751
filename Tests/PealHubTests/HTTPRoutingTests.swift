import PealModel
import Testing

@testable import PealHub

@Suite struct HTTPRoutingTests {
    @Test func `a literal segment wins over a parameter, whatever the method`() throws {
        let client = try HTTPTestServer().client()
        #expect(try client.request("GET", "/users/me").text == "literal")
        let other = try client.request("DELETE", "/users/me")
        #expect(other.status == 405)
        #expect(other["Allow"] == "GET, HEAD")
    }

    @Test func `another method is 405 and Allow names the ones there are`() throws {
        let client = try HTTPTestServer().client()
        let response = try client.request("PUT", "/users/a", body: Array("{}".utf8))
        #expect(response.status == 405)
        #expect(response["Allow"] == "DELETE, GET, HEAD")
        #expect(try client.request("BREW", "/echo")["Allow"] == "POST")
        #expect(try client.request("get", "/users/a").status == 405)
    }

    @Test func `HEAD answers as GET does, without a body`() throws {
        let client = try HTTPTestServer().client()
        let response = try client.request("HEAD", "/users/abc")
        #expect(response.status == 200)
        #expect(response["Content-Length"] == "3")
        #expect(try client.request("GET", "/users/b").text == "b")
    }

    @Test func `an unknown path is 404 in the shape of its surface`() throws {
        let client = try HTTPTestServer().client()
        let inbox = try client.request("GET", "/nothing")
        #expect(inbox.status == 404)
        #expect(inbox.text == #"{"errors":[{"code":"not_found","message":"There is nothing at this path."}]}"#)
        for api in ["publish_api", "device_api", "customer_api", "reporting_api", "user_api"] {
            let interests = try client.request("POST", "/\(api)/v1/x")
            #expect(interests.status == 404)
            #expect(interests.text == #"{"error":"Not found","description":"There is nothing at this path."}"#)
        }
        let native = try client.request("GET", "/v1/nothing?x")
        #expect(native.text == #"{"error":{"code":"not_found","message":"There is nothing at this path."}}"#)
        #expect(native["Content-Type"] == "application/json; charset=utf-8")
    }

    @Test func `405, 413 and 400 have the shape of the surface too`() throws {
        let client = try HTTPTestServer().client()
        let path = "/publish_api/v1/instances/i/publishes"
        let responses = try [
            client.request("GET", path), client.request("POST", path, body: [UInt8](repeating: 1, count: 11)),
            client.request("POST", "/publish_api/%00"),
        ]
        #expect(responses.map(\.status) == [405, 400, 400])
        for response in responses { #expect(response.text.hasPrefix(#"{"error":""#)) }
    }

    @Test func `header names are found in any case and values come as sent`() throws {
        let client = try HTTPTestServer().client()
        #expect(try client.request("GET", "/header", headers: "X-SOME-id:  a b;c \r\n").text == "a b;c")
        try client.send(Array("GET /header HTTP/1.1\r\nHost: a\r\nX-Some-Id: ".utf8) + [0xFF] + Array("\r\n\r\n".utf8))
        #expect(try client.response().status == 400)
    }

    @Test func `a media type is recognised whatever its parameters`() throws {
        func request(_ type: String) throws -> HTTPRequest {
            HTTPRequest(
                head: HTTPRequestHead(
                    method: .post, target: try HTTPTarget(Array("/".utf8)), headers: ["content-type": type],
                    peer: HTTPPeer(address: "", port: 0)), body: [])
        }
        #expect(try request("application/json").hasContentType("application/json"))
        #expect(try request("Application/JSON;charset=UTF-8").hasContentType("application/json"))
        #expect(try !request("application/jsonx").hasContentType("application/json"))
    }

    @Test(arguments: HTTPSurface.allCases)
    func `an error body is JSON whatever the message holds`(surface: HTTPSurface) throws {
        let failure = HTTPFailure.badRequest("a_code", "a\"b\\c\n\u{1}é")
        let json = try JSON(surface.response(to: failure).body[...])
        let message =
            switch surface {
            case .inbox: json["errors"]?.arrayValue?.first?["message"]
            case .interests: json["description"]
            case .native: json["error"]?["message"]
            }
        #expect(message?.stringValue == failure.message)
    }
}
