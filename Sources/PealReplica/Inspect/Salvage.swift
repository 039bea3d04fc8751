internal import PealModel
internal import PealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Makes a new file of version 1 out of what can be read of another one, row by row: the one way to a copy that holds nothing that was not
/// put into it, and that damage does not stop.
struct Salvage {
    let source: Connection
    let target: Connection
    private(set) var tables: [SalvagedTable] = []

    /// A table of the schema.
    struct Table {
        var name: String
        var columns: [String]
        var key: String
        var isNumber: Bool
    }

    init(from source: Connection, to path: String) throws(SQLiteError) {
        self.source = source
        var settings = Connection.Options()
        settings.usesWriteAheadLog = false
        target = try Connection(path: path, options: settings)
        try ReplicaFile.migrator.migrate(target)
    }

    /// Copies every table but those that are left out, in one transaction.
    ///
    /// - Parameter change: what becomes of a row.
    mutating func copy(
        except: Set<String> = [], _ change: (Table, inout [SQLiteValue]) -> Void
    ) throws(SQLiteError) {
        try target.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            for table in try Self.tables(of: target) where !except.contains(table.name) {
                tables.append(try copy(table, change))
            }
            try target.execute("COMMIT")
        } catch {
            target.rollback()
            throw error
        }
    }

    private func copy(
        _ table: Table, _ change: (Table, inout [SQLiteValue]) -> Void
    ) throws(SQLiteError) -> SalvagedTable {
        var found = SalvagedTable(name: table.name, rows: 0, refused: 0, problem: nil)
        var walk = TableWalk(
            source, table: table.name, columns: table.columns, key: table.key, isNumber: table.isNumber)
        let places = table.columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let insert = try target.prepare(
            "INSERT OR IGNORE INTO \(table.name) (\(table.columns.joined(separator: ", "))) VALUES (\(places))")
        var kept = 0 as Int64
        try walk.run { (row) throws(SQLiteError) in
            var row = row
            change(table, &row)
            for (index, value) in row.enumerated() { insert.bind(Int32(index) + 1, value) }
            do throws(SQLiteError) {
                try insert.run()
                if target.changes == 1 { found.rows += 1 } else { kept += 1 }
            } catch {
                // What no row of a strict table can hold.
                guard error.code.primary == .constraint || error.code.primary.rawValue == 20 else { throw error }
                found.refused += 1
            }
        }
        found.problem = walk.problem
        // A row that came from both ends is there; one that another row's key has kept out is not.
        if walk.problem == nil { found.refused += kept }
        return found
    }

    /// Every table of the schema but those of the search.
    static func tables(of connection: Connection) throws(SQLiteError) -> [Table] {
        let query = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
        var tables: [Table] = []
        while try query.step() {
            var table = Table(name: query.text(0), columns: [], key: "rowid", isNumber: true)
            let columns = try connection.prepare("SELECT name, pk, type FROM pragma_table_info('\(table.name)')")
            while try columns.step() {
                table.columns.append(columns.text(0))
                if columns.int64(1) == 1 {
                    table.key = columns.text(0)
                    table.isNumber = columns.text(2) == "INTEGER"
                }
            }
            tables.append(table)
        }
        return tables
    }

    subscript(name: String) -> SalvagedTable? { tables.first { $0.name == name } }
}

/// What was taken over of one table.
public struct SalvagedTable: Equatable, Sendable {
    /// Its name.
    public var name: String
    /// Rows that are in the new file.
    public var rows: Int64
    /// Rows that were read and that no table can hold, or that another row's key kept out.
    public var refused: Int64
    /// Why some could not be read; nil where all were.
    public var problem: String?

    /// All of it is in the new file.
    public var isWhole: Bool { refused == 0 && problem == nil }
}

/// A file that is made beside its name and takes it when it is whole.
struct NewFile {
    let path: String
    var partial: String { path + ".partial" }

    init(_ path: String) throws(ReplicaError) {
        self.path = path
        if RawFile.exists(path) {
            throw ReplicaError(.cantOpen, "\(path) is there already, and nothing is written over a file")
        }
        Replica.remove(partial)
    }

    /// Gives it its name, unless somebody has taken it meanwhile.
    func finish() throws(ReplicaError) {
        defer { Replica.remove(partial) }
        guard link(partial, path) == 0 else {
            throw ReplicaError(.cantOpen, "\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
    }
}
