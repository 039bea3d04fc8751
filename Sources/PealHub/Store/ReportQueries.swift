import PealModel

/// The statements that find the item of a publish in an inbox.
final class ReportQueries {
    let publish: Query
    private let logRow: Query
    private let salt: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        publish = try database.query(
            "SELECT id, first_seq, last_seq FROM publish WHERE name = ?1 AND project = ?2")
        logRow = try database.query("SELECT seq, publish FROM log WHERE inbox = ?1 AND position = ?2")
        salt = try database.query("SELECT time, salt FROM entry WHERE seq = ?1")
    }

    /// The item of a publish in an inbox.
    ///
    /// Numbers of entries rise with positions, so a publish's own, which lie within a span, are found by halving.
    ///
    /// - Parameters:
    ///   - head: the last position.
    ///   - deferred: what `log` lacks.
    func item(
        of publish: (id: Int64, first: Int64, last: Int64), in inbox: InboxKey, head: Position,
        deferred: [DeferredIndex.Row]
    ) throws(HubStoreError) -> ItemID? {
        if let row = deferred.first(where: { $0.publish == publish.id }) { return try item(row.seq) }
        func row(at position: Position) throws(HubStoreError) -> (seq: Int64, publish: Int64)? {
            if let waiting = deferred.first(where: { $0.position == position }) {
                return (waiting.seq, waiting.publish)
            }
            return try logRow.first(inbox.row, position) { (seq: $0.int64(0), publish: $0.int64(1)) }
        }
        var low: Position = 1
        var high = head
        while low <= high {
            let middle = low + (high - low) / 2
            guard let found = try row(at: middle) else { return nil }
            if found.seq >= publish.first { high = middle - 1 } else { low = middle + 1 }
        }
        while low <= head, let found = try row(at: low), found.seq <= publish.last {
            if found.publish == publish.id { return try item(found.seq) }
            low += 1
        }
        return nil
    }

    private func item(_ seq: Int64) throws(HubStoreError) -> ItemID? {
        try salt.first(seq) { row in ItemID(time: row.int64(0), counter: UInt64(seq), random: row.bits(1)) }
    }
}
