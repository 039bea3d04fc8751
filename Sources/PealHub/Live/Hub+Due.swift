import PealModel
import PealWebSocket

/// What is due at a time of its own: scheduled publishes.
extension Hub {
    /// Milliseconds after which the next scheduled publish is looked for at the latest: the clock may be set.
    static let duePatience: Milliseconds = 60_000

    /// Publishes what is due, one a transaction, and sets a timer for the next.
    func publishDue() {
        guard !publishingDue else { return }
        publishingDue = true
        let now = clock()
        committer?.submit(
            weight: Committer.maximumWeight,
            { (store) throws(HubStoreError) in
                let result = try store.publishDue(now: now)
                let next = try store.nextDue()
                return Committed(
                    value: (isDone: result != nil, isWide: result?.isWide ?? false, next: next),
                    appended: result?.appended ?? [])
            },
            completion: { result in
                self.assumeIsolated { hub in
                    hub.publishingDue = false
                    switch result {
                    case .success(let done):
                        if done.isWide { hub.fanOut() }
                        if done.isDone { hub.publishDue() } else if let next = done.next { hub.wait(until: next) }
                    case .failure(let error):
                        hub.log("a scheduled publish was not sent: \(error)")
                        hub.wait(until: hub.clock() + 1_000)
                    }
                }
            })
    }

    private func wait(until time: Milliseconds) {
        let now = clock()
        let time = min(max(now + 1, time), now + Self.duePatience)
        if let dueTimer, dueTimer <= time { return }
        dueTimer = time
        service.post(afterMilliseconds: time - now) {
            self.assumeIsolated { hub in
                // A nearer one was set meanwhile.
                guard hub.dueTimer == time else { return }
                hub.dueTimer = nil
                hub.publishDue()
            }
        }
    }

    /// Does what a request has made due: items that were taken back, a publish that waits.
    func goOn() {
        publishDue()
        tidied = nil
        if tidying { tidiesAgain = true } else { tidy() }
    }
}
