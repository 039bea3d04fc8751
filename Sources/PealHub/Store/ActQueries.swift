import PealModel

/// The statements that judge an act and write its effects.
package final class ActQueries {
    let sent: Query
    let byUID: Query
    let byNumber: Query
    let settledRange: Query
    let insert: Query
    let opposedUnread: Query
    let opposedUnarchived: Query
    let saveItem: Query
    let insertMark: Query
    let retireMark: Query
    let insertInterest: Query
    let deleteInterest: Query
    let saveCell: Query
    let insertFact: Query
    let deleteFacts: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        sent = try database.query("SELECT 1 FROM act WHERE inbox = ?1 AND uid = ?2 AND author = ?3 LIMIT 1")
        byUID = try database.query(
            "SELECT author, outcome FROM act WHERE inbox = ?1 AND uid = ?2 ORDER BY author LIMIT 1")
        byNumber = try database.query(
            "SELECT uid, outcome FROM act WHERE inbox = ?1 AND author = ?2 AND n = ?3 AND n > 0")
        settledRange = try database.query(
            """
            SELECT n, uid, outcome FROM act WHERE inbox = ?1 AND author = ?2 AND n BETWEEN ?3 AND ?4 AND n > 0
            ORDER BY n LIMIT ?5
            """)
        insert = try database.query(
            """
            INSERT INTO act (inbox, uid, author, n, position, time, outcome, dead)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """)
        opposedUnread = try database.query(Self.opposed("read", database))
        opposedUnarchived = try database.query(Self.opposed("archived", database))
        saveItem = try database.query(Self.saveItem(database))
        insertMark = try database.query(
            "INSERT INTO mark (inbox, kind, version, up_to, itime, author, live) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)")
        retireMark = try database.query("UPDATE mark SET live = 0 WHERE inbox = ?1 AND kind = ?2 AND version = ?3")
        insertInterest = try database.query(
            "INSERT INTO interest (project, name, inbox) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
        deleteInterest = try database.query("DELETE FROM interest WHERE project = ?1 AND name = ?2 AND inbox = ?3")
        saveCell = try database.query(
            """
            INSERT INTO preference (inbox, category, channel, value, since, itime, author, uid,
                off_since, off_author, off_uid, other_since, other_author, other_uid)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            ON CONFLICT (inbox, category, channel) DO UPDATE SET value = ?4, since = ?5, itime = ?6, author = ?7, uid = ?8,
                off_since = ?9, off_author = ?10, off_uid = ?11, other_since = ?12, other_author = ?13, other_uid = ?14
            """)
        insertFact = try database.query(
            """
            INSERT INTO fact (inbox, position, event, time, data) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING
            """)
        deleteFacts = try database.query("DELETE FROM fact WHERE inbox = ?1 AND position = ?2")
    }

    /// The columns of an item's registers; a row has all of them or is not there.
    private static let registers = [
        "deleted", "seen", "seen_at", "read_value", "read_passive", "read_since", "read_rank", "read_itime",
        "read_author",
        "read_uid", "read_at", "archived_value", "archived_passive", "archived_since", "archived_rank",
        "archived_itime",
        "archived_author", "archived_uid", "archived_at",
    ]

    /// Parameter 3, the number of the item's entry, is kept on SQLite only.
    private static func saveItem(_ database: StoreDatabase) -> String {
        let seq = database.dialect(sqlite: ("seq, ", "?3, ", "seq = ?3, "), postgres: ("", "", ""))
        let values = registers.indices.map { "?\($0 + 4)" }
        let set = zip(registers, values).map { "\($0) = \($1)" }
        return """
            INSERT INTO state (inbox, position, \(seq.0)\(registers.joined(separator: ", ")))
            VALUES (?1, ?2, \(seq.1)\(values.joined(separator: ", ")))
            ON CONFLICT (inbox, position) DO UPDATE SET \(seq.2)\(set.joined(separator: ", "))
            """
    }

    private static func opposed(_ field: String, _ database: StoreDatabase) -> String {
        let (number, join) = database.dialect(
            sqlite: ("s.seq", "e.seq = s.seq"),
            postgres: ("e.counter", "e.inbox = s.inbox AND e.position = s.position"))
        return """
            SELECT \(number), s.position, e.salt, e.time, \(StoredItem.columns)
            FROM state s JOIN entry e ON \(join)
            WHERE s.inbox = ?1 AND s.\(field)_value = 0 AND s.\(field)_since > ?2 AND s.position <= ?3 AND s.deleted = 0
            """
    }
}
