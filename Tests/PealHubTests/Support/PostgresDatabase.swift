#if PostgreSQL
    import Foundation
    import PealModel
    import PealPostgres
    import PostgresServer
    import Synchronization

    @testable import PealHub

    /// Databases on the server that the tests share: each test has one for itself, a copy of one whose tables are made already, or one that an
    /// earlier test has left, emptied: making one takes a third of a second.
    enum PostgresDatabase {
        /// The connection that makes and drops them.
        private final class Administrator: @unchecked Sendable {
            // Used by one test at a time: it is guarded by the mutex that holds it.
            let server: PostgresServer
            let connection: PostgresConnection
            var count = 0

            init() throws {
                server = try PostgresServer.shared()
                connection = PostgresConnection(.init(try PostgresAddress(server.address())))
                try connection.open()
                try connection.run("CREATE DATABASE peal_template")
                try PostgresHubStore(address: server.address("peal_template")).close()
            }
        }

        /// The databases of fixtures.
        static let places = Mutex<[URL: String]>([:])
        private static let administrator = Mutex<Administrator?>(nil)

        private static let left = Mutex<[String]>([])

        /// The name of an empty database with the hub's tables, for ``leave(_:)``.
        static func take() throws -> String {
            guard let name = left.withLock({ $0.popLast() }) else { return try make() }
            let connection = PostgresConnection(.init(try PostgresAddress(try address(name))))
            try connection.open()
            try connection.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)' AND pid <> pg_backend_pid()"
            )
            let tables = PostgresMigrator.hub.steps[0].matches(of: #/CREATE TABLE (\S+) \(/#)
            try connection.run("BEGIN")
            for table in tables where table.output.1 != "meta" { try connection.run("DELETE FROM \(table.output.1)") }
            try connection.run("UPDATE meta SET operator = NULL, probed = 0")
            try connection.run("SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'")
            try connection.run("COMMIT")
            return name
        }

        /// Leaves a database to the next test.
        static func leave(_ name: String) { left.withLock { $0.append(name) } }

        /// The name of a new database with the hub's tables, or without any.
        static func make(empty: Bool = false) throws -> String {
            try administrator.withLock { administrator in
                let own = try administrator ?? Administrator()
                administrator = own
                own.count += 1
                let name = "peal_test_\(own.count)"
                for attempt in 1... {
                    do {
                        try own.connection.run("CREATE DATABASE \(name)" + (empty ? "" : " TEMPLATE peal_template"))
                        break
                    } catch {
                        // 55006: the session that made the tables is not over yet.
                        guard (error as? PostgresError)?.code.rawValue == "55006", attempt < 500 else { throw error }
                        usleep(10_000)
                    }
                }
                return name
            }
        }

        static func address(_ name: String) throws -> String { try PostgresServer.shared().address(name) }

        static func drop(_ name: String) {
            administrator.withLock { try? $0?.connection.run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)") }
        }
    }

    extension StoreKind {
        static let postgres = StoreKind(
            name: postgresName,
            make: { directory, seed, retention in
                let file = directory.appending(path: "database")
                let name: String
                if let known = try? String(contentsOf: file, encoding: .utf8) {
                    name = known
                } else {
                    name = try PostgresDatabase.take()
                    try name.write(to: file, atomically: true, encoding: .utf8)
                    PostgresDatabase.places.withLock { $0[directory] = name }
                }
                return try PostgresHubStore(
                    address: try PostgresDatabase.address(name), retention: retention, random: SplitMix(state: seed))
            }, oneOf: 4,
            discard: { directory in
                guard let name = PostgresDatabase.places.withLock({ $0.removeValue(forKey: directory) }) else { return }
                PostgresDatabase.leave(name)
            })
    }
#endif
