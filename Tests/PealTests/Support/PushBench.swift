import Dispatch
import Foundation
import PealHub
import PealModel
import Synchronization

@testable import Peal

/// What an app is told, in order.
final class PushApp: InterestsChangedDelegate, RemoteNotificationsDelegate, Sendable {
    private struct Told {
        var interests: [[String]] = []
        var titles: [String] = []
        var tokens: [Data] = []
        var failures = 0
        var types: [RemoteNotificationType] = []
    }

    private let told = Mutex(Told())
    private let client: PushNotifications?

    /// - Parameter client: gets what arrives, as an app's delegate does it.
    init(_ client: PushNotifications? = nil) {
        self.client = client
        client?.delegate = self
        client?.remoteNotificationsDelegate = self
    }

    var interests: [[String]] { told.withLock { $0.interests } }
    var titles: [String] { told.withLock { $0.titles } }
    var tokens: [Data] { told.withLock { $0.tokens } }
    var failures: Int { told.withLock { $0.failures } }
    var types: [RemoteNotificationType] { told.withLock { $0.types } }

    func interestsSetOnDeviceDidChange(interests: [String]) { told.withLock { $0.interests.append(interests) } }

    func didRegisterForRemoteNotifications(deviceToken: Data) {
        client?.registerDeviceToken(deviceToken)
        told.withLock { $0.tokens.append(deviceToken) }
    }

    func didFailToRegisterForRemoteNotifications(error: any Error) { told.withLock { $0.failures += 1 } }

    func didReceiveRemoteNotification(userInfo: [AnyHashable: Any]) {
        let type = client?.handleNotification(userInfo: userInfo) ?? .ShouldProcess
        let title = Self.extractUserInfo(userInfo: userInfo).title
        told.withLock {
            $0.types.append(type)
            if type == .ShouldProcess { $0.titles.append(title) }
        }
        if type == .ShouldProcess { client?.notificationOpened(userInfo: userInfo) }
    }

    /// As the document has it.
    private static func extractUserInfo(userInfo: [AnyHashable: Any]) -> (title: String, body: String) {
        var info = (title: "", body: "")
        guard let aps = userInfo["aps"] as? [String: Any] else { return info }
        guard let alert = aps["alert"] as? [String: Any] else { return info }
        let title = alert["title"] as? String ?? ""
        let body = alert["body"] as? String ?? ""
        info = (title: title, body: body)
        return info
    }
}

/// A provider that does what a test says.
struct ScriptedProvider: TokenProvider {
    let body: @Sendable (String, @escaping @Sendable (String, (any Error)?) -> Void) throws -> Void
    let asked = Count()

    final class Count: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    init(_ body: @escaping @Sendable (String, @escaping @Sendable (String, (any Error)?) -> Void) throws -> Void) {
        self.body = body
    }

    func fetchToken(
        userId: String, completionHandler: @escaping @Sendable (String, (any Error)?) -> Void
    ) throws {
        asked.add()
        try body(userId, completionHandler)
    }
}

extension Bench {
    var url: String { "http://127.0.0.1:\(hub.httpPort)" }

    /// A device in a folder of its own; the same name is the same device.
    func push(tokenTimeout: Duration = .seconds(10)) -> PushNotifications {
        PushNotifications(callbacks: .queue(DispatchQueue(label: "push")), tokenTimeout: tokenTimeout)
    }

    /// A device that is started.
    func started(_ name: String, hub: String? = nil) throws -> PushNotifications {
        let client = push()
        try client.start(hub: hub ?? url, instanceId: self.hub.project.instance, directory: directory + "/" + name)
        return client
    }

    /// A user token, as the app's server makes it.
    func token(_ user: String, seconds: Double = 3_600) -> String {
        let claims =
            #"{"iss":"\#(hub.project.instance)","sub":"\#(user)","exp":\#(Date().timeIntervalSince1970 + seconds)}"#
        let signed = [#"{"alg":"HS256"}"#, claims].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
        return signed + "."
            + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: Array(hub.project.secret.utf8)))
    }

    /// Gives good tokens.
    var provider: ScriptedProvider { ScriptedProvider { [self] user, done in done(token(user), nil) } }

    /// One request as the instance's server or as anybody's device.
    @discardableResult
    func interestsAPI(
        _ method: String, _ path: String, _ body: String? = nil, secret: Bool = true
    ) async throws -> (status: Int, body: JSON?) {
        let (status, answer) = try await HubAddress(url).request(
            method,
            path.replacingOccurrences(of: "ID", with: hub.project.instance).split(separator: "/").map(String.init),
            headers: secret ? ["Authorization": "Bearer \(hub.project.secret)"] : [:],
            body: body.map { Array($0.utf8) },
            seconds: 20)
        return (status, try? JSON(answer[...]))
    }

    /// The document's command for interests.
    func publish(_ title: String, interests: [String]) async throws {
        let names = interests.map { "\"\($0)\"" }.joined(separator: ",")
        try await interestsAPI(
            "POST", "/publish_api/v1/instances/ID/publishes/interests",
            #"{"interests":[\#(names)],"apns":{"aps":{"alert":{"title":"\#(title)","body":"Body text"}}}}"#)
    }

    /// The document's command for users.
    func publish(_ title: String, to user: String) async throws {
        try await interestsAPI(
            "POST", "/publish_api/v1/instances/ID/publishes/users",
            #"{"users":["\#(user)"],"apns":{"aps":{"alert":{"title":"\#(title)","body":"Hey"}}}}"#)
    }

    /// The interests of a device as the hub has them; nil where it knows no such device.
    func interests(of device: String) async throws -> [String]? {
        let (status, body) = try await interestsAPI(
            "GET", "/device_api/v1/instances/ID/devices/apns/\(device)/interests", secret: false)
        return status == 200 ? body?["interests"]?.arrayValue?.compactMap(\.stringValue) : nil
    }

    /// The user of a device as the hub has it.
    func user(of device: String) async throws -> String? {
        try await interestsAPI("GET", "/device_api/v1/instances/ID/devices/apns/\(device)", secret: false)
            .body?["userId"]?.stringValue
    }
}

extension PushNotifications {
    /// The hub's id of this device; nil before the first welcome.
    func device() async throws -> String? { try await deviceInbox?.inspect().inbox }

    /// Waits until the hub has everything that was done here.
    func settled() async -> Bool {
        guard let inbox = deviceInbox else { return false }
        return await eventually { await inbox.isSettled }
    }
}
