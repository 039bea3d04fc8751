#if PostgreSQL
    import PealPostgres

    /// Rows that a transaction has made and not sent yet, so that many go in one statement.
    protocol WaitingRows: AnyObject {
        /// Where they go; a statement that asks about it sends them first.
        var table: String { get }
        /// How many wait.
        var count: Int { get }
        /// Sends the first so many.
        func flush(first count: Int) throws(HubStoreError)
        /// Forgets all but the first so many.
        func truncate(to count: Int)
    }

    /// Transactions on one connection to PostgreSQL, with what a hub's store makes of their errors. One thread at a time.
    ///
    /// What is written is sent and not waited for, so an error can come to light later than at its cause, in a request that is not to blame.
    /// Then the whole group is lost (``HubStoreError/Code/again``), and the next transaction is **careful**: it waits at the end of each
    /// savepoint, and each error meets the request that made it.
    ///
    /// A savepoint is sent before the first change within it: most requests that fail have changed nothing.
    final class PostgresSession {
        /// How the hub uses a database.
        struct Settings: Sendable {
            var options: PostgresConnection.Options
            /// Milliseconds that a statement may take; 0 for no limit.
            var statementTimeout = 30_000
            /// Milliseconds that a lock is waited for: less than the server's `deadlock_timeout`, because the group is run again then.
            var lockTimeout = 400
            /// Milliseconds after which the server ends a transaction in which nothing is asked: of a node that hangs.
            var idleTimeout = 10_000
            /// Milliseconds between attempts to connect, after one that failed, at first and at most.
            var backoff = 100...5_000

            init(_ options: PostgresConnection.Options) { self.options = options }
        }

        private struct Level {
            var isSent: Bool
            /// How many rows waited.
            var waiting: [Int]
        }

        let connection: PostgresConnection
        private let settings: Settings
        private let isReader: Bool
        private let opening: String
        /// Sets what holds for one transaction only, so that a pooler may give the next one another connection of the server.
        private var parameters = ""
        private var utilities: [String: PostgresStatement] = [:]
        private(set) var waiting: [any WaitingRows] = []
        private var levels: [Level] = []
        private(set) var isInTransaction = false
        /// Rows that waited are being sent, in the place that was found for them.
        private var isFlushing = false
        /// Each request waits for what it wrote.
        var isCareful = false
        private var failures = 0
        private var notBefore = ContinuousClock.now

        init(_ settings: Settings, isReader: Bool = false) {
            self.settings = settings
            self.isReader = isReader
            connection = PostgresConnection(settings.options)
            opening =
                isReader ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL READ COMMITTED"
        }

        /// Adds rows that wait; before the first query is made.
        func add(_ rows: any WaitingRows) { waiting.append(rows) }

        // MARK: Connecting

        /// Connects where there is no connection. After a failure the next attempt comes after a while, and until then this throws at once.
        func connect() throws(HubStoreError) {
            guard !connection.isOpen else { return }
            guard ContinuousClock.now >= notBefore else {
                throw HubStoreError(.unavailable, "the database cannot be reached; the next attempt is made soon")
            }
            do throws(PostgresError) {
                try connection.open()
                try findParameters()
                failures = 0
            } catch {
                failures += 1
                let longest = min(settings.backoff.upperBound, settings.backoff.lowerBound << min(failures - 1, 10))
                notBefore = .now + .milliseconds(Int.random(in: longest / 2...longest))
                throw HubStoreError(postgres: error)
            }
        }

        /// Every statement has an index (`PostgresPlanTests`), and its plan is kept for as long as the connection: one that was made while a table
        /// was small reads all of it later. So whole scans are forbidden, on PostgreSQL itself: other engines have other settings.
        private func findParameters() throws(PostgresError) {
            var settings = [
                ("statement_timeout", "\(self.settings.statementTimeout)"),
                ("lock_timeout", "\(self.settings.lockTimeout)"),
                ("idle_in_transaction_session_timeout", "\(self.settings.idleTimeout)"),
            ]
            let version = try connection.execute(statement("SELECT version()"), PostgresParameters()).text(0, 0)
            try connection.end()
            if version.hasPrefix("PostgreSQL") {
                // A plan that reads a small table whole has a cost that would call the compiler.
                settings += ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"].map { ($0, "off") }
            }
            let calls = settings.map { "set_config('\($0.0)', '\($0.1)', true)" }
            parameters = "SELECT " + calls.joined(separator: ", ")
        }

        // MARK: Transactions

        /// Opens a transaction. Nothing is waited for where there is a connection.
        func begin() throws(HubStoreError) {
            precondition(!isInTransaction, "one transaction at a time")
            try connect()
            isInTransaction = true
            try utility(opening)
            try utility(parameters)
        }

        /// Ends the transaction; durable when this returns. Where it throws, it is undone, or, with `unavailable`, perhaps not.
        func commit() throws(HubStoreError) {
            precondition(levels.isEmpty, "savepoints are over at the end")
            for rows in waiting { try rows.flush(first: rows.count) }
            // An error of what was sent before is known as its own, not as one of the commit's.
            if isCareful { try synchronize() }
            do throws(PostgresError) {
                _ = try connection.execute(statement("COMMIT"), PostgresParameters())
            } catch {
                guard error.code == .lost else { throw fail(error) }
                isInTransaction = false
                throw HubStoreError(
                    .unavailable,
                    "the connection broke while a transaction was made durable: whether it is, is not known",
                    underlying: error)
            }
            isInTransaction = false
            isCareful = false
        }

        /// Ends a transaction that only read; nothing is waited for.
        func endReading() throws(HubStoreError) {
            isInTransaction = false
            try utility("COMMIT")
        }

        /// Undoes the transaction. Harmless where there is none.
        func rollback() {
            levels.removeAll()
            for rows in waiting { rows.truncate(to: 0) }
            guard isInTransaction else { return }
            isInTransaction = false
            guard connection.isOpen else { return }
            // What was sent and went wrong is of no interest any more.
            try? connection.synchronize()
            do throws(PostgresError) {
                _ = try connection.execute(statement("ROLLBACK"), PostgresParameters())
            } catch {
                connection.close()
            }
        }

        /// Runs a body; where it throws, only its own changes are undone.
        func savepoint<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
            levels.append(Level(isSent: false, waiting: waiting.map(\.count)))
            let depth = levels.count
            do throws(HubStoreError) {
                if isCareful { try sendSavepoints() }
                let result = try body()
                if isCareful {
                    for rows in waiting { try rows.flush(first: rows.count) }
                    try synchronize()
                }
                if levels[depth - 1].isSent { try utility("RELEASE peal_\(depth)") }
                levels.removeLast()
                return result
            } catch {
                let level = levels[depth - 1]
                levels.removeLast(levels.count - depth + 1)
                for (rows, count) in zip(waiting, level.waiting) where rows.count > count { rows.truncate(to: count) }
                if !error.abortsCommit, level.isSent {
                    try utility("ROLLBACK TO peal_\(depth)")
                    try utility("RELEASE peal_\(depth)")
                }
                throw error
            }
        }

        /// Sends the savepoints that are open and not sent, each after the rows that waited before it.
        private func sendSavepoints() throws(HubStoreError) {
            isFlushing = true
            defer { isFlushing = false }
            for index in levels.indices where !levels[index].isSent {
                levels[index].isSent = true
                for (place, rows) in waiting.enumerated() {
                    let count = levels[index].waiting[place]
                    if count > 0 {
                        try rows.flush(first: count)
                        for later in index..<levels.count { levels[later].waiting[place] -= count }
                    }
                }
                try utility("SAVEPOINT peal_\(index + 1)")
            }
        }

        // MARK: Statements

        private func statement(_ sql: String) -> PostgresStatement {
            if let known = utilities[sql] { return known }
            let made = connection.statement(sql)
            utilities[sql] = made
            return made
        }

        private func utility(_ sql: String) throws(HubStoreError) {
            do throws(PostgresError) {
                try connection.send(statement(sql), PostgresParameters())
            } catch {
                throw fail(error)
            }
        }

        private func prepare(isRead: Bool, about tables: [String]) throws(HubStoreError) {
            precondition(isInTransaction, "statements are run in a transaction")
            guard !isFlushing else { return }
            for rows in waiting where rows.count > 0 && tables.contains(rows.table) { try flush(rows) }
            if !isRead, levels.contains(where: { !$0.isSent }) { try sendSavepoints() }
        }

        /// Sends the rows that wait; those that waited before a savepoint go before it.
        private func flush(_ rows: any WaitingRows) throws(HubStoreError) {
            try sendSavepoints()
            try rows.flush(first: rows.count)
        }

        /// Sends a statement and waits for nothing.
        func send(
            _ statement: PostgresStatement, _ parameters: PostgresParameters, isRead: Bool, about tables: [String]
        ) throws(HubStoreError) {
            try prepare(isRead: isRead, about: tables)
            do throws(PostgresError) {
                try connection.send(statement, parameters)
            } catch {
                throw fail(error)
            }
        }

        /// Sends a statement and waits for its rows.
        func execute(
            _ statement: PostgresStatement, _ parameters: PostgresParameters, isRead: Bool, about tables: [String]
        ) throws(HubStoreError) -> PostgresResult {
            try prepare(isRead: isRead, about: tables)
            do throws(PostgresError) {
                return try connection.execute(statement, parameters)
            } catch {
                throw fail(error)
            }
        }

        /// Waits for what was sent.
        func synchronize() throws(HubStoreError) {
            do throws(PostgresError) {
                try connection.synchronize()
            } catch {
                throw fail(error)
            }
        }

        /// Runs statements without parameters, for migrations and tests.
        func run(_ script: String) throws(HubStoreError) {
            do throws(PostgresError) {
                try connection.run(script)
            } catch {
                throw HubStoreError(postgres: error)
            }
        }

        /// What an error means for the transaction.
        private func fail(_ error: PostgresError) -> HubStoreError {
            if error.code == .noStatement || error.code == .knownStatement { connection.forgetStatements() }
            if error.code == .lost, !isReader {
                // The end of the transaction was not asked for, so nothing of it is there. The next attempt connects, or says that it cannot.
                return HubStoreError(.again, "the connection to the database broke", underlying: error)
            }
            let meaning = HubStoreError(postgres: error)
            // A text that was refused here has touched nothing on the server.
            if isReader || isCareful || meaning.abortsCommit || error.code == .zeroCharacter { return meaning }
            isCareful = true
            return HubStoreError(.again, "a statement of the group failed: \(error.message)", underlying: error)
        }
    }

    extension HubStoreError {
        /// The store's word for an error of PostgreSQL's.
        init(postgres error: PostgresError) {
            switch error.code {
            case .lost: self.init(.unavailable, "the database cannot be reached: \(error.message)", underlying: error)
            case .badAddress: self.init(.failed, error.message, underlying: error)
            case .zeroCharacter: self.init(.invalid, error.message, underlying: error)
            case .deadlock, .serialization, .lockTimeout:
                self.init(.again, "another node of the hub held a row: \(error.message)", underlying: error)
            case .noStatement, .knownStatement:
                self.init(
                    .again, "a pooler does not keep prepared statements: see docs/postgresql.md", underlying: error)
            case .readOnly:
                self.init(
                    .readOnly, "the database does not write: it is a standby, or was set so", underlying: error)
            case .diskFull: self.init(.full, "the disk of the database is full", underlying: error)
            case .outOfMemory: self.init(.io, "the memory of the database is full", underlying: error)
            case .tooManyConnections:
                self.init(
                    .unavailable, "the database takes no more connections: raise max_connections, or use a pooler",
                    underlying: error)
            case .cancelled:
                self.init(
                    .busy, "the database took too long over a statement, or was told to end it", underlying: error)
            case .denied:
                self.init(
                    .failed, "the role lacks a right (docs/postgresql.md lists them): \(error.message)",
                    underlying: error)
            case .noTable:
                self.init(.corrupt, "the database lacks a table of a hub's: \(error.message)", underlying: error)
            default:
                switch error.code.kind {
                // 57P01 to 57P05: the server stops or starts; 08: the connection.
                case "57", "08":
                    self.init(.unavailable, "the database stops or starts: \(error.message)", underlying: error)
                case "53": self.init(.io, "the database lacks something: \(error.message)", underlying: error)
                case "58", "XX": self.init(.io, "the database failed: \(error.message)", underlying: error)
                default: self.init(.failed, "the database refused a statement: \(error.message)", underlying: error)
                }
            }
        }
    }
#endif
