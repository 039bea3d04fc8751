#if PostgreSQL
    import Foundation
    import PealModel
    import PealPostgres
    import PostgresServer
    import Synchronization
    import Testing

    @testable import PealHub

    /// What a pooler and a careful administrator leave a hub.
    @Suite struct PostgresPoolerTests {
        private func publish(_ store: PostgresHubStore, _ project: ProjectKey, _ number: Int) throws(HubStoreError) {
            try store.group { () throws(HubStoreError) in
                _ = try store.savepoint { () throws(HubStoreError) in
                    try store.publish(
                        PublishRequest(
                            project: project, name: "pubid-\(number)", body: ItemBody(title: "x", sent: 1),
                            recipients: [.init(identity: UserIdentity(externalID: "mary"))]), now: 1)
                }
            }
        }

        /// A pooler gives each transaction another connection of the server: nothing of the one before is there.
        @Test(arguments: ["", "?peal_prepare=off", "?peal_prepare=off&connect_timeout=3"])
        func `nothing of a session is needed by the next transaction`(_ options: String) throws {
            let hub = try StoreFixture(.postgres)
            let name = try #require(PostgresDatabase.places.withLock { $0[hub.directory] })
            let store = try PostgresHubStore(address: PostgresDatabase.address(name) + options)
            for number in 0..<5 {
                try publish(store, hub.project.key, number)
                try store.session.connection.run("DISCARD ALL")
            }
            let user = try #require(try hub.reader.user(UserIdentity(externalID: "mary"), in: hub.project.key))
            #expect(try PostgresNodesTests.check(hub, user.inbox).items.count == 5)
        }

        @Test func `a role that may only read and write rows is enough for tables that are there`() throws {
            let hub = try StoreFixture(.postgres)
            let name = try #require(PostgresDatabase.places.withLock { $0[hub.directory] })
            let server = try PostgresServer.shared()
            let role = "peal_role_\(name)"
            // As docs/postgresql.md has it.
            let grants = """
                CREATE ROLE \(role) LOGIN; GRANT CONNECT ON DATABASE \(name) TO \(role); GRANT USAGE ON SCHEMA public TO \(role);
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(role);
                GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO \(role)
                """
            try server.sql(grants, in: name)
            defer { _ = try? server.sql("DROP OWNED BY \(role); DROP ROLE \(role)", in: name) }
            let store = try PostgresHubStore(address: server.address(name, user: role))
            try publish(store, hub.project.key, 1)
            let reader = try store.makeReader()
            #expect(try reader.project(hub.project.instance)?.key == hub.project.key)
            reader.close()
            let isBusy = try store.group { () throws(HubStoreError) in try store.upkeep(limit: 10, now: 1) }
            #expect(!isBusy)
            try store.close()
            let empty = try PostgresNodesTests.Database(empty: true)
            let error = try #require(throws: HubStoreError.self) {
                try PostgresHubStore(address: server.address(empty.name, user: role))
            }
            #expect(error.message.contains("docs/postgresql.md"))
        }
    }
#endif
