import PealModel

/// The statements that read what an inbox holds beside items: preferences, facts, the catalogue. For either connection.
package final class RestQueries {
    private let oneCell: Query
    private let allCells: Query
    private let countCells: Query
    private let oneFact: Query
    private let allFacts: Query
    private let anyFact: Query
    private let catalogueVersion: Query
    private let newerCatalogue: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        let columns = """
            value, since, itime, author, uid, off_since, off_author, off_uid, other_since, other_author, other_uid
            """
        oneCell = try database.query(
            "SELECT \(columns) FROM preference WHERE inbox = ?1 AND category = ?2 AND channel = ?3")
        allCells = try database.query("SELECT \(columns), category, channel FROM preference WHERE inbox = ?1")
        countCells = try database.query("SELECT count(*) FROM preference WHERE inbox = ?1")
        oneFact = try database.query("SELECT 1 FROM fact WHERE inbox = ?1 AND position = ?2 AND event = ?3")
        anyFact = try database.query("SELECT 1 FROM fact WHERE inbox = ?1 LIMIT 1")
        allFacts = try database.query("SELECT event, time, data FROM fact WHERE inbox = ?1 AND position = ?2")
        catalogueVersion = try database.query("SELECT body FROM catalogue WHERE project = ?1 AND version = ?2")
        newerCatalogue = try database.query(
            "SELECT body FROM catalogue WHERE project = ?1 AND version > ?2 ORDER BY version DESC LIMIT 1")
    }

    func cell(_ key: PreferenceKey, of inbox: InboxKey) throws(HubStoreError) -> PreferenceCell? {
        try oneCell.first(inbox.row, key.category, key.channel) { PreferenceCell($0) }
    }

    func cells(of inbox: InboxKey) throws(HubStoreError) -> [PreferenceKey: PreferenceCell] {
        var cells: [PreferenceKey: PreferenceCell] = [:]
        try allCells.forEach(inbox.row) { row in
            cells[PreferenceKey(category: row.text(11), channel: row.text(12))] = PreferenceCell(row)
            return true
        }
        return cells
    }

    func cellCount(of inbox: InboxKey) throws(HubStoreError) -> Int {
        try countCells.first(inbox.row) { $0.int(0) } ?? 0
    }

    func hasFact(_ event: String, at position: Position, of inbox: InboxKey) throws(HubStoreError) -> Bool {
        try oneFact.first(inbox.row, position, event) { _ in true } ?? false
    }

    /// Whether anything has happened to any item.
    func hasFacts(in inbox: InboxKey) throws(HubStoreError) -> Bool {
        try anyFact.first(inbox.row) { _ in true } ?? false
    }

    /// In the order of their events' names.
    func facts(at position: Position, of inbox: InboxKey) throws(HubStoreError) -> [Fact] {
        try allFacts.all(inbox.row, position) { row in
            Fact(event: row.text(0), time: row.int64(1), data: row.optionalBlob(2).map { $0[...] })
        }
    }

    /// A version of a project's catalogue; nil for 0.
    func catalogue(_ version: Int64, of project: ProjectKey) throws(HubStoreError) -> Catalogue? {
        guard version > 0 else { return nil }
        return try catalogueVersion.first(project.row, version) { (row) throws(HubStoreError) in
            try Catalogue(stored: row.blob(0))
        }
    }

    /// The newest catalogue of a project, where it is newer than a version.
    func catalogue(of project: ProjectKey, after version: Int64) throws(HubStoreError) -> Catalogue? {
        try newerCatalogue.first(project.row, version) { (row) throws(HubStoreError) in
            try Catalogue(stored: row.blob(0))
        }
    }
}

extension Catalogue {
    fileprivate init(stored bytes: [UInt8]) throws(HubStoreError) {
        do throws(JSONError) {
            try self.init(JSONObject(bytes[...]))
        } catch {
            throw HubStoreError(.corrupt, "a catalogue cannot be read: \(error.reason)", underlying: error)
        }
    }
}

extension PreferenceCell {
    /// Reads a row of the columns that ``RestQueries`` selects.
    fileprivate init(_ row: Query) {
        let since = row.int64(1)
        self.init(
            Register(
                value: row.bool(0), passive: false, since: since, rank: since, itime: row.int64(2),
                author: row.withBytes(3) { Author(stored: $0) }, uid: row.bits(4)),
            off: Self.off(row, at: 5), otherOff: Self.off(row, at: 8))
    }

    private static func off(_ row: Query, at column: Int32) -> OptOut? {
        guard !row.isNull(column) else { return nil }
        return OptOut(
            since: row.int64(column), author: row.withBytes(column + 1) { Author(stored: $0) },
            uid: row.bits(column + 2))
    }
}
