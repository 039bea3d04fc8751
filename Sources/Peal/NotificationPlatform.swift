internal import Foundation

/// What an app may do with notifications; the bits are those of `UNAuthorizationOptions`.
public struct NotificationAuthorizationOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// Options of bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// A number at the app's icon.
    public static let badge = NotificationAuthorizationOptions(rawValue: 1 << 0)
    /// Sounds.
    public static let sound = NotificationAuthorizationOptions(rawValue: 1 << 1)
    /// Notifications on the screen.
    public static let alert = NotificationAuthorizationOptions(rawValue: 1 << 2)
}

/// Asks the person, or their settings, what an app may do.
public protocol NotificationAuthorizer: Sendable {
    /// Whether any of the options is allowed. Called on any thread; may wait for a person.
    ///
    /// - Throws: why that cannot be told.
    func requestAuthorization(_ options: NotificationAuthorizationOptions) async throws -> Bool
}

/// Shows the number of unread notifications at the app's icon.
public protocol BadgeSetter: Sendable {
    /// Shows a number, 0 or more; 0 for none. Called on any thread, one call after the other.
    ///
    /// - Throws: why it is not shown.
    func setBadge(_ count: Int) async throws
}

/// Registers the app with the system's push service; the token comes to the app, which gives it to
/// ``NotificationHelper/sendDeviceTokenToServerIfNeeded(_:)``.
public protocol RemoteNotificationRegistrar: Sendable {
    /// Registers. Called on any thread; not blocking.
    func registerForRemoteNotifications()
}

/// What the system gives an app for notifications, as small parts that an app or a test can replace.
public struct NotificationPlatform: Sendable {
    /// Asks what is allowed.
    public var authorizer: any NotificationAuthorizer
    /// Shows the badge.
    public var badge: any BadgeSetter
    /// Registers for pushes; nil where the system has no push service, as on Linux: what is new comes by the hub's own connection.
    public var registrar: (any RemoteNotificationRegistrar)?

    /// A platform of its parts.
    public init(
        authorizer: any NotificationAuthorizer, badge: any BadgeSetter,
        registrar: (any RemoteNotificationRegistrar)? = nil
    ) {
        self.authorizer = authorizer
        self.badge = badge
        self.registrar = registrar
    }

    /// What a system without a framework for notifications has: files in a directory, ``SettingsFileAuthorizer`` of `notifications.json` and
    /// ``BadgeFile`` of `badge`.
    public static func files(in directory: String) -> NotificationPlatform {
        NotificationPlatform(
            authorizer: SettingsFileAuthorizer(path: directory + "/notifications.json"),
            badge: BadgeFile(path: directory + "/badge"))
    }
}

/// The settings of a person who decides by editing a file: one JSON object with `alert`, `badge` and `sound`, each true or false. What is not in it
/// is allowed. The file is made at the first question, with everything allowed, so that it can be found.
public struct SettingsFileAuthorizer: NotificationAuthorizer {
    /// Where the file is.
    public let path: String

    /// An authorizer of a file, whose folder must be there.
    public init(path: String) { self.path = path }

    /// Whether any of the options is allowed. Blocking for a moment.
    ///
    /// - Throws: ``PealError``: `file` where it cannot be read or made, or holds something else.
    public func requestAuthorization(_ options: NotificationAuthorizationOptions) async throws -> Bool {
        let file = StateFile(path: path)
        let names: [(String, NotificationAuthorizationOptions)] = [
            ("alert", .alert), ("badge", .badge), ("sound", .sound),
        ]
        guard let data = try file.read() else {
            let text = "{\"alert\": true, \"badge\": true, \"sound\": true}\n"
            _ = try file.create(Data(text.utf8))
            return !options.isEmpty
        }
        guard let settings = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else {
            throw PealError(.file, "\(path) holds no JSON object of settings")
        }
        return names.contains { name, option in options.contains(option) && settings[name] as? Bool ?? true }
    }
}

/// A badge for whoever wants to show it, such as a panel or a prompt: a file with the number and a line break, replaced as a whole.
public struct BadgeFile: BadgeSetter {
    /// Where the file is.
    public let path: String

    /// A badge in a file, whose folder must be there.
    public init(path: String) { self.path = path }

    /// Writes the number. Blocking for a moment.
    ///
    /// - Throws: ``PealError``: `file`.
    public func setBadge(_ count: Int) async throws { try StateFile(path: path).write(Data("\(count)\n".utf8)) }
}
