package import PealModel

extension SQLHubStore {
    package func reportDelivery(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        guard try item(ofPublish: name, of: project, in: inbox) != nil,
            let publish = try deliveryQueries.publish.first(name, project.row, read: { $0.int64(0) }),
            try deliveryQueries.delivery.first(inbox.row, publish, read: { _ in true }) == nil
        else { return false }
        try deliveryQueries.insert.run(inbox.row, publish, now)
        return true
    }

    package func retract(
        _ name: String, of project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        try deliveryQueries.retract.first(name, project.row, now) { _ in true } ?? false
    }
}

/// The statements about a publish as a whole and its reported deliveries.
package final class DeliveryQueries {
    let publish: Query
    let delivery: Query
    let insert: Query
    let deleteAll: Query
    let retract: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        publish = try database.query("SELECT id FROM publish WHERE name = ?1 AND project = ?2")
        delivery = try database.query("SELECT time FROM delivery WHERE inbox = ?1 AND publish = ?2")
        insert = try database.query(
            "INSERT INTO delivery (inbox, publish, time) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
        deleteAll = try database.query("DELETE FROM delivery WHERE inbox = ?1")
        retract = try database.query(
            """
            UPDATE publish SET retracted = ?3, expires = CASE WHEN expires < ?3 THEN expires ELSE ?3 END, expiring = 0
            WHERE name = ?1 AND project = ?2 AND retracted IS NULL RETURNING id
            """)
    }
}
