import PealModel

/// What the hub does beside answering: wide publishes, expiry and upkeep. Each step is one transaction, so that requests come in
/// between.
extension Hub {
    /// Milliseconds between looks for what has expired or grown old.
    static let tidyPeriod: Milliseconds = 30_000
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

    /// Looks for what has expired or grown old, where that is due.
    func tidy() {
        let now = clock()
        // A clock that was set back must not end it.
        if let tidied, now >= tidied, now - tidied < Self.tidyPeriod { return }
        guard !tidying else { return }
        tidied = now
        tidying = true
        expire()
    }

    private func expire() {
        let now = clock()
        committer?.submit(
            weight: Committer.maximumWeight,
            { (store) throws(HubStoreError) in
                let appended = try store.expire(limit: Committer.maximumWeight, now: now)
                return Committed(value: !appended.isEmpty, appended: appended)
            },
            completion: { result in
                self.assumeIsolated { hub in
                    switch result {
                    case .success(true): hub.expire()
                    case .success(false): hub.upkeep()
                    case .failure(let error): hub.stopTidying(error)
                    }
                }
            })
    }

    /// Forgets what is old and trims the logs (docs/sync.md section 8).
    private func upkeep() {
        let now = clock()
        committer?.submit(
            weight: Committer.maximumWeight,
            { (store) throws(HubStoreError) in
                Committed(value: try store.upkeep(limit: Committer.maximumWeight, now: now))
            },
            completion: { result in
                self.assumeIsolated { hub in
                    switch result {
                    case .success(true): hub.upkeep()
                    case .success(false): hub.tidyEnded()
                    case .failure(let error): hub.stopTidying(error)
                    }
                }
            })
    }

    private func tidyEnded() {
        tidying = false
        guard tidiesAgain else { return }
        tidiesAgain = false
        tidied = nil
        tidy()
    }

    /// The next try comes when it is due again.
    private func stopTidying(_ error: HubStoreError) {
        tidying = false
        log("expiry and upkeep failed: \(error)")
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
