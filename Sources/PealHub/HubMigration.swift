#if PostgreSQL
    import PealModel
    import PealPostgres
    import PealSQLite

    /// Moves a hub from its SQLite file to PostgreSQL (docs/postgresql.md, "Moving a hub"). Blocks; any thread.
    ///
    /// Rows keep their numbers, and logs their epochs, positions, chains and ids, so devices go on at their cursors. A move that was cut short goes
    /// on where it was; until it is through, no hub starts on the database.
    public enum HubMigration {
        /// How far a move has come.
        public struct Progress: Sendable {
            /// The table that is moved, or compared.
            public var table: String
            /// Rows of all tables that are done, and how many there are; each counts twice: moved and compared.
            public var done, total: Int64
        }

        /// What was moved.
        public struct Report: Sendable {
            /// Tables, in order, with their rows.
            public var tables: [(name: String, rows: Int64)]
            /// Inboxes, the sum of their heads, and the wrapping sum of their additive sums (docs/sync.md section 8): of the file, and the same of
            /// the database.
            public var inboxes: Int64
            /// The sum of the heads.
            public var heads: Int64
            /// The sum of the sums.
            public var sum: UInt64
            /// Where the file is now.
            public var kept: String
        }

        /// Moves everything, compares it row by row, and takes the file away (to `….moved`), so that nobody starts a hub on it again.
        ///
        /// - Parameters:
        ///   - path: of the hub's file, which no hub may run on; it is not changed but for what a start would do.
        ///   - address: a libpq address of a database without a hub's rows, or with those of this move.
        ///   - progress: called after each page; false stops the move, and the next one goes on.
        /// - Throws: ``HubError``: the file is none of a hub's or in use; the database cannot be reached, holds another hub, or differs.
        public static func run(
            from path: String, to address: String, progress: (Progress) -> Bool = { _ in true }
        ) throws(HubError) -> Report {
            do {
                var report = try move(path, address, progress)
                report.kept = try HubBackup.moveAside(path, to: "moved")
                return report
            } catch let error as HubError {
                throw error
            } catch let error as SQLiteError {
                throw HubError(message: "the file \(path) cannot be moved: \(error.message)")
            } catch {
                throw HubError(message: "\(error)")
            }
        }

        private static func move(_ path: String, _ address: String, _ progress: (Progress) -> Bool) throws -> Report {
            try settle(path)
            let file = try Connection(path: path)
            // Nobody writes until it is over.
            try file.execute("BEGIN IMMEDIATE")
            let tables = try MovedTable.all(of: file)
            let database = PostgresConnection(PostgresConnection.Options(try PostgresAddress(address)))
            try database.open()
            defer { database.close() }
            try PostgresMigrator.hub.migrate(database)
            let mark = try self.mark(of: file)
            let isNew = try transaction(on: database) { try begin(database, mark) }
            var counts: [Int64] = []
            for table in tables { counts.append(try file.int("SELECT count(*) FROM \(MovedTable.quoted(table.name))")) }
            var state = Progress(table: "", done: 0, total: 2 * counts.reduce(0, +))
            func step(_ table: MovedTable, _ rows: Int) throws {
                state.table = table.name
                state.done += Int64(rows)
                guard progress(state) else {
                    throw HubError(message: "stopped; the same command goes on where it was")
                }
            }
            for table in tables {
                try copy(table, file, database, isNew: isNew) { rows in try step(table, rows) }
            }
            state.done = counts.reduce(0, +)
            for table in tables {
                try compare(table, file, database) { rows in try step(table, rows) }
            }
            let (inboxes, heads, sum) = try figures(file, database)
            try finish(tables, database, file)
            file.rollback()
            return Report(
                tables: zip(tables, counts).map { ($0.name, $1) }, inboxes: inboxes, heads: heads, sum: sum,
                kept: path)
        }

        /// Brings a file to a state in which everything is where it belongs: what a hub leaves for later is done now.
        private static func settle(_ path: String) throws {
            try HubBackup.requireUnused(path)
            let store = try SQLiteHubStore(path: path)
            var goesOn = true
            while goesOn {
                try store.begin()
                do {
                    goesOn = try store.fanOut(limit: HubLimits.transaction, now: HubServer.now()) != nil
                    try store.commit()
                } catch {
                    store.rollback()
                    throw error
                }
            }
            try store.close()
        }

        /// What tells one hub from another: its projects' seeds never change.
        private static func mark(of file: Connection) throws -> [UInt8] {
            var bytes: [UInt8] = []
            let seeds = try file.prepare("SELECT seed FROM project ORDER BY id")
            while try seeds.step() { bytes += seeds.blob(0) }
            guard !bytes.isEmpty else { throw HubError(message: "the file holds no project; there is nothing to move") }
            return SHA256.hash(bytes)
        }

        /// Takes an empty database, or one that a move of the same file has begun to fill; true for the first.
        private static func begin(_ database: PostgresConnection, _ mark: [UInt8]) throws -> Bool {
            try database.run("CREATE TABLE IF NOT EXISTS \(moving) (id bigint PRIMARY KEY, mark bytea NOT NULL)")
            let found = try database.execute(
                database.statement("SELECT mark FROM \(moving)"), PostgresParameters())
            if found.count > 0 {
                guard found.withBytes(0, 0, { Array($0) }) == mark else {
                    throw HubError(message: "another hub is being moved into this database")
                }
                return false
            }
            let projects = try database.execute(
                database.statement("SELECT count(*) FROM project"), PostgresParameters())
            guard projects.int64(0, 0) == 0 else {
                throw HubError(message: "this database holds a hub already; name an empty one")
            }
            var parameters = PostgresParameters()
            parameters.add(mark)
            _ = try database.execute(
                database.statement("INSERT INTO \(moving) (id, mark) VALUES (1, $1)"), parameters)
            return true
        }

        /// A pipeline's statements are one transaction until something ends it, so each has its own beginning and end.
        private static func transaction<R>(on database: PostgresConnection, _ body: () throws -> R) throws -> R {
            try database.run("BEGIN")
            do {
                let result = try body()
                try database.run("COMMIT")
                return result
            } catch {
                try? database.run("ROLLBACK")
                throw error
            }
        }

        /// The table that is there while a move is not through.
        static let moving = "peal_moving"

        /// Whether a move into a database is not through; no hub starts on it then.
        static func isUnderWay(_ database: PostgresConnection) throws(PostgresError) -> Bool {
            try database.run("BEGIN")
            do throws(PostgresError) {
                let found = try database.execute(
                    database.statement("SELECT 1 FROM \(moving)"), PostgresParameters())
                try database.run("COMMIT")
                return found.count > 0
            } catch {
                try? database.run("ROLLBACK")
                guard error.code == .noTable else { throw error }
                return false
            }
        }

        private static func copy(
            _ table: MovedTable, _ file: Connection, _ database: PostgresConnection, isNew: Bool,
            _ step: (Int) throws -> Void
        ) throws {
            // Pages are written in the order of the key, each whole: the last row tells how far a move has come.
            var last = isNew ? nil : try table.lastKey(in: database)
            while true {
                let rows = try table.rows(of: file, after: last)
                guard let end = rows.last else { return }
                do {
                    try transaction(on: database) { try table.insert(rows, into: database) }
                } catch {
                    throw HubError(message: "table \(table.name): \(error)")
                }
                last = table.key(of: end)
                try step(rows.count)
            }
        }

        private static func compare(
            _ table: MovedTable, _ file: Connection, _ database: PostgresConnection, _ step: (Int) throws -> Void
        ) throws {
            var last: [SQLiteValue]?
            while true {
                let wanted = try table.rows(of: file, after: last)
                let found = try table.rows(of: database, after: last)
                guard wanted == found else {
                    throw HubError(
                        message:
                            "table \(table.name) differs in the database; empty the database and begin anew. The file is as it was"
                    )
                }
                guard let end = wanted.last else { return }
                last = table.key(of: end)
                try step(wanted.count)
            }
        }

        /// Inboxes, heads and sums, added up by each side for itself.
        private static func figures(
            _ file: Connection, _ database: PostgresConnection
        ) throws -> (Int64, Int64, UInt64) {
            let query = try file.prepare("SELECT head, sum FROM inbox")
            var own: (Int64, Int64, UInt64) = (0, 0, 0)
            while try query.step() {
                own = (own.0 + 1, own.1 + query.int64(0), own.2 &+ query.bits(1))
            }
            let rows = try database.execute(
                database.statement("SELECT head, sum FROM inbox"), PostgresParameters())
            var other: (Int64, Int64, UInt64) = (0, 0, 0)
            for row in 0..<rows.count {
                other = (
                    other.0 + 1, other.1 + rows.int64(row, 0), other.2 &+ UInt64(bitPattern: rows.int64(row, 1))
                )
            }
            guard own == other else { throw HubError(message: "the sums of the inboxes differ; begin anew") }
            return own
        }

        /// What is left of the file, and the end of the move, in one transaction.
        private static func finish(
            _ tables: [MovedTable], _ database: PostgresConnection, _ file: Connection
        ) throws {
            let operatorHash = try file.prepare("SELECT operator FROM meta WHERE id = 1")
            guard try operatorHash.step() else { throw HubError(message: "the file has no row of its own") }
            try transaction(on: database) {
                if !operatorHash.isNull(0) {
                    var parameters = PostgresParameters()
                    parameters.add(operatorHash.blob(0))
                    try database.send(database.statement("UPDATE meta SET operator = $1 WHERE id = 1"), parameters)
                }
                for table in tables where table.hasIdentity {
                    let next = try table.nextID(in: file)
                    try database.run(
                        "ALTER TABLE \(MovedTable.quoted(table.name)) ALTER COLUMN id RESTART WITH \(next)")
                }
                try database.run("DROP TABLE \(moving)")
            }
        }
    }
#endif
