import Glibc
import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// A fresh directory, removed with its content.
final class Folder {
    let path: String

    init() {
        var template = Array("/tmp/peal-replica-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    deinit {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink(path + "/" + name)
        }
        closedir(directory)
        rmdir(path)
    }

    func file(_ name: String = "replica") -> String { path + "/" + name }

    /// Copies a replica's files as they are, as a power cut would leave them.
    func copy(_ from: String, to: String) {
        for suffix in ["", "-wal"] {
            unlink(file(to) + suffix)
            let source = fopen(file(from) + suffix, "rb")
            guard let source else { continue }
            let target = fopen(file(to) + suffix, "wb")!
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = fread(&buffer, 1, buffer.count, source)
                if count == 0 { break }
                fwrite(buffer, 1, count, target)
            }
            fclose(source)
            fclose(target)
        }
    }
}

let alice = InboxIdentity.user(externalID: "alice", email: nil)

extension Folder {
    func open(
        _ name: String = "replica", identity: InboxIdentity = alice, clock: TestClock = TestClock(), seed: UInt64 = 1,
        maximumPages: Int64? = nil, keep: KeepLimits? = nil
    ) throws -> Replica {
        var options = ReplicaOptions()
        options.clock = clock.clock
        let random = SeededSource(seed)
        options.random = { random.next() }
        options.maximumPages = maximumPages
        options.keep = keep
        return try Replica(path: file(name), identity: identity, project: "project", options: options)
    }
}

/// A seeded generator behind a closure.
final class SeededSource: @unchecked Sendable {
    // Used on one thread, by one replica.
    private var generator: Seeded
    init(_ seed: UInt64) { generator = Seeded(seed) }
    func next() -> UInt64 { generator.next() }
}

extension Replica {
    /// Hello and welcome.
    @discardableResult
    func connect(
        _ hub: TestHub, mode: Admission.Mode = .resume, settled: [Settled] = [], reoffer: Bool = true
    ) throws -> WelcomeCheck {
        let hello = try hello(proof: Proof())
        var welcome = hub.welcome(hello, mode: mode, settled: settled)
        welcome.reoffer = reoffer
        return try welcomed(welcome)
    }

    /// Folds all that the hub has.
    @discardableResult
    func pull(_ hub: TestHub) throws -> Applied {
        try apply(hub.batch(from: cursor().position))
    }

    /// Sends all that is due.
    func push(to hub: inout TestHub) throws {
        let id = try replicaID()
        while let push = try nextPush() {
            for mutation in push.mutations { hub.process(mutation, by: id) }
        }
    }

    /// The whole list, by pages of a few.
    func list(_ query: DeliveredQuery = DeliveredQuery(), limit: Int = 7) throws -> [DeliveredItem] {
        var items: [DeliveredItem] = []
        var after: PageCursor?
        repeat {
            let page = try page(query, after: after, limit: limit)
            items += page.items
            after = page.next
        } while after != nil
        return items
    }
}

extension Replica {
    /// The checks of the file that fail, with their evidence.
    func failedChecks() throws -> [Verification.Check] { try verify().checks.filter(\.isFailure) }

    /// Compares the kept sum, the sum of the rows and the sum of the hub's state at the cursor; nil where they agree.
    func sumDifference(to hub: TestHub) throws -> String? {
        let (state, rows) = try read { () throws(SQLiteError) in (try loadState(), try BaseSum(connection).sum) }
        let wanted = hub.states[Int(state.cursor.position)].sum
        if state.sum != wanted { return "the kept sum at \(state.cursor.position) differs from the model's" }
        return rows == wanted ? nil : "the rows' sum at \(state.cursor.position) differs from the model's"
    }
}

/// What a state shows: the reference that the replica's SQL is compared with.
struct Reference {
    var state: InboxState
    var hub: TestHub
    var now: Milliseconds

    func shown(_ id: ItemID) -> (read: Bool, seen: Bool, archived: Bool)? {
        guard let item = state.item(id), !item.deleted else { return nil }
        return (state.marks.isRead(item), state.marks.isSeen(item), state.marks.isArchived(item))
    }

