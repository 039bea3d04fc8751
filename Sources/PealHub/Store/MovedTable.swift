#if PostgreSQL
    import PealPostgres
    import PealSQLite

    /// A table of an SQLite file that goes into its counterpart in PostgreSQL: which columns, and by which key both are walked.
    ///
    /// Names, types and keys come from the file's own schema, so a column that is new moves along. What differs between the two stands here.
    struct MovedTable {
        /// A column of both.
        struct Column {
            enum Kind { case integer, text, blob }

            let name: String
            let kind: Kind
            /// How the file gives it.
            let source: String
            let isNullable: Bool
        }

        let name: String
        let columns: [Column]
        /// The columns of the key, as places in `columns`.
        let key: [Int]
        private let source: String

        /// Rows of a page.
        static let page = 2_000
        /// Not moved: what only SQLite's store has, and what there is none of when a file has been settled.
        private static let skipped: Set<String> = ["meta", "log", "target", "sqlite_sequence"]
        private static let dropped: [String: Set<String>] = ["state": ["seq"], "publish": ["first_seq", "last_seq"]]

        /// The tables of a file.
        static func all(of file: Connection) throws(SQLiteError) -> [MovedTable] {
            let names = try file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            var tables: [MovedTable] = []
            while try names.step() {
                let name = names.text(0)
                if !skipped.contains(name) { tables.append(try MovedTable(name, file)) }
            }
            return tables
        }

        private init(_ name: String, _ file: Connection) throws(SQLiteError) {
            self.name = name
            var columns: [Column] = []
            var keys: [(place: Int, order: Int64)] = []
            let info = try file.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1) ORDER BY cid")
            info.bind(1, name)
            while try info.step() {
                let column = info.text(0)
                if Self.dropped[name]?.contains(column) == true { continue }
                let kind: Column.Kind =
                    switch info.text(1) {
                    case "INTEGER": .integer
                    case "TEXT": .text
                    default: .blob
                    }
                if info.int64(3) > 0 { keys.append((columns.count, info.int64(3))) }
                columns.append(
                    Column(
                        name: column, kind: kind, source: "t.\(Self.quoted(column))",
                        isNullable: !info.bool(2) && info.int64(3) == 0))
            }
            var key = keys.sorted { $0.order < $1.order }.map(\.place)
            var source = "\(Self.quoted(name)) t"
            func replace(_ column: String, by other: String, _ expression: String) {
                guard let place = columns.firstIndex(where: { $0.name == column }) else { return }
                columns[place] = Column(
                    name: other, kind: columns[place].kind, source: expression, isNullable: columns[place].isNullable)
            }
            switch name {
            case "entry":
                // By inbox and position there; the file has that in its index. An item keeps its id, and so its counter.
                source = "log l CROSS JOIN entry t ON t.seq = l.seq"
                replace("seq", by: "counter", "CASE WHEN t.publish > 0 THEN t.seq ELSE t.position END")
                replace("inbox", by: "inbox", "l.inbox")
                replace("position", by: "position", "l.position")
                key = ["inbox", "position"].compactMap { name in columns.firstIndex { $0.name == name } }
            case "template": replace("seq", by: "id", "t.seq")
            case "collapse":
                source = "collapse t JOIN entry e ON e.seq = t.seq"
                replace("seq", by: "position", "e.position")
            case "publish":
                // Where expiry stands is a place in the file there and an inbox here: it begins anew, and passes what is gone already.
                replace("expiring", by: "expiring", "CASE WHEN t.expiring IS NULL THEN NULL ELSE 0 END")
            default: break
            }
            self.columns = columns
            self.key = key
            self.source = source
        }

        /// As both databases write a name.
        static func quoted(_ name: String) -> String { "\"\(name)\"" }

        /// Whether its key is one number that the database gives out.
        var hasIdentity: Bool { key.count == 1 && columns[key[0]].name == "id" }

        /// The number that the database is to give out next.
        func nextID(in file: Connection) throws(SQLiteError) -> Int64 {
            let next = try file.int("SELECT coalesce(max(\(columns[key[0]].source)), 0) + 1 FROM \(source)")
            // The name of a row that is gone is never used again.
            let given = try file.int(
                "SELECT coalesce((SELECT seq + 1 FROM sqlite_sequence WHERE name = '\(name)'), 1)")
            return max(next, given)
        }

        // MARK: The file

        /// Rows after a key, in its order.
        func rows(of file: Connection, after last: [SQLiteValue]?) throws(SQLiteError) -> [[SQLiteValue]] {
            let keys = key.map { columns[$0].source }
            var sql = "SELECT \(columns.map(\.source).joined(separator: ", ")) FROM \(source)"
            if last != nil {
                let places = keys.indices.map { "?\($0 + 1)" }
                sql += " WHERE (\(keys.joined(separator: ", "))) > (\(places.joined(separator: ", ")))"
            }
            sql += " ORDER BY \(keys.joined(separator: ", ")) LIMIT \(Self.page)"
            let query = try file.prepare(sql)
            for (index, value) in (last ?? []).enumerated() { query.bind(Int32(index + 1), value) }
            var rows: [[SQLiteValue]] = []
            while try query.step() { rows.append(columns.indices.map { query.value(Int32($0)) }) }
            return rows
        }

        /// The key of a row.
        func key(of row: [SQLiteValue]) -> [SQLiteValue] { key.map { row[$0] } }

        // MARK: The database

        private static func type(_ kind: Column.Kind) -> String {
            switch kind {
            case .integer: "bigint"
            case .text: "text"
            case .blob: "bytea"
            }
        }

        /// Writes rows: all or none.
        func insert(_ rows: [[SQLiteValue]], into database: PostgresConnection) throws(PostgresError) {
            guard !rows.isEmpty else { return }
            var parameters = PostgresParameters()
            var arrays: [String] = []
            var values: [String] = []
            for (place, column) in columns.enumerated() {
                let given = "c\(place)"
                switch column.kind {
                case .integer where !column.isNullable:
                    parameters.add(rows.map { Self.integer($0[place]) ?? 0 })
                    arrays.append("$\(place + 1)::bigint[]")
                    values.append(given)
                case .integer:
                    // No array of numbers takes NULL here.
                    parameters.add(rows.map { Self.integer($0[place]).map(String.init) })
                    arrays.append("$\(place + 1)::text[]")
                    values.append("CAST(\(given) AS bigint)")
                case .text:
                    parameters.add(rows.map { Self.text($0[place]) })
                    arrays.append("$\(place + 1)::text[]")
                    values.append(given)
                case .blob:
                    parameters.add(rows.map { Self.blob($0[place]) })
                    arrays.append("$\(place + 1)::bytea[]")
                    values.append(given)
                }
            }
            let names = columns.map { Self.quoted($0.name) }.joined(separator: ", ")
            let given = columns.indices.map { "c\($0)" }.joined(separator: ", ")
            let sql = """
                INSERT INTO \(Self.quoted(name)) (\(names))
                SELECT \(values.joined(separator: ", ")) FROM unnest(\(arrays.joined(separator: ", "))) AS given (\(given))
                """
            _ = try database.execute(database.statement(sql), parameters)
        }

        /// The key of the last row that is there; nil for none.
        func lastKey(in database: PostgresConnection) throws(PostgresError) -> [SQLiteValue]? {
            let keys = key.map { Self.quoted(columns[$0].name) }
            let falling = keys.map { $0 + " DESC" }.joined(separator: ", ")
            let sql = "SELECT \(casts(key)) FROM \(Self.quoted(name)) ORDER BY \(falling) LIMIT 1"
            let found = try database.execute(database.statement(sql), PostgresParameters())
            return found.count == 0 ? nil : row(0, of: found, key)
        }

        /// Rows after a key, in its order, as the file has them.
        func rows(of database: PostgresConnection, after last: [SQLiteValue]?) throws(PostgresError) -> [[SQLiteValue]]
        {
            let keys = key.map { Self.quoted(columns[$0].name) }
            var parameters = PostgresParameters()
            var condition = ""
            if let last {
                let places = key.enumerated().map { "$\($0 + 1)::\(Self.type(columns[$1].kind))" }
                condition = " WHERE (\(keys.joined(separator: ", "))) > (\(places.joined(separator: ", ")))"
                for (value, place) in zip(last, key) {
                    switch columns[place].kind {
                    case .integer: parameters.add(Self.integer(value) ?? 0)
                    case .text: parameters.add(Self.text(value) ?? "")
                    case .blob: parameters.add(Self.blob(value) ?? [])
                    }
                }
            }
            let sql = """
                SELECT \(casts(Array(columns.indices))) FROM \(Self.quoted(name))\(condition)
                ORDER BY \(keys.joined(separator: ", ")) LIMIT \(Self.page)
                """
            let found = try database.execute(database.statement(sql), parameters)
            return (0..<found.count).map { row($0, of: found, Array(columns.indices)) }
        }

        private func casts(_ places: [Int]) -> String {
            places.map { "CAST(\(Self.quoted(columns[$0].name)) AS \(Self.type(columns[$0].kind)))" }
                .joined(separator: ", ")
        }

        private func row(_ number: Int, of found: PostgresResult, _ places: [Int]) -> [SQLiteValue] {
            places.enumerated().map { index, place in
                let column = Int32(index)
                if found.isNull(number, column) { return .null }
                switch columns[place].kind {
                case .integer: return .integer(found.int64(number, column))
                case .text: return .text(found.withBytes(number, column) { Array($0) })
                case .blob: return .blob(found.withBytes(number, column) { Array($0) })
                }
            }
        }

        // MARK: Values

        private static func integer(_ value: SQLiteValue) -> Int64? {
            if case .integer(let number) = value { number } else { nil }
        }

        private static func text(_ value: SQLiteValue) -> String? {
            if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { nil }
        }

        private static func blob(_ value: SQLiteValue) -> [UInt8]? {
            if case .blob(let bytes) = value { bytes } else { nil }
        }
    }
#endif
