import PealModel
import Testing

@testable import PealHub

/// What devices report by the interests surface.
@Suite struct HubReportTests {
    private func device(_ hub: TestHub, user: String) throws -> String {
        let base = "/device_api/v1/instances/\(hub.project.instance)/devices/apns"
        let client = try hub.client()
        let id = try #require(try client.post(base, #"{"token":"t"}"#, headers: "").json["id"]?.stringValue)
        let token = Proofs.token(
            user, instance: hub.project.instance, secret: hub.project.secret, expires: 4_000_000_000)
        let answer = try client.request("PUT", base + "/\(id)/user", headers: "Authorization: Bearer \(token)\r\n")
        #expect(answer.status == 200)
        return id
    }

    private func report(_ hub: TestHub, _ event: String, _ publish: String, _ device: String, more: String = "") throws
        -> Int
    {
        try hub.client().post(
            "/reporting_api/v2/instances/\(hub.project.instance)/events",
            #"{"event":"\#(event)","publishId":"\#(publish)","deviceId":"\#(device)"\#(more)}"#, headers: ""
        ).status
    }

    private func publish(_ hub: TestHub, _ user: String) throws -> String {
        let answer = try hub.client().post(
            hub.publishPath("users"), #"{"users":["\#(user)"],"apns":{"aps":{"alert":"a"}}}"#, headers: hub.bearer)
        return try #require(answer.json["publishId"]?.stringValue)
    }

    /// The acts in a user's log.
    private func acts(_ hub: TestHub, _ user: String) throws -> [Act.Effect] {
        let device = try TestDevice(hub)
        let welcome = try device.welcome(hub.hello(user))
        return try device.entries(through: welcome.head).compactMap { entry in
            if case .act(let act) = entry.kind { act.effect } else { nil }
        }
    }

    @Test func `an open of a device's user is a fact, once, whatever the case of the word`() throws {
        let hub = try TestHub()
        let id = try device(hub, user: "mary")
        let name = try publish(hub, "mary")
        for event in ["delivery", "Open", "OPEN", "open"] { #expect(try report(hub, event, name, id) == 200) }
        let acts = try acts(hub, "mary")
        guard acts.count == 1, case .fact(_, "opened", nil) = acts[0] else {
            Issue.record("not one fact: \(acts)")
            return
        }
    }

    @Test func `a report tells nothing and does nothing to somebody else`() throws {
        let hub = try TestHub()
        let id = try device(hub, user: "mary")
        let others = try publish(hub, "tom")
        let hers = try publish(hub, "mary")
        #expect(try report(hub, "Open", others, id) == 200)
        #expect(try report(hub, "Open", others, id, more: #","userId":"tom""#) == 200)
        #expect(try report(hub, "Open", hers, "no device") == 200)
        #expect(try report(hub, "Open", "no publish", id) == 200)
        #expect(try acts(hub, "tom").isEmpty && acts(hub, "mary").isEmpty)
    }

    @Test func `a report that is none is refused`() throws {
        let hub = try TestHub()
        #expect(try report(hub, "Seen", "p", "d") == 422)
        #expect(try report(hub, "Open", "", "d") == 422)
        #expect(try report(hub, "Open", "p", "d", more: #","timestampSecs":"now""#) == 422)
        #expect(try report(hub, "Open", "p", "d", more: #","timestampSecs":1.5"#) == 422)
        #expect(try report(hub, "Open", "p", "d", more: #","timestampSecs":1764500000.0"#) == 200)
        #expect(try report(hub, "Open", "p", "d", more: #","timestampSecs":1.7645e9"#) == 200)
        #expect(try report(hub, "Open", "p", "d", more: #","timestampSecs":null,"hasData":true"#) == 200)
    }
}
