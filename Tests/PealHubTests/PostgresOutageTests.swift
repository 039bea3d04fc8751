#if PostgreSQL
    import Foundation
    import PealModel
    import PealPostgres
    import PostgresServer
    import Synchronization
    import Testing

    @testable import PealHub

    /// A hub whose database goes away, comes back, or does not write.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct PostgresOutageTests {
        private func until(_ what: String, _ condition: () throws -> Bool) throws {
            let deadline = ContinuousClock.now + .seconds(30)
            while try !condition() {
                guard ContinuousClock.now < deadline else { throw Unexpected("never: \(what)") }
                usleep(20_000)
            }
        }

        private func send(_ hub: TestHub, _ number: Int) throws -> Int {
            let body = #"{"users":["Mary"],"title":"\#(number)"}"#
            let headers =
                "Authorization: Basic \(Base64.standard.encode(Array("\(hub.project.apiKey):\(hub.project.secret)".utf8)))\r\n"
                + "Idempotency-Key: number-\(number)\r\nContent-Type: application/json\r\n"
            return try hub.client().request("POST", "/v1/publishes", headers: headers, body: Array(body.utf8)).status
        }

        @Test func `a hub whose database is killed stays up, says so, and each publish arrives once`() throws {
            let server = try PostgresServer()
            let database = try server.makeDatabase()
            let hub = try TestHub { $0.store = server.address(database, tcp: true, user: "postgres") }
            var number = 0
            for round in 0..<2 {
                for _ in 0..<5 {
                    #expect(try send(hub, number) / 100 == 2)
                    number += 1
                }
                // Some are under way while the database ends.
                let statuses = Mutex<[Int]>([])
                nonisolated(unsafe) let shared = hub
                let sender = OtherThread { [number] in
                    for next in number..<number + 200 {
                        let status = try self.send(shared, next)
                        statuses.withLock { $0.append(status) }
                    }
                }
                try until("under way") { statuses.withLock { $0.count } > 20 }
                try server.halt()
                try sender.wait()
                let answers = statuses.withLock { $0 }
                #expect(answers.contains(503) && answers.allSatisfy { $0 / 100 == 2 || $0 == 503 })
                try until("not ready") { try hub.client().get("/readyz").status == 503 }
                try server.start()
                try until("ready \(round)") { try hub.client().get("/readyz").status == 200 }
                // Whoever got no answer asks again, under the same key.
                for (offset, answer) in answers.enumerated() where answer == 503 {
                    try until("sent") { try send(hub, number + offset) / 100 == 2 }
                }
                number += 200
            }
            let answer = try hub.client().get("/notifications?per_page=1", headers: hub.user("Mary"))
            #expect(answer.json["total"]?.intValue == Int64(number))
            #expect(!hub.log.lines.joined().contains("geheim"))
        }

        @Test func `a database that does not write has its own word, and so has one that is full of connections`()
            throws
        {
            let hub = try StoreFixture(.postgres)
            let address = try PostgresDatabase.address(#require(PostgresDatabase.places.withLock { $0[hub.directory] }))
            let name = try #require(PostgresDatabase.places.withLock { $0[hub.directory] })
            defer {
                for change in ["RESET ALL", "CONNECTION LIMIT -1"] {
                    _ = try? PostgresServer.shared().sql("ALTER DATABASE \(name) \(change)")
                }
            }
            try PostgresServer.shared().sql("ALTER DATABASE \(name) SET default_transaction_read_only = on")
            let store = try PostgresHubStore(address: address)
            let error = try #require(throws: HubStoreError.self) {
                try store.group { () throws(HubStoreError) in try store.probe() }
            }
            #expect(error.code == .readOnly && error.abortsCommit)
            #expect(HubStoreError(postgres: .init(.diskFull, "x")).code == .full)
            #expect(HubStoreError(postgres: .init(.tooManyConnections, "x")).message.contains("max_connections"))
            try PostgresServer.shared().sql("ALTER DATABASE \(name) CONNECTION LIMIT 0")
            try PostgresServer.shared().sql("CREATE ROLE peal_limited LOGIN")
            let limited = try #require(throws: HubStoreError.self) {
                try PostgresHubStore(address: PostgresServer.shared().address(name, user: "peal_limited"))
            }
            #expect(limited.code == .unavailable)
        }

        @Test func `a hub without a database that it can reach does not start, and its sentence has no password`()
            throws
        {
            let message: String
            do {
                _ = try TestHub { $0.store = "postgresql://mary:geheim@127.0.0.1:1/shop" }
                message = "it started"
            } catch {
                message = "\(error)"
            }
            #expect(message.contains("mary@127.0.0.1:1/shop") && message.contains("cannot be opened"))
            #expect(!message.contains("geheim"))
        }
    }
#endif
