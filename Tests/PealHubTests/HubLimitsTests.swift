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

    /// The tests of each row of the table: at the limit, and one past it.
    static let tests: [String: [String]] = [
        "HTTP connections": ["a connection over the number waits and is served when another one goes"],
        "HTTP connections of an address": [
            "a connection over the number of its address is closed, and the next is served when one goes"
        ],
        "requests of an address": [
            "requests of an address over its rate are 429 with Retry-After, healthy again when told",
            "a bucket gives its burst, then its rate, and tells how long to wait",
        ],
        "requests of a project; with its secret, and without": [
            "who uses up a project's public key does not hold up its back end"
        ],
        "request line and headers": [
            "request line and fields of 16 KiB are taken, and one byte more is 431 and closes"
        ],
        "header fields": ["a hundred fields are taken, and one more is 431 and closes"],
        "time for the first request's head": [
            slow, "a head that trickles is cut after its time, and others are served meanwhile",
        ],
        "time from an answer to the next request's head": [slow],
        "time for a body": [slow, "a body that trickles is cut after its time"],
        "time to read an answer": [
            slow, "who does not read answers is cut after its time",
            "who takes nothing of a body that goes on is cut after its time",
        ],
        "body of a publish to interests": [request],
        "body of a publish to users": [request],
        "any other body": [request],
        "a refused body, read and dropped": [
            "a refused body of 4 MiB is read and dropped, and a larger one closes the connection",
            "a refused body of unknown length may have 4 MiB, too",
        ],
        "Idempotency-Key": ["an Idempotency-Key of 255 characters is taken, one of 256 is 400"],
        "requests that wait for the store": ["10_000 requests wait for the store, and one more is 503 or told to wait"],
        "an item, a catalogue": [
            "an item of 16 KiB is delivered, and one byte more is 422",
            "a catalogue of 16 KiB is taken, and one byte more is 422",
        ],
        "title": [request],
        "category, topic": [request],
        "action URL": [request],
        "custom attributes": [request],
        "email, external id": [request, "an external id of 255 characters is let in, one of 256 is closed 4204"],
        "name of a person": [request],
        "interest, user id of the interests surface": [request],
        "recipients of a publish": [request],
        "interests of a publish": [request],
        "interests of a device": [
            request, "a device has 5_000 interests by pushes, and one more is settled as too large",
        ],
        "devices of a user": [
            "a user has 100 devices by HTTP, and one more is 422, for that user alone",
            "a user has room for a hundred devices",
        ],
        "preferences of a user": [
            "a user chooses 256 preferences by HTTP, and one more is 403",
            "a user chooses 256 preferences by pushes, and one more is settled as too large",
        ],
        "sockets": ["a socket over the number gets 503 with Retry-After, and is let in when one goes"],
        "sockets of an address": [
            "a socket over the number of its address is closed 4029, and the next one is let in when one goes"
        ],
        "handshakes of sockets under way": [
            "more handshakes than there may be close the oldest, and whoever connects is let in"
        ],
        "time for a socket's handshake": [
            "who does not end its handshake is cut after its time, and others are served meanwhile",
            "a handshake that trickles is cut after its time",
            "a handshake that ends within its time is taken, however slowly it comes",
        ],
        "sessions of a replica": ["a newer session of a replica closes the older one with 4105"],
        "a socket that says no hello": ["a socket has ten seconds to say hello, and is closed 4203 after them"],
        "hellos of a socket that are too low": ["hello after hello that is refused ends with 4029"],
        "a frame from a device": ["a frame over 64 KiB closes 4104, one below is taken"],
        "a frame to a device": [
            "1 MiB is sent without an acknowledgement, in frames of 256 KiB, then 4008 after a minute"
        ],
        "frames from a socket": ["frames over the rate close 4029, and other sessions go on"],
        "mutations of a push": ["a push holds 100 mutations and not one more"],
        "items of a mutation": ["a mutation names 500 items, and one that names 501 is settled as too large"],
        "pushes in flight of a session": ["a second push in flight is told to wait, and others are answered"],
        "answers that a device does not read": [
            "16 answers wait for a device that does not read, the next one closes 4029, and others are served",
            "a replica that asks and does not read is cut",
        ],
        "entries that a session has not acknowledged": [
            "4_096 entries are sent without an acknowledgement, and the rest after one",
            "1 MiB is sent without an acknowledgement, in frames of 256 KiB, then 4008 after a minute",
            "a session without credit for a minute is cut, and not a moment before",
        ],
        "silence of a socket": [
            "the socket layer has the hub's figures", "a client that answers no ping is dropped, one that does is kept",
            "who takes nothing at all is cut, and others are served meanwhile",
        ],
    ]
    private static let slow = "who is done a second before its time is served, and who is not a second after it is cut"
    private static let request = "what is at a limit is taken, and one more is refused"

    @Test func `every row of the table has a test, and every test that is named is there`() throws {
        let rows = HubLimits.table.map(\.what)
        #expect(Set(rows).count == rows.count)
        #expect(Set(rows) == Set(Self.tests.keys))
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var source = ""
        while let file = files?.nextObject() as? URL {
            if file.pathExtension == "swift" { source += try String(contentsOf: file, encoding: .utf8) }
        }
        for name in Set(Self.tests.values.joined()) {
            #expect(source.contains("func `\(name)`("), "\(name)")
        }
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
        Case(testDescription: "email", limit: Limits.identity, path: "/notifications") { count in
            #"{"notification":{"title":"t","recipients":[{"email":"\#(text(count - 4))@b.c"}]}}"#
        },
        Case(testDescription: "first name", limit: Limits.personName, path: "/users") { count in
            #"{"user":{"external_id":"x","first_name":"\#(text(count))"}}"#
        },
        Case(testDescription: "last name", limit: Limits.personName, path: "/users") { count in
            #"{"user":{"external_id":"x","last_name":"\#(text(count))"}}"#
        },
        Case(testDescription: "letters of a user id", limit: Limits.interest, path: "users") { count in
            #"{"users":["\#(text(count))"],"apns":{"aps":{"alert":"t"}}}"#
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

    /// The largest of some numbers for which something holds, where it holds for all below it.
    private func largest(_ range: Range<Int>, where holds: (Int) throws -> Bool) rethrows -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while high - low > 1 {
            let middle = (low + high) / 2
            if try holds(middle) { low = middle } else { high = middle }
        }
        return low
    }

    @Test func `an item of 16 KiB is delivered, and one byte more is 422`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let client = try hub.client()
        var published: Position = 0
        let most = try largest(1..<Limits.item) { count in
            let content = String(repeating: "x", count: count)
            let answer = try client.post(
                "/notifications",
                #"{"notification":{"title":"t","content":"\#(content)","recipients":[{"external_id":"mary"}]}}"#,
                headers: hub.admin)
            if answer.status == 201 { published += 1 }
            #expect(answer.status == 201 || answer.status == 422)
            return answer.status == 201
        }
        var sizes: [Int] = []
        while sizes.count < published {
            guard case .batch(let batch) = try device.frame() else { throw RawHTTPError(what: "no batch") }
            sizes += batch.entries.map(\.count)
            device.send(.got(to: batch.to))
        }
        #expect(sizes.max() == Limits.item, "\(most) \(sizes)")
    }

    @Test func `a catalogue of 16 KiB is taken, and one byte more is 422`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        var size = 0
        _ = try largest(1..<Limits.catalogue) { count in
            let body = #"{"categories":[{"slug":"a","label":"\#(String(repeating: "x", count: count))"}]}"#
            let answer = try client.request("PUT", "/categories", headers: hub.admin, body: Array(body.utf8))
            if answer.status == 200 { size = max(size, answer.body.count) }
            #expect(answer.status == 200 || answer.status == 422)
            return answer.status == 200
        }
        #expect(size == Limits.catalogue)
        #expect(try client.get("/categories", headers: hub.admin).status == 200)
    }

    @Test func `a user has 100 devices by HTTP, and one more is 422, for that user alone`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        func subscribe(_ user: String, _ number: Int) throws -> Int {
            try client.post(
                "/push_subscriptions", #"{"push_subscription":{"device_token":"t\#(number)","platform":"ios"}}"#,
                headers: hub.user(user)
            ).status
        }
        for number in 0..<Limits.devicesPerUser { #expect(try subscribe("mary", number) == 201) }
        #expect(try subscribe("mary", Limits.devicesPerUser) == 422)
        // One that is there already is no more.
        #expect(try subscribe("mary", 0) == 201)
        #expect(try subscribe("tom", Limits.devicesPerUser) == 201)
        let devices = "/device_api/v1/instances/\(hub.project.instance)/devices/apns"
        let json = "Content-Type: application/json\r\n"
        let device = try client.post(devices, #"{"token":"t"}"#, headers: json)
        let token = Proofs.token(
            "mary", instance: hub.project.instance, secret: hub.project.secret,
            expires: Int64(Date().timeIntervalSince1970) + 600)
        let bound = try client.request(
            "PUT", "\(devices)/\(device.json["id"]?.stringValue ?? "")/user",
            headers: json + "Authorization: Bearer \(token)\r\n", body: [])
        #expect(bound.status == 422, "\(bound.text)")
    }
}
