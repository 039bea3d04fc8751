public import Foundation
internal import PealModel
internal import PealReplica
internal import PealSQLite
internal import Synchronization

/// Push tokens, and what arrives.
extension PushNotifications {
    /// The form of a token is Apple's whatever gave it.
    static let platform = "apns"

    /// Acts that wait beyond which openings are reported no more: a device that is offline for very long keeps what people did.
    private static let waitingReports = 1_000

    /// Told of this device's push token and of what arrives, where no system does it; held weakly. Any thread.
    public var remoteNotificationsDelegate: (any RemoteNotificationsDelegate)? {
        get { shown.withLock { $0.remoteDelegate?.observer } }
        set { shown.withLock { $0.remoteDelegate = newValue.map { WeakObserver($0) } } }
    }

    /// Asks the system for a push token that allows alerts, sounds and badges.
    public func registerForRemoteNotifications() { registerForRemoteNotifications(options: [.alert, .sound, .badge]) }

    /// Asks the system for a push token. Not blocking; the delegate is told, on Apple's systems the app's own. Without a start that is a failure.
    public func registerForRemoteNotifications(options: NotificationAuthorizationOptions) {
        Task {
            do {
                guard let token = try await deviceToken(options: options) else { return }
                tellRemote { $0.didRegisterForRemoteNotifications(deviceToken: token) }
            } catch {
                tellRemote { $0.didFailToRegisterForRemoteNotifications(error: error) }
            }
        }
    }

    /// Asks the system for a push token, as ``registerForRemoteNotifications(options:)``.
    ///
    /// - Returns: the token; nil where the system tells the app's own delegate.
    /// - Throws: ``PealError``: `notStarted`, `file`; what the registrar throws.
    public func deviceToken(options: NotificationAuthorizationOptions = [.alert, .sound, .badge]) async throws -> Data?
    {
        let kept = try life.withLock { (started: inout Started?) throws(PealError) -> String? in
            guard let started else { throw notStarted }
            return started.record.registration
        }
        guard let token = try await registrar.register(options: options, kept: kept.flatMap(Self.data)) else {
            return nil
        }
        try life.withLock { (started: inout Started?) throws(PealError) in
            guard var record = started?.record, let folder = started?.folder else { throw notStarted }
            let text = Self.text(token)
            guard record.registration != text else { return }
            record.registration = text
            try record.save(folder)
            started?.record = record
        }
        return token
    }

    /// Registers this device's push token with the hub: kept, and sent when there is a hub; the same one again is nothing new, and another one keeps
    /// interests and user. Before a start it is remembered for it.
    ///
    /// - Parameter deviceToken: as the system gave it.
    public func registerDeviceToken(_ deviceToken: Data) {
        let token = Self.text(deviceToken)
        do throws(PealError) {
            try life.withLock { (started: inout Started?) throws(PealError) in
                guard var now = started else {
                    shown.withLock { $0.early = token }
                    return
                }
                try register(token, &now)
                started = now
            }
        } catch {
            log("the push token was not kept: \(error)")
        }
    }

    func register(_ token: String, _ now: inout Started) throws(PealError) {
        guard now.record.token != token else { return }
        // The act first: a crash in between makes it twice, which is harmless, and never not at all.
        _ = try now.inbox.blocking { (inbox) throws(PealError) in
            try inbox.perform(.token(token, platform: Self.platform))
        }
        var record = now.record
        record.token = token
        try record.save(now.folder)
        now.record = record
    }

    private static func text(_ data: Data) -> String {
        data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func data(_ text: String) -> Data? {
        let digits = Array(text)
        return Data(
            stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) })
    }

    // MARK: Arrival

    private func tellRemote(_ body: @escaping @Sendable (any RemoteNotificationsDelegate) -> Void) {
        callbacks.run { [weak self] in
            if let delegate = self?.remoteNotificationsDelegate { body(delegate) }
        }
    }

    /// Hands what has come to the app. On the inbox's thread.
    func deliver(_ positions: [Position], _ inbox: isolated Inbox) {
        guard remoteNotificationsDelegate != nil else { return }
        for position in positions {
            guard let item = try? inbox.item(number: position) else { continue }
            tellRemote { $0.didReceiveRemoteNotification(userInfo: RemotePayload.userInfo(item)) }
        }
    }

    /// What to do with a notification that has arrived. That it has arrived is known to the hub by itself. Not blocking.
    ///
    /// - Parameter userInfo: as the system gave it.
    /// - Returns: `.ShouldIgnore` for one that was sent for the library's own use (`data.pusher.userShouldIgnore`).
    public func handleNotification(userInfo: [AnyHashable: Any]) -> RemoteNotificationType {
        RemotePayload.ours(userInfo)["userShouldIgnore"] as? Bool == true ? .ShouldIgnore : .ShouldProcess
    }

    /// Reports that a person opened a notification: once, whatever is called, and when there is a hub. Not blocking; one that is not here is passed
    /// over, and so is one where 1,000 acts wait.
    ///
    /// - Parameter userInfo: as the system, or the delegate, gave it.
    public func notificationOpened(userInfo: [AnyHashable: Any]) {
        guard let publish = RemotePayload.ours(userInfo)["publishId"] as? String,
            let number = userInfo["message_response_id"] as? Int
        else { return }
        let log = log
        let inboxes = life.withLock { [$0?.inbox, $0?.user] }
        for inbox in inboxes {
            guard let inbox else { continue }
            inbox.executor.post {
                inbox.assumeIsolated { inbox in
                    do throws(PealError) {
                        guard let item = try inbox.item(number: Position(number)), item.publish == publish,
                            try !inbox.facts(of: item.id).contains(where: { $0.event == "opened" }),
                            try inbox.outboxDepth().waiting < Self.waitingReports
                        else { return }
                        try inbox.perform(.track(item: item.id, event: "opened", data: nil))
                    } catch {
                        log("an opening was not reported: \(error)")
                    }
                }
            }
        }
    }
}
