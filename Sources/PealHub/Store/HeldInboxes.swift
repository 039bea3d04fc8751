import PealModel

/// The rows of `inbox` that the running transaction has locked on PostgreSQL, as it has them: nobody else can change them. Heads, chains
/// and sums that moved are written at its end, all at once.
final class HeldInboxes {
    private var rows: [InboxKey: InboxRow] = [:]
    /// Those whose log has grown.
    private var moved: Set<InboxKey> = []
    /// What was there before each change, for the undoing of a savepoint.
    private var changes: [(key: InboxKey, row: InboxRow?, wasMoved: Bool)] = []

    subscript(key: InboxKey) -> InboxRow? { rows[key] }

    /// Takes a row that was read and locked.
    func hold(_ row: InboxRow) {
        changes.append((row.key, rows[row.key], moved.contains(row.key)))
        rows[row.key] = row
    }

    /// Moves a log on.
    func move(_ tail: LogTail) {
        guard var row = rows[tail.inbox] else { preconditionFailure("an inbox is locked before it grows") }
        row.head = tail.head
        row.chain = tail.chain
        row.sum = tail.sum
        hold(row)
        moved.insert(tail.inbox)
    }

    /// How many changes there were.
    var mark: Int { changes.count }

    /// Goes back to a ``mark``.
    func undo(to mark: Int) {
        while changes.count > mark, let change = changes.popLast() {
            rows[change.key] = change.row
            if change.wasMoved { moved.insert(change.key) } else { moved.remove(change.key) }
        }
    }

    /// The rows whose log has grown, in the order of their keys.
    func takeMoved() -> [InboxRow] {
        let found = moved.sorted().compactMap { rows[$0] }
        moved.removeAll(keepingCapacity: true)
        return found
    }

    /// Forgets everything: the transaction has ended.
    func removeAll() {
        rows.removeAll(keepingCapacity: true)
        moved.removeAll(keepingCapacity: true)
        changes.removeAll(keepingCapacity: true)
    }
}
