import Foundation
import PealHubMemory
import PealModel
import Testing

#if PostgreSQL
    import PealPostgres
#endif

@testable import PealHub

/// A kind of store that must keep the contract.
struct StoreKind: Sendable, CustomTestStringConvertible {
    var name: String
    var make: @Sendable (_ directory: URL, _ seed: UInt64, _ retention: Retention) throws -> any HubStore
    /// One of so many seeds is played: each request of a server costs more than a whole history in memory.
    var oneOf: UInt64 = 1
    /// Removes what `make` made outside the directory.
    var discard: @Sendable (_ directory: URL) -> Void = { _ in }

    var testDescription: String { name }

    static let postgresName = "PostgreSQL"

    func plays(_ seed: UInt64) -> Bool { seed % oneOf == 0 }

    static let sqlite = StoreKind(
        name: "SQLite",
        make: { directory, seed, retention in
            try SQLiteHubStore(
                path: directory.appending(path: "hub.db").path(), retention: retention, random: SplitMix(state: seed))
        })

    static let memory = StoreKind(
        name: "memory",
        make: { _, seed, retention in
            var random = SplitMix(state: seed)
            return MemoryHubStore(retention: retention) { random.next() }
        })

    #if PostgreSQL
        static let all = [sqlite, memory, postgres]
    #else
        static let all = [sqlite, memory]
    #endif
}

/// A store in a fresh directory with one project, and short ways of doing what tests do.
final class StoreFixture {
    let directory: URL
    let kind: StoreKind
    let retention: Retention
    var store: any HubStore
    var reader: any HubReader
    let project: Project
    var now: Milliseconds = 1_700_000_000_000
    var random: SplitMix
    private let outside: Outside

