internal import PealModel
internal import PealReplica
internal import Synchronization

/// What can be done with a store and its notifications. Everything is durable, and shown in every store, when a call completes, offline too;
/// the hub gets it when there is one. Each call has a form with a completion, which is called once in the client's context, and an async one.
/// Errors of every call: `file` of the replica, `disconnected`, and for async ones `cancelled`; more where it says so.
extension NotificationStore {
    /// What a completion gets.
    public typealias Completion<Value> = @Sendable (Result<Value, PealError>) -> Void

    // MARK: Pages

    /// Loads the next page, the first one at the first call; observers are told of what is inserted. It gets the page, empty at the end. It
    /// reads what this device holds, and waits for no network: ``refresh()`` does.
    public func fetch(completion: @escaping Completion<[DeliveredNotification]>) {
        run({ (inbox, store) throws(PealError) in try inbox.fetch(store) }, completion)
    }

    /// Loads the next page, as ``fetch(completion:)``.
    @discardableResult
    public func fetch() async throws(PealError) -> [DeliveredNotification] {
        try await call { (inbox, store) throws(PealError) in try inbox.fetch(store) }
    }

    /// Begins anew with the first page, once the inbox is up to date with the hub, or cannot be now: offline, refused, or not within ten
    /// seconds, when it shows what this device holds. Observers get `didReloadStore`.
    public func refresh(completion: @escaping Completion<[DeliveredNotification]>) {
        Task { [self] in
            let result: Result<[DeliveredNotification], PealError>
            do throws(PealError) {
                result = .success(try await refresh())
            } catch {
                result = .failure(error)
            }
            core.context.run { completion(result) }
        }
    }

    /// Begins anew with the first page, as ``refresh(completion:)``.
    @discardableResult
    public func refresh() async throws(PealError) -> [DeliveredNotification] {
        try await core.upToDate(within: .seconds(10))
        return try await call { (inbox, store) throws(PealError) in try inbox.reload(store) }
    }

    // MARK: One notification

    /// Marks a notification read, and so seen. `gone` where it is not there any more.
    public func markAsRead(
        _ notification: DeliveredNotification, completion: @escaping Completion<DeliveredNotification>
    ) { change(notification, .read(items: [notification.id], on: true, passive: false), completion) }

    /// Marks a notification read, as ``markAsRead(_:completion:)``.
    @discardableResult
    public func markAsRead(_ notification: DeliveredNotification) async throws(PealError) -> DeliveredNotification {
        try await change(notification, .read(items: [notification.id], on: true, passive: false))
    }

    /// Marks a notification unread; it stays seen. `gone` where it is not there any more.
    public func markAsUnread(
        _ notification: DeliveredNotification, completion: @escaping Completion<DeliveredNotification>
    ) { change(notification, .read(items: [notification.id], on: false, passive: false), completion) }

    /// Marks a notification unread, as ``markAsUnread(_:completion:)``.
    @discardableResult
    public func markAsUnread(_ notification: DeliveredNotification) async throws(PealError) -> DeliveredNotification {
        try await change(notification, .read(items: [notification.id], on: false, passive: false))
    }

    /// Archives a notification. `gone` where it is not there any more.
    public func archive(
        _ notification: DeliveredNotification, completion: @escaping Completion<DeliveredNotification>
    ) { change(notification, .archive(items: [notification.id], on: true), completion) }

    /// Archives a notification, as ``archive(_:completion:)``.
    @discardableResult
    public func archive(_ notification: DeliveredNotification) async throws(PealError) -> DeliveredNotification {
        try await change(notification, .archive(items: [notification.id], on: true))
    }

    /// Takes a notification back from the archive. `gone` where it is not there any more.
    public func unarchive(
        _ notification: DeliveredNotification, completion: @escaping Completion<DeliveredNotification>
    ) { change(notification, .archive(items: [notification.id], on: false), completion) }

