internal import PealModel
internal import PealReplica
internal import PealSQLite

/// The stores of an inbox: what they show follows each commit, on the inbox's thread.
extension Inbox {
    /// A store that was fetched once, and what it has loaded.
    struct StoreFeed {
        var window: StoreWindow
        weak var store: NotificationStore?
    }

    /// The first page; the store follows the inbox from now on.
    func reload(_ store: NotificationStore) throws(PealError) -> [DeliveredNotification] {
        let feed = feed(store)
        let update = try reading { () throws(ReplicaError) in try feed.window.reload(replica) }
        store.take(update)
        return update.contents.items
    }

    /// The next page; empty where there is none.
    func fetch(_ store: NotificationStore) throws(PealError) -> [DeliveredNotification] {
        let feed = feed(store)
        let update = try reading { () throws(ReplicaError) in try feed.window.more(replica) }
        store.take(update)
        return update.inserted.map { update.contents.items[$0] }
    }

    /// What expires leaves the lists by time alone, also where no hub says so.
    private func watchExpiry() {
        if let expiryTimer { executor.cancel(expiryTimer) }
        expiryTimer = nil
        guard let delay = try? replica.timeToNextExpiry() else { return }
        // Not for longer than a day, so that a clock that is set is noticed.
        expiryTimer = executor.post(afterMilliseconds: min(delay, 86_400_000) + 1) { [weak self] in
            self?.assumeIsolated { inbox in
                var change = Change()
                change.everything = true
                inbox.tellChange(change)
            }
        }
    }

    private func feed(_ store: NotificationStore) -> StoreFeed {
        if let feed = storeFeeds[ObjectIdentifier(store)] { return feed }
        defer { watchExpiry() }
        let window = StoreWindow(store.predicate.query, configuration.identity)
        let feed = StoreFeed(window: window, store: store)
        storeFeeds[ObjectIdentifier(store)] = feed
        return feed
    }

    /// The store is followed no more.
    func forget(_ store: ObjectIdentifier) { storeFeeds[store] = nil }

    /// Shows a commit, of this process or another, in every store.
    func followStores(_ change: Change) {
        guard change.items, !storeFeeds.isEmpty else { return }
        defer { watchExpiry() }
        for (id, feed) in storeFeeds {
            guard let store = feed.store else {
                storeFeeds[id] = nil
                continue
            }
            do throws(ReplicaError) {
                if let update = try feed.window.apply(change, replica) { store.take(update) }
            } catch {
                // The next commit, or a refresh, shows it.
                configuration.log("a store could not be read: \(error)")
            }
        }
    }
}
