#if PostgreSQL
    import PealModel
    import PealPostgres
    import Synchronization
    import Testing

    @testable import PealHub

    /// Every statement on PostgreSQL finds its rows through an index: none reads a table that grows from end to end.
    @Suite struct PostgresPlanTests {
        /// Tables that hold a row, or a few for each tenant.
        private let small: Set<String> = ["meta", "project"]

        /// A plan of a statement as a text, with whole scans and sorts made dear.
        private func plan(_ sql: String, _ connection: PostgresConnection, _ kinds: [String]) throws -> String {
            let text = sql.replacing(#/\?(\d+)/#) { "$\($0.output.1)" }
            try connection.run("DEALLOCATE ALL")
            let types = kinds.isEmpty ? "" : "(\(kinds.joined(separator: ", ")))"
            try connection.run("PREPARE looked \(types) AS \(text)")
            let nulls = kinds.map { $0.hasSuffix("[]") ? "'{1,2}'" : $0 == "bytea" ? "'\\x00'" : "'1'" }
            let arguments = kinds.isEmpty ? "" : "(\(nulls.joined(separator: ", ")))"
            let result = try connection.execute(
                connection.statement("EXPLAIN (COSTS OFF) EXECUTE looked\(arguments)"), PostgresParameters())
            try connection.end()
            return (0..<result.count).map { result.text($0, 0) }.joined(separator: "\n")
        }

        /// The types of a statement's parameters, as the server finds them.
        private func kinds(_ sql: String, _ connection: PostgresConnection) throws -> [String] {
            let text = sql.replacing(#/\?(\d+)/#) { "$\($0.output.1)" }
            try connection.run("DEALLOCATE ALL")
            try connection.run("PREPARE looked AS \(text)")
            let result = try connection.execute(
                connection.statement(
                    "SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'looked'"),
                PostgresParameters())
            try connection.end()
            return (0..<result.count).map { result.text($0, 0) }
        }

        private func check(_ queries: [String], _ name: String) throws {
            #expect(queries.count > 20)
            let connection = PostgresConnection(.init(try PostgresAddress(PostgresDatabase.address(name))))
            try connection.open()
            try connection.run("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
            // A row of `state` is written by its key; its parameter 3 has a meaning on SQLite only, and so no type.
            for sql in queries where !sql.hasPrefix("INSERT INTO state") {
                let plan = try plan(sql, connection, try kinds(sql, connection))
                for line in plan.split(separator: "\n") where line.contains("Seq Scan on") {
                    let table = line.split(separator: "Seq Scan on ").last?.split(separator: " ").first.map(String.init)
                    #expect(small.contains(table ?? ""), "\(plan)\n\(sql)")
                }
            }
        }

        @Test func `the store's and the readers' statements use their indexes`() throws {
            let hub = try StoreFixture(.postgres)
            let name = try #require(PostgresDatabase.places.withLock { $0[hub.directory] })
            try check(try #require(hub.store as? PostgresHubStore).database.queries, name)
            try check(try #require(hub.reader as? PostgresHubReader).database.queries, name)
        }
    }
#endif
