public import Foundation
internal import PealModel
internal import PealReplica

#if canImport(UserNotifications)
    internal import UserNotifications
#endif

/// Gives this device's push token.
public protocol PushTokenSource: Sendable {
    /// Registers this device with what delivers its pushes. Called on any thread.
    ///
    /// - Parameters:
    ///   - options: what notifications may do.
    ///   - kept: the token that this gave last in this folder; nil for none.
    /// - Returns: the token; nil where the system gives it to the app by another way.
    func register(options: NotificationAuthorizationOptions, kept: Data?) async throws -> Data?
}

/// What the system itself tells an app on Apple's systems, for those where there is nobody else to do it: in the context of the callbacks.
public protocol RemoteNotificationsDelegate: AnyObject {
    /// This device has a push token: give it to ``PushNotifications/registerDeviceToken(_:)``.
    func didRegisterForRemoteNotifications(deviceToken: Data)
    /// The registration failed.
    func didFailToRegisterForRemoteNotifications(error: any Error)
    /// A notification has arrived, for the device or for its user. `userInfo` holds what the publisher wrote for `apns`, with
    /// `data.pusher.publishId` and `message_response_id` beside it.
    func didReceiveRemoteNotification(userInfo: [AnyHashable: Any])
}

extension RemoteNotificationsDelegate {
    /// Does nothing.
    public func didRegisterForRemoteNotifications(deviceToken: Data) {}
    /// Does nothing.
    public func didFailToRegisterForRemoteNotifications(error: any Error) {}
    /// Does nothing.
    public func didReceiveRemoteNotification(userInfo: [AnyHashable: Any]) {}
}

/// What becomes of a notification that has arrived.
public enum RemoteNotificationType: Sendable {
    /// It was sent for the library alone.
    case ShouldIgnore  // swift-format-ignore: AlwaysUseLowerCamelCase
    /// It is the app's.
    case ShouldProcess  // swift-format-ignore: AlwaysUseLowerCamelCase
}

/// What the system has: Apple's push service there; elsewhere there is none, and the token is 32 random bytes that stay the same in this folder.
struct SystemTokenSource: PushTokenSource {
    func register(options: NotificationAuthorizationOptions, kept: Data?) async throws -> Data? {
        #if canImport(UserNotifications)
            // The system asks the person, and gives the token to the app's delegate once the app calls its own `registerForRemoteNotifications`.
            _ = try await UNUserNotificationCenter.current().requestAuthorization(
                options: UNAuthorizationOptions(rawValue: options.rawValue))
            return nil
        #else
            return kept ?? Data((0..<32).map { _ in UInt8.random(in: 0...255) })
        #endif
    }
}

/// A notification as a push service would hand it to the app.
enum RemotePayload {
    static func userInfo(_ item: DeliveredItem) -> [AnyHashable: Any] {
        let body = try? item.decodeBody()
        let platforms = body?.payload.flatMap { try? JSON($0) }
        var info: [AnyHashable: Any] = [:]
        if let apns = platforms?["apns"]?.objectValue {
            for (key, value) in apns where info[key] == nil { info[key] = any(value) }
        } else {
            var alert: [String: Any] = [:]
            alert["title"] = body?.title
            alert["body"] = body?.content
            info["aps"] = ["alert": alert]
        }
        var data = info["data"] as? [String: Any] ?? [:]
        var ours = data["pusher"] as? [String: Any] ?? [:]
        ours["publishId"] = item.publish
        data["pusher"] = ours
        info["data"] = data
        info["message_response_id"] = Int(item.number)
        return info
    }

    private static func any(_ value: JSON) -> Any {
        switch value {
        case .null: return NSNull()
        case .bool(let bool): return bool
        case .number(let text):
            if let whole = Int(text) { return whole }
            return Double(text) ?? 0.0
        case .string(let text): return text
        case .array(let values): return values.map { any($0) }
        case .object(let members):
            return Dictionary(members.map { ($0.key, any($0.value)) }) { first, _ in first } as [String: Any]
        }
    }

    /// What the library itself wrote into a payload.
    static func ours(_ userInfo: [AnyHashable: Any]) -> [String: Any] {
        (userInfo["data"] as? [String: Any])?["pusher"] as? [String: Any] ?? [:]
    }
}
