package import PealModel
import PealSQLite

extension SQLiteHubStore {
    package func item(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey
    ) throws(HubStoreError) -> ItemID? {
        guard let publish = try span(ofPublish: name, of: project), publish.last > 0 else { return nil }
        let row = try inboxes.inbox(inbox)
        guard row.kind != .deleted else { return nil }
        let waiting = deferred.rows(of: inbox) + staged.filter { $0.inbox == inbox }.map(\.row)
        return try reportQueries.item(of: publish, in: inbox, head: row.head, deferred: waiting)
    }

    package func reportDelivery(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        guard try item(ofPublish: name, of: project, in: inbox) != nil,
            let publish = try span(ofPublish: name, of: project),
            try reportQueries.delivery(of: publish.id, in: inbox) == nil
        else { return false }
        try reportQueries.insertDelivery.run(inbox.row, publish.id, now)
        return true
    }

    private func span(
        ofPublish name: String, of project: ProjectKey
    ) throws(HubStoreError) -> (id: Int64, first: Int64, last: Int64)? {
        try reportQueries.publish.first(name, project.row) { row in
            (id: row.int64(0), first: row.int64(1), last: row.int64(2))
        }
    }
}
