public import Foundation
internal import PealModel
internal import Synchronization

/// A ``NotificationHelper`` over a ``PealClient``. Make one early, and call it from one thread, such as the main one; subclass it to do a part otherwise.
/// Completions are called once, in the client's ``CallbackContext``.
open class DefaultNotificationHelper: NotificationHelper {
    /// Handles notifications that were tapped.
    public var pushHandler: any PushHandler
    /// Handles quick actions.
    public var richPushHandler: any RichPushHandler
    /// What the system gives; nil, which is the default, for files in the client's directory.
    public var platform: NotificationPlatform?
    /// How long a handler may take; the completion is called then, whatever becomes of the handler. By default 25 s, within the 30 s that Apple's
    /// systems give.
    public var handlerTimeLimit = Duration.seconds(25)
    private var ownClient: PealClient?
    private let badges = WorkQueue()

    /// A helper of the app's handlers; it works with ``PealClient/shared``.
    public required init(pushHandler: any PushHandler, richPushHandler: any RichPushHandler) {
        self.pushHandler = pushHandler
        self.richPushHandler = richPushHandler
    }

    /// The client; by default ``PealClient/shared``, as it is at each call. Without one, nothing is sent or recorded.
    public var client: PealClient? {
        get { ownClient ?? PealClient.shared }
        set { ownClient = newValue }
    }

    /// What ``deviceId`` begins with when it is made; by default the process's name.
    open var userAgentName: String { ProcessInfo.processInfo.processName }

    /// ``userAgentName``, a dash and a UUID. It is made once and kept in the file `device-id` of the client's directory; where that cannot be
    /// written, and without a client, it lasts as long as this process.
    open var deviceId: String {
        let made = userAgentName + "-" + Self.processUUID
        guard let client else { return made }
        let file = StateFile(path: client.directory + "/device-id")
        // Two processes that make it at once keep the first one's.
        if let kept = Self.text(file) { return kept }
        if (try? file.create(Data(made.utf8))) == true { return made }
        return Self.text(file) ?? made
    }

    private static let processUUID = UUID().uuidString

    private static func text(_ file: StateFile) -> String? {
        guard let data = try? file.read(), let text = String(data: data, encoding: .utf8), !text.isEmpty else {
            return nil
        }
        return text
    }

    /// Gives the token to ``PealClient/setDeviceToken(deviceToken:platform:completion:)``, which sends none twice.
    open func sendDeviceTokenToServerIfNeeded(_ deviceToken: Data) { client?.setDeviceToken(deviceToken: deviceToken) }

    /// Asks the platform's registrar; without one nothing happens.
    open func registerForRemoteNotifications() { currentPlatform?.registrar?.registerForRemoteNotifications() }

    /// Asks the platform's authorizer. `granted` is true where any of the options is allowed; `error` tells why that is not known.
    open func requestAuthorization(
        options: NotificationAuthorizationOptions = [.alert, .sound, .badge],
        completion: @escaping @Sendable (_ granted: Bool, _ error: (any Error)?) -> Void
    ) {
        let context = context
        guard let authorizer = currentPlatform?.authorizer else {
            context.run {
                completion(false, PealError(.invalid, "there is no client: set PealClient.shared, or the helper's"))
            }
            return
        }
        Task {
            do {
                let granted = try await authorizer.requestAuthorization(options)
                context.run { completion(granted, nil) }
            } catch {
                context.run { completion(false, error) }
            }
        }
    }

    /// Records that a notification was opened, by ``PealClient/trackMessage(id:)``.
    open func trackMessage(id: Int) { client?.trackMessage(id: id) }

    /// Shows a number through the platform's badge, if a badge is allowed; the last call counts. A number below 0 is 0.
    open func setApplicationBadgeCount(_ count: Int) {
        guard let platform = currentPlatform else { return }
        let log = client?.log
        badges.run {
            do {
                guard try await platform.authorizer.requestAuthorization([.badge]) else { return }
                try await platform.badge.setBadge(max(count, 0))
            } catch {
                log?("the badge was not set: \(error)")
            }
        }
    }

    /// What to do with a response:
    ///
    /// 1. One that dismisses, and one whose payload is no object: the completion, and nothing else but that a dismissal is recorded.
    /// 2. Where the payload has an integer `message_response_id`, ``trackMessage(id:)``.
    /// 3. Without a notification type: ``PushHandler/handleNotificationWithoutType(_:completion:)``.
    /// 4. For the default action ``PushHandler/handlePush(_:completion:)``, for any other
    ///    ``RichPushHandler/handleRichPushResponse(_:completion:)``.
    ///
    /// Handlers are called before this returns. The completion is called when the handler has called its own, has thrown, has let go of it without
    /// calling, or has taken longer than ``handlerTimeLimit``.
    open func handleNotificationResponse(
        _ response: NotificationResponse, completionHandler: @escaping @Sendable () -> Void
    ) {
        let done = CallOnce(context, completionHandler)
        guard response.userInfo.objectValue != nil,
            response.actionIdentifier != NotificationResponse.dismissActionIdentifier
        else {
            if let id = response.messageResponseID { client?.track("dismissed", id) }
            return done.call()
        }
        if let id = response.messageResponseID { trackMessage(id: id) }
        done.call(within: handlerTimeLimit)
        do {
            let completion: @Sendable () -> Void = { done.call() }
            if response.notificationType == nil {
                try pushHandler.handleNotificationWithoutType(response, completion: completion)
            } else if response.actionIdentifier == NotificationResponse.defaultActionIdentifier {
                try pushHandler.handlePush(response, completion: completion)
            } else {
                try richPushHandler.handleRichPushResponse(response, completion: completion)
            }
        } catch {
            client?.log("a handler of notifications failed: \(error)")
            done.call()
        }
    }

    private var currentPlatform: NotificationPlatform? {
        platform ?? client.map { NotificationPlatform.files(in: $0.directory) }
    }

    private var context: CallbackContext { client?.callbacks ?? .main }
}

/// A completion that is called once: at the first call, when nobody can call it any more, or after a time.
private final class CallOnce: Sendable {
    private let context: CallbackContext
    private let body: Mutex<(@Sendable () -> Void)?>

    init(_ context: CallbackContext, _ body: @escaping @Sendable () -> Void) {
        self.context = context
        self.body = Mutex(body)
    }

    deinit { call() }

    func call() {
        let taken = body.withLock { body in
            defer { body = nil }
            return body
        }
        if let taken { context.run(taken) }
    }

    func call(within time: Duration) {
        Task { [weak self] in
            try? await Task.sleep(for: time)
            self?.call()
        }
    }
}

/// Work that is done one after the other, in the order in which it was given.
final class WorkQueue: Sendable {
    private let works: AsyncStream<@Sendable () async -> Void>.Continuation

    init() {
        let (stream, works) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
        self.works = works
        Task { for await work in stream { await work() } }
    }

    // What was given is still done.
    deinit { works.finish() }

    func run(_ work: @escaping @Sendable () async -> Void) { works.yield(work) }
}
