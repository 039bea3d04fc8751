import PealReplica

/// Which part of the inbox is listed.
enum ViewerFilter: String, CaseIterable, Sendable {
    case inbox
    case unread
    case unseen
    case read
    case archived
    case everything

    var next: ViewerFilter {
        let all = Self.allCases
        return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
    }

    /// That of a query.
    init(_ query: DeliveredQuery) {
        self =
            switch query {
            case _ where query.read == false: .unread
            case _ where query.seen == false: .unseen
            case _ where query.read == true: .read
            case _ where query.archived == true: .archived
            case _ where query.archived == nil: .everything
            default: .inbox
            }
    }

    /// Sets what a query says of states.
    func apply(to query: inout DeliveredQuery) {
        query.read = self == .unread ? false : self == .read ? true : nil
        query.seen = self == .unseen ? false : nil
        query.archived = self == .everything ? nil : self == .archived
    }

    /// Whether a row belongs to it.
    func holds(_ row: ViewerRow) -> Bool {
        switch self {
        case .inbox: !row.isArchived
        case .unread: !row.isArchived && !row.isRead
        case .unseen: !row.isArchived && !row.isSeen
        case .read: !row.isArchived && row.isRead
        case .archived: row.isArchived
        case .everything: true
        }
    }
}
