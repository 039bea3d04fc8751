import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// The typed calls, each on a real hub, and that there is one for each route.
@Suite(.timeLimit(.minutes(4))) struct HubAPITests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// `operationId: METHOD /path` of each operation of the OpenAPI file.
    private static func described() throws -> [String: String] {
        let text = try String(contentsOf: root.appendingPathComponent("schema/rest/openapi.yaml"), encoding: .utf8)
        var (path, method) = ("", "")
        var found: [String: String] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("components:") { break }
            if line.hasPrefix("  /"), line.hasSuffix(":") { path = String(line.dropFirst(2).dropLast()) }
            if line.hasPrefix("    "), !line.hasPrefix("     "), line.hasSuffix(":") {
                method = line.dropFirst(4).dropLast().uppercased()
            }
            if line.hasPrefix("      operationId: ") { found[String(line.dropFirst(19))] = "\(method) \(path)" }
        }
        return found
    }

    @Test func `there is a call for each route that the hub's description has, and for nothing else`() throws {
        let calls = HubOperation.allCases.map { ($0.rawValue, $0.route) }
        #expect(Dictionary(uniqueKeysWithValues: calls) == (try Self.described()))
    }

    /// Which operations were called.
    private final class Calls: Sendable {
        private let seen = Mutex<Set<String>>([])
        func note(_ operation: HubOperation) { _ = seen.withLock { $0.insert(operation.rawValue) } }
        var missing: [String] { HubOperation.allCases.map(\.rawValue).filter { !seen.withLock(\.self).contains($0) } }
    }

    private struct Callers {
        var admin: HubAPI
        var mary: HubAPI
        var device: HubAPI
        var operation: HubAPI
    }

    private func callers(_ bench: Bench, _ calls: Calls) throws -> Callers {
        let project = bench.hub.project
        func traced(_ credentials: HubCredentials) throws -> HubAPI {
            var api = HubAPI(hub: try bench.address, credentials: credentials)
            api.traced = { calls.note($0) }
            return api
        }
        var admin = try bench.api()
        admin.traced = { calls.note($0) }
        return Callers(
            admin: admin, mary: try traced(.user(key: project.apiKey, externalId: "mary")),
            device: try traced(.instance(project.instance)),
            operation: try traced(.hubOperator(token: try #require(project.operatorToken))))
    }

    @Test func `each call does what its route does, and its answer is read`() async throws {
        let bench = try Bench()
        let calls = Calls()
        let callers = try callers(bench, calls)
        try await inbox(callers)
        try await users(callers)
        try await devices(callers, bench.hub.project)
        try await publishes(callers)
        try await operations(callers)
        try await own(bench, calls)
        #expect(calls.missing == [])
        await bench.stop()
    }

    private func inbox(_ callers: Callers) async throws {
        let (admin, mary) = (callers.admin, callers.mary)
        let message = HubAPI.Message(
            title: "Hello", content: "Text", type: "note", actionURL: "https://example.org/1", category: "a",
            topic: "t", customAttributes: .object([("n", .number("1"))]))
        let to = HubAPI.User(externalId: "mary", firstName: "Mary", phoneNumbers: ["1"])
        let first = try await admin.once("k1").send(message, to: [to])
        #expect(try await admin.once("k1").send(message, to: [to]) == first)
        _ = try await admin.send(HubAPI.Message(title: "Two"), to: [to])
        var page = try await mary.notifications(limit: 1)
        #expect(page.total == 2 && page.unreadCount == 2 && page.unseenCount == 2 && page.position == 2)
        page = try await mary.notifications(after: page.after, limit: 1)
        let item = try #require(page.notifications.first)
        #expect(page.after == nil && item.message == message && item.number == 1 && item.readDate == nil)
        let filter = HubAPI.NotificationFilter(read: false, categories: ["b", "a"], topics: ["t"])
        #expect(try await mary.notifications(filter).notifications.map(\.id) == [item.id])
        for act in [HubAPI.ItemAct.see, .read, .archive] { try await mary.perform(act, on: item.id, position: 2) }
        let read = try await mary.notification(item.id)
        #expect(read.readDate != nil && read.seenDate != nil && read.archivedDate != nil)
        for act in [HubAPI.ItemAct.unread, .unarchive] { try await mary.perform(act, on: item.id) }
        #expect(try await mary.notification(item.id).readDate == nil)
        try await mary.markAllSeen(topics: ["t"])
        try await mary.markAllRead(categories: ["other"])
        #expect(try await mary.notifications().unreadCount == 2)
        try await mary.markAllRead()
        #expect(try await mary.notifications().unreadCount == 0)
        try await mary.perform(.delete, on: item.id)
        #expect(try await mary.notifications(HubAPI.NotificationFilter(read: true, archived: false)).total == 1)
        let standing = try await mary.standing(position: 1)
        #expect(standing.counts.total == 1 && standing.chainAsked != nil)
        #expect(try await admin.standing(inbox: standing.inbox).sum == standing.sum)

        let channels = [Catalogue.Channel(slug: "email", label: "E-mail")]
        let categories = [Catalogue.Category(slug: "billing", label: "Billing", channels: channels)]
        #expect(try await admin.setCategories(categories).version == 1)
        #expect(try await admin.categories().categories == categories)
        let off = NotificationPreferences(categories: [
            .init(slug: "billing", channels: [.init(slug: "email", enabled: false)])
        ])
        #expect(try await mary.preferences().categories.first?.channels.first?.enabled == true)
        #expect(try await mary.setPreferences(off).categories.first?.channels.first?.enabled == false)
    }

    private func users(_ callers: Callers) async throws {
        let admin = callers.admin
        let made = try await admin.createUser(HubAPI.User(externalId: "a/b", lastName: "Slash"))
        let id = try #require(made.id)
        for name in [HubAPI.UserName.id(id), .externalId("a/b")] { #expect(try await admin.user(name) == made) }
        let changed = try await admin.changeUser(.id(id), HubAPI.User(email: "AB@example.org", phoneNumbers: ["12"]))
        #expect(changed.email == "ab@example.org" && changed.lastName == "Slash" && changed.phoneNumbers == ["12"])
        #expect(try await admin.user(.email("ab@example.org")).id == id)
        try await admin.deleteUser(.id(id))
        for path in [HubAPI.UserDeletion.customer, .user] {
            _ = try await admin.createUser(HubAPI.User(externalId: "a/b"))
            try await admin.deleteUser(externalId: "a/b", by: path)
            let gone = await #expect(throws: PealError.self) { try await admin.user(.externalId("a/b")) }
            #expect(gone?.status == 404 && gone?.hubCode == "not_found")
        }
        let own = try await admin.inboxes(of: .externalId("mary"))
        #expect(own.count == 1 && own[0].position > 0 && !own[0].isDevice)
        let letters = try await admin.deadLetters(of: own[0].id)
        #expect(letters.letters.isEmpty && letters.before == nil)
        let subscription = try await callers.mary.subscribe(token: "tok/en", platform: "android")
        #expect(subscription.platform == "android")
        #expect(try await callers.mary.subscriptions() == [subscription])
        try await callers.mary.unsubscribe(token: "tok/en")
        #expect(try await callers.mary.subscriptions().isEmpty)
    }

    private func devices(_ callers: Callers, _ project: HubProject) async throws {
        let api = callers.device
        let (device, none) = try await api.registerDevice(
            platform: "apns", token: .string("t1"), metadata: .object([("sdk", .string("x"))]))
        #expect(none.isEmpty)
        try await api.setMetadata(.object([("sdk", .string("y"))]), of: device)
        try await api.setToken(.string("t2"), of: device)
        try await api.setInterests(["a", "b", "c"], of: device)
        try await api.removeInterest("b", from: device)
        try await api.addInterest("d", to: device)
        let page = try await api.interests(of: device, limit: 2)
        #expect(page.interests == ["a", "c"])
        #expect(try await api.interests(of: device, cursor: page.cursor).interests == ["d"])
        let token = Self.token("mary", project)
        try await api.setUser(of: device, userToken: token)
        let shown = try await api.device(device)
        #expect(shown.userId == "mary" && shown.metadata["sdk"] == .string("y"))
        let all = try await callers.admin.devices(of: .externalId("mary"))
        #expect(all.contains { $0.id == device.id && $0.token == "t2" && $0.platform == "apns" })
        let alert = JSON.object([("apns", .object([("aps", .object([("alert", .string("x"))]))]))])
        let id = try await callers.admin.publish(platforms: alert, to: .interests(["d"]))
        _ = try await callers.admin.publish(platforms: alert, to: .interests(["d"]), isOldPath: true)
        _ = try await callers.admin.publish(platforms: alert, to: .users(["mary"]))
        try await api.report("Open", publish: id, device: device.id, date: Date())
        let delivery = try await callers.admin.publish(id).deliveries.first
        #expect(delivery?.isDevice == true && delivery?.events.map(\.event) == ["opened"])
        try await api.deleteDevice(device)
        await #expect(throws: PealError.self) { try await api.device(device) }
        #expect(try await callers.mary.notifications().total > 0)
    }

    /// A user token as a back end makes it.
    static func token(_ user: String, _ project: HubProject) -> String {
        func url(_ text: String) -> String { Base64.url.encode(Array(text.utf8)) }
        let head = url(#"{"alg":"HS256","typ":"JWT"}"#)
        let claims = url(
            #"{"iss":"https://\#(project.instance).pushnotifications.pusher.com","sub":"\#(user)","exp":\#(Int(Date().timeIntervalSince1970) + 600)}"#
        )
        let code = HMACSHA256.code(Array("\(head).\(claims)".utf8), key: Array(project.secret.utf8))
        return "\(head).\(claims)." + Base64.url.encode(code)
    }

    private func publishes(_ callers: Callers) async throws {
        let admin = callers.admin
        var later = HubAPI.PublishOptions()
        later.deliveryDate = Date(timeIntervalSinceNow: 3_600)
        later.expiryDate = Date(timeIntervalSinceNow: 7_200)
        later.collapseKey = "c"
        let waiting = try await admin.publish(HubAPI.Message(title: "Later"), users: ["mary"], later)
        #expect(waiting.status == "scheduled" && waiting.expiryDate != nil)
        try await admin.takeBack(publish: waiting.id)
        #expect(try await admin.publish(waiting.id).publish.status == "cancelled")
        let broadcast = try await admin.broadcast(HubAPI.Message(title: "All"), to: [HubAPI.User(externalId: "mary")])
        #expect(broadcast.matched == 1 && broadcast.message.title == "All")
        #expect(try await admin.broadcast(broadcast.id) == broadcast)
        let page = try await admin.broadcasts()
        #expect(page.broadcasts == [broadcast] && page.total == 1)

        let inbox = try await admin.standing(inbox: callers.mary.standing().inbox)
        var events = admin.log(of: inbox.inbox, after: inbox.position - 1).makeAsyncIterator()
        let first = try #require(try await events.next())
        #expect(first.name == "entry" && first.data["kind"] == .string("item"))
        let now = try await admin.publish(HubAPI.Message(title: "Now"), users: ["mary"])
        let second = try #require(try await events.next())
        #expect(second.data["publish"] == .string(now.id))
        var again = admin.log(of: inbox.inbox, lastEvent: first.id).makeAsyncIterator()
        #expect(try await again.next() == second)
        var refused = admin.log(of: "none").makeAsyncIterator()
        let error = await #expect(throws: PealError.self) { try await refused.next() }
        #expect(error?.status == 404)
    }

    private func operations(_ callers: Callers) async throws {
        try await callers.mary.health()
        try await callers.mary.ready()
        #expect(try await callers.mary.metrics().hasPrefix("# HELP"))
        let configuration = try await callers.mary.configuration()
        #expect(configuration.webSocketURL.hasPrefix("ws://") && !configuration.limits.isEmpty)
        let api = callers.operation
        let made = try await api.createProject(name: "Shop", isHMACRequired: false)
        let secret = try #require(made.secret)
        #expect(made.name == "Shop" && !made.isHMACRequired && !"\(made)".contains(secret))
        #expect(try await api.project(made.instance).secret == nil)
        #expect(try await api.projects().map(\.instance).contains(made.instance))
        #expect(try await api.changeProject(made.instance, isHMACRequired: true).isHMACRequired)
        let rotated = try await api.rotateProject(made.instance, secret: true, overlap: .seconds(60))
        #expect(rotated.secret != secret && rotated.oldSecretEndDate != nil)
        #expect(try await api.revokeOld(of: made.instance).oldSecretEndDate == nil)
        try await api.closeProject(made.instance)
        #expect(try await api.project(made.instance).closingDate != nil)
    }

    private func own(_ bench: Bench, _ calls: Calls) async throws {
        let project = bench.hub.project
        var mary = HubAPI(
            hub: try bench.address,
            credentials: .user(
                key: project.apiKey, externalId: "mary", hmac: UserCode.code(of: "mary", secret: project.secret)))
        mary.traced = { calls.note($0) }
        _ = try await mary.subscribe(token: "own", platform: "ios")
        let device = try #require(try await mary.ownDevices().first { $0.hasPushToken })
        #expect(device.platform == "apns" && device.kind == .device)
        try await mary.revokeOwnDevice(device.id)
        #expect(try await mary.subscriptions().isEmpty)
        try await mary.eraseOwn()
        let gone = await #expect(throws: PealError.self) { try await bench.api().user(.externalId("mary")) }
        #expect(gone?.status == 404)
    }

    // MARK: What goes wrong

    @Test func `what is refused has the hub's status, word and sentence, which names the member`() async throws {
        let bench = try Bench()
        let admin = try bench.api()
        let to = HubAPI.User(externalId: "mary")
        let long = HubAPI.Message(title: String(repeating: "x", count: 256))
        let title = await #expect(throws: PealError.self) { try await admin.send(long, to: [to]) }
        #expect(title?.code == .refused && title?.status == 422 && title?.message.contains("title") == true)
        let native = await #expect(throws: PealError.self) {
            try await admin.publish(HubAPI.Message(), users: ["mary"])
        }
        #expect(native?.status == 422 && native?.message.contains("title") == true && native?.hubCode != nil)
        let huge = HubAPI.Message(title: "x", content: String(repeating: "x", count: 300_000))
        let large = await #expect(throws: PealError.self) { try await admin.send(huge, to: [to]) }
        #expect(large?.status == 413 && large?.hubCode == "body_too_large")
        let beams = await #expect(throws: PealError.self) {
            try await admin.publish(platforms: .object([]), to: .interests(["a b"]))
        }
        #expect(beams?.status == 422 && beams?.message.contains("interest") == true)
        _ = try await admin.once("k").send(HubAPI.Message(title: "a"), to: [to])
        let reused = await #expect(throws: PealError.self) {
            try await admin.once("k").send(HubAPI.Message(title: "b"), to: [to])
        }
        #expect(reused?.status == 409 && reused?.hubCode == "idempotency_key_reused")
        await bench.stop()
    }

    @Test func `wrong credentials are refused, those of another kind are not sent, and no text shows a secret`()
        async throws
    {
        let bench = try Bench()
        let secret = "5e".padding(toLength: 64, withPad: "5e", startingAt: 0)
        let project = bench.hub.project
        let wrong = HubAPI(
            hub: try bench.address,
            credentials: .project(instance: project.instance, key: project.apiKey, secret: secret))
        let error = await #expect(throws: PealError.self) {
            try await wrong.send(HubAPI.Message(title: "a"), to: [HubAPI.User(externalId: "mary")])
        }
        #expect(error?.status == 401 && error?.hubCode == "api_secret_is_incorrect")
        await #expect(throws: PealError.self) { try await wrong.publish(HubAPI.Message(title: "a"), users: ["mary"]) }
        for credentials in [
            HubCredentials.nobody, .instance(project.instance), .user(key: project.apiKey, externalId: "mary"),
            .hubOperator(token: secret),
        ] {
            let other = HubAPI(hub: try bench.address, credentials: credentials)
            let error = await #expect(throws: PealError.self) { try await other.categories() }
            #expect(error?.code == .invalid)
        }
        var dumped = ""
        for credentials in [
            wrong.credentials, .user(key: "k", email: "m@example.org", hmac: secret, token: secret, secret: secret),
            .hubOperator(token: secret),
        ] {
            dump(credentials, to: &dumped)
            dump(HubAPI(hub: try bench.address, credentials: credentials), to: &dumped)
            dumped += "\(credentials) \(String(reflecting: credentials))"
        }
        dumped += error.map { "\($0)" } ?? ""
        #expect(!dumped.contains(secret))
        await bench.stop()
    }

    @Test func `a hub that is away, no hub, and a wait that the hub asks for are told apart`() async throws {
        let away = HubAPI(hub: try HubAddress("http://127.0.0.1:1"))
        let unreachable = await #expect(throws: PealError.self) { try await away.health() }
        #expect(unreachable?.code == .unreachable && unreachable?.status == nil)
        let server = try OneAnswer(
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let busy = await #expect(throws: PealError.self) {
            try await HubAPI(hub: HubAddress("http://127.0.0.1:\(server.port)")).ready()
        }
        #expect(busy?.status == 503 && busy?.retryAfter == 7)
        let page = try OneAnswer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n<p/>")
        let noHub = await #expect(throws: PealError.self) {
            try await HubAPI(hub: HubAddress("http://127.0.0.1:\(page.port)")).configuration()
        }
        #expect(noHub?.code == .notAHub)
    }

    @Test func `events are read however their bytes are cut`() {
        let text = "id: 1.2\nevent: entry\ndata: {\"a\":1}\n\n: still here\n\nevent: gap\r\ndata: {}\r\n\r\n"
        for size in 1...text.utf8.count {
            var reader = EventReader()
            var events: [HubAPI.LogEvent] = []
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                events += reader.read(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(events.map(\.name) == ["entry", "gap"] && events.map(\.id) == ["1.2", nil], "\(size)")
        }
    }
}
