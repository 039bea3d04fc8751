internal import PealModel
internal import PealReplica
internal import PealSQLite

/// Waiting for the hub, with a bound.
extension Inbox {
    /// Returns once the inbox is up to date with the hub, or cannot be for now: it failed to connect, was refused, or another process has
    /// the connection; at the latest after a time, or when the calling task is cancelled.
    func upToDate(within time: Milliseconds) async {
        guard !isAsUpToDateAsCanBe else { return }
        nextWaiter += 1
        let id = nextWaiter
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiters[id] = continuation
                executor.post(afterMilliseconds: time) { [weak self] in
                    self?.assumeIsolated { $0.waiters.removeValue(forKey: id)?.resume() }
                }
                if Task.isCancelled { waiters.removeValue(forKey: id)?.resume() }
            }
        } onCancel: {
            Task { await self.stopWaiting(id) }
        }
    }

    private func stopWaiting(_ id: Int) { waiters.removeValue(forKey: id)?.resume() }

    private var isAsUpToDateAsCanBe: Bool {
        switch status.state {
        case .offline: !wanted || status.retryAfter != nil
        case .stopped, .elsewhere: true
        case .live: driver.session.lag == 0
        case .connecting, .loading, .stalled: false
        }
    }

    /// After each step of the session.
    func tellWaiters() {
        guard !waiters.isEmpty, isAsUpToDateAsCanBe else { return }
        let done = waiters.values
        waiters = [:]
        for waiter in done { waiter.resume() }
    }
}
