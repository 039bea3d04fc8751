import PealModel
import Testing

@testable import PealHub

@Suite struct HubStandingTests {
    private func send(_ hub: TestHub, _ title: String) throws {
        let body = #"{"notification":{"title":"\#(title)","recipients":[{"external_id":"mary"}]}}"#
        #expect(try hub.client().post("/notifications", body, headers: hub.admin).status == 201)
    }

    @Test func `a standing is of the inbox at its head, and holds no content`() throws {
        let hub = try TestHub()
        for number in 1...3 { try send(hub, "T\(number)") }
        let answer = try hub.client().get("/standing?position=2", headers: hub.user("mary"))
        #expect(answer.status == 200, "\(answer.text)")
        let json = answer.json
        #expect(json["position"]?.intValue == 3)
        #expect(json["total"]?.intValue == 3)
        #expect(json["unread_count"]?.intValue == 3 && json["unseen_count"]?.intValue == 3)
        for key in ["epoch", "chain", "sum", "chain_asked"] {
            #expect(json[key]?.stringValue?.utf8.count == 16, "\(key)")
        }
        #expect(json["chain_asked"] != json["chain"])
        #expect(!answer.text.contains("T1"))
        let listed = try hub.client().get("/notifications", headers: hub.user("mary")).json["notifications"]?.arrayValue
        var sum: UInt64 = 0
        for item in listed ?? [] {
            let id = try #require(item["id"]?.stringValue.flatMap { ItemID($0) })
            sum &+= InboxSum.item(id, at: try #require(item["number"]?.intValue))
        }
        #expect(json["sum"]?.stringValue == Hex64.text(sum))
        // By its id, with the secret: the same.
        let inbox = try #require(json["inbox"]?.stringValue)
        let admin = try hub.client().get("/standing?inbox=\(inbox)", headers: hub.admin).json
        #expect(admin["sum"] == json["sum"] && admin["chain_asked"] == nil)
        let above = try hub.client().get("/standing?position=9", headers: hub.user("mary")).json
        #expect(above["chain_asked"] == nil)
    }

    @Test func `an inbox by its id needs the secret, and what is not there is 404`() throws {
        let hub = try TestHub()
        try send(hub, "T")
        let inbox = try #require(
            try hub.client().get("/standing", headers: hub.user("mary")).json["inbox"]?.stringValue)
        let user = "X-MAGICBELL-API-KEY: \(hub.project.apiKey)\r\nX-MAGICBELL-USER-EXTERNAL-ID: mary\r\n"
        #expect(try hub.client().get("/standing", headers: user).status == 200)
        #expect(try hub.client().get("/standing?inbox=\(inbox)", headers: user).status == 401)
        #expect(try hub.client().get("/standing?inbox=none", headers: hub.admin).status == 404)
        #expect(try hub.client().get("/standing", headers: hub.user("nobody")).status == 404)
        #expect(try hub.client().get("/standing?position=-1", headers: hub.user("mary")).status == 422)
        let strict = try TestHub(requiresHMAC: true)
        let key = "X-MAGICBELL-API-KEY: \(strict.project.apiKey)\r\nX-MAGICBELL-USER-EXTERNAL-ID: mary\r\n"
        #expect(try strict.client().get("/standing", headers: key).status == 401)
    }
}
