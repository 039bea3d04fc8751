/// Told when the list of a store changes: in the client's ``CallbackContext``, after the store shows the new state, for one commit in the
/// order delete, insert, change. Indexes of deletions are of the list before, all others of the list as it is.
public protocol NotificationStoreContentObserver: AnyObject {
    /// The list was read from its beginning: look at all of it.
    func didReloadStore(_ store: NotificationStore)
    /// Notifications came in; ascending indexes of the list as it is.
    func store(_ store: NotificationStore, didInsertNotificationsAt indexes: [Int])
    /// Notifications look different; ascending indexes of the list as it is.
    func store(_ store: NotificationStore, didChangeNotificationAt indexes: [Int])
    /// Notifications are gone; ascending indexes of the list before.
    func store(_ store: NotificationStore, didDeleteNotificationAt indexes: [Int])
    /// There are older notifications to fetch, or there are none any more.
    func store(_ store: NotificationStore, didChangeHasNextPage hasNextPage: Bool)
}

/// Told when a count of a store changes, to 0 like to any other number: in the client's ``CallbackContext``.
public protocol NotificationStoreCountObserver: AnyObject {
    /// How many the store's predicate selects.
    func store(_ store: NotificationStore, didChangeTotalCount count: Int)
    /// How many of them are unread.
    func store(_ store: NotificationStore, didChangeUnreadCount count: Int)
    /// How many of them are unseen.
    func store(_ store: NotificationStore, didChangeUnseenCount count: Int)
}

/// A weak reference to an observer of the app's.
struct WeakObserver<Observer>: @unchecked Sendable {
    // Observers are the app's and need not be Sendable: they are called in the context that the app chose, and only compared elsewhere.
    private weak var object: AnyObject?

    init(_ observer: Observer) { object = observer as AnyObject }

    var observer: Observer? { object as? Observer }

    static func === (left: Self, right: Self) -> Bool { left.object != nil && left.object === right.object }
}

extension Array {
    mutating func add<Observer>(_ observer: WeakObserver<Observer>) where Element == WeakObserver<Observer> {
        removeAll { $0.observer == nil }
        if !contains(observer) { append(observer) }
    }

    mutating func remove<Observer>(_ observer: WeakObserver<Observer>) where Element == WeakObserver<Observer> {
        removeAll { $0.observer == nil || $0 === observer }
    }

    func contains<Observer>(_ observer: WeakObserver<Observer>) -> Bool where Element == WeakObserver<Observer> {
        contains { $0 === observer }
    }
}
