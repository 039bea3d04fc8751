import PealModel
import PealWebSocket

/// How sessions end that the hub ends: all of an inbox, and all there are.
extension Hub {
    /// Ends the sessions of inboxes that are no more, or no longer allowed.
    func revoke(_ keys: [InboxKey]) {
        tellNodes(NodeNotice(inboxes: Set(keys)))
        revokeHere(keys)
    }

    /// Ends those of this hub.
    func revokeHere(_ keys: [InboxKey]) {
        endFeeds(of: keys)
        for key in keys {
            for connection in (inboxes[key]?.connections ?? [:]).values {
                perform(connection.session.denied(.revoked, "this inbox is no more"), connection)
            }
        }
    }

    /// Ends the session of a replica that was revoked.
    func revoke(_ replica: ReplicaKey, of inbox: InboxKey) {
        tellNodes(NodeNotice(inboxes: [inbox]))
        for connection in (inboxes[inbox]?.connections ?? [:]).values where connection.replica == replica {
            perform(connection.session.denied(.revoked, "this device was signed out"), connection)
        }
    }

    /// Tells every device to come back at a moment of a window, which is the longer the more there are, and takes no new ones.
    ///
    /// - Parameters:
    ///   - limit: milliseconds that the sockets get for their last frames.
    ///   - done: called once, when all are closed or the time is over.
    func drain(within limit: Milliseconds, done: @escaping @Sendable () -> Void) {
        isDraining = true
        readiness.drain()
        endFeeds()
        drained = done
        service.post(afterMilliseconds: limit) { self.assumeIsolated { $0.tellDrained() } }
        defer { if connections.isEmpty { tellDrained() } }
        flushCursors(clock())
        let high = Self.drainLow + min(Self.drainMost, Self.drainLeast + Milliseconds(connections.count))
        for connection in connections.values {
            perform(connection.session.drain(low: Self.drainLow, high: high), connection)
        }
    }

    /// Once, when the last socket is closed or the time is over.
    func tellDrained() {
        drained?()
        drained = nil
    }
}
