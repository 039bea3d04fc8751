internal import PealModel
public import PealReplica

/// What the inspector asks of a hub.
extension HubAPI {
    /// A user's items as a hub lists them, archived ones too, for ``PealReplica/ReplicaReader/verify(hub:items:)``: a hundred a request. For a
    /// user.
    ///
    /// - Parameter most: the newest so many, of what is archived and of what is not.
    /// - Returns: nil where the inbox moved on meanwhile, so that the pages are not of one moment.
    public func items(most: Int = 10_000) async throws(PealError) -> HubItems? {
        var found = HubItems(position: 0, items: [], above: 0)
        var isFirst = true
        for archived in [false, true] {
            var filter = NotificationFilter()
            filter.archived = archived
            var after: String?
            var count = 0
            repeat {
                let page = try await notifications(filter, after: after, limit: 100)
                if !isFirst, page.position != found.position { return nil }
                (found.position, isFirst) = (page.position, false)
                for row in page.notifications {
                    found.items.append(
                        HubItems.Item(
                            number: Position(row.number), read: row.readDate != nil, seen: row.seenDate != nil,
                            archived: row.archivedDate != nil))
                }
                count += page.notifications.count
                after = page.notifications.isEmpty ? nil : page.after
                if after != nil, count >= most {
                    found.above = max(found.above, page.notifications.last.map { Position($0.number) - 1 } ?? 0)
                    after = nil
                }
            } while after != nil
        }
        let above = found.above
        found.items.removeAll { $0.number <= above }
        return found
    }
}
