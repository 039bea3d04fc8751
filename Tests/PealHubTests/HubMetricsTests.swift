import Foundation
import PealModel
import PealSQLite
import Testing

@testable import PealHub

@Suite struct HubMetricsTests {
    /// The samples of a page: name with labels, and value.
    private func samples(_ hub: TestHub) throws -> [String: Int] {
        let answer = try hub.client().get("/metrics")
        #expect(answer.status == 200)
        var samples: [String: Int] = [:]
        for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            samples[String(words[0])] = Int(words[1])
        }
        return samples
    }

    /// Asks until a sample has a value.
    private func wait(_ hub: TestHub, _ name: String, _ value: Int) throws {
        let deadline = ContinuousClock.now + .seconds(10)
        var last = try samples(hub)[name]
        while last != value, ContinuousClock.now < deadline { last = try samples(hub)[name] }
        #expect(last == value, "\(name)")
    }

    @Test func `metrics are Prometheus' text, each family once with its help and type`() throws {
        let hub = try TestHub()
        let answer = try hub.client().get("/metrics")
        #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        var family = ""
        var seen: Set<String> = []
        for line in answer.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            if line.hasPrefix("# HELP ") {
                family = words[2]
                #expect(seen.insert(family).inserted, "\(family) twice")
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == family && ["counter", "gauge"].contains(words[3]))
                #expect((words[3] == "counter") == family.hasSuffix("_total"), "\(family)")
            } else {
                #expect(words.count == 2 && words[0].prefix { $0 != "{" } == family && Int(words[1]) != nil, "\(line)")
            }
        }
        #expect(answer.text.hasSuffix("\n") && seen.count > 15)
    }

    @Test func `requests are counted by family and class of status`() throws {
        let hub = try TestHub()
        try hub.publish("One", users: ["mary"])
        _ = try hub.client().get("/notifications")
        _ = try hub.client().get("/v1/nothing")
        _ = try hub.client().get("/healthz")
        let samples = try samples(hub)
        func count(_ family: String, _ status: String) -> Int? {
            samples["peal_http_requests_total{family=\"\(family)\",status=\"\(status)\"}"]
        }
        #expect(count("interests", "2xx") == 1 && count("interests", "4xx") == 0)
        #expect(count("inbox", "4xx") == 1 && count("native", "4xx") == 1 && count("operations", "2xx") == 1)
    }

    @Test func `publishes, entries, sessions, lag and outcomes are counted`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        let welcome = try device.welcome(hub.hello("mary"))
        try hub.publish("One", users: ["mary", "bob"])
        let samples = try samples(hub)
        #expect(samples["peal_publishes_total"] == 1 && samples["peal_entries_appended_total"] == 2)
        #expect(samples["peal_sessions"] == 1 && samples["peal_sockets"] == 1 && samples["peal_sessions_total"] == 1)
        #expect(samples["peal_database_bytes"] ?? 0 > 0 && samples["peal_database_wal_bytes"] ?? 0 > 0)
        try wait(hub, "peal_lag_entries", Int(welcome.head) + 1)
        _ = try device.entries(through: welcome.head + 1)
        try wait(hub, "peal_lag_entries", 0)
        device.send(
            .push([
                Mutation(
                    n: 1, uid: 7, observed: welcome.head + 1, observedTime: 0, moment: .age(0),
                    operation: .mark(.read, upTo: welcome.head + 1))
            ]))
        try wait(hub, "peal_outbox_outcomes_total{outcome=\"applied\"}", 1)
    }

    @Test func `a repeated publish is counted once`() throws {
        let hub = try TestHub()
        let headers = hub.bearer + "Idempotency-Key: once\r\n"
        for _ in 0..<2 {
            let answer = try hub.client().post(
                hub.publishPath("users"), #"{"users":["mary"],"apns":{"aps":{"alert":"One"}}}"#, headers: headers)
            #expect(answer.status == 200)
        }
        #expect(try samples(hub)["peal_publishes_total"] == 1)
    }

    @Test func `a device that was ahead, and one that was restored, are counted`() throws {
        let hub = try TestHub()
        let first = hub.hello("mary")
        let welcome = try TestDevice(hub).welcome(first)
        var ahead = hub.hello("bob")
        ahead.cursor.position = 99
        ahead.cursor.epoch = 1
        #expect(try TestDevice(hub).welcome(ahead).mode == .ahead)
        var restored = first
        restored.attempt = 9
        restored.nonce = "of another time"
        restored.cursor.epoch = welcome.epoch
        _ = try TestDevice(hub).welcome(restored)
        let samples = try samples(hub)
        #expect(samples["peal_ahead_total"] == 1 && samples["peal_forked_total"] == 1)
    }

    @Test func `no metric names a project, a user, a device or a secret`() throws {
        let hub = try TestHub()
        try hub.publish("Hidden title", users: ["hidden-user"])
        _ = try TestDevice(hub).welcome(hub.hello("hidden-user"))
        let text = try hub.client().get("/metrics").text
        for word in [
            hub.project.instance, hub.project.apiKey, hub.project.secret, "hidden-user", "Hidden title", hub.path,
        ] {
            #expect(!text.contains(word), "\(word)")
        }
    }

    // MARK: readyz

    @Test func `readyz says ready where the store writes`() throws {
        let hub = try TestHub()
        let answer = try hub.client().get("/readyz")
        #expect(answer.status == 200 && answer.text == "ready\n")
    }

    @Test func `readyz is 503 while another process holds the store, and 200 again afterwards`() throws {
        let hub = try TestHub()
        let other = try Connection(path: hub.path)
        try other.execute("BEGIN IMMEDIATE")
        let answer = try hub.client().get("/readyz")
        #expect(answer.status == 503 && answer["Retry-After"] == "1")
        #expect(answer.json["error"]?["code"]?.stringValue == "store_unavailable")
        #expect(answer.json["error"]?["message"]?.stringValue?.contains("disk") == true)
        // The hub itself still answers.
        #expect(try hub.client().get("/healthz").status == 200)
        try other.execute("ROLLBACK")
        let deadline = ContinuousClock.now + .seconds(20)
        while try hub.client().get("/readyz").status != 200 {
            guard ContinuousClock.now < deadline else { throw RawHTTPError(what: "never ready again") }
        }
    }

    @Test func `many who ask at once make one write`() throws {
        let hub = try TestHub()
        let before = try samples(hub)["peal_commits_total"] ?? 0
        for _ in 0..<50 { #expect(try hub.client().get("/readyz").status == 200) }
        let after = try samples(hub)["peal_commits_total"] ?? 0
        // One a second at most, and what upkeep does.
        #expect(after - before < 20)
    }

    @Test func `readyz is 503 once the hub drains`() throws {
        let hub = try TestHub()
        hub.server.core.hub.readiness.drain()
        let answer = try hub.client().get("/readyz")
        #expect(answer.status == 503 && answer.json["error"]?["code"]?.stringValue == "unavailable")
    }
}
