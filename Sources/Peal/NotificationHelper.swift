public import Foundation

/// Handles what a person does with notifications that carry no quick action. It calls `completion` when it is done, on any thread; called late, twice,
/// never, or thrown instead, nothing depends on it but when the system may put the app to sleep.
public protocol PushHandler {
    /// A notification without a type was tapped, or an action of one chosen.
    func handleNotificationWithoutType(
        _ response: NotificationResponse, completion: @escaping @Sendable () -> Void) throws
    /// A notification with a type (``NotificationResponse/notificationType``) was tapped.
    func handlePush(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) throws
}

/// Handles quick actions of notifications. Of its completion the same holds as of a ``PushHandler``'s.
public protocol RichPushHandler {
    /// An action of a notification with a type was chosen; ``NotificationResponse/userText`` is the reply of a text action.
    func handleRichPushResponse(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) throws
}

/// What an app needs around notifications of the system: permission, registration, the badge, and what people do with them.
public protocol NotificationHelper {
    /// Handles notifications that were tapped.
    var pushHandler: any PushHandler { get }
    /// Handles quick actions.
    var richPushHandler: any RichPushHandler { get }
    /// Names this installation; the same over launches.
    var deviceId: String { get }
    /// Keeps the token for every user, and sends it where it was not sent yet. Not blocking for the network.
    func sendDeviceTokenToServerIfNeeded(_ deviceToken: Data)
    /// Registers with the system's push service, where there is one.
    func registerForRemoteNotifications()
    /// Asks what the app may do.
    func requestAuthorization(
        options: NotificationAuthorizationOptions,
        completion: @escaping @Sendable (_ granted: Bool, _ error: (any Error)?) -> Void)
    /// Records that a notification was opened, by its ``DeliveredNotification/number``.
    func trackMessage(id: Int)
    /// Shows a number at the app's icon, where that is allowed.
    func setApplicationBadgeCount(_ count: Int)
    /// Handles what a person did; `completionHandler` is always called, exactly once.
    func handleNotificationResponse(
        _ response: NotificationResponse, completionHandler: @escaping @Sendable () -> Void)
}

extension NotificationHelper {
    /// Asks whether the app may show notifications and a badge and play sounds.
    public func requestAuthorization(completion: @escaping @Sendable (_ granted: Bool, _ error: (any Error)?) -> Void) {
        requestAuthorization(options: [.alert, .sound, .badge], completion: completion)
    }
}
