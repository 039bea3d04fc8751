internal import PealModel
internal import PealReplica
internal import Synchronization

/// The notifications of a user that a predicate selects, newest first: a live list with exact changes (seed of the API: the store of an inbox SDK).
///
/// A store begins empty. ``fetch()`` brings the first page, each further one the next; from the first on the list follows the inbox, offline too,
/// and every act shows at once in every store. It holds the pages that were asked for and what has arrived since, whatever the size of the inbox.
///
/// What it shows changes only in the client's ``CallbackContext``, right before its observers are called there: within that context `count`,
/// subscripts and indexes agree. Elsewhere, iterate (`for … in`, ``notifications()``), which reads one state. Reading never blocks for the
/// disk or the network, and every method may be called from anywhere.
public final class NotificationStore: RandomAccessCollection, Sendable {
    /// What selects its notifications.
    public let predicate: StorePredicate

    struct State {
        var contents = StoreContents()
        /// What was shown before, where that was longer: for those who walk by indexes of it.
        var longest: [DeliveredNotification] = []
        var contentObservers: [WeakObserver<any NotificationStoreContentObserver>] = []
        var countObservers: [WeakObserver<any NotificationStoreCountObserver>] = []
        var publishers: [WeakPublisher] = []
        var isDisposed = false
    }

    let state = Mutex(State())
    let core: UserCore
    private let changeStreams = Broadcast<NotificationStoreChange>(limit: 1_024)

    init(_ predicate: StorePredicate, _ core: UserCore) {
        self.predicate = predicate
        self.core = core
    }

    // MARK: What it shows

    /// How many notifications the predicate selects in the whole inbox.
    public var totalCount: Int { Int(state.withLock { $0.contents.counts.total }) }
    /// How many of them are unread.
    public var unreadCount: Int { Int(state.withLock { $0.contents.counts.unread }) }
    /// How many of them are unseen.
    public var unseenCount: Int { Int(state.withLock { $0.contents.counts.unseen }) }
    /// Whether there are older ones than those that are loaded.
    public var hasNextPage: Bool { state.withLock { $0.contents.hasNextPage } }
    /// How many are loaded.
    public var count: Int { state.withLock { $0.contents.items.count } }
    /// 0.
    public var startIndex: Int { 0 }
    /// ``count``.
    public var endIndex: Int { count }
    /// The notification at an index below ``count``. Outside of the context the list may get shorter between `count` and this: an index of the
    /// list before gives what was there. An index that never was one traps, as an array's does.
    public subscript(index: Int) -> DeliveredNotification {
        state.withLock { state in
            if state.contents.items.indices.contains(index) { return state.contents.items[index] }
            if state.longest.indices.contains(index) { return state.longest[index] }
            precondition(state.isDisposed && index >= 0, "index out of range")
            return DeliveredNotification.gone(from: core.identity)
        }
    }
    /// The next index; without a look at ``count``, which may have become less.
    public func index(after index: Int) -> Int { index + 1 }
    /// The index before.
    public func index(before index: Int) -> Int { index - 1 }
    /// The index so many further on.
    public func index(_ index: Int, offsetBy distance: Int) -> Int { index + distance }
    /// How far two indexes are apart.
    public func distance(from start: Int, to end: Int) -> Int { end - start }
    /// All that are loaded, of one state.
    public func notifications() -> [DeliveredNotification] { state.withLock { $0.contents.items } }
    /// Iterates over one state.
    public func makeIterator() -> IndexingIterator<[DeliveredNotification]> { notifications().makeIterator() }
    /// Pairs of index and notification, of one state.
    public func enumerated() -> EnumeratedSequence<[DeliveredNotification]> { notifications().enumerated() }
    /// The loaded notifications from the oldest on, of one state.
    public func reversed() -> [DeliveredNotification] { notifications().reversed() }
    /// Whether a first snapshot is being loaded: older ones are still to come, and the counts are of what is there so far.
    public var isPartial: Bool { state.withLock { $0.contents.counts.isPartial } }

    // MARK: Watching

    /// What changes from now on. A reader that falls behind by 1,024 misses the oldest changes; each has the whole list with it, so
    /// nothing is wrong afterwards. It ends with ``UserStores/dispose(with:)``, or with the user.
    public var changes: AsyncStream<NotificationStoreChange> { changeStreams.stream() }

    /// Adds an observer of the list; held weakly. Adding it twice is once.
    public func addContentObserver(_ observer: any NotificationStoreContentObserver) {
        let observer = WeakObserver(observer)
        state.withLock { $0.contentObservers.add(observer) }
    }

    /// Removes an observer of the list; it is not called any more, also when this is called from a callback.
    public func removeContentObserver(_ observer: any NotificationStoreContentObserver) {
        let observer = WeakObserver(observer)
        state.withLock { $0.contentObservers.remove(observer) }
    }

    /// Adds an observer of the counts; held weakly. Adding it twice is once.
    public func addCountObserver(_ observer: any NotificationStoreCountObserver) {
        let observer = WeakObserver(observer)
        state.withLock { $0.countObservers.add(observer) }
    }

    /// Removes an observer of the counts; it is not called any more, also when this is called from a callback.
    public func removeCountObserver(_ observer: any NotificationStoreCountObserver) {
        let observer = WeakObserver(observer)
        state.withLock { $0.countObservers.remove(observer) }
    }

    // MARK: From the inbox's thread

