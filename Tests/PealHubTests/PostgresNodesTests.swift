#if PostgreSQL
    import Foundation
    import PealModel
    import PealPostgres
    import PealSQLite
    import PostgresServer
    import Synchronization
    import Testing

    @testable import PealHub

    /// Several nodes on one database.
    @Suite struct PostgresNodesTests {
        /// A database that goes with its owner.
        final class Database {
            let name: String
            let address: String

            init(empty: Bool = false) throws {
                name = try PostgresDatabase.make(empty: empty)
                address = try PostgresDatabase.address(name)
            }

            deinit { PostgresDatabase.drop(name) }
        }

        /// A node without listeners: a store with its thread and its group commit.
        final class Node: Sendable {
            let committer: Committer
            private let executor = ConnectionExecutor(name: "test-node")
            let failures = Mutex<[String]>([])
            private let left = Mutex(0)
            private let done = DispatchSemaphore(value: 0)

            init(_ address: String) throws {
                nonisolated(unsafe) let store = try PostgresHubStore(address: address)
                committer = Committer(store: store, executor: executor) { completions, _ in
                    for completion in completions { completion() }
                }
            }

            func submit(_ work: @escaping @Sendable (any HubStore) throws(HubStoreError) -> [Appended]) {
                left.withLock { $0 += 1 }
                committer.submit(
                    { (store) throws(HubStoreError) in Committed(value: (), appended: try work(store)) },
                    completion: { result in
                        if case .failure(let error) = result { self.failures.withLock { $0.append("\(error)") } }
                        self.done.signal()
                    })
            }

            /// Waits for every answer.
            func wait() throws {
                for _ in 0..<left.withLock({ $0 }) {
                    guard done.wait(timeout: .now() + 60) == .success else { throw Unexpected("no answer came") }
                }
                left.withLock { $0 = 0 }
            }

            func close() {
                committer.close()
                executor.stop()
            }
        }

        @Test func `nodes that start at once make the tables and the first project once`() throws {
            let database = try Database(empty: true)
            let address = database.address
            let made = Mutex<[Result<String, HubStoreError>]>([])
            DispatchQueue.concurrentPerform(iterations: 6) { number in
                do throws(HubStoreError) {
                    let store = try PostgresHubStore(address: address)
                    let instance = try store.group { () throws(HubStoreError) -> String in
                        guard try store.operatorHash() == nil else { return try store.projects()[0].instance }
                        try store.setOperatorHash([UInt8(number)])
                        return try store.createProject(
                            instance: "instance-\(number)", apiKey: "key-\(number)", secret: "s", requiresHMAC: false,
                            now: 1
                        ).instance
                    }
                    try store.close()
                    made.withLock { $0.append(.success(instance)) }
                } catch {
                    made.withLock { $0.append(.failure(error)) }
                }
            }
            let results = made.withLock { $0 }
            let names = try results.map { try $0.get() }
            #expect(names.count == 6 && Set(names).count == 1)
        }

        @Test func `a later version is refused, and a broken step leaves nothing`() throws {
            let database = try Database(empty: true)
            let options = PostgresConnection.Options(try PostgresAddress(database.address))
            let connection = PostgresConnection(options)
            try connection.open()
            let broken = PostgresMigrator(steps: ["CREATE TABLE a (i bigint); CREATE TABLE b (nonsense)"])
            #expect(throws: HubStoreError.self) { try broken.migrate(connection) }
            let good = PostgresMigrator(steps: ["CREATE TABLE a (i bigint)", "ALTER TABLE a ADD COLUMN j bigint"])
            try good.migrate(connection)
            try good.migrate(connection)
            try connection.run("SELECT i, j FROM a")
            let older = PostgresMigrator(steps: ["CREATE TABLE a (i bigint)"])
            let error = try #require(throws: HubStoreError.self) { try older.migrate(connection) }
            #expect(error.code == .corrupt)
        }

        /// What the nodes write: publishes to some users, and acts in their inboxes.
        @Test(arguments: [UInt64(1), 2])
        func `nodes that write to the same inboxes leave dense logs, true chains and sums, and lose nothing`(
            _ seed: UInt64
        ) throws {
            let hub = try StoreFixture(.postgres, seed: seed)
            let users = (0..<5).map { "user\($0)" }
            let inboxes = try users.map { user in
                try #require(try hub.publish("pubid-\(user)", to: [user]).appended.first?.inbox)
            }
            let address = try PostgresDatabase.address(#require(PostgresDatabase.places.withLock { $0[hub.directory] }))
            let nodes = try (0..<3).map { _ in try Node(address) }
            let project = hub.project.key
            let now = hub.now
            var expected: [String: Int] = [:]
            var random = SplitMix(state: seed)
            for round in 0..<60 {
                for (index, node) in nodes.enumerated() {
                    let some = users.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
                    for user in some { expected[user, default: 0] += 1 }
                    let name = "pubid-\(index)-\(round)"
                    node.submit { (store) throws(HubStoreError) in
                        try store.publish(
                            PublishRequest(
                                project: project, name: name, body: ItemBody(title: name, sent: now),
                                recipients: some.map { .init(identity: UserIdentity(externalID: $0)) }), now: now
                        ).appended
                    }
                    let inbox = inboxes[Int.random(in: 0..<5, using: &random)]
                    let uid = random.next()
                    let upTo = Position.random(in: 1...50, using: &random)
                    node.submit { (store) throws(HubStoreError) in
                        try store.act(.mark(.read, upTo: upTo), uid: uid, observed: nil, in: inbox, now: now).entries
                    }
                    // The same on every node: it takes effect once.
                    node.submit { (store) throws(HubStoreError) in
                        try store.publish(
                            PublishRequest(
                                project: project, name: "pubid-same-\(round)", body: ItemBody(title: "same", sent: now),
                                recipients: [.init(identity: UserIdentity(externalID: "new\(round)"))]), now: now
                        ).appended
                    }
                }
            }
            for node in nodes { try node.wait() }
            #expect(nodes.flatMap { node in node.failures.withLock { $0 } } == [])
            for (user, inbox) in zip(users, inboxes) {
                let state = try Self.check(hub, inbox)
                #expect(state.items.count == expected[user, default: 0] + 1)
            }
            for round in 0..<60 {
                let user = try #require(try hub.reader.user(UserIdentity(externalID: "new\(round)"), in: project))
                #expect(try Self.check(hub, user.inbox).items.count == 1)
            }
            for node in nodes { node.close() }
        }

        /// Positions, chain and sum of an inbox, of its entries.
        static func check(_ hub: StoreFixture, _ inbox: InboxKey) throws -> InboxState {
            let entries = try hub.entries(inbox)
            var hasher = SHA256Hasher()
            var chain: UInt64 = 0
            for (index, entry) in entries.enumerated() {
                #expect(entry.position == Position(index + 1))
                chain = hasher.link(after: chain, entry: entry.bytes[...])
                #expect(entry.chain == chain)
            }
            let standing = try hub.reader.sum(of: inbox)
            let state = try hub.folded(inbox)
            #expect(standing.head == Position(entries.count) && standing.chain == chain && standing.sum == state.sum)
            return state
        }

        @Test func `two groups that lock in opposite orders both get through`() throws {
            let hub = try StoreFixture(.postgres)
            let inboxes = try ["a", "b"].map {
                try #require(try hub.publish("pubid-\($0)", to: [$0]).appended.first?.inbox)
            }
            let address = try PostgresDatabase.address(#require(PostgresDatabase.places.withLock { $0[hub.directory] }))
            let nodes = try (0..<2).map { _ in try Node(address) }
            let now = hub.now
            // Each holds its first inbox until the other one has its own, the first time.
            let meeting = Mutex(0)
            for (index, node) in nodes.enumerated() {
                let order = index == 0 ? inboxes : inboxes.reversed()
                node.submit { (store) throws(HubStoreError) in
                    let first = try store.act(.mark(.read, upTo: 1), uid: 7, observed: nil, in: order[0], now: now)
                        .entries
                    meeting.withLock { $0 += 1 }
                    let deadline = ContinuousClock.now + .seconds(5)
                    while meeting.withLock({ $0 }) < 2, ContinuousClock.now < deadline { usleep(1_000) }
                    return first
                        + (try store.act(.mark(.read, upTo: 1), uid: 7, observed: nil, in: order[1], now: now).entries)
                }
            }
            for node in nodes { try node.wait() }
            #expect(nodes.flatMap { node in node.failures.withLock { $0 } } == [])
            for inbox in inboxes { #expect(try Self.check(hub, inbox).head == 2) }
            for node in nodes { node.close() }
        }

        @Test func `a statement that fails is found to be its request's own, and the others get through`() throws {
            let hub = try StoreFixture(.postgres)
            let address = try PostgresDatabase.address(#require(PostgresDatabase.places.withLock { $0[hub.directory] }))
            let node = try Node(address)
            let project = hub.project.key
            let now = hub.now
            let started = DispatchSemaphore(value: 0)
            let runs = Mutex(0)
            node.submit { (_) throws(HubStoreError) in
                // The others come meanwhile, and share a transaction; it may run again with them.
                let isFirst = runs.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { _ = started.wait(timeout: .now() + 10) }
                return []
            }
            for name in ["one", "two", "three"] {
                node.submit { (store) throws(HubStoreError) in
                    let appended = try store.publish(
                        PublishRequest(
                            project: project, name: "pubid-" + name, body: ItemBody(title: name, sent: now),
                            recipients: [.init(identity: UserIdentity(externalID: "mary"))]), now: now
                    ).appended
                    if name == "two" {
                        try (store as? PostgresHubStore)?.database.query("INSERT INTO meta (id) VALUES (1)").run()
                    }
                    return appended
                }
            }
            started.signal()
            try node.wait()
            let failures = node.failures.withLock { $0 }
            #expect(failures.count == 1 && failures[0].hasPrefix("failed"))
            let user = try #require(try hub.reader.user(UserIdentity(externalID: "mary"), in: project))
            #expect(try Self.check(hub, user.inbox).items.count == 2)
            node.close()
        }
    }
#endif
