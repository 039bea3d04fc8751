import PealModel
import Testing

@testable import PealHub

@Suite struct HubOperationsTests {
    @Test func `healthz says ok`() throws {
        let hub = try TestHub()
        let answer = try hub.client().get("/healthz")
        #expect(answer.status == 200 && answer.text == "ok\n")
    }

    @Test func `config names the device side by the host that was asked, with limits and versions`() throws {
        let hub = try TestHub()
        let port = hub.server.webSocketPort
        let json = try hub.client().get("/config").json
        #expect(json["websocket"]?.stringValue == "ws://test:\(port)/")
        #expect(json["subprotocol"]?.stringValue == "peal.v1.json")
        #expect(json["versions"]?["wire"]?.intValue == 1)
        #expect(json["limits"]?["item"]?.intValue == Int64(Limits.item))
        for (host, wanted) in [
            ("hub.example.org:8080", "hub.example.org"), ("127.0.0.1", "127.0.0.1"), ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"), ("a b", "127.0.0.1"), ("evil/?x=", "127.0.0.1"),
        ] {
            let client = try hub.client()
            try client.send("GET /config HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let answer = try client.response()
            if answer.status == 400 { continue }
            #expect(answer.json["websocket"]?.stringValue == "ws://\(wanted):\(port)/", "\(host)")
        }
    }

    @Test func `a wrong method on the hub's own paths has the native shape`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        for path in ["/healthz", "/config"] {
            let answer = try client.request("POST", path, body: [])
            #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD")
            #expect(answer.members == ["error"])
            #expect(answer.json["error"]?["code"]?.stringValue == "method_not_allowed")
        }
        let unknown = try client.get("/v1/nothing")
        #expect(unknown.status == 404 && unknown.json["error"]?["message"]?.stringValue?.isEmpty == false)
    }

    @Test func `a path that cannot be decoded is 400 in its surface's shape`() throws {
        let hub = try TestHub()
        for path in ["/publish_api/v1/instances/%zz/publishes", "/notifications/%00", "/v1/%ff"] {
            let answer = try hub.client().get(path)
            #expect(answer.status == 400, "\(path)")
            let wanted =
                path.hasPrefix("/publish") ? ["error", "description"] : path.hasPrefix("/v1") ? ["error"] : ["errors"]
            #expect(answer.members == wanted, "\(path)")
        }
    }
}
