#if PostgreSQL
    import PealPostgres

    /// Makes the hub's tables on PostgreSQL, or brings them to this version. Several nodes may start at once: one of them does it, under
    /// a lock of the table that keeps the version, and the others wait for it.
    ///
    /// The tables are those of the first schema on the session's search path. A step is one transaction with its new version, so that a crash leaves a
    /// whole version. A role without the right to make tables only looks whether the version is this one.
    struct PostgresMigrator {
        /// The statements that make each version of the one before; the first makes 1.
        let steps: [String]

        /// The steps to this version.
        static var hub: PostgresMigrator {
            PostgresMigrator(steps: [String(decoding: PackageResources.v1_pg_sql, as: UTF8.self)])
        }

        /// Brings the tables to this version. Outside a transaction; blocking.
        ///
        /// - Throws: `corrupt` for a newer version; `failed` where the version is older and a right is missing.
        func migrate(_ connection: PostgresConnection) throws(HubStoreError) {
            let found = try present(connection)
            if found == steps.count { return }
            guard found < steps.count else {
                throw HubStoreError(
                    .corrupt, "the database is of version \(found); this hub knows up to \(steps.count)")
            }
            do throws(PostgresError) {
                for attempt in 1... {
                    do throws(PostgresError) {
                        // Two nodes that make a table at once can meet in the catalogue, in spite of IF NOT EXISTS.
                        try connection.run(
                            "CREATE TABLE IF NOT EXISTS peal_version (id bigint PRIMARY KEY, version bigint NOT NULL)")
                        break
                    } catch {
                        guard attempt < 5, [.uniqueViolation, .init(rawValue: "42P07")].contains(error.code) else {
                            throw error
                        }
                    }
                }
                try connection.run("INSERT INTO peal_version (id, version) VALUES (1, 0) ON CONFLICT DO NOTHING")
                for (index, step) in steps.enumerated() { try take(step, to: index + 1, connection) }
            } catch {
                throw HubStoreError(postgres: error)
            }
        }

        private func version(_ connection: PostgresConnection) throws(PostgresError) -> Int {
            let sql = "SELECT version FROM peal_version WHERE id = 1"
            let result = try connection.execute(connection.statement(sql), PostgresParameters())
            try connection.end()
            return result.count > 0 ? Int(result.int64(0, 0)) : 0
        }

        private func take(_ step: String, to next: Int, _ connection: PostgresConnection) throws(PostgresError) {
            do throws(PostgresError) {
                try connection.run("BEGIN")
                // Whoever comes second waits here, and then sees the version that the first has made.
                let row = try connection.execute(
                    connection.statement("SELECT version FROM peal_version WHERE id = 1 FOR UPDATE"),
                    PostgresParameters())
                let current = Int(row.int64(0, 0))
                if current == next - 1 {
                    try connection.run(step)
                    try connection.run("UPDATE peal_version SET version = \(next) WHERE id = 1")
                }
                try connection.run("COMMIT")
            } catch {
                try? connection.run("ROLLBACK")
                throw error
            }
        }

        /// The version of the tables; 0 where there are none.
        private func present(_ connection: PostgresConnection) throws(HubStoreError) -> Int {
            do throws(PostgresError) {
                return try version(connection)
            } catch {
                guard error.code == .noTable else { throw HubStoreError(postgres: error) }
                return 0
            }
        }
    }
#endif
