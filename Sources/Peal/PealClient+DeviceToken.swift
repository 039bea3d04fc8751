public import Foundation
internal import PealModel
internal import Synchronization

/// The push service that a token is of.
public enum PushPlatform: String, Sendable {
    /// Apple's; a token is sent as hexadecimal digits.
    case apns
    /// Google's; a token is its text.
    case fcm
    /// A browser's; a token is its subscription's text.
    case web
}

extension PealClient {
    /// Keeps the device's push token for the users of this client, those of now and those to come: durably when the completion is called, and sent
    /// when there is a hub, by ``users`` who are connected, each with their own proof. The same token is never sent twice for a user; another one
    /// takes its place, and the hub forgets the old one; ``disconnect(_:force:eraseReplica:)`` takes it away. Not blocking for the
    /// network: what cannot be sent is tried again, and after a launch too.
    ///
    /// The hub gives a token to one user at a time, whoever was registered last.
    ///
    /// - Parameters:
    ///   - deviceToken: as the system gave it.
    ///   - platform: whose token.
    ///   - completion: called once, in the client's context: `invalid` for a token without bytes, over 255 characters as the hub has it, or of a
    ///     text that is none; `file`.
    public func setDeviceToken(
        deviceToken: Data, platform: PushPlatform = .apns,
        completion: @escaping NotificationStore.Completion<Void> = { _ in }
    ) {
        let callbacks = callbacks
        let result: Result<Void, PealError>
        do throws(PealError) {
            try tokens.set(DeviceTokenState.Token(value: Self.text(deviceToken, platform), platform: platform.rawValue))
            result = .success(())
        } catch {
            log("the push token is not kept: \(error)")
            result = .failure(error)
        }
        callbacks.run { completion(result) }
    }

    /// Keeps the device's push token, as ``setDeviceToken(deviceToken:platform:completion:)``.
    ///
    /// - Throws: ``PealError``: `invalid`, `file`.
    public func setDeviceToken(deviceToken: Data, platform: PushPlatform = .apns) async throws(PealError) {
        try tokens.set(DeviceTokenState.Token(value: Self.text(deviceToken, platform), platform: platform.rawValue))
    }

    private static func text(_ token: Data, _ platform: PushPlatform) throws(PealError) -> String {
        let text: String?
        switch platform {
        case .apns: text = token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .fcm, .web: text = String(data: token, encoding: .utf8)
        }
        guard let text, !text.isEmpty, text.unicodeScalars.count <= Limits.subscriptionToken else {
            throw PealError(
                .invalid,
                "a push token is 1 to \(Limits.subscriptionToken) characters, of Apple's the hexadecimal digits")
        }
        return text
    }

    /// The client of whatever is made without naming one, such as a ``DefaultNotificationHelper``; nil until the app sets it. Any thread.
    public static var shared: PealClient? {
        get { sharedClient.withLock { $0 } }
        set { sharedClient.withLock { $0 = newValue } }
    }
}

private let sharedClient = Mutex<PealClient?>(nil)
