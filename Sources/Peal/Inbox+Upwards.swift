package import PealModel
package import PealReplica

/// What whoever follows an inbox, as `peal tail` does, asks of it.
extension Inbox {
    /// Items of a query above a position, oldest delivery first, of at most some thousand positions: bounded work on the inbox's thread.
    ///
    /// - Parameter limit: items, 1 to 1,000.
    /// - Throws: ``PealError``: `file`.
    package func items(
        _ query: DeliveredQuery, above: Position, limit: Int
    ) throws(PealError) -> DeliveredRun {
        try reading { () throws(ReplicaError) in try replica.items(query, above: above, limit: limit) }
    }

    /// An item as a presenter takes it.
    package nonisolated func notification(_ item: DeliveredItem) -> DeliveredNotification {
        DeliveredNotification(item, in: configuration.identity)
    }
}
