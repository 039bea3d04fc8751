import PealModel

/// The statements about tenants, which `peal projects` runs on a file too.
package final class ProjectQueries {
    let insert: Query
    let update: Query
    let all: Query
    let byKey: Query
    let readOperator: Query
    let writeOperator: Query
    private let byName: Query

    /// - Parameter locks: who reads the operator's hash is about to write: of several nodes that start at once, one makes what there is to make.
    init(_ database: StoreDatabase, locks: Bool = false) throws(HubStoreError) {
        let columns = Project.columns
        insert = try database.query(
            """
            INSERT INTO project (instance, api_key, secret, seed, hmac_required, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            RETURNING \(columns)
            """)
        update = try database.query(
            """
            UPDATE project SET name = ?2, api_key = ?3, old_api_key = ?4, old_api_key_until = ?5, secret = ?6,
                old_secret = ?7, old_secret_until = ?8, hmac_required = ?9, revoked = ?10, webhooks = ?11 WHERE id = ?1 RETURNING id
            """)
        all = try database.query(
            "SELECT \(columns) FROM project ORDER BY \(database.dialect(sqlite: "id", postgres: "created, id"))")
        byKey = try database.query("SELECT \(columns) FROM project WHERE id = ?1")
        byName = try database.query(
            "SELECT \(columns) FROM project WHERE instance = ?1 OR api_key = ?1 OR old_api_key = ?1")
        readOperator = try database.query(
            "SELECT operator FROM meta WHERE id = 1\(locks ? database.forUpdate : "")")
        writeOperator = try database.query("UPDATE meta SET operator = ?1 WHERE id = 1")
    }

    func named(_ name: String) throws(HubStoreError) -> Project? {
        try byName.first(name) { Project($0) }
    }

    func operatorHash() throws(HubStoreError) -> [UInt8]? {
        try readOperator.first { $0.optionalBlob(0) } ?? nil
    }

    func save(_ project: Project) throws(HubStoreError) {
        let row = try update.first(
            project.key.row, project.name, project.apiKey, project.oldAPIKey?.value, project.oldAPIKey?.until,
            project.secret, project.oldSecret?.value, project.oldSecret?.until, project.requiresHMAC, project.revoked,
            String(decoding: JSON.array(project.webhooks.map(JSON.string)).bytes, as: UTF8.self)
        ) { $0.int64(0) }
        guard row != nil else { throw HubStoreError(.notFound, "no such project") }
    }
}

extension Project {
    fileprivate static let columns = """
        id, instance, name, api_key, old_api_key, old_api_key_until, secret, old_secret, old_secret_until,
        hmac_required, created, revoked, webhooks
        """

    /// Reads a row of ``columns``.
    init(_ row: Query) {
        self.init(
            key: ProjectKey(row: row.int64(0)), instance: row.text(1), apiKey: row.text(3), secret: row.text(6),
            requiresHMAC: row.bool(9), created: row.int64(10))
        name = row.text(2)
        oldAPIKey = row.optionalText(4).map { Retired($0, until: row.int64(5)) }
        oldSecret = row.optionalText(7).map { Retired($0, until: row.int64(8)) }
        revoked = row.optionalInt64(11)
        let urls = try? JSON(Array(row.text(12).utf8)[...])
        webhooks = (urls?.arrayValue ?? []).compactMap(\.stringValue)
    }
}
