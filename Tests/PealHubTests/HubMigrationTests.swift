#if PostgreSQL
    import Foundation
    import PealModel
    import PealPostgres
    import PealSQLite
    import PostgresServer
    import Testing

    @testable import PealHub

    /// `peal hub migrate`: everything moves, and devices go on where they were (docs/postgresql.md, "Moving a hub").
    @Suite(.timeLimit(.minutes(4))) struct HubMigrationTests {
        /// A hub with all kinds of rows, stopped.
        private func full() throws -> TestHub {
            let hub = try TestHub()
            let client = try hub.client()
            for number in 0..<40 {
                let body =
                    #"{"users":["mary","u\#(number)"],"title":"\#(number)","category":"c","collapse":"k\#(number % 9)"}"#
                let answer = try client.post("/v1/publishes", body, headers: hub.native)
                #expect(answer.status == 201 || answer.status == 200, "\(answer.text)")
            }
            let names = (0..<200).map { "\"w\($0)\"" }.joined(separator: ",")
            _ = try client.post("/v1/publishes", #"{"users":[\#(names)],"title":"wide"}"#, headers: hub.native)
            _ = try client.post(
                "/v1/publishes", #"{"users":["mary"],"title":"later","deliver_at":4000000000000}"#, headers: hub.native)
            let mary = "X-MAGICBELL-USER-EXTERNAL-ID: mary\r\n"
            let marked = try client.post("/notifications/read", "", headers: hub.admin + mary)
            #expect(marked.status == 204, "\(marked.text)")
            return hub
        }

        @Test func `a device goes on at its cursor, with the same log behind it`() throws {
            let database = try PostgresNodesTests.Database()
            let hub = try full()
            let device = try TestDevice(hub)
            var hello = hub.hello("mary")
            let first = try device.welcome(hello)
            let before = try device.entries(through: first.head)
            #expect(before.count > 30)
            let project = hub.project
            hub.server.stop()
            #expect(try device.closeCode() == CloseCode.draining.rawValue)
            let report = try HubMigration.run(from: hub.path, to: database.address)
            #expect(report.kept == hub.path + ".moved" && report.inboxes == 241 && report.heads > 280)
            #expect(!FileManager.default.fileExists(atPath: hub.path))
            let moved = try TestHub { $0.store = database.address }
            #expect(moved.project.instance == project.instance && !moved.project.isNew)
            let again = try TestDevice(moved)
            hello.attempt = 2
            hello.nonce = first.nonce
            hello.proof.secret = first.secret
            let reader = try SQLiteHubStore(path: report.kept).makeReader()
            let inbox = try #require(try reader.inbox(first.inbox, in: ProjectKey(row: 1)))
            let standing = try reader.sum(of: inbox)
            hello.cursor = Cursor(epoch: standing.epoch, position: standing.head, chain: standing.chain)
            let welcome = try again.welcome(hello)
            #expect(welcome.mode == .resume && welcome.head == first.head && welcome.epoch == first.epoch)
            try moved.publish("after", users: ["mary"])
            #expect(try again.entries(through: first.head + 1).count == 1)
            // An item of before is found by its id, whose counter is no position.
            let client = try moved.client()
            let list = try client.get("/notifications", headers: moved.user("mary")).json
            let id = try #require(list["notifications"]?.arrayValue?.last?["id"]?.stringValue)
            let one = try client.get("/notifications/\(id)", headers: moved.user("mary"))
            #expect(one.status == 200, "\(one.text)")
        }

        @Test func `a move that is stopped at any page goes on, and no hub starts meanwhile`() throws {
            let database = try PostgresNodesTests.Database()
            let hub = try full()
            hub.server.stop()
            var steps = 0
            var stops = 0
            while true {
                var left = steps
                do {
                    _ = try HubMigration.run(from: hub.path, to: database.address) { _ in
                        left -= 1
                        return left >= 0
                    }
                    break
                } catch {
                    #expect(error.message.contains("goes on"), "\(error)")
                    stops += 1
                    steps += 1
                    if stops % 3 == 0 {
                        let refused = #expect(throws: HubError.self) {
                            try TestHub { $0.store = database.address }
                        }
                        #expect(refused?.message.contains("moved") == true)
                    }
                }
            }
            #expect(stops > 5)
        }

        @Test func `a database that holds a hub, a file in use and one that is none are refused`() throws {
            let database = try PostgresNodesTests.Database()
            let there = try TestHub { $0.store = database.address }
            let hub = try full()
            func refusal(_ path: String) -> String {
                do {
                    _ = try HubMigration.run(from: path, to: database.address)
                    return ""
                } catch {
                    return error.message
                }
            }
            #expect(refusal(hub.path).contains("stop it first"))
            hub.server.stop()
            #expect(refusal(hub.path).contains("holds a hub already"))
            #expect(FileManager.default.fileExists(atPath: hub.path))
            #expect(refusal(hub.path + "x").contains("no such file"))
            try Data("no database".utf8).write(to: URL(filePath: hub.path + "y"))
            #expect(refusal(hub.path + "y").contains("cannot be moved"))
            // The hub that was there is as it was.
            try there.publish("a", users: ["mary"])
        }
    }

    extension TestHub {
        /// The header fields of the native surface.
        fileprivate var native: String {
            let pair = Base64.standard.encode(Array("\(project.apiKey):\(project.secret)".utf8))
            return "Authorization: Basic \(pair)\r\nContent-Type: application/json\r\n"
        }
    }
#endif
