internal import PealModel
internal import PealSQLite

/// What can be read of a file, whatever is wrong with it: a look from outside, then each table by itself. No content.
public struct FileSurvey: Equatable, Sendable {
    /// The path.
    public var path: String
    /// Bytes of the file.
    public var fileBytes: Int64
    /// Bytes of its write-ahead log.
    public var walBytes: Int64
    /// How it was opened; nil where it could not be.
    public var access: ReplicaReader.Access?
    /// Every table in the order of the schema; none where the file could not be opened.
    public var tables: [Table]
    /// What is wrong, a sentence each.
    public var problems: [String]
    /// What somebody should know who judges the file.
    public var notes: [String]

    /// One table.
    public struct Table: Equatable, Sendable {
        /// Its name.
        public var name: String
        /// Rows that could be read in the order of the table, to the end or to the damage.
        public var rows: Int64
        /// Why it could be read no further; nil where it is whole.
        public var problem: String?
    }

    /// Looks at a file. Blocking; reads all of it.
    public init(_ path: String) {
        self.path = path
        fileBytes = RawFile.size(path)
        walBytes = RawFile.size(path + "-wal")
        tables = []
        problems = []
        notes = []
        do throws(ReplicaError) {
            let reader = try ReplicaReader(inspecting: path)
            access = reader.access
            (problems, notes) = (reader.problems, reader.notes)
            read(reader.queries.connection)
        } catch {
            access = nil
            let condition = FileCondition(path, isLive: false)
            (problems, notes) = (condition.problems, condition.notes)
            if problems.isEmpty || condition.refusal == nil { problems.append(error.message) }
        }
    }

    private mutating func read(_ connection: Connection) {
        var roots: [Int64: String] = [:]
        do throws(SQLiteError) {
            let query = try connection.prepare(
                "SELECT name, type, tbl_name, rootpage FROM sqlite_schema ORDER BY rowid")
            while try query.step() {
                let (name, root) = (query.text(0), query.int64(3))
                if root > 0 {
                    roots[root] = query.text(1) == "index" ? "index \(name) of \(query.text(2))" : "table \(name)"
                }
                guard query.text(1) == "table", root > 0, !name.hasPrefix("sqlite_") else { continue }
                tables.append(Table(name: name, rows: 0, problem: nil))
            }
        } catch {
            problems.append("The list of tables cannot be read: \(error.message).")
        }
        for index in tables.indices { Self.read(&tables[index], connection) }
        for table in tables {
            if let problem = table.problem {
                problems.append("Table \(table.name) cannot be read beyond \(table.rows) rows: \(problem).")
            }
        }
        check(connection, roots)
    }

    /// SQLite's own check of everything, or where it gives up, of each table by itself.
    private mutating func check(_ connection: Connection, _ roots: [Int64: String]) {
        do throws(SQLiteError) {
            problems += try connection.integrityProblems().flatMap { Self.sentences($0, roots) }
        } catch {
            let wholeProblem = error.message
            for table in tables where table.problem == nil {
                do throws(SQLiteError) {
                    let query = try connection.prepare("PRAGMA integrity_check(\"\(table.name.replacingQuotes)\")")
                    while try query.step() {
                        if query.text(0) != "ok" { problems += Self.sentences(query.text(0), roots) }
                    }
                } catch {
                    problems.append("SQLite cannot check table \(table.name): \(error.message).")
                }
            }
            if problems.isEmpty { problems.append("SQLite cannot check the file: \(wholeProblem).") }
        }
    }

    private static func read(_ table: inout Table, _ connection: Connection) {
        do throws(SQLiteError) {
            let name = table.name.replacingQuotes
            let query = try connection.prepare("SELECT * FROM \"\(name)\" NOT INDEXED")
            while try query.step() { table.rows += 1 }
        } catch {
            table.problem = error.message
        }
    }

    /// One of SQLite's findings, with the name of what the tree holds that it names by its first page.
    static func sentences(_ finding: String, _ roots: [Int64: String]) -> [String] {
        finding.split(separator: "\n").compactMap { line in
            guard !line.hasPrefix("***") else { return nil }
            let words = line.split(separator: " ")
            guard words.count > 1, words[0] == "Tree", let root = Int64(words[1]), let name = roots[root] else {
                return "SQLite: \(line)"
            }
            return "SQLite: \(line) (\(name))"
        }
    }
}

extension String {
    /// For a name between quotes in SQL.
    fileprivate var replacingQuotes: String {
        split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    }
}
