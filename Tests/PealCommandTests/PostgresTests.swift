#if PostgreSQL
    import Foundation
    import PostgresServer
    import Testing

    /// The real program on a real PostgreSQL server.
    @Suite(.timeLimit(.minutes(3))) struct PostgresTests {
        @Test func `a hub on PostgreSQL serves two devices, over a kill of the hub`() throws {
            let server = try PostgresServer.shared()
            let database = try server.makeDatabase()
            defer { server.dropDatabase(database) }
            let hub = try HubProcess(options: ["--store", server.address(database)])
            let phone = try Directory()
            let laptop = try Directory()
            func run(_ device: Directory, _ words: String...) throws -> Finished {
                try Peal.run(words + ["--user", "Mary", "--directory", device.path], environment: hub.environment)
            }
            for number in 1...3 {
                let sent = try Peal.run(
                    ["publish", "--title", "item \(number)", "--user", "Mary"], environment: hub.publisher)
                #expect(sent.status == 0, "\(sent.errors)")
            }
            #expect(try run(phone, "inbox", "--json").lines.count == 3)
            #expect(try run(phone, "mark", "read", "1", "2").output == "done\n")
            hub.stop(signal: SIGKILL)
            #expect(try run(phone, "mark", "delete", "3").output == "queued\n")
            try hub.start()
            #expect(try run(phone, "outbox").output == "The outbox is empty\n")
            let shown = try run(laptop, "inbox", "--json", "--all").lines.map {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
            }
            #expect(shown.map { $0["title"] as? String } == ["item 2", "item 1"])
            #expect(shown.allSatisfy { $0["read"] as? Bool == true })
            #expect(!FileManager.default.fileExists(atPath: hub.directory.path + "/hub.sqlite"))
        }

        @Test func `a backup of a database is PostgreSQL's own affair, and a wrong address is not shown`() throws {
            let asked = try Peal.run(
                "hub", "backup", "/tmp/never", environment: ["PEAL_HUB_STORE": "postgresql://a:geheim@127.0.0.1:1/b"])
            #expect(asked.status == 2 && asked.errors.contains("pg_dump"))
            let wrong = try Peal.run("hub", "--store", "mysql://a:geheim@127.0.0.1/b")
            #expect(wrong.status == 2 && !wrong.errors.contains("geheim"))
            let unreachable = try Peal.run("hub", "--store", "postgresql://a:geheim@127.0.0.1:1/b")
            #expect(unreachable.status == 1 && unreachable.errors.contains("a@127.0.0.1:1/b"))
            #expect(!unreachable.errors.contains("geheim"))
        }
    }
#endif