    /// Takes the next state to the app: it is shown, and observers are called, in the client's context.
    func take(_ update: StoreUpdate) { core.context.run { [weak self] in self?.show(update) } }

    /// Runs in the context.
    func show(_ update: StoreUpdate) {
        let before = state.withLock { state -> StoreContents? in
            guard !state.isDisposed else { return nil }
            let before = state.contents
            state.contents = update.contents
            if before.items.count > state.longest.count { state.longest = before.items }
            if state.contents.items.count >= state.longest.count { state.longest = [] }
            return before
        }
        guard let before else { return }
        let (old, new) = (before.counts, update.contents.counts)
        let moves = update.isReload || !(update.deleted.isEmpty && update.inserted.isEmpty && update.changed.isEmpty)
        let pages = before.hasNextPage != update.contents.hasNextPage
        if moves || pages { tellContent(update, pages) }
        if old != new { tellCounts(old, new) }
        guard moves || pages || old != new else { return }
        publish(update)
    }

    private func publish(_ update: StoreUpdate) {
        let change = NotificationStoreChange(update)
        for held in state.withLock({ $0.publishers }) { held.publisher?.show(change) }
        changeStreams.send(change)
    }

    /// What it shows now, without indexes.
    var snapshot: NotificationStoreChange {
        NotificationStoreChange(StoreUpdate(contents: state.withLock { $0.contents }, isReload: true))
    }

    /// A publisher follows the store, while somebody holds it.
    func add(_ publisher: NotificationStorePublisher) {
        state.withLock { state in
            state.publishers.removeAll { $0.publisher == nil }
            state.publishers.append(WeakPublisher(publisher: publisher))
        }
        // What was shown between its making and here.
        core.context.run { [weak self, weak publisher] in
            if let self { publisher?.show(snapshot) }
        }
    }

    struct WeakPublisher: Sendable {
        weak let publisher: NotificationStorePublisher?
    }

    private func tellContent(_ update: StoreUpdate, _ pages: Bool) {
        for held in state.withLock({ $0.contentObservers }) {
            // It may have been removed by itself, or by another one, in a callback.
            func tell(_ call: (any NotificationStoreContentObserver) -> Void) {
                guard let observer = held.observer, state.withLock({ $0.contentObservers.contains(held) }) else {
                    return
                }
                call(observer)
            }
            if update.isReload {
                tell { $0.didReloadStore(self) }
            } else {
                if !update.deleted.isEmpty { tell { $0.store(self, didDeleteNotificationAt: update.deleted) } }
                if !update.inserted.isEmpty { tell { $0.store(self, didInsertNotificationsAt: update.inserted) } }
                if !update.changed.isEmpty { tell { $0.store(self, didChangeNotificationAt: update.changed) } }
            }
            if pages { tell { $0.store(self, didChangeHasNextPage: update.contents.hasNextPage) } }
        }
    }

    private func tellCounts(_ old: Counts, _ new: Counts) {
        for held in state.withLock({ $0.countObservers }) {
            func tell(_ call: (any NotificationStoreCountObserver) -> Void) {
                guard let observer = held.observer, state.withLock({ $0.countObservers.contains(held) }) else { return }
                call(observer)
            }
            if old.total != new.total { tell { $0.store(self, didChangeTotalCount: Int(new.total)) } }
            if old.unread != new.unread { tell { $0.store(self, didChangeUnreadCount: Int(new.unread)) } }
            if old.unseen != new.unseen { tell { $0.store(self, didChangeUnseenCount: Int(new.unseen)) } }
        }
    }

    /// It was disposed of, or its user was disconnected: it follows nothing any more. Its notifications are forgotten.
    func end() {
        let wasDisposed = state.withLock { state in
            defer { state.isDisposed = true }
            return state.isDisposed
        }
        guard !wasDisposed else { return }
        core.context.run { [self] in
            let before = state.withLock { state in
                defer { (state.contents, state.longest) = (StoreContents(), []) }
                return state.contents
            }
            let update = StoreUpdate(contents: StoreContents(), isReload: true)
            if !before.items.isEmpty || before.hasNextPage { tellContent(update, before.hasNextPage) }
            tellCounts(before.counts, Counts())
            state.withLock { ($0.contentObservers, $0.countObservers) = ([], []) }
            publish(update)
            changeStreams.finish()
        }
    }
}

/// What changed in a store at once: one committed state to the next.
public struct NotificationStoreChange: Sendable {
    /// The list was read anew, and the indexes are empty.
    public let isReload: Bool
    /// Indexes of the list as it was.
    public let deleted: [Int]
    /// Indexes of the list as it is.
    public let inserted: [Int]
    /// Indexes of the list as it is.
    public let changed: [Int]
    /// The list as it is.
    public internal(set) var notifications: [DeliveredNotification]
    /// How many the predicate selects in the whole inbox.
    public internal(set) var totalCount: Int
    /// How many of them are unread.
    public internal(set) var unreadCount: Int
    /// How many of them are unseen.
    public internal(set) var unseenCount: Int
    /// Whether there are older ones.
    public internal(set) var hasNextPage: Bool

    init(_ update: StoreUpdate) {
        isReload = update.isReload
        deleted = update.deleted
        inserted = update.inserted
        changed = update.changed
        notifications = update.contents.items
        totalCount = Int(update.contents.counts.total)
        unreadCount = Int(update.contents.counts.unread)
        unseenCount = Int(update.contents.counts.unseen)
        hasNextPage = update.contents.hasNextPage
    }
}
