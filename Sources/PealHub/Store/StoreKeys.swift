/// A project's row. Valid in one store, for as long as the store is open.
package struct ProjectKey: Hashable, Sendable {
    /// The row id.
    package let row: Int64
    /// A key of a row id that the store gave.
    package init(row: Int64) { self.row = row }
}

/// An inbox's row: the key of its log. Ascending keys are the order in which several inboxes are locked.
package struct InboxKey: Hashable, Comparable, Sendable {
    /// The row id.
    package let row: Int64
    /// A key of a row id that the store gave.
    package init(row: Int64) { self.row = row }
    /// By row.
    package static func < (left: InboxKey, right: InboxKey) -> Bool { left.row < right.row }
}

/// A user's row.
package struct UserKey: Hashable, Sendable {
    /// The row id.
    package let row: Int64
    /// A key of a row id that the store gave.
    package init(row: Int64) { self.row = row }
}

/// A replica's row.
package struct ReplicaKey: Hashable, Sendable {
    /// The row id.
    package let row: Int64
    /// A key of a row id that the store gave.
    package init(row: Int64) { self.row = row }
}
