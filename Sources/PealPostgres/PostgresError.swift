#if PostgreSQL
    import CPealPostgres

    /// What PostgreSQL refused to do, or why it cannot be asked. Holds the server's own words, never a bound value, an address's
    /// password or SQL.
    public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
        /// An SQLSTATE of five characters, or a word of our own; an open set.
        public struct Code: RawRepresentable, Hashable, Sendable {
            /// The five characters, or the word.
            public let rawValue: String
            /// A code of its text.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// There is no connection, or it broke while something was asked: whether that was done is not known.
            public static let lost = Code(rawValue: "lost")
            /// The text that says where the database is cannot be read.
            public static let badAddress = Code(rawValue: "bad address")
            /// A text with a character of number 0, which PostgreSQL cannot keep. Nothing was sent.
            public static let zeroCharacter = Code(rawValue: "zero character")
            /// Two transactions wait for each other; this one was chosen to end.
            public static let deadlock = Code(rawValue: "40P01")
            /// The transaction does not fit beside another one.
            public static let serialization = Code(rawValue: "40001")
            /// A lock was not to be had in time.
            public static let lockTimeout = Code(rawValue: "55P03")
            /// Somebody else has written a row of the same key.
            public static let uniqueViolation = Code(rawValue: "23505")
            /// The server does not write: a standby, or one that was set so.
            public static let readOnly = Code(rawValue: "25006")
            /// The server's disk is full.
            public static let diskFull = Code(rawValue: "53100")
            /// The server's memory is full.
            public static let outOfMemory = Code(rawValue: "53200")
            /// The server takes no more connections.
            public static let tooManyConnections = Code(rawValue: "53300")
            /// The statement took longer than it may, or somebody ended it.
            public static let cancelled = Code(rawValue: "57014")
            /// A prepared statement is not there: a pooler has given us another connection of the server.
            public static let noStatement = Code(rawValue: "26000")
            /// There is a prepared statement of this name: likewise.
            public static let knownStatement = Code(rawValue: "42P05")
            /// A right is missing.
            public static let denied = Code(rawValue: "42501")
            /// There is no such table.
            public static let noTable = Code(rawValue: "42P01")

            /// The first two characters: the kind of error.
            public var kind: Substring { rawValue.prefix(2) }
        }

        /// What went wrong.
        public let code: Code
        /// The server's words, or ours.
        public let message: String

        /// An error of its parts.
        public init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }

        /// A sentence for a log.
        public var description: String { "\(code.rawValue): \(message)" }

        /// The error of a result. What the server says of data can quote it, so that is left out.
        init(_ result: OpaquePointer?) {
            let state = PQresultErrorField(result, 67).map { String(cString: $0) } ?? ""  // 'C': PG_DIAG_SQLSTATE
            let primary = PQresultErrorField(result, 77).map { String(cString: $0) }  // 'M': PG_DIAG_MESSAGE_PRIMARY
            code = Code(rawValue: state.isEmpty ? "XX000" : state)
            message = code.kind == "22" ? "a value does not fit" : primary ?? "no message"
        }
    }
#endif
