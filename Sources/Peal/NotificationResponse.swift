internal import Foundation
public import PealModel

#if canImport(UserNotifications)
    public import UserNotifications
#endif

/// What a person did with a notification that was shown: which action, with which payload, and what they typed. On Apple's systems it is made of
/// a `UNNotificationResponse`, elsewhere by whoever shows notifications.
public struct NotificationResponse: Equatable, Sendable {
    /// The action of somebody who tapped the notification itself.
    public static let defaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"
    /// The action of somebody who dismissed it.
    public static let dismissActionIdentifier = "com.apple.UNNotificationDismissActionIdentifier"

    /// The action: one of the two, or the app's own.
    public let actionIdentifier: String
    /// The payload; anything but an object is of the wrong shape.
    public let userInfo: JSON
    /// What was typed into a text action; nil for any other.
    public let userText: String?

    /// A response of its parts.
    public init(
        actionIdentifier: String = NotificationResponse.defaultActionIdentifier, userInfo: JSON, userText: String? = nil
    ) {
        self.actionIdentifier = actionIdentifier
        self.userInfo = userInfo
        self.userText = userText
    }

    /// A response to a payload as Apple's frameworks have it. One with a key that is no string is of the wrong shape; values that JSON has not
    /// are left out.
    public init(
        actionIdentifier: String = NotificationResponse.defaultActionIdentifier, userInfo: [AnyHashable: Any],
        userText: String? = nil
    ) {
        self.init(
            actionIdentifier: actionIdentifier, userInfo: Self.json(userInfo) ?? .null, userText: userText)
    }

    /// Of the payload's `message_response_id`, an integer or a string of one: the ``DeliveredNotification/number``; nil where there is none.
    public var messageResponseID: Int? {
        switch userInfo["message_response_id"] {
        case .number(let text), .string(let text): Int(text)
        default: nil
        }
    }

    /// The payload's `notification_type`, else its `type`: ``NotificationType`` or an app's own word; nil where there is none.
    public var notificationType: String? {
        for key in ["notification_type", "type"] {
            if let type = userInfo[key]?.stringValue, !type.isEmpty { return type }
        }
        return nil
    }

    private static func json(_ value: Any) -> JSON? {
        switch value {
        case let value as String: return .string(value)
        // On Apple's systems every number is a Bool and an Int too; a JSON number tells them apart.
        case let value as NSNumber: return json(number: value)
        case let value as Bool: return .bool(value)
        case let value as any BinaryInteger: return .number("\(value)")
        case let value as Double: return value.isFinite ? .number("\(value)") : nil
        case let value as Float: return value.isFinite ? .number("\(value)") : nil
        case is NSNull: return .null
        case let value as [Any]: return .array(value.compactMap(json))
        case let value as [AnyHashable: Any]:
            var members: [(key: String, value: JSON)] = []
            for (key, value) in value {
                guard let key = key as? String ?? key.base as? String else { return nil }
                if let value = json(value) { members.append((key, value)) }
            }
            return .object(members.sorted { $0.key < $1.key })
        default: return nil
        }
    }

    private static func json(number: NSNumber) -> JSON? {
        guard let data = try? JSONSerialization.data(withJSONObject: [number]),
            case .array(let values)? = try? JSON(Array(data)[...])
        else { return nil }
        return values.first
    }
}

#if canImport(UserNotifications) && !os(tvOS)
    extension NotificationResponse {
        /// What Apple's framework gives to an app's delegate.
        public init(_ response: UNNotificationResponse) {
            self.init(
                actionIdentifier: response.actionIdentifier, userInfo: response.notification.request.content.userInfo,
                userText: (response as? UNTextInputNotificationResponse)?.userText)
        }
    }
#endif
