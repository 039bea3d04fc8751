#if PostgreSQL
    import Foundation
    import PealHub
    import PealModel
    import PostgresServer

    /// Publishes of one hub node on PostgreSQL, 64 to a group commit, beside pgbench with 64 clients that each write the same rows with one
    /// statement. The server is a fresh one with its own settings (durable commits); both run on this machine, with it.
    enum PostgresBench {
        private static let users = 2_000
        private static let group = 64

        static func run(_ words: [String]) throws {
            let seconds = words.first.flatMap { Double($0) } ?? 8
            let server = try PostgresServer(["shared_buffers=256MB", "max_connections=100", "max_wal_size=4GB"])
            let database = try server.makeDatabase()
            let store = try PostgresHubStore(address: server.address(database))
            let project = try store.group { () throws(HubStoreError) in
                try store.createProject(
                    instance: "instance", apiKey: "key", secret: "secret", requiresHMAC: false, now: 1)
            }.key
            for start in stride(from: 0, to: users, by: 500) {
                try store.group { () throws(HubStoreError) in
                    for user in start..<start + 500 {
                        _ = try store.upsertUser(
                            UserIdentity(externalID: "user\(user)"), profile: UserProfile(), in: project, now: 1)
                    }
                }
            }
            var ratios: [Double] = []
            for _ in 0..<3 {
                let ours = try publish(store, project, seconds)
                let theirs = try pgbench(server, database, seconds)
                ratios.append(ours / theirs)
                print(
                    "publishes/s: hub \(Int(ours)), pgbench \(Int(theirs)), ratio \(String(format: "%.2f", ours / theirs)), load \(load())"
                )
            }
            print("median ratio \(String(format: "%.2f", ratios.sorted()[1]))")
            try store.close()
        }

        nonisolated(unsafe) private static var number = 0

        private static func publish(_ store: PostgresHubStore, _ project: ProjectKey, _ seconds: Double) throws
            -> Double
        {
            let begin = ContinuousClock.now
            var count = 0
            while begin.duration(to: .now) < .seconds(seconds) {
                let now = Milliseconds(Date().timeIntervalSince1970 * 1_000)
                let requests = (0..<group).map { _ in
                    number += 1
                    return PublishRequest(
                        project: project, name: "pubid-\(number)", body: Source.body(number, sent: now),
                        recipients: [.init(identity: UserIdentity(externalID: "user\(Int.random(in: 0..<users))"))])
                }
                // As the hub's group commit does it with requests that wait.
                try store.group { () throws(HubStoreError) in
                    try store.expect(requests)
                    for request in requests {
                        _ = try store.savepoint { () throws(HubStoreError) in try store.publish(request, now: now) }
                    }
                }
                count += group
            }
            return Double(count) / (begin.duration(to: .now) / .seconds(1))
        }

        /// The same rows: a publish, an entry, and the inbox's place.
        private static func pgbench(_ server: PostgresServer, _ database: String, _ seconds: Double) throws -> Double {
            let bytes = String(repeating: "x", count: Source.body(1, sent: 1).bytes.count + PublishRequest.overhead)
            let script = """
                \\set inbox random(1, \(users))
                \\set name random(1, 1000000000000000)
                WITH moved AS (UPDATE inbox SET head = head + 1, chain = :name, sum = sum + 1 WHERE id = :inbox RETURNING id, head),
                made AS (INSERT INTO publish (name, project, time, silent, matched) VALUES ('bench-' || :name, 1, 1, 0, 1) RETURNING id)
                INSERT INTO entry (inbox, position, counter, publish, salt, time, chain, bytes)
                SELECT moved.id, moved.head, moved.head, made.id, 1, 1, :name, '\(bytes)' FROM moved, made;
                """
            let path = server.directory + ".pgbench"
            defer { try? FileManager.default.removeItem(atPath: path) }
            try script.write(toFile: path, atomically: true, encoding: .utf8)
            let output = try PostgresServer.run([
                "pgbench", "-n", "-M", "prepared", "-c", "\(group)", "-j", "2", "-T", "\(Int(seconds))", "-f", path,
                "-h",
                server.directory, "-p", "\(server.port)", "-U", "postgres", database,
            ])
            let line = output.split(separator: "\n").first { $0.hasPrefix("tps") } ?? ""
            return Double(line.split(separator: " ").dropFirst(2).first ?? "") ?? 0
        }

        private static func load() -> String {
            let text = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? ""
            return text.split(separator: " ").prefix(1).joined()
        }
    }
#endif
