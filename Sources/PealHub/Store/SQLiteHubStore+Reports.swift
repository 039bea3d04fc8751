package import PealModel

extension SQLiteHubStore {
    package func item(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey
    ) throws(HubStoreError) -> ItemID? {
        let publish = try reportQueries.publish.first(name, project.row) { row in
            (id: row.int64(0), first: row.int64(1), last: row.int64(2))
        }
        guard let publish, publish.last > 0 else { return nil }
        let row = try inboxes.inbox(inbox)
        guard row.kind != .deleted else { return nil }
        let waiting = deferred.rows(of: inbox) + staged.filter { $0.inbox == inbox }.map(\.row)
        return try reportQueries.item(of: publish, in: inbox, head: row.head, deferred: waiting)
    }
}
