#if PostgreSQL
    import PealPostgres
    import PealSQLite

    /// A statement on a PostgreSQL session, and the row on which it stands.
    final class PostgresQuery {
        /// The values of the next run.
        var parameters = PostgresParameters()
        private let statement: PostgresStatement
        private let session: PostgresSession
        /// It changes nothing, so it needs no savepoint.
        private let isRead: Bool
        /// The tables of waiting rows that it asks about.
        private let tables: [String]
        private var result: PostgresResult?
        private var row = -1

        /// A statement with parameters `?1`, `?2`, …
        ///
        /// - Parameter flushes: whether rows that wait are sent before it, where it asks about their table.
        init(_ sql: String, in session: PostgresSession, flushes: Bool = true) {
            let text = sql.replacing(#/\?(\d+)/#) { match in "$\(match.output.1)" }
            statement = session.connection.statement(text)
            self.session = session
            isRead = sql.hasPrefix("SELECT")
            let words = Set(sql.split { !$0.isLetter && $0 != "_" }.map(String.init))
            tables = flushes ? session.waiting.map(\.table).filter(words.contains) : []
        }

        /// Runs it and waits for nothing.
        func send() throws(HubStoreError) { try session.send(statement, parameters, isRead: isRead, about: tables) }

        /// Steps to the next row; the first step runs it. False after the last one.
        func step() throws(HubStoreError) -> Bool {
            row += 1
            if let result { return row < result.count }
            let result = try session.execute(statement, parameters, isRead: isRead, about: tables)
            self.result = result
            return row < result.count
        }

        /// Makes it ready for the next run.
        func reset() {
            parameters.removeAll()
            result = nil
            row = -1
        }

        private var current: PostgresResult {
            guard let result else { preconditionFailure("a row is read while the query runs") }
            return result
        }

        func isNull(_ column: Int32) -> Bool { current.isNull(row, column) }
        func int64(_ column: Int32) -> Int64 { current.int64(row, column) }
        func withBytes<R>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
            current.withBytes(row, column, body)
        }
    }

    /// Arrays of values, for statements that take many rows at once.
    struct Integers: Bindable {
        var values: [Int64]
        init(_ values: [Int64]) { self.values = values }
        func add(to parameters: inout PostgresParameters) { parameters.add(values) }
        func bind(to statement: borrowing Statement, at index: Int32) { preconditionFailure("SQLite has no arrays") }
        static var kind: PostgresParameters.Kind { .integerArray }
    }

    struct Blobs: Bindable {
        var values: [[UInt8]?]
        init(_ values: [[UInt8]?]) { self.values = values }
        func add(to parameters: inout PostgresParameters) { parameters.add(values) }
        func bind(to statement: borrowing Statement, at index: Int32) { preconditionFailure("SQLite has no arrays") }
        static var kind: PostgresParameters.Kind { .bytesArray }
    }

    struct Texts: Bindable {
        var values: [String?]
        init(_ values: [String?]) { self.values = values }
        func add(to parameters: inout PostgresParameters) { parameters.add(values) }
        func bind(to statement: borrowing Statement, at index: Int32) { preconditionFailure("SQLite has no arrays") }
        static var kind: PostgresParameters.Kind { .textArray }
    }
#endif
