#if PostgreSQL
    import CPealPostgres

    /// Where a database is: a libpq address (`postgresql://user@host:5432/name?sslmode=require`, or `host=… dbname=…`).
    ///
    /// Its description has no password, and none of its text is in an error.
    public struct PostgresAddress: Sendable, CustomStringConvertible {
        /// The text, secrets included: for libpq only.
        let text: String
        /// Server, port, database and user, as they stand in the address.
        public let description: String

        /// Reads an address.
        ///
        /// - Throws: ``PostgresError`` `badAddress`, without any of the text.
        public init(_ text: String) throws(PostgresError) {
            guard let options = PQconninfoParse(text, nil) else {
                throw PostgresError(
                    .badAddress, "the address of the database is none: postgresql://user@host:5432/name is one")
            }
            defer { PQconninfoFree(options) }
            self.text = text
            var parts: [String: String] = [:]
            var option = options
            while let keyword = option.pointee.keyword {
                if let value = option.pointee.val { parts[String(cString: keyword)] = String(cString: value) }
                option += 1
            }
            let host = parts["host"] ?? parts["hostaddr"] ?? "localhost"
            let port = parts["port"].map { ":\($0)" } ?? ""
            let user = parts["user"].map { "\($0)@" } ?? ""
            description = "postgresql://\(user)\(host)\(port)/\(parts["dbname"] ?? "")"
        }

        /// Whether a text is meant to be an address and no path.
        public static func isOne(_ text: String) -> Bool {
            text.hasPrefix("postgresql:") || text.hasPrefix("postgres:")
        }
    }
#endif
