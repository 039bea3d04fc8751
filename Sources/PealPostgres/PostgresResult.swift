#if PostgreSQL
    import CPealPostgres

    /// The rows of one answer, in memory. Columns and rows count from 0.
    public final class PostgresResult {
        private let handle: OpaquePointer
        /// How many rows.
        public let count: Int

        init(_ handle: OpaquePointer) {
            self.handle = handle
            count = Int(PQntuples(handle))
        }

        deinit { PQclear(handle) }

        /// How many rows a statement without an answer wrote.
        public var affected: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

        /// Whether a value is NULL.
        public func isNull(_ row: Int, _ column: Int32) -> Bool { PQgetisnull(handle, Int32(row), column) == 1 }

        /// The bytes of a value; valid within the body.
        public func withBytes<R>(_ row: Int, _ column: Int32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
            let count = Int(PQgetlength(handle, Int32(row), column))
            return body(UnsafeRawBufferPointer(start: PQgetvalue(handle, Int32(row), column), count: count))
        }

        /// A whole number of any width, or 0 and 1 of a truth value; 0 for NULL.
        public func int64(_ row: Int, _ column: Int32) -> Int64 {
            withBytes(row, column) { bytes in
                switch bytes.count {
                case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
                case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
                case 2: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
                case 1: Int64(bytes[0])
                default: 0
                }
            }
        }

        /// A text.
        public func text(_ row: Int, _ column: Int32) -> String {
            withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// A statement that a connection prepares when it is first needed, and again on a new connection.
    public final class PostgresStatement {
        /// Its text, with `$1`, `$2`, …
        public let sql: String
        let name: String
        /// The connection, counted, on which it is prepared; 0 for none.
        var preparedOn = 0

        init(sql: String, name: String) {
            self.sql = sql
            self.name = name
        }
    }
#endif
