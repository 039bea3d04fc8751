import PealModel

/// The statements about projects, users, devices and interests.
package final class UserQueries {
    let byExternalID: Query
    let byEmail: Query
    let byKey: Query
    let byInbox: Query
    let insertUser: Query
    let updateUser: Query
    let deleteUser: Query
    let deviceByInbox: Query
    let deviceByToken: Query
    let devicesOfUser: Query
    let subscriptionsOfUser: Query
    let insertSubscription: Query
    let deleteSubscription: Query
    let deleteSubscriptions: Query
    let insertDevice: Query
    let updateDevice: Query
    let deleteDevice: Query
    let deleteInterests: Query
    let endInbox: Query
    let insertCatalogue: Query
    let moveCatalogue: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        byExternalID = try database.query("\(UserRecord.select) WHERE u.project = ?1 AND u.external_id = ?2")
        byEmail = try database.query("\(UserRecord.select) WHERE u.project = ?1 AND u.email = ?2")
        byKey = try database.query("\(UserRecord.select) WHERE u.id = ?1")
        byInbox = try database.query("\(UserRecord.select) WHERE u.inbox = ?1")
        insertUser = try database.query(
            """
            INSERT INTO "user" (project, inbox, external_id, email, first_name, last_name, attributes, phone_numbers, created)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id
            """)
        updateUser = try database.query(
            """
            UPDATE "user" SET external_id = ?2, email = ?3, first_name = ?4, last_name = ?5, attributes = ?6,
                phone_numbers = ?7 WHERE id = ?1
            """)
        deleteUser = try database.query("DELETE FROM \"user\" WHERE id = ?1")
        deviceByInbox = try database.query("\(DeviceRecord.select) WHERE d.inbox = ?1")
        deviceByToken = try database.query(
            "\(DeviceRecord.select) WHERE d.project = ?1 AND d.platform = ?2 AND d.token = ?3")
        devicesOfUser = try database.query("\(DeviceRecord.select) WHERE d.\"user\" = ?1 ORDER BY d.inbox")
        subscriptionsOfUser = try database.query(
            "\(PushSubscription.select) WHERE \"user\" = ?1 ORDER BY platform, token")
        insertSubscription = try database.query(
            "INSERT INTO subscription (\"user\", platform, token, created) VALUES (?1, ?2, ?3, ?4) RETURNING id")
        deleteSubscription = try database.query("DELETE FROM subscription WHERE id = ?1")
        deleteSubscriptions = try database.query("DELETE FROM subscription WHERE \"user\" = ?1")
        insertDevice = try database.query(
            "INSERT INTO device (inbox, project, platform, token, metadata, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        updateDevice = try database.query(
            "UPDATE device SET platform = ?2, token = ?3, metadata = ?4, \"user\" = ?5 WHERE inbox = ?1")
        deleteDevice = try database.query("DELETE FROM device WHERE inbox = ?1")
        deleteInterests = try database.query(
            database.dialect(
                sqlite: """
                    DELETE FROM interest WHERE (project, name, inbox) IN
                        (SELECT project, name, inbox FROM interest WHERE inbox = ?1)
                    """,
                postgres: "DELETE FROM interest WHERE inbox = ?1"))
        endInbox = try database.query("UPDATE inbox SET kind = 2 WHERE id = ?1")
        insertCatalogue = try database.query(
            "INSERT INTO catalogue (project, version, time, body) VALUES (?1, ?2, ?3, ?4)")
        moveCatalogue = try database.query("UPDATE inbox SET catalogue = ?2 WHERE id = ?1")
    }
}

extension UserRecord {
    static let select = """
        SELECT u.id, u.inbox, b.public, u.external_id, u.email, u.first_name, u.last_name, u.attributes,
            u.phone_numbers, u.created
        FROM "user" u JOIN inbox b ON b.id = u.inbox
        """

    /// Reads a row of ``select``.
    init(_ row: Query) {
        self.init(
            key: UserKey(row: row.int64(0)), inbox: InboxKey(row: row.int64(1)), inboxID: PublicID.text(row.blob(2)),
            identity: UserIdentity(externalID: row.optionalText(3), email: row.optionalText(4)),
            profile: UserProfile(
                firstName: row.optionalText(5), lastName: row.optionalText(6), attributes: row.optionalBlob(7),
                phoneNumbers: row.optionalBlob(8)),
            created: row.int64(9))
    }
}

extension DeviceRecord {
    static let select = """
        SELECT d.inbox, b.public, d.platform, d.token, d.metadata, d."user", u.external_id, d.created
        FROM device d JOIN inbox b ON b.id = d.inbox LEFT JOIN "user" u ON u.id = d."user"
        """

    /// Reads a row of ``select``.
    init(_ row: Query) {
        self.init(
            id: PublicID.text(row.blob(1)), inbox: InboxKey(row: row.int64(0)), platform: row.optionalText(2),
            token: row.optionalText(3), metadata: row.optionalBlob(4),
            user: row.optionalInt64(5).map { UserKey(row: $0) }, userID: row.optionalText(6), created: row.int64(7))
    }
}

/// Finds users on either connection.
struct UserFinder {
    let byExternalID: Query
    let byEmail: Query

    /// Finds a user; the two identities must not belong to different ones.
    func find(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        let identity = try identity.normalized()
        let byID = try identity.externalID.flatMap { (id) throws(HubStoreError) in
            try byExternalID.first(project.row, id) { UserRecord($0) }
        }
        let byAddress = try identity.email.flatMap { (email) throws(HubStoreError) in
            try byEmail.first(project.row, email) { UserRecord($0) }
        }
        if let byID, let byAddress, byID.key != byAddress.key {
            throw HubStoreError(.conflict, "the email and the external id belong to different users")
        }
        // A user of that address with another external id is somebody else, too.
        if byID == nil, let byAddress, identity.externalID != nil, byAddress.identity.externalID != nil {
            throw HubStoreError(.conflict, "the email belongs to a user with another external id")
        }
        return byID ?? byAddress
    }
}

extension UserIdentity {
    /// With the email in lower case.
    package func normalized() throws(HubStoreError) -> UserIdentity {
        let identity = UserIdentity(externalID: externalID, email: email?.lowercased())
        guard identity.externalID != nil || identity.email != nil, identity.externalID != "", identity.email != ""
        else {
            throw HubStoreError(.invalid, "a user needs an external id or an email")
        }
        return identity
    }
}

extension PushSubscription {
    static let select = "SELECT id, platform, token, created FROM subscription"

    /// Reads a row of ``select``.
    init(_ row: Query) {
        self.init(id: row.int64(0), platform: row.text(1), token: row.text(2), created: row.int64(3))
    }
}