    func matches(_ id: ItemID, _ query: DeliveredQuery) -> Bool {
        guard let shown = shown(id), let body = try? ItemBody(JSONObject(state.bodies[id]!)) else { return false }
        if body.silent { return false }
        if let expires = body.expires, expires <= now { return false }
        if let read = query.read, shown.read != read { return false }
        if let seen = query.seen, shown.seen != seen { return false }
        if let archived = query.archived, shown.archived != archived { return false }
        if let type = query.type, body.type != type { return false }
        if let categories = query.categories {
            guard let category = body.category, categories.contains(category) else { return false }
        }
        if let topics = query.topics {
            guard let topic = body.topic, topics.contains(topic) else { return false }
        }
        if let interests = query.interests, Set(interests).isDisjoint(with: body.interests) { return false }
        return true
    }

    func list(_ query: DeliveredQuery) -> [ItemID] {
        hub.items.filter { matches($0, query) }.sorted { state.item($0)!.position > state.item($1)!.position }
    }

    var counts: Counts {
        var unread = DeliveredQuery()
        unread.read = false
        var unseen = DeliveredQuery()
        unseen.seen = false
        return Counts(
            total: Int64(list(DeliveredQuery()).count), unread: Int64(list(unread).count),
            unseen: Int64(list(unseen).count))
    }

    /// Compares everything that the replica shows; the first difference as a sentence, nil for none.
    func difference(to replica: Replica) throws -> String? {
        for id in hub.items {
            let item = try replica.item(id)
            guard let shown = shown(id) else {
                if item != nil { return "item \(state.item(id)?.position ?? 0) should not be there" }
                continue
            }
            let number = state.item(id)!.position
            guard let item else { return "item \(number) is not there" }
            if item.read != shown.read { return "item \(number) shows read \(item.read)" }
            if item.seen != shown.seen { return "item \(number) shows seen \(item.seen)" }
            if item.archived != shown.archived { return "item \(number) shows archived \(item.archived)" }
            if item.body != state.bodies[id]! { return "item \(number) has another body" }
        }
        var queries: [DeliveredQuery] = []
        for read in [nil, true, false] {
            for seen in [nil, true, false] {
                for archived in [nil, true, false] {
                    queries.append(DeliveredQuery(read: read, seen: seen, archived: archived))
                }
            }
        }
        queries.append(DeliveredQuery(categories: ["a"]))
        queries.append(DeliveredQuery(categories: ["a", "b"], read: false))
        queries.append(DeliveredQuery(topics: ["t"], seen: false))
        queries.append(DeliveredQuery(interests: ["x"]))
        queries.append(DeliveredQuery(interests: ["x", "y"], archived: nil))
        queries.append(DeliveredQuery(interests: ["z", "x"], read: false))
        queries.append(DeliveredQuery(type: "survey"))
        for query in queries {
            let found = try replica.list(query).map(\.id)
            if found != list(query) { return "a list differs: \(query)" }
        }
        for interests in [["x"], ["y", "z"]] {
            let query = DeliveredQuery(interests: interests)
            if try replica.counts(query).total != Int64(list(query).count) { return "counts differ: \(query)" }
        }
        let found = try replica.counts()
        if found != counts { return "counts are \(found), not \(counts)" }
        let preferences = Preference.all(state.cells.mapValues(\.register.value), state.currentCatalogue)
        if try replica.preferences() != preferences { return "preferences differ" }
        if try replica.catalogue() != state.currentCatalogue { return "the catalogue differs" }
        for id in hub.items {
            let facts = try replica.facts(of: id).map { "\($0.event) \($0.data.map(Array.init) ?? [])" }
            let wanted = (state.facts[id] ?? []).map { "\($0.event) \($0.data.map(Array.init) ?? [])" }
            if facts.sorted() != wanted.sorted() { return "facts of \(state.item(id)!.position) differ" }
        }
        if let names = state.interests(), try replica.interests() != names.sorted() { return "interests differ" }
        return nil
    }
}
