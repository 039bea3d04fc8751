package import PealModel

/// A broadcast as it was asked for, kept for whoever looks back.
package struct BroadcastRecord: Equatable, Sendable {
    /// The publish that it became.
    package var name: String
    /// When.
    package var time: Milliseconds
    /// Users that it matched.
    package var matched: Int
    /// What was asked for, one JSON object.
    package var body: [UInt8]

    /// A broadcast of its parts.
    package init(name: String, time: Milliseconds, matched: Int, body: [UInt8]) {
        self.name = name
        self.time = time
        self.matched = matched
        self.body = body
    }
}

/// The statements about broadcasts.
package final class BroadcastQueries {
    let insert: Query
    let byName: Query
    let page: Query
    let count: Query
    let forget: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        insert = try database.query(
            "INSERT INTO broadcast (project, name, time, matched, body) VALUES (?1, ?2, ?3, ?4, ?5)")
        byName = try database.query(
            "SELECT name, time, matched, body FROM broadcast WHERE name = ?1 AND project = ?2")
        let newest = database.dialect(sqlite: "id DESC", postgres: "time DESC, id DESC")
        page = try database.query(
            """
            SELECT name, time, matched, body FROM broadcast WHERE project = ?1 ORDER BY \(newest) LIMIT ?2 OFFSET ?3
            """)
        count = try database.query("SELECT count(*) FROM broadcast WHERE project = ?1")
        forget = try database.query(
            "DELETE FROM broadcast WHERE id IN (SELECT id FROM broadcast WHERE time < ?1 LIMIT ?2) RETURNING 1")
    }
}

extension SQLHubStore {
    package func keep(_ broadcast: BroadcastRecord, in project: ProjectKey) throws(HubStoreError) {
        try broadcastQueries.insert.run(
            project.row, broadcast.name, broadcast.time, broadcast.matched, broadcast.body)
    }

    package func broadcast(_ name: String, in project: ProjectKey) throws(HubStoreError) -> BroadcastRecord? {
        try broadcastQueries.byName.first(name, project.row) { BroadcastRecord($0) }
    }

    package func broadcasts(
        in project: ProjectKey, after skipped: Int, limit: Int
    ) throws(HubStoreError) -> (page: [BroadcastRecord], total: Int) {
        let page = try broadcastQueries.page.all(project.row, limit, skipped) { BroadcastRecord($0) }
        return (page, try broadcastQueries.count.first(project.row) { $0.int(0) } ?? 0)
    }
}

extension BroadcastRecord {
    fileprivate init(_ row: Query) {
        self.init(name: row.text(0), time: row.int64(1), matched: row.int(2), body: row.blob(3))
    }
}