    /// Takes a notification back from the archive, as ``unarchive(_:completion:)``.
    @discardableResult
    public func unarchive(_ notification: DeliveredNotification) async throws(PealError) -> DeliveredNotification {
        try await change(notification, .archive(items: [notification.id], on: false))
    }

    /// Deletes a notification for good, on every device. `gone` where it is not there any more.
    public func delete(_ notification: DeliveredNotification, completion: @escaping Completion<Void>) {
        run({ (inbox, store) throws(PealError) in try inbox.remove(notification, hold: .zero, store) }) { result in
            completion(result.map { _ in })
        }
    }

    /// Deletes a notification for good, as ``delete(_:completion:)``.
    public func delete(_ notification: DeliveredNotification) async throws(PealError) {
        _ = try await delete(notification, undoWithin: .zero)
    }

    /// Deletes a notification, which ``HeldAct/undo()`` takes back within a time, or until the next act of any kind.
    ///
    /// - Parameters:
    ///   - notification: which one.
    ///   - time: whole milliseconds count; at most an hour.
    /// - Throws: ``PealError``: `gone`, `invalid` for a time outside 0 to an hour, and those of every call.
    public func delete(
        _ notification: DeliveredNotification, undoWithin time: Duration
    ) async throws(PealError) -> HeldAct {
        let uid = try await call { (inbox, store) throws(PealError) in
            try inbox.remove(notification, hold: time, store)
        }
        return HeldAct(uid: uid, core: core)
    }

    /// Archives a notification, which ``HeldAct/undo()`` takes back within a time, or until the next act of any kind.
    ///
    /// - Parameters:
    ///   - notification: which one.
    ///   - time: whole milliseconds count; at most an hour.
    /// - Throws: ``PealError``: `gone`, `invalid` for a time outside 0 to an hour, and those of every call.
    public func archive(
        _ notification: DeliveredNotification, undoWithin time: Duration
    ) async throws(PealError) -> HeldAct {
        let uid = try await call { (inbox, store) throws(PealError) in
            try inbox.act(
                .archive(items: [notification.id], on: true), on: notification, hold: time, store)
        }
        return HeldAct(uid: uid, core: core)
    }

    // MARK: All of them

    /// Marks all notifications of the store read: not only the loaded ones, and none that came after what it shows. Where nothing but their
    /// state selects them it is one position mark, else one act for every 500 that match.
    public func markAllRead(completion: @escaping Completion<Void>) {
        run({ (inbox, store) throws(PealError) in try inbox.markAll(.read, store) }, completion)
    }

    /// Marks all notifications of the store read, as ``markAllRead(completion:)``.
    public func markAllRead() async throws(PealError) {
        try await call { (inbox, store) throws(PealError) in try inbox.markAll(.read, store) }
    }

    /// Marks all notifications of the store seen, as ``markAllRead(completion:)`` does for read.
    public func markAllSeen(completion: @escaping Completion<Void>) {
        run({ (inbox, store) throws(PealError) in try inbox.markAll(.seen, store) }, completion)
    }

    /// Marks all notifications of the store seen, as ``markAllSeen(completion:)``.
    public func markAllSeen() async throws(PealError) {
        try await call { (inbox, store) throws(PealError) in try inbox.markAll(.seen, store) }
    }

    // MARK: Ways in

    private func change(
        _ notification: DeliveredNotification, _ operation: PealModel.Operation,
        _ completion: @escaping Completion<DeliveredNotification>
    ) {
        run(
            { (inbox, store) throws(PealError) in try inbox.change(notification, operation, store) }, completion)
    }

    private func change(
        _ notification: DeliveredNotification, _ operation: PealModel.Operation
    ) async throws(PealError) -> DeliveredNotification {
        try await call { (inbox, store) throws(PealError) in try inbox.change(notification, operation, store) }
    }

