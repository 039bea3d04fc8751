import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// Faults of other systems, as their users reported them, on a whole hub over loopback sockets.
@Suite(.timeLimit(.minutes(2)))
struct PublicReportSockets {
    private func titles(_ inbox: Inbox) async throws -> [String] {
        try await inbox.page(DeliveredQuery(), limit: 200).items.map { try $0.decodeBody().title ?? "" }
    }

    private func post(_ bench: Bench, _ body: String) async throws -> Int {
        let hub = try HubAddress("http://127.0.0.1:\(bench.hub.httpPort)")
        return try await hub.request(
            "POST", ["publish_api", "v1", "instances", bench.hub.project.instance, "publishes", "users"],
            headers: ["Authorization": "Bearer \(bench.hub.project.secret)"], body: Array(body.utf8), seconds: 10
        ).status
    }

    @Test(arguments: [
        #"{"users":["Mary"],"apns":{"aps":{"alert":{"title":"\ud83d","body":"b"}}}}"#,
        #"{"users":["Mary"],"apns":{"aps":{"alert":"\udc00 first"}}}"#,
        #"{"users":["Mary"],"fcm":{"notification":{"title":"t"},"data":{"deep":{"x":["\ud800\ud800"]}}}}"#,
        #"{"users":["Mary"],"fcm":{"notification":{"title":"t"},"data":{"\ud800":1}}}"#,
    ])
    func `half a surrogate pair in a publish is refused there, and no client is cut by it`(_ body: String) async throws
    {
        let bench = try Bench()
        var inboxes: [Inbox] = []
        for name in ["a", "b"] { inboxes.append(try await bench.client(name).user(externalID: "Mary")) }
        for inbox in inboxes { await inbox.connect() }
        for inbox in inboxes { #expect(await eventually { await inbox.isSettled }) }
        var sessions: [Int64] = []
        for inbox in inboxes { sessions.append(try await inbox.inspect().attempt) }
        #expect(try await post(bench, body) == 400)
        #expect(try await post(bench, #"{"users":["Mary"],"apns":{"aps":{"alert":"\ud83d\ude00 whole"}}}"#) == 200)
        for (inbox, attempt) in zip(inboxes, sessions) {
            #expect(try await eventually { try await titles(inbox) == ["\u{1F600} whole"] })
            #expect(try await inbox.inspect().attempt == attempt, "it is the session of before")
            await inbox.close()
        }
        await bench.stop()
    }

    @Test(arguments: [#""\ud800""#, "{", "nonsense", #"{"a":1} x"#, "\u{1}"])
    func
        `data of a fact that no JSON parser takes is refused before it is kept, and cuts neither this client nor another`(
            _ data: String
        ) async throws
    {
        let bench = try Bench()
        try await bench.publish("hello", users: ["Mary"])
        let one = try await bench.client("a").user(externalID: "Mary")
        let two = try await bench.client("b").user(externalID: "Mary")
        await one.connect()
        await two.connect()
        #expect(try await eventually { try await one.counts().total == 1 })
        let item = try await one.page(DeliveredQuery()).items[0].id
        let error = await #expect(throws: PealError.self) {
            try await one.perform(.track(item: item, event: "answered", data: Array(data.utf8)[...]))
        }
        #expect(error?.code == .invalid)
        try await one.perform(.track(item: item, event: "answered", data: Array(#"{"a":"\ud83d\ude00"}"#.utf8)[...]))
        #expect(try await eventually { try await two.facts(of: item).map(\.event) == ["answered"] })
        #expect(await one.status.state == .live)
        await one.close()
        await two.close()
        await bench.stop()
    }

    @Test
    func
        `what user A did offline is sent as user A, also where user B signs in on the device before there is a network`()
        async throws
    {
        let bench = try Bench(requiresHMAC: true)
        try await bench.publish("for both", users: ["Anna", "anna", "Bob"])
        let client = try bench.client("phone")
        func hmac(_ user: String) -> String {
            Base64.standard.encode(HMACSHA256.code(Array(user.utf8), key: Array(bench.hub.project.secret.utf8)))
        }
        func open(_ user: String) async throws -> Inbox {
            try await client.user(externalID: user, hmac: hmac(user))
        }
        let first = try await open("Anna")
        await first.connect()
        #expect(try await eventually { try await first.counts().total == 1 })
        await first.disconnect()
        let item = try await first.page(DeliveredQuery()).items[0].id
        try await first.perform(.read(items: [item], on: true, passive: false))
        try await first.perform(.archive(items: [item], on: true))
        await first.close()
        // Signed out; others sign in, one whose id differs in case only.
        for user in ["Bob", "anna"] {
            let inbox = try await open(user)
            #expect(try await inbox.outbox().isEmpty)
            await inbox.connect()
            #expect(try await eventually { try await inbox.counts() == Counts(total: 1, unread: 1, unseen: 1) })
            #expect(await eventually { await inbox.isSettled })
            #expect(try await inbox.inspect().cursor.position == 1, "nobody has acted in this inbox")
            await inbox.close()
        }
        let anna = try await open("Anna")
        #expect(try await anna.outbox().count == 2)
        await anna.connect()
        #expect(try await eventually { try await anna.outbox().isEmpty })
        for (user, unread) in [("Anna", 0), ("anna", 1), ("Bob", 1)] as [(String, Int)] {
            let hub = HubAPI(
                hub: try bench.address,
                credentials: .user(key: bench.hub.project.apiKey, externalId: user, hmac: hmac(user)))
            #expect(try await hub.notifications().unreadCount == unread, "\(user)")
        }
        await anna.close()
        await bench.stop()
    }

    @Test func `a socket that is only half there is noticed after a wake, and the next one goes on where it was`()
        async throws
    {
        let wire = try Wire()
        let bench = try Bench(publicWebSocketURL: "ws://127.0.0.1:\(wire.port)/")
        wire.start(to: bench.hub.webSocketPort)
        let inbox = try await bench.client("a").user(externalID: "Mary")
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        wire.fallSilent()
        try await bench.publish("while it was silent", users: ["Mary"])
        try await inbox.perform(.seen(items: []))
        let began = ContinuousClock.now
        // Nothing tells the client; its socket looks as alive as before.
        #expect(await inbox.status.state == .live)
        await inbox.networkChanged()
        #expect(try await eventually { try await inbox.counts().total == 1 })
        #expect(ContinuousClock.now - began < .seconds(14), "five seconds for the probe, and a try within the back-off")
        #expect(await eventually { await inbox.isSettled })
        #expect(try await inbox.outbox().isEmpty)
        #expect(wire.count >= 2)
        await inbox.close()
        await bench.stop()
        wire.stop()
    }

    @Test func `nothing is delivered twice where sign-in, token and first contact race`() async throws {
        let bench = try Bench()
        for round in 1...6 {
            let user = "user-\(round)"
            let proof = Base64.standard.encode(
                HMACSHA256.code(Array(user.utf8), key: Array(bench.hub.project.secret.utf8)))
            let device = try await bench.client("device-\(round)").device()
            var inboxes: [Inbox] = []
            for index in 0..<3 { inboxes.append(try await bench.client("\(round)-\(index)").user(externalID: user)) }
            await withThrowingTaskGroup { group in
                for inbox in inboxes { group.addTask { await inbox.connect() } }
                group.addTask { await device.connect() }
                group.addTask { try await device.perform(.token("token-\(round)", platform: "apns")) }
                group.addTask { try await device.perform(.user(id: user, proof: proof)) }
                group.addTask { try await device.perform(.interest(name: "news-\(round)", on: true)) }
                group.addTask { try await device.perform(.token("token-\(round)", platform: "apns")) }
                group.addTask { try await bench.publish("one", users: [user, user]) }
                group.addTask { try await bench.publish("two", users: [user]) }
            }
            #expect(await eventually { await device.isSettled })
            #expect(try await device.outbox().isEmpty)
            try await bench.publish("three", users: [user])
            for inbox in inboxes {
                #expect(try await eventually { try await titles(inbox).first == "three" })
                #expect(try await Set(titles(inbox)) == ["one", "two", "three"])
                #expect(try await titles(inbox).count == 3, "round \(round)")
            }
            let ids = try await Set([
                inboxes[0].inspect().inbox, inboxes[1].inspect().inbox, inboxes[2].inspect().inbox,
            ])
            #expect(ids.count == 1, "a user has one inbox")
            for inbox in inboxes + [device] { await inbox.close() }
        }
        await bench.stop()
    }

    @Test func `inboxes that lose their hub at one moment do not all come back at one moment`() async throws {
        let directory = NSTemporaryDirectory() + "/peal-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Nobody listens there: each inbox begins its back-off with its own jitter.
        let client = try PealClient(hub: "http://127.0.0.1:1", apiKey: "k", directory: directory)
        var delays: [Milliseconds] = []
        for index in 0..<12 {
            let inbox = try await client.user(externalID: "user-\(index)")
            let statuses = await inbox.statuses
            await inbox.connect()
            for await status in statuses {
                guard status.state == .offline, let delay = status.retryAfter else { continue }
                delays.append(delay)
                break
            }
            await inbox.close()
        }
        #expect(Set(delays).count >= 10, "\(delays)")
        #expect(delays.allSatisfy { 0...1_000 ~= $0 })
    }
}
