import PealModel

/// The statements that tell what became of publishes and acts.
final class OutcomeQueries {
    let publish: Query
    let scheduled: Query
    let holder: Query
    let reached: Query
    let reported: Query
    let replicas: Query
    let devices: Query
    let subscriptions: Query
    let deadLetters: Query
    let userByInbox: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        publish = try database.query(
            """
            SELECT time, matched, expires, retracted, pending IS NULL FROM publish WHERE name = ?1 AND project = ?2
            """)
        scheduled = try database.query(
            "SELECT deliver_at, state, request FROM scheduled WHERE name = ?1 AND project = ?2")
        holder = try database.query(
            """
            SELECT b.public, u.external_id, u.email FROM inbox b LEFT JOIN "user" u ON u.inbox = b.id WHERE b.id = ?1
            """)
        reached = try database.query("SELECT max(got) FROM replica WHERE inbox = ?1")
        reported = try database.query("SELECT time FROM delivery WHERE inbox = ?1 AND publish = ?2")
        replicas = try database.query(
            "SELECT public, got, last_n, seen_at FROM replica WHERE inbox = ?1 AND revoked IS NULL ORDER BY id")
        devices = try database.query("\(DeviceRecord.select) WHERE d.\"user\" = ?1 ORDER BY d.inbox")
        subscriptions = try database.query(
            "\(PushSubscription.select) WHERE \"user\" = ?1 ORDER BY platform, token")
        userByInbox = try database.query("\(UserRecord.select) WHERE u.inbox = ?1")
        deadLetters = try database.query(
            """
            SELECT time, uid, author, n, outcome FROM act
            WHERE inbox = ?1 AND dead = 1 AND (time, uid) < (?2, ?3) ORDER BY time DESC, uid DESC LIMIT ?4
            """)
    }
}

extension SQLHubReader {
    func publish(_ name: String, of project: ProjectKey) throws(HubStoreError) -> PublishRecord? {
        try ask { () throws(HubStoreError) in
            let found = try outcomeQueries.publish.first(name, project.row) { row in
                PublishRecord(
                    name: name, status: !row.isNull(3) ? .retracted : row.bool(4) ? .published : .publishing,
                    time: row.int64(0), matched: row.int(1), expires: row.optionalInt64(2))
            }
            if let found { return found }
            return try outcomeQueries.scheduled.first(name, project.row) { (row) throws(HubStoreError) in
                let request = try PublishRequest(row.blob(2), project: project, name: name, now: row.int64(0))
                let states = [PublishRecord.Status.scheduled, .cancelled, .refused]
                return PublishRecord(
                    name: name, status: states[min(max(0, row.int(1)), 2)], time: row.int64(0), matched: 0,
                    expires: request.body.expires)
            }
        }
    }

    func delivery(
        of item: ItemID, at position: Position, publish: Int64, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Delivery? {
        let holder = try outcomeQueries.holder.first(inbox.row) { row in
            (id: PublicID.text(row.blob(0)), externalID: row.optionalText(1), email: row.optionalText(2))
        }
        guard let holder else { return nil }
        let reached = try outcomeQueries.reached.first(inbox.row) { $0.optionalInt64(0) } ?? nil
        let reported = try outcomeQueries.reported.first(inbox.row, publish) { $0.int64(0) }
        let isUsers = holder.externalID != nil || holder.email != nil
        var delivery = Delivery(
            inbox: holder.id,
            user: isUsers ? UserIdentity(externalID: holder.externalID, email: holder.email) : nil, item: item,
            number: position, isDelivered: reported != nil || reached ?? 0 >= position, reported: reported)
        if let listed = try self.item(item, of: inbox, now: now) {
            delivery.seenAt = listed.seenAt
            delivery.readAt = listed.readAt
            delivery.archivedAt = listed.archivedAt
            delivery.isGone = false
            delivery.facts = try facts(of: item, in: inbox)
        }
        return delivery
    }

    func user(inboxID: String, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        guard let inbox = try inbox(inboxID, in: project) else { return nil }
        return try ask { () throws(HubStoreError) in
            try outcomeQueries.userByInbox.first(inbox.row) { UserRecord($0) }
        }
    }

    func replicas(of inbox: InboxKey) throws(HubStoreError) -> [ReplicaRecord] {
        try ask { () throws(HubStoreError) in
            try outcomeQueries.replicas.all(inbox.row) { (row) throws(HubStoreError) in
                guard case .replica(let id) = row.withBytes(0, { Author(stored: $0) }) else {
                    throw HubStoreError(.corrupt, "a replica without an id")
                }
                return ReplicaRecord(id: id, got: row.int64(1), lastN: row.int64(2), seenAt: row.int64(3))
            }
        }
    }

    func devices(of user: UserKey) throws(HubStoreError) -> [DeviceRecord] {
        try ask { () throws(HubStoreError) in try outcomeQueries.devices.all(user.row) { DeviceRecord($0) } }
    }

    func subscriptions(of user: UserKey) throws(HubStoreError) -> [PushSubscription] {
        try ask { () throws(HubStoreError) in
            try outcomeQueries.subscriptions.all(user.row) { PushSubscription($0) }
        }
    }

    func deadLetters(
        of inbox: InboxKey, before place: DeadLetter.Place?, limit: Int
    ) throws(HubStoreError) -> [DeadLetter] {
        let time = place?.time ?? .max
        return try ask { () throws(HubStoreError) in
            try outcomeQueries.deadLetters.all(inbox.row, time, place?.uid ?? 0, limit) {
                (row) throws(HubStoreError) in
                DeadLetter(
                    place: DeadLetter.Place(time: row.int64(0), uid: row.bits(1)),
                    author: row.withBytes(2) { Author(stored: $0) }, n: row.int64(3),
                    outcome: try Outcome(stored: row.text(4)))
            }
        }
    }
}
