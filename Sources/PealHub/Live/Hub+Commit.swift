import PealModel
import PealWebSocket

extension Hub {
    // MARK: After a commit

    /// What a durable transaction appended, after the answers to its requests were given.
    func committed(_ appended: [Appended]) {
        metrics.entries.add(appended.count)
        tellFeeds(appended)
        if nodes != nil { tellNodes(NodeNotice(inboxes: Set(appended.map(\.inbox)))) }
        for entry in appended {
            guard let live = inboxes[entry.inbox] else { continue }
            if live.advance(to: entry.position, sum: entry.sum) { move(live) }
            live.ring.append(
                LogEntry(position: entry.position, chain: entry.chain, sum: entry.sum, content: entry.content))
        }
        tellMovedSoon()
    }

    /// Notes that an inbox has grown.
    func move(_ live: LiveInbox) {
        guard !live.hasMoved else { return }
        live.hasMoved = true
        moved.append(live)
    }

    /// Tells the sessions of what has grown, at once or, where that are many, a little later.
    func tellMovedSoon() {
        guard !moved.isEmpty, !isWaiting else { return }
        let delay = pace.delay(of: moved.reduce(0) { $0 + $1.connections.count }, now: clock())
        guard delay > 0 else { return tellMoved() }
        isWaiting = true
        service.post(afterMilliseconds: delay) {
            self.assumeIsolated { $0.tellMoved() }
        }
    }

    /// Tells the sessions of what has grown.
    private func tellMoved() {
        isWaiting = false
        var sessions = 0
        for live in moved {
            live.hasMoved = false
            sessions += live.connections.count
            for connection in live.connections.values {
                perform(connection.session.headMoved(to: live.head), connection)
            }
        }
        moved.removeAll(keepingCapacity: true)
        pace.told(sessions, now: clock())
    }
}