    init(_ kind: StoreKind = .sqlite, seed: UInt64 = 1, retention: Retention = Retention()) throws {
        self.kind = kind
        self.retention = retention
        random = SplitMix(state: seed ^ 0xABCD)
        directory = FileManager.default.temporaryDirectory.appending(path: "peal-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        outside = Outside(kind, directory)
        let store = try kind.make(directory, seed, retention)
        self.store = store
        try store.begin()
        project = try store.createProject(
            instance: "1f0c0000-0000-4000-8000-000000000001", apiKey: "key", secret: String(repeating: "ab", count: 32),
            requiresHMAC: false, now: 1_700_000_000_000)
        try store.commit()
        reader = try store.makeReader()
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// What a store has outside its directory; goes with the last fixture that uses it.
    private final class Outside {
        let kind: StoreKind
        let directory: URL

        init(_ kind: StoreKind, _ directory: URL) {
            self.kind = kind
            self.directory = directory
        }

        deinit { kind.discard(directory) }
    }

    /// Runs a body in a group commit of its own.
    func commit<R>(_ body: (any HubStore) throws(HubStoreError) -> R) throws -> R {
        try store.begin()
        do throws(HubStoreError) {
            let result = try body(store)
            try store.commit()
            return result
        } catch {
            store.rollback()
            throw error
        }
    }

    /// Opens what the files hold now, as after a crash: the store that is open goes on undisturbed.
    func crashed() throws -> StoreFixture { try StoreFixture(copyOf: self) }

    private init(copyOf other: StoreFixture) throws {
        kind = other.kind
        retention = other.retention
        now = other.now
        random = other.random
        project = other.project
        outside = other.outside
        directory = FileManager.default.temporaryDirectory.appending(path: "peal-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        for name in ["hub.db", "hub.db-wal", "database"] {
            let file = other.directory.appending(path: name)
            if FileManager.default.fileExists(atPath: file.path()) {
                try FileManager.default.copyItem(at: file, to: directory.appending(path: name))
            }
        }
        store = try kind.make(directory, other.random.state ^ 77, other.retention)
        if let old = other.store as? MemoryHubStore { (store as? MemoryHubStore)?.restore(old.snapshot()) }
        reader = try store.makeReader()
    }

    /// Publishes that match more inboxes become durable jobs.
    func makeWide(from count: Int) {
        (store as? SQLiteHubStore)?.wideFrom = count
        (store as? MemoryHubStore)?.wideFrom = count
        #if PostgreSQL
            (store as? PostgresHubStore)?.wideFrom = count
        #endif
    }

    /// The next number of a subscription on PostgreSQL; setting it lets numbers be given out again that were undone.
    var nextSubscription: Int64 {
        get throws {
            #if PostgreSQL
                guard let connection = (store as? PostgresHubStore)?.session.connection else { return 1 }
                let sql = "SELECT last_value + is_called::int FROM subscription_id_seq"
                let result = try connection.execute(connection.statement(sql), PostgresParameters())
                try connection.end()
                return result.int64(0, 0)
            #else
                return 1
            #endif
        }
    }

    func setNextSubscription(_ number: Int64) throws {
        #if PostgreSQL
            try (store as? PostgresHubStore)?.database.execute(
                "SELECT setval('subscription_id_seq', \(number), false)")
        #endif
    }

    /// Lets the keys of rows that were undone be given out again, as SQLite does: sequences of PostgreSQL go on, and twins compare keys.
    func takeKeysAgain() throws {
        #if PostgreSQL
            guard let store = store as? PostgresHubStore else { return }
            for table in ["inbox", "user", "replica"] {
                let next = "SELECT setval('\(table)_id_seq', coalesce(max(id), 0) + 1, false) FROM \"\(table)\""
                try store.database.execute(next)
            }
        #endif
    }

    // MARK: Short ways

    func hello(
        _ inbox: InboxIdentity, replica: ReplicaID, attempt: Int64 = 1, nonce: String = "",
        cursor: Cursor = .start, outbox: ClosedRange<Int64> = 0...0, proof: Proof = Proof()
    ) -> Hello {
        Hello(
            project: project.apiKey, inbox: inbox, replica: replica, proof: proof, attempt: attempt, nonce: nonce,
            cursor: cursor, outbox: outbox)
    }

    func admit(_ hello: Hello) throws -> AdmissionResult {
        try commit { (store) throws(HubStoreError) in try store.admit(hello, project: project.key, now: now) }
    }

    func admitted(_ hello: Hello) throws -> Admitted {
        guard case .admitted(let admitted) = try admit(hello) else { throw Unexpected("the hello was not admitted") }
        return admitted
    }

    /// A replica of a user with a live session whose first frame has come.
    func join(_ user: String, replica: UInt64) throws -> Admitted {
        let admitted = try admitted(
            hello(.user(externalID: user, email: nil), replica: ReplicaID(high: 0, low: replica)))
        try proven(admitted)
        return admitted
    }

    /// A replica of a new device likewise.
    func joinDevice(replica: UInt64) throws -> Admitted {
        let admitted = try admitted(hello(.device(id: nil), replica: ReplicaID(high: 0, low: replica)))
        try proven(admitted)
        return admitted
    }

    func proven(_ admitted: Admitted) throws {
        let isLive = try commit { (store) throws(HubStoreError) in
            try store.firstFrame(admitted.replica, session: admitted.welcome.session, now: now)
        }
        #expect(isLive)
    }

    func push(_ mutations: [Mutation], _ admitted: Admitted) throws -> PushResult {
        try commit { (store) throws(HubStoreError) in
            try store.push(mutations, from: admitted.replica, session: admitted.welcome.session, now: now)
        }
    }

    func mutation(
        _ n: Int64, _ operation: PealModel.Operation, observed: Position = 0, uid: UInt64? = nil
    ) -> Mutation {
        Mutation(
            n: n, uid: uid ?? random.next(), observed: observed, observedTime: 0, moment: .age(0), operation: operation)
    }

    func publish(
        _ name: String, to users: [String] = [], interests: [String] = [], body: ItemBody? = nil
    ) throws -> PublishResult {
        let request = PublishRequest(
            project: project.key, name: name, body: body ?? ItemBody(title: "Hello \(name)", sent: now),
            interests: interests,
            recipients: users.map { PublishRequest.Recipient(identity: UserIdentity(externalID: $0)) })
        return try commit { (store) throws(HubStoreError) in try store.publish(request, now: now) }
    }

    /// Publishes to one user and returns the item's id.
    func item(for user: String, body: ItemBody? = nil) throws -> ItemID {
        let result = try publish("pubid-\(random.next())", to: [user], body: body)
        return try Self.id(of: try #require(result.appended.first))
    }

    static func id(of appended: Appended) throws -> ItemID {
        guard case .item(let id, _, _) = try Entry(appended.bytes[...]).kind else { throw Unexpected("no item") }
        return id
    }

    func entries(_ inbox: InboxKey, after position: Position = 0) throws -> [LogEntry] {
        try reader.entries(of: inbox, after: position, maxCount: .max, maxBytes: .max)
    }

    /// The fold of an inbox's whole log.
    func folded(_ inbox: InboxKey, device: Bool = false) throws -> InboxState {
        var state = InboxState(device: device)
        for entry in try entries(inbox) { state.fold(try Entry(entry.bytes[...])) }
        return state
    }
}

/// A failure of a test's own assumption.
struct Unexpected: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
