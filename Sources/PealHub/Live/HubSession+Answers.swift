package import PealModel

/// What the store's answers mean for a session; the live hub and the simulator share it.
extension HubSession {
    /// A push was processed, or was not.
    package mutating func answered(_ result: Result<PushResult, HubStoreError>) -> [Action] {
        guard case .success(let pushed) = result else { return busy(retryAfter: 1_000) }
        if pushed.stop == .ended { return ended(pushed.settled) }
        let actions = committed(pushed.settled)
        return switch pushed.stop {
        case nil, .ended: actions
        case .fenced: actions + denied(.replaced, "a newer session of this replica")
        case .forked: actions + denied(.forked, "this replica was restored or copied")
        case .gap(let expected): actions + denied(.protocolError, "'n' is not \(expected)")
        case .failed: actions + busy(retryAfter: 1_000)
        }
    }
}

extension HubReader {
    /// The next page of a snapshot. Its id is the `at` of its first page; a request that names a log which has changed since,
    /// or is gone, starts over (docs/sync.md section 6).
    package func page(
        of inbox: InboxKey, _ request: SnapshotRequest, maxRows: Int, maxBytes: Int
    ) throws(HubStoreError) -> Page {
        let log = try log(of: inbox)
        var id = UInt64(log.head)
        var below: Position?
        // The id is the replica's word: any 64 bits.
        if let asked = request.id, let first = Position(exactly: asked), let after = request.after,
            let at = request.at, let chain = request.chain, first >= log.floor, first <= log.head,
            try self.chain(of: inbox, at: at) == chain
        {
            id = asked
            below = after
        }
        return try snapshotPage(of: inbox, id: id, below: below, maxRows: maxRows, maxBytes: maxBytes)
    }
}
