#if PostgreSQL
    import CPealPostgres

    /// One connection to a PostgreSQL server, always in libpq's pipeline mode: what needs no answer is sent and not waited for.
    ///
    /// Not Sendable: one thread at a time. Every call that waits blocks, for as long as the server's time-outs allow, or until TCP gives the
    /// connection up (20 s).
    ///
    /// Nothing of a session is relied upon beyond a transaction but prepared statements, which can be left out: so a pooler that
    /// hands out connections by the transaction may stand in between.
    public final class PostgresConnection {
        /// How a connection is made.
        public struct Options: Sendable {
            /// Where the database is.
            public var address: PostgresAddress
            /// Whether statements are prepared. Not through a pooler that cannot keep them.
            public var prepares = true
            /// What the server shows as the name of the program, where the address has none.
            public var name = "peal"

            /// Options for an address.
            public init(_ address: PostgresAddress) { self.address = address }
        }

        /// Commands that are sent before their answers are read at the latest.
        private static let window = 256

        private enum Command {
            case prepare(PostgresStatement)
            case run
            case sync
        }

        private let options: Options
        private var handle: OpaquePointer?
        private var pending: [Command] = []
        private var statements = 0
        /// Counts connections: a statement is prepared on one of them.
        private var number = 0
        /// What went wrong first since the last recovery.
        private var failure: PostgresError?
        /// How many answers were waited for: round trips, for tests and measurements.
        public private(set) var waits = 0

        /// Makes no connection yet.
        public init(_ options: Options) { self.options = options }

        deinit { close() }

        /// Whether there is a connection that has not broken.
        public var isOpen: Bool { handle != nil }

        /// Connects. Blocking, 5 s for each address unless the address says otherwise. Harmless while there is a connection.
        ///
        /// - Throws: ``PostgresError``: `lost`, with libpq's sentence, or what the server refused it with.
        public func open() throws(PostgresError) {
            guard handle == nil else { return }
            let keywords = [
                "connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
                "fallback_application_name", "dbname", "client_encoding",
            ]
            let values = ["5", "10", "5", "3", "20000", options.name, options.address.text, "UTF8"]
            let made = Self.withStrings(keywords) { keywords in
                Self.withStrings(values) { values in PQconnectdbParams(keywords, values, 1) }
            }
            guard let made, PQstatus(made) == CONNECTION_OK else {
                let error = Self.refusal(made)
                PQfinish(made)
                throw error
            }
            PQsetNoticeProcessor(made, { _, _ in }, nil)
            precondition(PQenterPipelineMode(made) == 1, "a new connection is idle")
            handle = made
            number += 1
            pending.removeAll(keepingCapacity: true)
            failure = nil
        }

        private static func refusal(_ made: OpaquePointer?) -> PostgresError {
            let words = made.map { String(cString: PQerrorMessage($0)) } ?? "no memory"
            let line = words.split(separator: "\n").first.map(String.init) ?? words
            // libpq does not give the SQLSTATE of a refused connection.
            if line.contains("too many clients") || line.contains("remaining connection slots") {
                return PostgresError(.tooManyConnections, line)
            }
            return PostgresError(.lost, line)
        }

        private static func withStrings<R>(
            _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R
        ) -> R {
            var bytes: [CChar] = []
            var offsets: [Int] = []
            for string in strings {
                offsets.append(bytes.count)
                bytes += string.utf8CString
            }
            return bytes.withUnsafeBufferPointer { buffer in
                var pointers: [UnsafePointer<CChar>?] = offsets.map { offset in buffer.baseAddress.map { $0 + offset } }
                pointers.append(nil)
                return pointers.withUnsafeBufferPointer { list in
                    guard let base = list.baseAddress else { preconditionFailure("a list with an end") }
                    return body(base)
                }
            }
        }

        /// Closes the connection; ``open()`` makes another one.
        public func close() {
            if let handle { PQfinish(handle) }
            handle = nil
            pending.removeAll(keepingCapacity: true)
            failure = nil
        }

        /// A statement for this connection. Nothing is sent.
        public func statement(_ sql: String) -> PostgresStatement {
            statements += 1
            return PostgresStatement(sql: sql, name: "peal_\(statements)")
        }

        // MARK: Sending

        /// Sends a statement and waits for nothing; what goes wrong with it is thrown by the next call that waits.
        ///
        /// - Throws: ``PostgresError``: `lost`, `zeroCharacter`, or what went wrong before.
        public func send(_ statement: PostgresStatement, _ parameters: PostgresParameters) throws(PostgresError) {
            if parameters.hasZero {
                throw PostgresError(.zeroCharacter, "PostgreSQL cannot keep a text with a character of number 0")
            }
            guard let handle else { throw PostgresError(.lost, "there is no connection to the database") }
            if pending.count >= Self.window { try synchronize() }
            var isSent = true
            if options.prepares {
                if statement.preparedOn != number {
                    isSent = parameters.kinds.withUnsafeBufferPointer { kinds in
                        PQsendPrepare(handle, statement.name, statement.sql, Int32(kinds.count), kinds.baseAddress) == 1
                    }
                    statement.preparedOn = number
                    pending.append(.prepare(statement))
                }
            }
            isSent = isSent && dispatch(statement, parameters, on: handle)
            pending.append(.run)
            if !isSent { throw broken() }
        }

        private func dispatch(
            _ statement: PostgresStatement, _ parameters: PostgresParameters, on handle: OpaquePointer
        ) -> Bool {
            let count = Int32(parameters.kinds.count)
            let formats = [Int32](repeating: 1, count: parameters.kinds.count)
            return parameters.bytes.withUnsafeBytes { bytes in
                let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                let values = parameters.offsets.indices.map { index -> UnsafePointer<CChar>? in
                    parameters.lengths[index] < 0 ? nil : base.map { $0 + parameters.offsets[index] }
                }
                let lengths = parameters.lengths
                return options.prepares
                    ? PQsendQueryPrepared(handle, statement.name, count, values, lengths, formats, 1) == 1
                    : PQsendQueryParams(
                        handle, statement.sql, count, parameters.kinds, values, lengths, formats, 1) == 1
            }
        }

        // MARK: Waiting

        /// Sends a statement and waits for its answer, and for all that was sent before.
        ///
        /// - Throws: ``PostgresError``: of the first statement that went wrong; then the transaction has failed, and only its end, or the
        ///   undoing of a savepoint, does anything.
        public func execute(
            _ statement: PostgresStatement, _ parameters: PostgresParameters
        ) throws(PostgresError) -> PostgresResult {
            try send(statement, parameters)
            guard let last = try receive() else { throw broken() }
            return last
        }

        /// Waits for the answers of all that was sent.
        ///
        /// - Throws: ``PostgresError``, as ``execute(_:_:)`` does.
        public func synchronize() throws(PostgresError) {
            guard !pending.isEmpty else { return }
            _ = try receive()
        }

        /// Takes every answer that is to come; returns the last.
        private func receive() throws(PostgresError) -> PostgresResult? {
            guard let handle else { throw PostgresError(.lost, "there is no connection to the database") }
            waits += 1
            guard PQsendFlushRequest(handle) == 1, PQflush(handle) >= 0 else { throw broken() }
            var last: PostgresResult?
            for command in pending { last = try receive(command, handle) ?? last }
            pending.removeAll(keepingCapacity: true)
            guard let error = failure else { return last }
            failure = nil
            try recover(handle)
            throw error
        }

        private func receive(_ command: Command, _ handle: OpaquePointer) throws(PostgresError) -> PostgresResult? {
            guard let result = PQgetResult(handle) else { throw broken() }
            let status = PQresultStatus(result)
            if PQstatus(handle) == CONNECTION_BAD {
                let isRefusal = PQresultErrorField(result, 67) != nil
                let error = PostgresError(result)
                PQclear(result)
                let lost = broken()
                // What a server says before it hangs up is better than that it has.
                throw isRefusal ? PostgresError(.lost, error.message) : lost
            }
            if case .sync = command {
                PQclear(result)
                return nil
            }
            guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else {
                if case .prepare(let statement) = command { statement.preparedOn = 0 }
                if failure == nil { failure = PostgresError(result) }
                PQclear(result)
                finish(handle)
                return nil
            }
            let taken = PostgresResult(result)
            finish(handle)
            if case .prepare = command { return nil }
            return taken
        }

        /// The answers of a command end with none.
        private func finish(_ handle: OpaquePointer) {
            while let more = PQgetResult(handle) { PQclear(more) }
        }

        /// Lets the server take commands again after one went wrong: it skips all up to a sync.
        private func recover(_ handle: OpaquePointer) throws(PostgresError) {
            guard PQpipelineSync(handle) == 1 else { throw broken() }
            _ = try receive(.sync, handle)
        }

        /// Lets go of a connection that is broken.
        private func broken() -> PostgresError {
            let words = handle.map { String(cString: PQerrorMessage($0)) } ?? ""
            let line = words.split(separator: "\n").first.map(String.init) ?? "the connection is gone"
            close()
            return PostgresError(.lost, line)
        }

        // MARK: Notifications

        /// The socket, for whoever waits until something can be read from it; nil where there is no connection.
        public var descriptor: Int32? { handle.map { PQsocket($0) } }

        /// The payloads of the notifications that have come; not blocking.
        ///
        /// - Throws: ``PostgresError`` `lost`.
        public func notifications() throws(PostgresError) -> [String] {
            guard let handle, PQconsumeInput(handle) == 1 else { throw broken() }
            var payloads: [String] = []
            while let notification = PQnotifies(handle) {
                payloads.append(String(cString: notification.pointee.extra))
                PQfreemem(notification)
            }
            return payloads
        }

        /// Forgets which statements are prepared: a pooler has given us another connection of the server.
        public func forgetStatements() { number += 1 }

        /// Runs statements that stand in one text and have no parameters, one after the other, outside or inside a transaction.
        ///
        /// - Throws: ``PostgresError``.
        public func run(_ script: String) throws(PostgresError) {
            for sql in Self.statements(of: script) {
                try send(PostgresStatement(sql: sql, name: ""), PostgresParameters())
                try end()
            }
        }

        /// Waits for what was sent, and ends the transaction that the server has begun for it, where none was begun in words.
        ///
        /// - Throws: ``PostgresError``.
        public func end() throws(PostgresError) {
            guard let handle else { throw PostgresError(.lost, "there is no connection to the database") }
            guard PQpipelineSync(handle) == 1 else { throw broken() }
            pending.append(.sync)
            try synchronize()
        }

        /// The statements of a text: what semicolons part, comments left out. The text must have none of either within quotes.
        static func statements(of script: String) -> [String] {
            script.split(separator: "\n", omittingEmptySubsequences: false)
                .map { line in line.range(of: "--").map { line[..<$0.lowerBound] } ?? line }
                .joined(separator: "\n")
                .split(separator: ";")
                .map { String($0).trimmed }
                .filter { !$0.isEmpty }
        }
    }

    extension StringProtocol {
        /// Where a text of ASCII begins; nil where it does not.
        fileprivate func range(of needle: String) -> Range<Index>? {
            var start = startIndex
            while start < endIndex {
                if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
                start = index(after: start)
            }
            return nil
        }

        fileprivate var trimmed: String {
            var text = self[...]
            while let first = text.first, first.isWhitespace { text = text.dropFirst() }
            while let last = text.last, last.isWhitespace { text = text.dropLast() }
            return String(text)
        }
    }
#endif
