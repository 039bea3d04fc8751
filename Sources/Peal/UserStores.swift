internal import Synchronization

/// The stores of a user: one for each predicate.
public final class UserStores: Sendable {
    private struct State {
        var stores: [StorePredicate: NotificationStore] = [:]
        var hasEnded = false
    }

    private let core: UserCore
    private let state = Mutex(State())

    init(_ core: UserCore) { self.core = core }

    /// The store of a predicate: the same one for the same predicate until it is disposed of. It is empty until ``NotificationStore/fetch()``
    /// or ``NotificationStore/refresh()``. Not blocking; any thread.
    ///
    /// - Returns: of a user who was disconnected, a store that stays empty and whose calls fail with `disconnected`.
    public func build(predicate: StorePredicate) -> NotificationStore {
        let (store, hasEnded) = state.withLock { state in
            if let store = state.stores[predicate] { return (store, false) }
            let store = NotificationStore(predicate, core)
            if !state.hasEnded { state.stores[predicate] = store }
            return (store, state.hasEnded)
        }
        if hasEnded { store.end() }
        return store
    }

    /// The store of the predicate that has these parts.
    public func build(
        read: StorePredicate.Read? = nil, seen: StorePredicate.Seen? = nil, archived: Bool? = false,
        categories: [String] = [], topics: [String] = []
    ) -> NotificationStore {
        build(
            predicate: StorePredicate(
                read: read, seen: seen, archived: archived, categories: categories, topics: topics))
    }

    /// Ends a store: it shows nothing any more, its streams end, its calls fail with `disconnected`; the next build of its predicate gives a new
    /// one. Nothing happens where there is none.
    public func dispose(with predicate: StorePredicate) {
        guard let store = state.withLock({ $0.stores.removeValue(forKey: predicate) }) else { return }
        dispose(store)
    }

    /// Ends them all, for good.
    func end() {
        let stores = state.withLock { state in
            defer {
                state.stores = [:]
                state.hasEnded = true
            }
            return Array(state.stores.values)
        }
        for store in stores { dispose(store) }
    }

    private func dispose(_ store: NotificationStore) {
        store.end()
        let id = ObjectIdentifier(store)
        // Holds the store until then, so that no other object gets its identity meanwhile.
        core.run({ (inbox) in inbox.forget(id) }) { [store] _ in withExtendedLifetime(store) {} }
    }
}
