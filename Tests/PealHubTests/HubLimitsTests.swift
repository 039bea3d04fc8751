import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// Each limit lets through what is at it, stops what is one past it, and harms nobody else.
@Suite struct HubLimitsTests {
    @Test func `docs_operations_md has the table of every limit, as the code has it`() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/operations.md")
        if ProcessInfo.processInfo.environment["PEAL_RECORD"] != nil {
            var text = try String(contentsOf: page, encoding: .utf8)
            if let start = text.range(of: "| what | limit | beyond | option |\n"),
                let end = text[start.lowerBound...].range(of: "\n\n")
            {
                text.replaceSubrange(start.lowerBound..<end.lowerBound, with: HubLimits.markdown.dropLast())
                try text.write(to: page, atomically: true, encoding: .utf8)
            }
        }
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.contains("\n" + HubLimits.markdown + "\n"), "run with PEAL_RECORD=1 to write it anew")
    }

    // MARK: What a request may hold

    /// A request of so many of something.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var limit: Int
        var path: String
        var method = "POST"
        /// The body with so many.
        var body: @Sendable (Int) -> String
        var status = 422
        var isDevice = false
    }

    private static func text(_ count: Int) -> String { String(repeating: "é", count: count) }

    private static func send(_ name: String, _ limit: Int, _ member: @escaping @Sendable (Int) -> String) -> Case {
        Case(testDescription: name, limit: limit, path: "/notifications") { count in
            let title = name == "title" ? "" : #""title":"t","#
            return #"{"notification":{\#(title)\#(member(count)),"recipients":[{"external_id":"mary"}]}}"#
        }
    }

    static let cases: [Case] = [
        send("title", Limits.title) { #""title":"\#(text($0))""# },
        send("category", Limits.category) { #""category":"\#(text($0))""# },
        send("topic", Limits.category) { #""topic":"\#(text($0))""# },
        send("action_url", Limits.url) { #""action_url":"\#(text($0))""# },
        send("custom_attributes", Limits.attributes) { count in
            #""custom_attributes":{"a":"\#(String(repeating: "x", count: count - 8))"}"#
        },
        Case(testDescription: "recipients", limit: Limits.usersPerPublish, path: "/notifications") { count in
            let all = (0..<count).map { #"{"external_id":"u\#($0)"}"# }.joined(separator: ",")
            return #"{"notification":{"title":"t","recipients":[\#(all)]}}"#
        },
        Case(testDescription: "external id", limit: Limits.identity, path: "/notifications") { count in
            #"{"notification":{"title":"t","recipients":[{"external_id":"\#(text(count))"}]}}"#
        },
        Case(testDescription: "first name", limit: Limits.personName, path: "/users") { count in
            #"{"user":{"external_id":"x","first_name":"\#(text(count))"}}"#
        },
        Case(testDescription: "interests of a publish", limit: Limits.interestsPerPublish, path: "interests") { count in
            let all = (0..<count).map { "\"i\($0)\"" }.joined(separator: ",")
            return #"{"interests":[\#(all)],"apns":{"aps":{"alert":"t"}}}"#
        },
        Case(testDescription: "letters of an interest", limit: Limits.interest, path: "interests") { count in
            #"{"interests":["\#(String(repeating: "i", count: count))"],"apns":{"aps":{"alert":"t"}}}"#
        },
        Case(testDescription: "users of a publish", limit: Limits.usersPerPublish, path: "users") { count in
            let all = (0..<count).map { "\"u\($0)\"" }.joined(separator: ",")
            return #"{"users":[\#(all)],"apns":{"aps":{"alert":"t"}}}"#
        },
        Case(
            testDescription: "body of a publish to interests", limit: HubLimits.interestsBody, path: "interests",
            body: { padded(#"{"interests":["i"],"apns":{"aps":{"alert":"t"}}}"#, $0) }, status: 400),
        Case(
            testDescription: "body of a publish to users", limit: HubLimits.usersBody, path: "users",
            body: { padded(#"{"users":["u"],"apns":{"aps":{"alert":"t"}}}"#, $0) }, status: 400),
        Case(
            testDescription: "any other body", limit: HubLimits.body, path: "/notifications",
            body: { padded(#"{"notification":{"title":"t","recipients":[{"external_id":"mary"}]}}"#, $0) }, status: 413),
        Case(
            testDescription: "interests of a device", limit: Limits.interestsPerDevice, path: "interests",
            method: "PUT",
            body: { count in #"{"interests":[\#((0..<count).map { "\"i\($0)\"" }.joined(separator: ","))]}"# },
            isDevice: true),
    ]

    private static func padded(_ json: String, _ count: Int) -> String {
        json + String(repeating: " ", count: count - json.utf8.count)
    }

    @Test(arguments: cases)
    func `what is at a limit is taken, and one more is refused`(example: Case) throws {
        let hub = try TestHub()
        let client = try hub.client()
        var path = example.path
        if example.isDevice {
            let devices = "/device_api/v1/instances/\(hub.project.instance)/devices/apns"
            let device = try client.post(devices, #"{"token":"t"}"#, headers: "Content-Type: application/json\r\n")
            path = "\(devices)/\(device.json["id"]?.stringValue ?? "")/\(path)"
        } else if !path.hasPrefix("/") {
            path = hub.publishPath(path)
        }
        let headers = path.contains("_api/") ? hub.bearer : hub.admin
        func send(_ count: Int) throws -> RawHTTPResponse {
            try client.request(example.method, path, headers: headers, body: Array(example.body(count).utf8))
        }
        let taken = try send(example.limit)
        #expect((200...201).contains(taken.status), "\(taken.text)")
        let refused = try send(example.limit + 1)
        #expect(refused.status == example.status, "\(refused.text)")
        // The connection, and everybody else, is served on.
        #expect(try client.get("/healthz").status == 200)
    }

    @Test func `an Idempotency-Key of 255 characters is taken, one of 256 is 400`() throws {
        let hub = try TestHub()
        for (count, status) in [(HubLimits.idempotencyKey, 200), (HubLimits.idempotencyKey + 1, 400)] {
            let key = "Idempotency-Key: \(String(repeating: "k", count: count))\r\n"
            let answer = try hub.client().post(
                hub.publishPath("users"), #"{"users":["u"],"apns":{"aps":{"alert":"t"}}}"#, headers: hub.bearer + key)
            #expect(answer.status == status)
        }
    }

    // MARK: Rates

    @Test func `requests of an address over its rate are 429 with Retry-After, healthy again when told`() throws {
        let hub = try TestHub { $0.limits.requestsPerAddress = 5 }
        let client = try hub.client()
        // Ten at once. The bucket fills up meanwhile, so a few more pass; a hundred cannot.
        var passed = 0
        var last: RawHTTPResponse?
        while passed < 100 {
            let answer = try client.get("/config")
            if answer.status != 200 {
                last = answer
                break
            }
            passed += 1
        }
        let refused = try #require(last)
        #expect(passed >= 10 && refused.status == 429 && refused["Retry-After"] == "1", "\(passed)")
        #expect(refused.json["error"]?["code"]?.stringValue == "too_many_requests")
        // In the shape of each surface.
        #expect(try client.get("/notifications").json["errors"] != nil)
        let deadline = ContinuousClock.now + .seconds(10)
        while try client.get("/healthz").status != 200 {
            guard ContinuousClock.now < deadline else { throw RawHTTPError(what: "never let through again") }
        }
    }

    @Test func `who uses up a project's public key does not hold up its back end`() throws {
        let hub = try TestHub { $0.limits.requestsPerProject = 5 }
        let client = try hub.client()
        var refused = false
        for _ in 0..<200 where !refused {
            refused = try client.get("/notifications", headers: hub.user("mary")).status == 429
        }
        #expect(refused)
        let published = try client.post(
            hub.publishPath("users"), #"{"users":["u"],"apns":{"aps":{"alert":"t"}}}"#, headers: hub.bearer)
        #expect(published.status == 200)
        // Nor who asks in no project's name.
        #expect(try client.get("/config").status == 200)
        #expect(try client.get("/metrics").text.contains("peal_limited_total 1\n"))
    }

    @Test func `a bucket gives its burst, then its rate, and tells how long to wait`() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(rate: 10, burst: 2, now: start)
        for _ in 0..<20 { #expect(bucket.take(now: start) == nil) }
        let wait = bucket.take(now: start)
        #expect(wait.map { abs($0 - 0.1) < 0.001 } == true && !bucket.isFull(now: start))
        #expect(bucket.take(now: start + .milliseconds(101)) == nil)
        #expect(bucket.take(now: start + .milliseconds(101)) != nil)
        // A clock that goes back gives nothing.
        #expect(bucket.take(now: start) != nil)
        #expect(bucket.isFull(now: start + .seconds(3)))
    }

    @Test func `buckets of many keys take no more memory than they may, and one key does not touch another's`() {
        let start = ContinuousClock.now
        var buckets = TokenBuckets<Int>(rate: 1, burst: 1, remembered: 100)
        for key in 0..<10_000 {
            #expect(buckets.take(key, now: start) == nil)
            #expect(buckets.count <= 100)
        }
        #expect(buckets.take(9_999, now: start) != nil && buckets.take(10_000, now: start) == nil)
        var none = TokenBuckets<Int>(rate: 0, burst: 1, remembered: 1)
        for _ in 0..<100 { #expect(none.take(1, now: start) == nil) }
        #expect(none.count == 0)
    }

    // MARK: Connections

    @Test func `a connection over the number waits and is served when another one goes`() throws {
        let hub = try TestHub { $0.limits.connections = 2 }
        let first = try hub.client()
        var second: RawHTTPClient? = try hub.client()
        #expect(try first.get("/healthz").status == 200 && second?.get("/healthz").status == 200)
        let third = try hub.client()
        try third.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try first.get("/healthz").status == 200)
        second = nil
        #expect(try third.response().status == 200)
    }

    private func cut(_ server: HTTPTestServer, until isClosed: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(9)
        let cutting = Count()
        let looking = OtherThread {
            while ContinuousClock.now < deadline, cutting.value == 0 {
                server.server.cutOverdue()
                usleep(20_000)
            }
        }
        #expect(isClosed())
        cutting.add(1)
        try? looking.wait()
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

    // MARK: Sockets

    @Test func `a socket over the number of its address is closed 4029, and the next one is let in when one goes`()
        throws
    {
        let hub = try TestHub { $0.limits.socketsPerAddress = 2 }
        let first = try TestDevice(hub)
        _ = try first.welcome(hub.hello("mary"))
        do {
            let second = try TestDevice(hub)
            _ = try second.welcome(hub.hello("mary"))
            #expect(try TestDevice(hub).closeCode() == CloseCode.rate.rawValue)
            second.send(.bye)
            _ = try second.closeCode()
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            let third = try TestDevice(hub)
            third.send(.hello(hub.hello("mary")))
            let event = try third.next()
            if case .message = event { break }
            guard ContinuousClock.now < deadline else { throw RawHTTPError(what: "never let in again") }
        }
        try hub.publish("One", users: ["mary"])
        #expect(try first.entries(through: 1).count == 1)
    }

    @Test func `frames over the rate close 4029, and other sessions go on`() throws {
        let hub = try TestHub { $0.limits.framesPerSecond = 10 }
        let other = try TestDevice(hub)
        _ = try other.welcome(hub.hello("mary"))
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        // A hello and 49 frames are its burst.
        for _ in 0..<49 { device.send(.got(to: 0)) }
        device.send(.ping)
        // The burst may just be over or not, by how long it took; a hundred more are too many.
        for _ in 0..<100 { device.send(.got(to: 0)) }
        #expect(try device.closeCode() == CloseCode.rate.rawValue)
        try hub.publish("One", users: ["mary"])
        #expect(try other.entries(through: 1).count == 1)
    }

    @Test(arguments: [(Limits.mutationsPerPush, true), (Limits.mutationsPerPush + 1, false)])
    func `a push holds 100 mutations and not one more`(count: Int, isTaken: Bool) throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        device.send(
            .push(
                (1...Int64(count)).map {
                    Mutation(
                        n: $0, uid: UInt64($0), observed: 0, observedTime: 0, moment: .age(0),
                        operation: .mark(.read, upTo: 0))
                }))
        if isTaken {
            #expect(try device.entries(through: Position(count)).count == count)
        } else {
            #expect(try device.closeCode() == CloseCode.protocolError.rawValue)
        }
    }
}
