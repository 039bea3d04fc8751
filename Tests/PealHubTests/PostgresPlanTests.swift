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

        /// Indexes that are read from one end: they hold only what is to be done, or the first row is what is wanted.
        private let meant: Set<String> = [
            "inbox_purge", "publish_pending", "scheduled_due", "replica_suspect", "webhook_due", "project_pkey",
        ]

        /// The lines of a plan that read more than they should, or sort what an index could give in order.
        private func problems(_ plan: String) -> [String] {
            let lines = plan.split(separator: "\n").map(String.init)
            return lines.indices.compactMap { index in
                let words = lines[index].split(separator: " ").map(String.init)
                guard let scan = words.firstIndex(of: "Scan"), words.count > scan + 2 else {
                    let isSort = words.last == "Sort" && !small.contains { plan.contains("on \($0)") }
                    return isSort ? lines[index] : nil
                }
                if words[..<scan].contains("Seq") { return small.contains(words[scan + 2]) ? nil : lines[index] }
                guard words[..<scan].contains("Index") else { return nil }
                let hasCondition = lines.indices.contains(index + 1) && lines[index + 1].contains("Index Cond")
                return hasCondition || meant.contains(words[scan + 2]) ? nil : lines[index]
            }
        }

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
            // Tables without rows are cheap to read whole; then what is dear shows what cannot be done otherwise.
            for way in ["seqscan", "bitmapscan", "sort", "material", "hashjoin", "mergejoin"] {
                try connection.run("SET enable_\(way) = off")
            }
            try connection.run("SET plan_cache_mode = force_generic_plan")
            // A row of `state` is written by its key; its parameter 3 has a meaning on SQLite only, and so no type.
            for sql in queries where !sql.hasPrefix("INSERT INTO state") {
                // What a request locks is found by its keys and sorted, because locks have an order.
                let isLock = sql.contains("ORDER BY b.id FOR UPDATE")
                try connection.run("SET enable_sort = \(isLock ? "on" : "off")")
                let plan = try plan(sql, connection, try kinds(sql, connection)).replacing(
                    isLock ? "Sort" : "?", with: "")
                #expect(problems(plan).isEmpty, "\(problems(plan))\n\(plan)\n\(sql)")
            }
        }

        @Test func `the store's and the readers' statements use their indexes`() throws {
            let hub = try StoreFixture(.postgres)
            let name = try #require(PostgresDatabase.places.withLock { $0[hub.directory] })
            try check(try #require(hub.store as? PostgresHubStore).database.queries, name)
            try check(try #require(hub.reader as? PostgresHubReader).database.queries, name)
        }

        @Test func `a plan without an index is noticed`() throws {
            let hub = try StoreFixture(.postgres)
            let name = try #require(PostgresDatabase.places.withLock { $0[hub.directory] })
            let connection = PostgresConnection(.init(try PostgresAddress(PostgresDatabase.address(name))))
            try connection.open()
            try connection.run("SET enable_seqscan = off")
            for sql in [
                "SELECT * FROM entry WHERE time = ?1", "SELECT position FROM entry ORDER BY inbox, position",
                "SELECT * FROM entry WHERE inbox = ?1 ORDER BY time",
            ] {
                let found = problems(try plan(sql, connection, try kinds(sql, connection)))
                #expect(!found.isEmpty, "\(sql)")
            }
        }
    }
#endif
