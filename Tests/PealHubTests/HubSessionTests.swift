import PealModel
import Testing

@testable import PealHub

@Suite struct HubSessionTests {
    private func titles(_ entries: [Entry]) throws -> [String] {
        try entries.compactMap { entry in
            guard case .item(_, _, let body) = entry.kind else { return nil }
            return try ItemBody(JSONObject(body)).title
        }
    }

    /// Reads what is on the hub of an inbox by a snapshot, as a new replica does.
    private func goLive(_ device: TestDevice) throws -> Page {
        device.send(.snapshot(SnapshotRequest()))
        let frame = try device.frame()
        guard case .page(let page) = frame, page.last else { throw RawHTTPError(what: "no last page: \(frame)") }
        return page
    }

    @Test func `a hello is welcomed, and what is published comes as batches`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        let welcome = try device.welcome(hub.hello("mary"))
        #expect(welcome.attempt == 1 && welcome.head == 0 && !welcome.nonce.isEmpty && welcome.secret != nil)
        #expect(welcome.mode == .resume)
        for number in 1...3 { try hub.publish("T\(number)", users: ["mary"]) }
        #expect(try titles(device.entries(through: 3)) == ["T1", "T2", "T3"])
    }

    @Test func `what was published before the first contact comes with the log`() throws {
        let hub = try TestHub()
        for number in 1...5 { try hub.publish("T\(number)", users: ["mary"]) }
        let device = try TestDevice(hub)
        let welcome = try device.welcome(hub.hello("mary"))
        #expect(welcome.head == 5)
        guard welcome.mode == .resume else {
            #expect(try goLive(device).rows.count == 5)
            return
        }
        #expect(try titles(device.entries(through: 5)) == (1...5).map { "T\($0)" })
    }

    @Test func `a session that comes back goes on where it was`() throws {
        let hub = try TestHub()
        var hello = hub.hello("mary")
        let first = try TestDevice(hub)
        let welcome = try first.welcome(hello)
        try hub.publish("T1", users: ["mary"])
        guard case .batch(let batch) = try first.frame() else { throw RawHTTPError(what: "no batch") }
        first.send(.got(to: 1))
        first.send(.bye)
        #expect(try first.closeCode() == CloseCode.tryAgain.rawValue)
        try hub.publish("T2", users: ["mary"])
        try hub.restart()
        try hub.publish("T3", users: ["mary"])
        hello.attempt = 2
        hello.nonce = welcome.nonce
        hello.cursor = Cursor(epoch: welcome.epoch, position: batch.to, chain: batch.chain)
        let second = try TestDevice(hub)
        let again = try second.welcome(hello)
        #expect(
            again.mode == .resume && again.head == 3 && again.epoch == welcome.epoch && again.inbox == welcome.inbox)
        #expect(try titles(second.entries(through: 3)) == ["T2", "T3"])
    }

    @Test func `two devices of a user both get every entry`() throws {
        let hub = try TestHub()
        let devices = try [TestDevice(hub), TestDevice(hub)]
        for device in devices { _ = try device.welcome(hub.hello("mary")) }
        for number in 1...20 { try hub.publish("T\(number)", users: ["mary"]) }
        for device in devices { #expect(try titles(device.entries(through: 20)) == (1...20).map { "T\($0)" }) }
    }

    @Test func `a hub trims its logs, and a replica below the floor gets a snapshot of what is there`() throws {
        let hub = try TestHub(retention: Retention(entries: 2, hold: 0))
        for number in 1...5 { try hub.publish("T\(number)", users: ["mary"]) }
        try hub.restart()
        let end = ContinuousClock.now + .seconds(10)
        while true {
            let device = try TestDevice(hub)
            let welcome = try device.welcome(hub.hello("mary"))
            if welcome.mode == .snapshot {
                #expect(try goLive(device).rows.count == 5)
                break
            }
            try #require(ContinuousClock.now < end, "the log is not trimmed")
        }
    }

    @Test func `nobody gets what is another's`() throws {
        let hub = try TestHub()
        let mary = try TestDevice(hub)
        _ = try mary.welcome(hub.hello("mary"))
        try hub.publish("for tom", users: ["tom"])
        try hub.publish("for mary", users: ["mary"])
        #expect(try titles(mary.entries(through: 1)) == ["for mary"])
    }

    @Test func `an act comes back as an entry, and the list over HTTP has it`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        for title in ["T1", "T2"] { try hub.publish(title, users: ["mary"]) }
        let entries = try device.entries(through: 2)
        guard case .item(let id, _, _) = entries[0].kind else { throw RawHTTPError(what: "no item") }
        let read = Mutation(
            n: 1, uid: 7, observed: 2, observedTime: entries[1].time, moment: .age(0),
            operation: .read(items: [id], on: true, passive: false))
        device.send(.push([read]))
        guard case .act(let act) = try device.entries(through: 3)[0].kind else { throw RawHTTPError(what: "no act") }
        #expect(act.outcome == .applied)
        for (query, titles, unread) in [("", ["T2", "T1"], 1), ("?read=true", ["T1"], 0), ("?read=false", ["T2"], 1)] {
            let json = try hub.client().get("/notifications" + query, headers: hub.user("mary")).json
            let listed = json["notifications"]?.arrayValue ?? []
            #expect(listed.compactMap { $0["title"]?.stringValue } == titles, "\(query)")
            #expect(json["unread_count"]?.intValue == Int64(unread), "\(query)")
            let first = listed.first { $0["title"]?.stringValue == "T1" }
            if let first { #expect(first["read_at"]?.intValue != nil && first["seen_at"]?.intValue != nil) }
        }
        device.send(.push([read]))
        guard case .settled(let settled, _) = try device.frame() else { throw RawHTTPError(what: "not settled") }
        #expect(settled == [Settled(n: 1, uid: 7, outcome: .applied)])
    }

    @Test func `a device's interests decide what it gets`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        var hello = hub.hello("")
        hello.inbox = .device(id: nil)
        _ = try device.welcome(hello)
        device.send(
            .push([
                Mutation(
                    n: 1, uid: 1, observed: 0, observedTime: 0, moment: .age(0),
                    operation: .interests(replace: ["apple", "pear"]))
            ]))
        _ = try device.entries(through: 1)
        func publish(_ interests: String, _ title: String) throws {
            let body = #"{"interests":[\#(interests)],"apns":{"aps":{"alert":"\#(title)"}}}"#
            #expect(try hub.client().post(hub.publishPath("interests"), body, headers: hub.bearer).status == 200)
        }
        try publish(#""plum""#, "none")
        try publish(#""apple","pear","apple""#, "both")
        try publish(#""pear""#, "pear")
        #expect(try titles(device.entries(through: 3)) == ["both", "pear"])
    }

    @Test func `a probe is answered`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        device.send(.ping)
        #expect(try device.frame() == .pong)
    }

    @Test func `a slow reader gets no more than its window, and the rest after its credit`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        var hello = hub.hello("mary")
        hello.windowEntries = 2
        _ = try device.welcome(hello)
        for number in 1...5 { try hub.publish("T\(number)", users: ["mary"]) }
        var reached: Position = 0
        while reached < 2 {
            guard case .batch(let batch) = try device.frame() else { throw RawHTTPError(what: "no batch") }
            reached = batch.to
        }
        #expect(reached == 2)
        device.send(.ping)
        #expect(try device.frame() == .pong)
        device.send(.got(to: 2))
        #expect(try titles(device.entries(through: 5)).last == "T5")
    }

    @Test func `a hub that stops tells its devices to come back`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        try hub.restart()
        #expect(try device.closeCode() == CloseCode.draining.rawValue)
    }
}
