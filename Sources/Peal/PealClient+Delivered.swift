public import PealModel
internal import PealReplica
internal import Synchronization

/// What was delivered to this device: the inboxes of the users who are connected in the client and the device's own inbox, where it has one
/// (``device()`` makes it), as one list. Everything works offline, from what this device holds. What was published to a user and to an interest of
/// this device is listed once, as the user's; where interests are asked for, as the device's. What was published to two users is there once for
/// each, with the same ``DeliveredNotification/publish``: they are two people. Completions are called once, in the client's context.
extension PealClient {
    // MARK: Lists

    /// All delivered notifications that are not archived, newest delivery first. Not blocking. Of large inboxes,
    /// ``deliveredNotifications(_:after:limit:)`` gives a page at a time.
    ///
    /// - Parameter completion: gets the list, or why there is none: `file`.
    public func getDeliveredNotifications(
        _ completion: @escaping @Sendable (_ notifications: [DeliveredNotification]?, _ error: PealError?) -> Void
    ) {
        let callbacks = callbacks
        Task { [delivered] in
            do throws(PealError) {
                let list = try await delivered.all(NotificationQuery())
                callbacks.run { completion(list, nil) }
            } catch {
                callbacks.run { completion(nil, error) }
            }
        }
    }

    /// A page of delivered notifications, newest delivery first; of two that were delivered within one millisecond the order is the same at each call.
    ///
    /// - Parameters:
    ///   - query: which ones.
    ///   - after: where the page before ended; nil for the first. What comes later than the first page is on no page of its, and nothing is
    ///     on two.
    ///   - limit: 1 to 1,000.
    /// - Throws: ``PealError``: `invalid`, `file`, `cancelled`.
    public func deliveredNotifications(
        _ query: NotificationQuery = NotificationQuery(), after: NotificationCursor? = nil, limit: Int = 50
    ) async throws(PealError) -> NotificationPage { try await delivered.page(query, after: after, limit: limit) }

    /// The first page, now and whenever it is different: after each commit, of this process or another, and when users come and go. A reader that
    /// does not keep up gets the newest one. Ends when it is not read any more. A list that cannot be read is told when it can.
    ///
    /// - Parameters:
    ///   - query: which ones.
    ///   - limit: how many at most, 1 to 1,000; beyond, there is nothing.
    public func liveDeliveredNotifications(
        _ query: NotificationQuery = NotificationQuery(), limit: Int = 50
    ) -> AsyncStream<NotificationPage> { delivered.live(query, limit: limit) }

    // MARK: One of them

    /// What shows notifications for ``show(_:)``; by default ``SystemPresenter``. Any thread.
    public var presenter: any NotificationPresenter {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }

    /// Shows a notification through the ``presenter``, and records that it was opened and read: at once on this device, and on the hub when there
    /// is one. Where the publish came to a user and to this device, both are read; it was opened once.
    ///
    /// - Returns: the notification as it stands then.
    /// - Throws: ``PealError``: `gone`, `notPresented` (nothing is recorded then), `disconnected` where its user is not connected, `file`, `cancelled`.
    @discardableResult
    public func show(_ notification: DeliveredNotification) async throws(PealError) -> DeliveredNotification {
        let core = try core(of: notification)
        try await core.call { (inbox) throws(PealError) in try inbox.checkThere(notification) }
        do {
            try await presenter.present(notification)
        } catch let error as PealError {
            throw error
        } catch {
            throw PealError(.notPresented, "the notification was not shown: \(error)")
        }
        let opened = try await core.call { (inbox) throws(PealError) in try inbox.recordOpened(notification) }
        try await delivered.readCopies(of: notification)
        return opened
    }

    /// Shows a notification, as ``show(_:)``.
    public func show(
        _ notification: DeliveredNotification,
        completion: @escaping NotificationStore.Completion<DeliveredNotification>
    ) {
        tell(completion) { [self] () async throws(PealError) in try await show(notification) }
    }

    /// Answers a survey, or anything else that asks. The first answer counts, of all devices; a publisher gets it with the outcome of the publish.
    ///
    /// - Parameters:
    ///   - notification: what is answered.
    ///   - answer: any JSON of at most 4 KiB.
    /// - Returns: false where it was answered already, as far as this device knows: nothing is recorded then.
    /// - Throws: ``PealError``: `gone`, `invalid` for an answer over the limit, `disconnected`, `file`, `cancelled`.
    @discardableResult
    public func answer(_ notification: DeliveredNotification, with answer: JSON) async throws(PealError) -> Bool {
        let bytes = answer.bytes
        return try await core(of: notification).call { (inbox) throws(PealError) in
            try inbox.record("answered", of: notification, data: bytes[...])
        }
    }

    /// Answers a survey, as ``answer(_:with:)``.
    public func answer(
        _ notification: DeliveredNotification, with answer: JSON,
        completion: @escaping NotificationStore.Completion<Bool>
    ) {
        tell(completion) { [self] () async throws(PealError) in try await self.answer(notification, with: answer) }
    }

    /// What happened to a notification (`opened`, `clicked`, `dismissed`, `answered` with its answer), of each kind the first; here and on other devices.
    ///
    /// - Throws: ``PealError``: `disconnected`, `file`, `cancelled`.
    public func facts(of notification: DeliveredNotification) async throws(PealError) -> [Fact] {
        let id = notification.id
        return try await core(of: notification).call { (inbox) throws(PealError) in try inbox.facts(of: id) }
    }

    private func core(of notification: DeliveredNotification) throws(PealError) -> UserCore {
        try delivered.core(of: notification.inbox, path: path(of: notification.inbox))
    }

    private func tell<R: Sendable>(
        _ completion: @escaping NotificationStore.Completion<R>,
        _ body: @escaping @Sendable () async throws(PealError) -> R
    ) {
        let callbacks = callbacks
        Task {
            let result: Result<R, PealError>
            do throws(PealError) {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            callbacks.run { completion(result) }
        }
    }
}

extension Inbox {
    func checkThere(_ notification: DeliveredNotification) throws(PealError) {
        guard try item(notification.id) != nil else {
            throw PealError(.gone, "the notification is not there any more")
        }
    }

    func recordOpened(_ notification: DeliveredNotification) throws(PealError) -> DeliveredNotification {
        try record("opened", of: notification)
        if let item = try item(notification.id), !item.read {
            try perform(.read(items: [item.id], on: true, passive: false))
        }
        guard let item = try item(notification.id) else {
            throw PealError(.gone, "the notification is not there any more")
        }
        return DeliveredNotification(item, in: configuration.identity)
    }

    /// Records a fact, where there is none of its kind yet; whether it did.
    @discardableResult
    func record(_ event: String, of notification: DeliveredNotification, data: RawJSON? = nil) throws(PealError) -> Bool
    {
        try checkThere(notification)
        guard try !facts(of: notification.id).contains(where: { $0.event == event }) else { return false }
        try perform(.track(item: notification.id, event: event, data: data))
        return true
    }
}
