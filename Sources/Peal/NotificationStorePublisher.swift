public import Observation
internal import Synchronization

/// What a store shows, as an observable object: for views that read its properties and are drawn anew when these change. It follows the store
/// for as long as somebody holds it. Its properties change in the client's ``CallbackContext``, one after the other for one commit; reading is
/// allowed anywhere.
public final class NotificationStorePublisher: Observable, Sendable {
    private let registrar = ObservationRegistrar()
    private let shown: Mutex<NotificationStoreChange>

    /// A publisher of a store. Whoever makes it keeps it.
    public init(_ store: NotificationStore) {
        shown = Mutex(store.snapshot)
        store.add(self)
    }

    /// How many notifications the store's predicate selects.
    public var totalCount: Int { read(\.totalCount).totalCount }
    /// How many of them are unread.
    public var unreadCount: Int { read(\.unreadCount).unreadCount }
    /// How many of them are unseen.
    public var unseenCount: Int { read(\.unseenCount).unseenCount }
    /// Whether there are older ones to fetch.
    public var hasNextPage: Bool { read(\.hasNextPage).hasNextPage }
    /// The loaded notifications, newest first.
    public var notifications: [DeliveredNotification] { read(\.notifications).notifications }

    private func read<Value>(
        _ property: KeyPath<NotificationStorePublisher, Value>
    ) -> NotificationStoreChange {
        registrar.access(self, keyPath: property)
        return shown.withLock { $0 }
    }

    /// Shows a change; only what differs is told.
    func show(_ new: NotificationStoreChange) {
        let old = shown.withLock { $0 }
        func set<Value: Equatable>(
            _ property: KeyPath<NotificationStorePublisher, Value>, _ value: KeyPath<NotificationStoreChange, Value>,
            _ write: (inout NotificationStoreChange) -> Void
        ) {
            guard old[keyPath: value] != new[keyPath: value] else { return }
            registrar.withMutation(of: self, keyPath: property) { shown.withLock { write(&$0) } }
        }
        set(\.notifications, \.notifications) { $0.notifications = new.notifications }
        set(\.totalCount, \.totalCount) { $0.totalCount = new.totalCount }
        set(\.unreadCount, \.unreadCount) { $0.unreadCount = new.unreadCount }
        set(\.unseenCount, \.unseenCount) { $0.unseenCount = new.unseenCount }
        set(\.hasNextPage, \.hasNextPage) { $0.hasNextPage = new.hasNextPage }
    }
}
