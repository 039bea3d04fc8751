package import PealModel
internal import PealSQLite

/// Items of a query in the order of their delivery: a piece of an inbox for who follows it.
package struct DeliveredRun: Equatable, Sendable {
    /// The items, oldest delivery first.
    package var items: [DeliveredItem]
    /// Go on above this position: below and at it there is nothing more of the query.
    package var upTo: Position
    /// How far the replica has folded; there is more where it is above ``upTo``.
    package var head: Position
    /// A first snapshot is being loaded, newest items first (docs/sync.md section 7): older ones are to come below what there is.
    package var isPartial: Bool
    /// When a hub that had gone back in time was last followed, by this device's clock: where it changes, other items may stand at the
    /// positions that were looked at (docs/sync.md section 7).
    package var wentBack: Milliseconds?
}

extension Queries {
    /// Positions that one call looks at, at most; so a rare query does not hold its thread for the whole of an inbox.
    static let runPositions: Int64 = 8_192

    func items(
        _ query: DeliveredQuery, above: Position, limit: Int, _ frame: Frame
    ) throws(SQLiteError) -> DeliveredRun {
        let head = frame.view.position
        var run = DeliveredRun(items: [], upTo: max(above, 0), head: head, isPartial: frame.isPartial)
        run.wentBack = try restored().wentBack
        guard run.upTo < head else { return run }
        let query = try normal(query)
        let upTo = head - run.upTo > Self.runPositions ? run.upTo + Self.runPositions : head
        for branch in try upwards(query, above: run.upTo, upTo: upTo) where run.items.count < limit {
            try rows([query], branch, limit - run.items.count, isUpward: true, frame, into: &run.items)
        }
        if run.items.count == limit, let last = run.items.last { run.upTo = last.number } else { run.upTo = upTo }
        return run
    }

    /// The table itself, whatever the query, because what is new is the end of it; of a search the parts of the index, from the oldest on.
    func upwards(_ query: DeliveredQuery, above: Position, upTo: Position) throws(SQLiteError) -> [Branch] {
        let kind: Branch.Kind = Driver(query) == .words ? .words : .table
        return try inParts([Branch(kind: kind, above: above, upTo: upTo)]).reversed()
    }
}

extension Queries {
    fileprivate func items(
        _ query: DeliveredQuery, above: Position, limit: Int
    ) throws(ReplicaError) -> DeliveredRun {
        precondition((1...1_000).contains(limit), "a run has 1 to 1,000 items")
        return try searching(query) { () throws(SQLiteError) in
            try items(query, above: above, limit: limit, frame())
        }
    }
}

extension Replica {
    /// Items of a query above a position, oldest delivery first, of at most some thousand positions. Blocking.
    ///
    /// - Parameter limit: items, 1 to 1,000.
    package func items(
        _ query: DeliveredQuery, above: Position, limit: Int
    ) throws(ReplicaError) -> DeliveredRun { try queries.items(query, above: above, limit: limit) }
}

extension ReplicaReader {
    /// Items of a query above a position, oldest delivery first, of at most some thousand positions. Blocking.
    ///
    /// - Parameter limit: items, 1 to 1,000.
    package func items(
        _ query: DeliveredQuery, above: Position, limit: Int
    ) throws(ReplicaError) -> DeliveredRun { try queries.items(query, above: above, limit: limit) }
}
