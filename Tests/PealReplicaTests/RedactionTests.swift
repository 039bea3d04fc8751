import PealSQLite
import Testing

@testable import PealReplica

/// That no column of a device's file is forgotten by a redacted copy.
@Suite struct RedactionTests {
    /// Columns of texts and bytes that hold nothing that a person wrote or is called, and no secret. A new column is either taken out by `Redaction`
    /// or stands here, with a reason.
    private static let harmless: [String: Set<String>] = [
        // Ids that hub and replica made up, and words of the contract.
        "replica": ["inbox", "replica", "previous_replica"],
        "item": ["id", "publish"], "stage_item": ["id", "publish"],
        "register": ["author"], "stage_register": ["author"],
        "mark": ["kind"], "stage_mark": ["kind"],
        // Whether it is on, by whom and when.
        "preference": ["cell"], "stage_preference": ["cell"],
        "fact": ["event"], "stage_fact": ["event"],
        "outbox": ["name"], "journal": ["name"],
        // Of the connection.
        "session": ["mode", "reason"],
    ]

    @Test func `every column of texts or bytes is taken out, or is known to be harmless`() throws {
        let folder = Folder()
        let replica = try folder.open()
        let tables = try Salvage.tables(of: replica.connection)
        #expect(tables.count > 15)
        for table in tables {
            let known = Self.harmless[table.name] ?? []
            let columns = try replica.connection.prepare("SELECT name, type FROM pragma_table_info('\(table.name)')")
            var types: [String: String] = [:]
            while try columns.step() { types[columns.text(0)] = columns.text(1) }
            let isWritten = types.filter { ["TEXT", "BLOB"].contains($0.value) }.map(\.key)
            for column in isWritten {
                let canary = SQLiteValue.text(Array("a canary of \(column)".utf8))
                var row = table.columns.map { $0 == column ? canary : .null }
                Redaction().change(table, &row)
                let isThere = row.contains(canary)
                #expect(
                    isThere == known.contains(column), "\(table.name).\(column): see Redaction.swift, and the list here"
                )
            }
            #expect(known.subtracting(isWritten).isEmpty, "\(table.name) has no such columns")
        }
        #expect(Set(Self.harmless.keys).subtracting(tables.map(\.name)).isEmpty)
    }
}