    private func run<R: Sendable>(
        _ body: @escaping @Sendable (isolated Inbox, NotificationStore) throws(PealError) -> R,
        _ completion: @escaping Completion<R>
    ) {
        core.run(
            { [self] (inbox) throws(PealError) in
                try checkLiving()
                return try body(inbox, self)
            }, then: completion)
    }

    private func call<R: Sendable>(
        _ body: @escaping @Sendable (isolated Inbox, NotificationStore) throws(PealError) -> R
    ) async throws(PealError) -> R {
        try await core.call { [self] (inbox) throws(PealError) in
            try checkLiving()
            return try body(inbox, self)
        }
    }

    private func checkLiving() throws(PealError) {
        if state.withLock({ $0.isDisposed }) { throw UserCore.disconnected }
    }
}

/// An act that waits before it is sent, so that a person can take it back.
public struct HeldAct: Sendable {
    let uid: UInt64
    let core: UserCore

    /// Takes the act back; every store shows what was before.
    ///
    /// - Returns: false where its time is over, or another act came after it: it stands then.
    /// - Throws: ``PealError``: `file`, `disconnected`, `cancelled`.
    @discardableResult
    public func undo() async throws(PealError) -> Bool {
        let uid = uid
        return try await core.call { (inbox) throws(PealError) in try inbox.undo(uid) }
    }
}

extension Inbox {
    /// How long an act can be held at most.
    private static let longestHold = Duration.seconds(3_600)

    fileprivate func change(
        _ notification: DeliveredNotification, _ operation: PealModel.Operation, _ store: NotificationStore
    ) throws(PealError) -> DeliveredNotification {
        try act(operation, on: notification, hold: .zero, store)
        guard let item = try item(notification.id) else { throw Self.gone }
        return DeliveredNotification(item, in: configuration.identity)
    }

    fileprivate func remove(
        _ notification: DeliveredNotification, hold: Duration, _ store: NotificationStore
    ) throws(PealError) -> UInt64 { try act(.delete(items: [notification.id]), on: notification, hold: hold, store) }

    @discardableResult
    fileprivate func act(
        _ operation: PealModel.Operation, on notification: DeliveredNotification, hold: Duration,
        _ store: NotificationStore
    ) throws(PealError) -> UInt64 {
        guard hold >= .zero, hold <= Self.longestHold else {
            throw PealError(.invalid, "an act can be taken back within 0 seconds to an hour")
        }
        guard try item(notification.id) != nil else { throw Self.gone }
        return try perform(operation, observed: store.view, hold: Milliseconds(hold / .milliseconds(1)))
    }

    fileprivate func markAll(_ state: StorePredicate.MarkedState, _ store: NotificationStore) throws(PealError) {
        let shown = store.view
        let view = if let shown { shown } else { try self.view() }
        guard !store.predicate.isWhole(for: state) else {
            try perform(.mark(state == .read ? .read : .seen, upTo: view.position), observed: view)
            return
        }
        var query = store.predicate.query
        switch state {
        case .read:
            guard query.read != true else { return }
            query.read = false
        case .seen:
            guard query.seen != true else { return }
            query.seen = false
        }
        var items: [ItemID] = []
        // Not what the person has not been shown.
        var after: PageCursor? = PageCursor(before: view.position + 1)
        while let cursor = after {
            let page = try page(query, after: cursor, limit: 1_000)
            items += page.items.map(\.id)
            after = page.next
        }
        for start in stride(from: 0, to: items.count, by: Limits.itemsPerMutation) {
            let some = Array(items[start..<min(start + Limits.itemsPerMutation, items.count)])
            try perform(
                state == .read ? .read(items: some, on: true, passive: false) : .seen(items: some), observed: view)
        }
    }

    private static let gone = PealError(.gone, "the notification is not there any more")
}

extension NotificationStore {
    /// What a person who looks at it has seen; nil before the first page.
    fileprivate var view: ViewPosition? { state.withLock { $0.contents.view } }
}
