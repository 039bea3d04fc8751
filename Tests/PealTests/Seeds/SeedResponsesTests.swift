import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// The seed document on a default helper for notifications, from top to bottom.
@Suite(.timeLimit(.minutes(4))) struct SeedResponsesTests {
    /// What handlers were called with, and how they end.
    private final class Handlers: PushHandler, RichPushHandler, Sendable {
        enum End { case calls, callsTwice, keeps, drops, fails }
        struct Failure: Error {}

        let calls = Collected<String>()
        private let end: End
        private let kept = Collected<@Sendable () -> Void>()

        init(_ end: End = .calls) { self.end = end }

        private func note(
            _ name: String, _ response: NotificationResponse, _ completion: @escaping @Sendable () -> Void
        ) throws {
            calls.add("\(name) \(response.notificationType ?? "-") \(response.userText ?? "-")")
            switch end {
            case .calls: completion()
            case .callsTwice:
                completion()
                completion()
            case .keeps: kept.add(completion)
            case .drops: break
            case .fails: throw Failure()
            }
        }

        func handleNotificationWithoutType(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void)
            throws
        {
            try note("untyped", response, completion)
        }
        func handlePush(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) throws {
            try note("push", response, completion)
        }
        func handleRichPushResponse(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) throws
        {
            try note("rich", response, completion)
        }
    }

    private final class Registrar: RemoteNotificationRegistrar, Sendable {
        let calls = Collected<Void>()
        func registerForRemoteNotifications() { calls.add(()) }
    }

    private func helper(_ client: PealClient, _ handlers: Handlers = Handlers()) -> DefaultNotificationHelper {
        let helper = DefaultNotificationHelper(pushHandler: handlers, richPushHandler: handlers)
        helper.client = client
        return helper
    }

    private func offline(_ directory: String) throws -> PealClient {
        try PealClient(
            hub: "http://127.0.0.1:1", apiKey: "k", directory: directory, callbacks: .queue(DispatchQueue(label: "app"))
        )
    }

    private static func folder() -> String { NSTemporaryDirectory() + "/peal-helper-\(UUID().uuidString)" }

    @Test func `the device id is the user agent's name, a dash and a UUID, and stays over launches`() throws {
        let directory = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = helper(try offline(directory)).deviceId
        let name = ProcessInfo.processInfo.processName
        #expect(first.hasPrefix(name + "-") && UUID(uuidString: String(first.dropFirst(name.count + 1))) != nil)
        #expect(helper(try offline(directory)).deviceId == first)
        let mode = try FileManager.default.attributesOfItem(atPath: directory + "/device-id")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // Another launch reads what is there, and another installation has its own.
        try Data("kept-1".utf8).write(to: URL(fileURLWithPath: directory + "/device-id"))
        #expect(helper(try offline(directory)).deviceId == "kept-1")
        #expect(helper(try offline(directory + "/other")).deviceId.hasPrefix(name + "-"))
    }

    @Test func `authorization and the badge are what the settings file allows`() async throws {
        let directory = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let helper = helper(try offline(directory))
        func ask(_ options: NotificationAuthorizationOptions) async -> (Bool, Bool) {
            await withCheckedContinuation { done in
                helper.requestAuthorization(options: options) { done.resume(returning: ($0, $1 == nil)) }
            }
        }
        @Sendable func badge() -> String? { try? String(contentsOfFile: directory + "/badge", encoding: .utf8) }
        let settings = URL(fileURLWithPath: directory + "/notifications.json")
        #expect(await ask([.alert, .sound, .badge]) == (true, true))
        #expect(FileManager.default.fileExists(atPath: settings.path))
        helper.setApplicationBadgeCount(7)
        helper.setApplicationBadgeCount(3)
        #expect(await eventually { badge() == "3\n" })

        try Data(#"{"badge": false}"#.utf8).write(to: settings)
        #expect(await ask([.badge]) == (false, true))
        #expect(await ask([.alert, .badge]) == (true, true))
        helper.setApplicationBadgeCount(9)
        #expect(await ask([.badge]) == (false, true))
        try Data("{}".utf8).write(to: settings)
        helper.setApplicationBadgeCount(-1)
        #expect(await eventually { badge() == "0\n" })
        try Data("no settings".utf8).write(to: settings)
        #expect(await ask([.alert]) == (false, false))

        let nobody = DefaultNotificationHelper(pushHandler: Handlers(), richPushHandler: Handlers())
        let (granted, error) = await withCheckedContinuation { done in
            nobody.platform = NotificationPlatform.files(in: "/nowhere")
            nobody.client = try? offline(directory)
            nobody.requestAuthorization { done.resume(returning: ($0, $1 != nil)) }
        }
        #expect(!granted && error)
    }

    @Test func `remote notifications are registered through the platform`() throws {
        let directory = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let helper = helper(try offline(directory))
        helper.registerForRemoteNotifications()
        let registrar = Registrar()
        helper.platform = NotificationPlatform.files(in: directory)
        helper.platform?.registrar = registrar
        helper.registerForRemoteNotifications()
        #expect(registrar.calls.count == 1)
    }

    @Test func `a response goes to the handler that its action and its type ask for`() async throws {
        let directory = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let handlers = Handlers()
        let helper = helper(try offline(directory), handlers)
        let done = Collected<Void>()
        var sent = 0
        func respond(_ action: String, _ info: JSON, _ text: String? = nil) async -> [String] {
            let before = handlers.calls.count
            helper.handleNotificationResponse(
                NotificationResponse(actionIdentifier: action, userInfo: info, userText: text)
            ) { done.add(()) }
            sent += 1
            let wanted = sent
            #expect(await eventually { done.count == wanted })
            return Array(handlers.calls.all.dropFirst(before))
        }
        let (tap, dismiss) = (
            NotificationResponse.defaultActionIdentifier, NotificationResponse.dismissActionIdentifier
        )
        let typed = JSON.object([("notification_type", .string("survey"))])
        #expect(await respond(dismiss, typed) == [])
        for wrong in [JSON.null, .string("x"), .array([])] { #expect(await respond(tap, wrong) == []) }
        #expect(await respond(tap, .object([])) == ["untyped - -"])
        #expect(await respond("reply", .object([("type", .number("1"))]), "hello") == ["untyped - hello"])
        #expect(await respond(tap, typed) == ["push survey -"])
        #expect(await respond("reply", typed, "hello") == ["rich survey hello"])
        #expect(done.count == sent)
    }

    @Test(arguments: ["calls", "callsTwice", "keeps", "drops", "fails"])
    func `the completion is called once, whatever a handler does`(_ name: String) async throws {
        let directory = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let ends: [String: Handlers.End] = [
            "calls": .calls, "callsTwice": .callsTwice, "keeps": .keeps, "drops": .drops, "fails": .fails,
        ]
        let helper = helper(try offline(directory), Handlers(ends[name]!))
        helper.handlerTimeLimit = .milliseconds(30)
        let done = Collected<Void>()
        for _ in 1...3 {
            helper.handleNotificationResponse(NotificationResponse(userInfo: .object([]))) { done.add(()) }
        }
        #expect(await eventually { done.count == 3 })
        // The order of the app's queue: nothing more is behind this.
        let last = Collected<Void>()
        helper.requestAuthorization { _, _ in last.add(()) }
        #expect(await eventually { last.count == 1 })
        #expect(done.count == 3)
    }

    @Test
    func `a payload of Apple's shape is the same as JSON, and one with a key that is no string is of the wrong shape`()
    {
        let info: [AnyHashable: Any] = [
            "message_response_id": 7, "aps": ["alert": "a", "n": [1.5, true]] as [String: Any], "date": Date(),
        ]
        let response = NotificationResponse(userInfo: info)
        #expect(response.messageResponseID == 7 && response.userInfo["aps"]?["alert"] == .string("a"))
        #expect(
            response.userInfo["aps"]?["n"] == .array([.number("1.5"), .bool(true)]) && response.userInfo["date"] == nil)
        #expect(NotificationResponse(userInfo: ["message_response_id": "12"]).messageResponseID == 12)
        for wrong in ["1.5", "x", "", "99999999999999999999"] {
            #expect(NotificationResponse(userInfo: ["message_response_id": wrong]).messageResponseID == nil)
        }
        #expect(NotificationResponse(userInfo: [1: "a"]).userInfo == .null)
    }

    @Test
    func
        `opened and dismissed are recorded by the number, before and after the item has come, offline and over a restart`()
        async throws
    {
        let bench = try Bench()
        for title in ["a", "b"] { try await bench.send(title, to: "mary") }
        let payload = { (number: Int) in
            JSON.object([("message_response_id", .number("\(number)")), ("type", .string("message"))])
        }
        do {
            // The push is opened before anything of the item is here, and the app ends.
            let client = try bench.app("a", hub: "http://127.0.0.1:1")
            try client.connectUser(externalId: "mary")
            helper(client).handleNotificationResponse(NotificationResponse(userInfo: payload(1))) {}
            #expect(try await client.titles().isEmpty)
            _ = try await client.disconnect(client.connectUser(externalId: "mary"))
        }
        let client = try bench.app("a")
        try client.connectUser(externalId: "mary")
        #expect(await client.lists(["b", "a"]))
        let page = try await client.deliveredNotifications().notifications
        let second = try bench.app("b")
        try second.connectUser(externalId: "mary")
        #expect(await second.lists(["b", "a"]))
        #expect(try await eventually { try await second.facts(of: page[1]).map(\.event) == ["opened"] })
        let dismissed = NotificationResponse(
            actionIdentifier: NotificationResponse.dismissActionIdentifier, userInfo: payload(2))
        helper(client).handleNotificationResponse(dismissed) {}
        helper(client).trackMessage(id: 1)
        #expect(try await eventually { try await second.facts(of: page[0]).map(\.event) == ["dismissed"] })
        #expect(await eventually { !FileManager.default.fileExists(atPath: client.directory + "/tracked.json") })
    }
}
