public import PealModel
internal import PealSQLite

/// How much of an inbox a device keeps; by default everything (docs/sync.md section 8).
public struct KeepLimits: Equatable, Sendable {
    /// The most items that are listed; older ones that are read are let go.
    public var items: Int64?
    /// Read items that arrived longer ago than this are let go.
    public var age: Milliseconds?

    /// Limits; nil for none of a kind.
    public init(items: Int64? = nil, age: Milliseconds? = nil) {
        self.items = items
        self.age = age
    }
}

/// Letting go of what a device does not want to keep.
///
/// The row of such an item stays, so that later acts on it fold and the sum agrees; its body goes and it is listed and counted no more. Only
/// what is read, in the base and as shown, is let go. Where somebody marks it unread again, a snapshot brings its body back
/// (``Applied/wantsSnapshot``).
extension Replica {
    /// Positions that one transaction looks at.
    private static let span: Int64 = 10_000

    /// Lets go of the oldest read items that ``ReplicaOptions/keep`` does not want, in short transactions. Blocking: reads the rows of all
    /// items below the limit, so call it now and then.
    ///
    /// - Returns: how many went.
    /// - Throws: ``ReplicaError``; what went before stays gone.
    @discardableResult
    public func letGo() throws(ReplicaError) -> Int64 {
        guard let keep = options.keep, let bound = try read({ () throws(SQLiteError) in try newest(notKept: keep) })
        else { return 0 }
        var gone: Int64 = 0
        var from: Position = 0
        while from < bound {
            gone += try letGo(above: from, upTo: min(from + Self.span, bound))
            from += Self.span
        }
        return gone
    }

    /// The position from which on downwards nothing is to be kept; nil where everything is.
    private func newest(notKept keep: KeepLimits) throws(SQLiteError) -> Position? {
        var bound: Position?
        if let items = keep.items {
            bound = try connection.statement(
                "SELECT position FROM item WHERE silent = 0 ORDER BY position DESC LIMIT 1 OFFSET ?1"
            ) { (query) throws(SQLiteError) -> Position? in
                query.bind(1, items)
                return try query.step() ? query.int64(0) : nil
            }
        }
        if let age = keep.age {
            let time = hubNow(try loadState()) - age
            let old = try connection.statement(
                "SELECT position FROM item WHERE time < ?1 ORDER BY position DESC LIMIT 1"
            ) { (query) throws(SQLiteError) -> Position? in
                query.bind(1, time)
                return try query.step() ? query.int64(0) : nil
            }
            bound = [bound, old].compactMap { $0 }.max()
        }
        return bound
    }

    private func letGo(above: Position, upTo: Position) throws(ReplicaError) -> Int64 {
        try write(.normal) { () throws(SQLiteError) in
            // Of the base alone: a mark that waits in the outbox may yet be refused.
            let marked = try connection.int("SELECT coalesce(max(up_to), 0) FROM mark WHERE kind = 'read'")
            let gone = try connection.statement(
                """
                UPDATE item SET silent = 1, body = '' WHERE position > ?2 AND position <= ?3 AND silent = 0
                    AND overlaid = 0 AND CASE WHEN read_rank = 0 THEN position <= ?1 WHEN read = 1 THEN 1
                    ELSE read_rank < coalesce(
                        (SELECT max(version) FROM mark WHERE kind = 'read' AND up_to >= position), 0) END
                RETURNING position
                """
            ) { (update) throws(SQLiteError) in
                update.bind(1, marked)
                update.bind(2, above)
                update.bind(3, upTo)
                var gone: [Position] = []
                while try update.step() { gone.append(update.int64(0)) }
                return gone
            }
            if gone.count > Change.maximumPositions {
                change.everything = true
            } else {
                change.deleted = gone.sorted()
            }
            return Int64(gone.count)
        }
    }
}
