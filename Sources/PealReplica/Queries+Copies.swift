package import PealModel
internal import PealSQLite

/// Where the same publish is in another inbox of this device.
extension Queries {
    /// How long after the sending a wide publish may come to the last of its inboxes.
    static let longestFanout: Milliseconds = 600_000

    /// The item that a publish left here; nil where there is none, or it is deleted.
    ///
    /// No index knows publishes, and none is wanted: ids begin with the time of the delivery, and an item's copies are delivered from
    /// its sending on, most in one moment. Of the items since the sending the first 1,000 are looked at, and those of the copy's own
    /// moment.
    func copy(
        ofPublish publish: String, sent: Milliseconds, delivered: Milliseconds, _ frame: Frame
    ) throws(SQLiteError) -> DeliveredItem? {
        let first = min(sent, delivered)
        let found = try connection.statement(Self.copySQL) { (query) throws(SQLiteError) -> ItemID? in
            query.bind(1, publish)
            query.bind(2, ItemID(time: delivered, counter: 0, random: 0))
            query.bind(3, ItemID(time: delivered + 1, counter: 0, random: 0))
            query.bind(4, ItemID(time: first, counter: 0, random: 0))
            query.bind(5, ItemID(time: max(first, delivered) + Self.longestFanout, counter: 0, random: 0))
            return try query.step() ? query.itemID(0) : nil
        }
        guard let found else { return nil }
        return try item(where: "id = ?5", frame) { $0.bind(5, found) }
    }

    static let copySQL: StaticString = """
        SELECT id FROM item WHERE id >= ?2 AND id < ?3 AND publish = ?1
        UNION ALL
        SELECT id FROM (SELECT id, publish FROM item WHERE id >= ?4 AND id < ?5 ORDER BY id LIMIT 1000) WHERE publish = ?1
        LIMIT 1
        """
}

extension Replica {
    /// The item that a publish left in this inbox, found by the times of its copy in another one: when it was sent, and when it was delivered
    /// there. Nil where there is none. Blocking.
    package func copy(
        ofPublish publish: String, sent: Milliseconds, delivered: Milliseconds
    ) throws(ReplicaError) -> DeliveredItem? {
        try queries.read { () throws(SQLiteError) in
            try queries.copy(ofPublish: publish, sent: sent, delivered: delivered, queries.frame())
        }
    }
}
