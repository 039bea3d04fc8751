import Foundation
import PealModel
import Testing

@testable import PealHub

/// The native surface over a whole hub.
@Suite struct HubNativeTests {
    private func headers(_ hub: TestHub) -> String {
        "Authorization: \(Proofs.basic(hub.project.apiKey, hub.project.secret))\r\n"
    }

    private func publish(_ hub: TestHub, _ body: String) throws -> JSON {
        let answer = try hub.client().post("/v1/publishes", body, headers: headers(hub))
        guard answer.status < 300 else { throw RawHTTPError(what: "publish: \(answer.status) \(answer.text)") }
        return answer.json["publish"] ?? .null
    }

    private func seconds(_ delay: Double) -> Int64 { Int64((Date().timeIntervalSince1970 + delay).rounded(.up)) }

    @Test func `one publish reaches users and devices, and is told with what became of it`() throws {
        let hub = try TestHub()
        let mary = try TestDevice(hub)
        _ = try mary.welcome(hub.hello("mary"))
        let base = "/device_api/v1/instances/\(hub.project.instance)/devices/fcm"
        let client = try hub.client()
        let device = try #require(client.post(base, #"{"token":"t"}"#, headers: "").json["id"]?.stringValue)
        #expect(try client.request("POST", base + "/\(device)/interests/apple").status == 200)
        let made = try publish(
            hub, #"{"users":["mary","tom"],"interests":["apple"],"title":"How was it?","type":"survey"}"#)
        #expect(made["matched"]?.intValue == 3 && made["status"]?.stringValue == "published")
        let id = try #require(made["id"]?.stringValue)
        let entry = try #require(try mary.entries(through: 1).first)
        guard case .item(let item, id, let body) = entry.kind else { throw RawHTTPError(what: "no item") }
        #expect(try ItemBody(JSONObject(body)).type == "survey")
        mary.send(
            .push([
                Mutation(
                    n: 1, uid: 1, observed: 1, observedTime: 0, moment: .age(0),
                    operation: .track(item: item, event: "answered", data: Array("5".utf8)[...]))
            ]))
        _ = try mary.entries(through: 2)
        var seen: [String: JSON] = [:]
        var after = ""
        for _ in 0..<3 {
            let page = try client.get("/v1/publishes/\(id)?per_page=1\(after)", headers: headers(hub)).json
            for delivery in page["deliveries"]?.arrayValue ?? [] {
                seen[delivery["external_id"]?.stringValue ?? delivery["kind"]?.stringValue ?? ""] = delivery
            }
            after = page["after"]?.stringValue.map { "&after=\($0)" } ?? ""
        }
        #expect(Set(seen.keys) == ["mary", "tom", "device"] && after.isEmpty)
        #expect(seen["mary"]?["facts"]?.arrayValue?.first?["data"]?.intValue == 5)
        #expect(seen["tom"]?["delivered"] == .bool(false))
    }

    @Test func `a scheduled publish outlives the hub that took it, and comes at its time`() throws {
        let hub = try TestHub()
        let when = seconds(1)
        let made = try publish(hub, #"{"users":["mary"],"title":"Later","deliver_at":\#(when)}"#)
        #expect(made["status"]?.stringValue == "scheduled")
        let other = try publish(hub, #"{"users":["mary"],"title":"Never","deliver_at":\#(seconds(2))}"#)
        let never = "/v1/publishes/\(other["id"]?.stringValue ?? "")"
        #expect(try hub.client().request("DELETE", never, headers: headers(hub)).status == 204)
        try hub.restart()
        let mary = try TestDevice(hub)
        let welcome = try mary.welcome(hub.hello("mary"))
        let entries = try mary.entries(through: 1)
        #expect(welcome.head <= 1 && entries.count == 1)
        let entry = try #require(entries.first)
        guard case .item(_, _, let body) = entry.kind else { throw RawHTTPError(what: "no item") }
        #expect(entry.time >= when * 1_000)
        #expect(try ItemBody(JSONObject(body)).title == "Later")
        #expect(
            try hub.client().get(never, headers: headers(hub)).json["publish"]?["status"]?.stringValue == "cancelled")
    }

    @Test func `what is taken back goes from the devices too`() throws {
        let hub = try TestHub()
        let mary = try TestDevice(hub)
        _ = try mary.welcome(hub.hello("mary"))
        let id = try #require(try publish(hub, #"{"users":["mary"],"title":"Oops"}"#)["id"]?.stringValue)
        _ = try mary.entries(through: 1)
        #expect(try hub.client().request("DELETE", "/v1/publishes/\(id)", headers: headers(hub)).status == 204)
        let last = try mary.entries(through: 2).last
        guard case .removed(_, "retract")? = last?.kind else { throw RawHTTPError(what: "not taken back") }
        #expect(try hub.client().request("DELETE", "/v1/publishes/\(id)", headers: headers(hub)).status == 404)
    }

    @Test func `a dead letter is shown with its reason`() throws {
        let hub = try TestHub(requiresHMAC: true)
        let device = try TestDevice(hub)
        var hello = hub.hello("x")
        hello.inbox = .device(id: nil)
        let inbox = try device.welcome(hello).inbox
        for n in 1...3 as ClosedRange<Int64> {
            device.send(
                .push([
                    Mutation(
                        n: n, uid: UInt64(n), observed: 0, observedTime: 0, moment: .age(0),
                        operation: .user(id: "mary", proof: "guess"))
                ]))
            _ = try device.entries(through: n)
        }
        let path = "/v1/inboxes/\(inbox)/dead_letters?per_page=2"
        let first = try hub.client().get(path, headers: headers(hub)).json
        let cursor = try #require(first["before"]?.stringValue)
        let second = try hub.client().get(path + "&before=" + cursor, headers: headers(hub)).json
        let letters = [first, second].flatMap { $0["dead_letters"]?.arrayValue ?? [] }
        #expect(letters.count == 3 && Set(letters.compactMap { $0["n"]?.intValue }) == [1, 2, 3])
        #expect(letters.allSatisfy { $0["outcome"]?["code"]?.stringValue == "denied" })
        #expect(second["before"] == .null)
    }
}

/// The log as server-sent events.
@Suite struct HubLogFeedTests {
    /// A connection that takes events.
    private final class Feed {
        let client: RawHTTPClient

        init(_ hub: TestHub, _ query: String, last: String? = nil) throws {
            client = try hub.client()
            let key = Proofs.basic(hub.project.apiKey, hub.project.secret)
            let header = last.map { "Last-Event-ID: \($0)\r\n" } ?? ""
            try client.send("GET /v1/log?\(query) HTTP/1.1\r\nHost: x\r\nAuthorization: \(key)\r\n\(header)\r\n")
            let head = try client.response()
            guard head.status == 200, head["Content-Type"] == "text/event-stream" else {
                throw RawHTTPError(what: "\(head.status) \(head.text)")
            }
        }

        /// The ids of so many entries that come next.
        func ids(_ count: Int) throws -> [String] {
            var ids: [String] = []
            while ids.count < count {
                let line = try client.line()
                if line.hasPrefix("id: ") { ids.append(String(line.dropFirst(4))) }
            }
            return ids
        }
    }

    private func inbox(_ hub: TestHub) throws -> String {
        try #require(
            hub.client().get("/users/external_id:mary", headers: hub.admin).json["user"]?["id"]?.stringValue)
    }

    @Test func `each entry comes once, live and after a break`() throws {
        let hub = try TestHub()
        for number in 1...3 { try hub.publish("\(number)", users: ["mary"]) }
        let id = try inbox(hub)
        let feed = try Feed(hub, "inbox=\(id)&after=1")
        let first = try feed.ids(2)
        #expect(first.compactMap { $0.split(separator: ".").last.flatMap { Int($0) } } == [2, 3])
        try hub.publish("4", users: ["mary"])
        #expect(try feed.ids(1)[0].hasSuffix(".4"))
        let again = try Feed(hub, "inbox=\(id)", last: first[0])
        #expect(try again.ids(2).map { $0.suffix(2) } == [".3", ".4"])
        let lost = try Feed(hub, "inbox=\(id)", last: "0000000000000001.3")
        #expect(try lost.ids(4).count == 4)
    }

    @Test func `a reader that takes nothing costs a batch, and hinders nobody`() throws {
        let hub = try TestHub()
        try hub.publish("first", users: ["mary"])
        let id = try inbox(hub)
        let slow = try Feed(hub, "inbox=\(id)&after=0")
        let quick = try Feed(hub, "inbox=\(id)&after=0")
        let text = String(repeating: "x", count: 8_000)
        for _ in 0..<120 { try hub.publish(text, users: ["mary"]) }
        #expect(try quick.ids(121).count == 121)
        // What the slow one has not taken is neither lost nor kept in memory: it comes when it is taken.
        #expect(try slow.ids(121).count == 121)
    }

    @Test func `a project that is closed ends the events of its back end`() throws {
        let hub = try TestHub()
        try hub.publish("one", users: ["mary"])
        let id = try inbox(hub)
        let feed = try Feed(hub, "inbox=\(id)&after=0")
        _ = try feed.ids(1)
        let answer = try hub.client().request(
            "DELETE", "/v1/projects/\(hub.project.instance)",
            headers: "Authorization: Bearer \(try #require(hub.project.operatorToken))\r\n")
        #expect(answer.status < 300)
        while try feed.client.line() != "0" {}
        #expect(throws: (any Error).self) { try Feed(hub, "inbox=\(id)&after=0") }
    }

    @Test func `the end of an inbox, and of the hub, ends the events`() throws {
        let hub = try TestHub()
        try hub.publish("one", users: ["mary"])
        let feed = try Feed(hub, "inbox=\(try inbox(hub))&after=0")
        _ = try feed.ids(1)
        #expect(try hub.client().request("DELETE", "/users/external_id:mary", headers: hub.admin).status == 204)
        while try feed.client.line() != "0" {}
        try hub.publish("two", users: ["mary"])
        let other = try Feed(hub, "inbox=\(try inbox(hub))&after=0")
        _ = try other.ids(1)
        try hub.restart()
        while try other.client.line() != "0" {}
    }
}
