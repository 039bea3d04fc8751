internal import PealModel
internal import PealSQLite

/// What each table shows of the log's entries. Where a table has no index by position its few rows are sorted.
extension Queries {
    enum EntrySource: CaseIterable {
        case items, registers, marks, journal, setAside, staged

        /// The first column is the position.
        var sql: String {
            switch self {
            case .items: "SELECT position, id FROM item WHERE position < ?1 ORDER BY position DESC LIMIT ?2"
            case .registers:
                """
                SELECT since, field, count(*), min(position), author, itime, uid FROM register WHERE since < ?1
                GROUP BY since, field ORDER BY since DESC LIMIT ?2
                """
            case .marks: "SELECT version, kind, up_to FROM mark WHERE version < ?1 ORDER BY version DESC LIMIT ?2"
            case .journal:
                """
                SELECT position, name, uid, outcome FROM journal WHERE position IS NOT NULL AND position < ?1
                ORDER BY position DESC LIMIT ?2
                """
            case .setAside:
                "SELECT position, reason, bytes FROM raw WHERE position < ?1 ORDER BY position DESC LIMIT ?2"
            case .staged: "SELECT position, bytes FROM stage_log WHERE position < ?1 ORDER BY position DESC LIMIT ?2"
            }
        }
    }

    static let entrySources = EntrySource.allCases

    func entries(
        _ source: EntrySource, before: Position, _ limit: Int
    ) throws(SQLiteError) -> [InspectedEntry] {
        let query = try connection.prepare(source.sql)
        query.bind(1, before)
        query.bind(2, limit)
        var found: [InspectedEntry] = []
        while try query.step() {
            guard let trace = Self.trace(query, source) else { continue }
            found.append(InspectedEntry(position: query.int64(0), trace: trace))
        }
        return found
    }

    private static func trace(_ row: borrowing Statement, _ source: EntrySource) -> InspectedEntry.Trace? {
        switch source {
        case .items: return .item(row.itemID(1))
        case .registers:
            return .act(
                field: row.int64(1) == 0 ? "read" : "archived", items: row.int64(2), first: row.int64(3),
                author: row.text(4), itime: row.int64(5), uid: row.bits(6))
        case .marks: return MarkKind(rawValue: row.text(1)).map { .mark($0, upTo: row.int64(2)) }
        case .journal:
            let outcome = try? Outcome(JSONObject(row.blob(3)[...]))
            return .own(name: row.text(1), uid: row.bits(2), outcome?.code)
        case .setAside: return .setAside(reason: row.optionalText(1), bytes: row.blob(2))
        case .staged: return .staged(bytes: row.blob(1))
        }
    }
}
