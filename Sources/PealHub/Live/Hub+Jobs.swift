import PealModel

/// What the hub does by itself, a part a transaction, so that others' requests come in between.
extension Hub {
    /// Logs that get a new catalogue in one transaction: at 16 KiB each it stays under 2 MiB.
    static let cataloguesPerCommit = 100

    /// Goes on with wide publishes, a chunk a transaction.
    func fanOut() {
        guard !fanningOut else { return }
        fanningOut = true
        let now = clock()
        committer?.submit(
            weight: Committer.maximumWeight,
            { (store) throws(HubStoreError) in
                let appended = try store.fanOut(limit: Committer.maximumWeight, now: now)
                return Committed(value: appended != nil, appended: appended ?? [])
            },
            completion: { result in
                self.assumeIsolated { hub in
                    hub.fanningOut = false
                    if case .success(true) = result { hub.fanOut() }
                }
            })
    }

    /// Gives the logs that somebody is connected to the newest catalogue, some a transaction; the others get it with a hello.
    func bringCatalogue() {
        let keys = inboxes.keys.sorted()
        let now = clock()
        for start in stride(from: 0, to: keys.count, by: Self.cataloguesPerCommit) {
            let some = Array(keys[start..<min(start + Self.cataloguesPerCommit, keys.count)])
            committer?.submit(
                weight: some.count,
                { (store) throws(HubStoreError) in
                    Committed(value: (), appended: try store.bringCatalogue(to: some, now: now))
                },
                completion: { result in
                    guard case .failure(let error) = result else { return }
                    self.assumeIsolated { $0.log("a catalogue was not given to connected inboxes: \(error)") }
                })
        }
    }
}
