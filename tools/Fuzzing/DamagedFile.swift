import CPealSQLite
import PealModel

/// A replica's file whose rows are overwritten behind the library's back, as a disk or another program may.
///
/// The schema is loosened for it (no STRICT, NOT NULL or CHECK, no types) and put back, so that what opens the file sees the tables
/// that it knows, with values that they cannot have.
final class DamagedFile {
    /// Tables by the input's choice; the outbox most often.
    static let tables = [
        "outbox", "outbox", "outbox", "outbox", "outbox", "outbox", "journal", "journal", "item", "register", "mark",
        "preference",
        "catalogue", "fact", "interest", "replica", "raw", "session",
    ]

    private let handle: OpaquePointer
    private(set) var touched: Set<String> = []
    /// The uids of outbox rows that were changed.
    private(set) var damaged: Set<Int64> = []

    /// Opens a loose file; see ``loosen(_:)``.
    init(_ path: String) {
        var handle: OpaquePointer?
        guard sqlite3_open(path, &handle) == SQLITE_OK, let handle else { preconditionFailure("a template opens") }
        self.handle = handle
        execute("PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON; BEGIN")
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs what may fail: a constraint that could not be taken away, an index that holds.
    private func execute(_ sql: String) { _ = sqlite3_exec(handle, sql, nil, nil, nil) }

    // MARK: The schema

    /// Loosens the tables of a file; gives the statements that put them back.
    static func loosen(_ path: String) -> String {
        let file = DamagedFile(path)
        var restore = ""
        file.execute("PRAGMA writable_schema = ON")
        for (name, sql) in file.schema() {
            let lines = sql.split(separator: "\n").map { $0.prefix { $0 != "-" } }.joined(separator: "\n")
            let loose = lines.replacing("INTEGER PRIMARY KEY", with: "ROWID_ALIAS").replacing("INTEGER", with: "BLOB")
                .replacing("TEXT", with: "BLOB").replacing("ROWID_ALIAS", with: "INTEGER PRIMARY KEY")
                .replacing(" NOT NULL", with: "").replacing(" CHECK (one = 1)", with: "")
                .replacing(" STRICT, WITHOUT", with: " WITHOUT").replacing(" STRICT", with: "")
            file.execute("UPDATE sqlite_schema SET sql = \(quoted(loose)) WHERE name = \(quoted(name))")
            restore += "UPDATE sqlite_schema SET sql = \(quoted(sql)) WHERE name = \(quoted(name));"
        }
        file.execute("COMMIT")
        return restore
    }

    private func schema() -> [(name: String, sql: String)] {
        var found: [(String, String)] = []
        let names = Set(Self.tables).map(Self.quoted).joined(separator: ",")
        rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name IN (\(names)) ORDER BY name") { row in
            found.append((Self.text(row, 0), Self.text(row, 1)))
        }
        return found
    }

    /// Puts the schema back and closes the transaction; the last call.
    func restore(_ statements: String) {
        execute("PRAGMA writable_schema = ON")
        execute(statements)
        execute("COMMIT")
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    private static func text(_ row: OpaquePointer, _ column: Int32) -> String {
        sqlite3_column_text(row, column).map { String(cString: $0) } ?? ""
    }

    private func rows(_ sql: String, _ body: (OpaquePointer) -> Void) {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else { return }
        defer { sqlite3_finalize(statement) }
        while sqlite3_step(statement) == SQLITE_ROW { body(statement) }
    }

    // MARK: Damage

    /// One value of one row becomes another; or a row comes twice, or goes.
    func damage(_ input: inout FuzzInput) {
        let table = Self.tables[input.index(below: Self.tables.count)]
        let index = input.index(below: 32)
        let columns = columns(table)
        guard !columns.isEmpty else { return }
        let column = columns[input.index(below: columns.count)]
        // The row by its place in the order of its key.
        let key = Self.keys[table] ?? "rowid"
        var chosen: [String] = []
        rows(
            "SELECT \(key.split(separator: ",").map { "quote(\($0))" }.joined(separator: " || ',' || ")) FROM \(table) ORDER BY \(key)"
        ) {
            chosen.append(Self.text($0, 0))
        }
        guard !chosen.isEmpty else { return }
        let place = "(\(key)) = (\(chosen[index % chosen.count]))"
        if table == "outbox" {
            rows("SELECT uid FROM outbox WHERE \(place)") { damaged.insert(sqlite3_column_int64($0, 0)) }
        }
        touched.insert(table)
        set(table, column, place, &input)
    }

    private static let keys = [
        "register": "position,field", "mark": "kind,up_to", "preference": "category,channel", "fact": "position,event",
        "interest": "name",
    ]

    private func columns(_ table: String) -> [String] {
        var names: [String] = []
        rows("SELECT name FROM pragma_table_info('\(table)') ORDER BY cid") { names.append(Self.text($0, 0)) }
        return names
    }

    private func set(_ table: String, _ column: String, _ place: String, _ input: inout FuzzInput) {
        let kind = input.byte() & 7
        if kind == 6 {
            let other = "SELECT \(column) FROM \(table) ORDER BY 1 LIMIT 1 OFFSET \(input.index(below: 8))"
            return execute("UPDATE OR IGNORE \(table) SET \(column) = (\(other)) WHERE \(place)")
        }
        var statement: OpaquePointer?
        let sql = "UPDATE OR IGNORE \(table) SET \(column) = ?1 WHERE \(place)"
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { return }
        defer { sqlite3_finalize(statement) }
        switch kind {
        case 0: sqlite3_bind_null(statement, 1)
        case 1: sqlite3_bind_int64(statement, 1, input.strangeNumber())
        case 2: sqlite3_bind_double(statement, 1, Double(bitPattern: input.number(8)))
        case 3:
            bind(
                statement, GoldenFrames.operationTexts[input.index(below: GoldenFrames.operationTexts.count)],
                isText: true)
        case 4: bind(statement, Array(input.take(Int(input.byte()))), isText: true)
        case 5: bind(statement, Array(input.take(Int(input.byte()))), isText: false)
        default: bind(statement, input.patched(value(table, column, place)), isText: true)
        }
        sqlite3_step(statement)
    }

    private func value(_ table: String, _ column: String, _ place: String) -> [UInt8] {
        var value: [UInt8] = []
        rows("SELECT \(column) FROM \(table) WHERE \(place)") { row in
            if let bytes = sqlite3_column_blob(row, 0) {
                value = Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(row, 0))))
            }
        }
        return value
    }

    /// The bytes live as long as the step that follows at once.
    private func bind(_ statement: OpaquePointer?, _ bytes: [UInt8], isText: Bool) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            if isText {
                sqlite3_bind_text(
                    statement, 1, start?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), transient)
            } else {
                sqlite3_bind_blob(statement, 1, start, Int32(buffer.count), transient)
            }
        }
    }

    /// The highest number that is settled.
    var settled: Int64 {
        var settled: Int64 = 0
        rows("SELECT settled_n FROM replica") { settled = sqlite3_column_int64($0, 0) }
        return settled
    }

    /// The uids of rows that wait to be sent and were not changed.
    func intact() -> Set<UInt64> {
        var uids: Set<UInt64> = []
        rows("SELECT uid FROM outbox WHERE state < 3") { row in
            let uid = sqlite3_column_int64(row, 0)
            if !damaged.contains(uid) { uids.insert(UInt64(bitPattern: uid)) }
        }
        return uids
    }
}
