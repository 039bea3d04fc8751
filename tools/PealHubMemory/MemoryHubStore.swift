package import PealHub
package import PealModel
import Synchronization

/// A hub's store in memory that keeps the contract of ``HubStore`` as ``SQLiteHubStore`` does, for simulators and tests: same
/// requests, same random bits, same answers, same bytes in the logs.
///
/// Deterministic: time comes with each call, random bits from the source that was given, and no unordered iteration reaches
/// an answer. Its whole state is a value, ``State``; a transaction is a copy of it. Not Sendable; readers may be used elsewhere.
package final class MemoryHubStore: HubStore {
    /// What readers see.
    final class Committed: Sendable {
        let state = Mutex(State())
    }

    let committed = Committed()
    /// What the running transaction sees and changes.
    var state = State()
    let random: () -> UInt64
    /// Names this run of the hub.
    private(set) var run: UInt64
    private(set) var isInTransaction = false
    /// The number of the next entry.
    var nextSeq: Int64 = 1
    var hasher = SHA256Hasher()
    package let retention: Retention
    var trimRound = TrimRound()
    /// Where the round was when the group commit began: what was trimmed in one that is undone comes again.
    private var trimBefore = TrimRound()
    /// Matching inboxes above which a publish becomes a durable job.
    package var wideFrom = HubStoreLimits.wideFrom
    /// Where the counter of an item's id comes from: it is the number of its entry, as in SQLite, or its position in the inbox, as in PostgreSQL;
    /// then what a publish left is found by inbox, too, and not by number.
    package var countsPositions = false
    /// A test's fault, called before a mutation is processed.
    package var fault: ((Mutation) throws(HubStoreError) -> Void)?

    /// An empty store.
    ///
    /// - Parameters:
    ///   - retention: how long the logs are kept.
    ///   - random: gives 64 random bits a call: ids, epochs, nonces, sessions, salts and secrets come from it.
    package init(retention: Retention = Retention(), random: @escaping () -> UInt64) {
        self.retention = retention
        self.random = random
        run = random()
    }

    // MARK: Backup

    /// What is committed, as a backup. Not inside a transaction.
    package func snapshot() -> State {
        precondition(!isInTransaction, "a backup is of what is committed")
        return state
    }

    /// Puts a backup in the place of what is here, as when a hub's file is restored; another run of the hub begins. Not inside
    /// a transaction.
    package func restore(_ backup: State) {
        precondition(!isInTransaction, "a backup is restored between transactions")
        state = backup
        run = random()
        committed.state.withLock { $0 = backup }
    }

    // MARK: Group commit

    package func begin() throws(HubStoreError) {
        precondition(!isInTransaction, "one group commit at a time")
        isInTransaction = true
        trimBefore = trimRound
        nextSeq = Int64(state.entries.count) + 1
    }

    package func commit() throws(HubStoreError) {
        precondition(isInTransaction, "nothing to commit")
        isInTransaction = false
        committed.state.withLock { $0 = state }
    }

    package func rollback() {
        guard isInTransaction else { return }
        isInTransaction = false
        trimRound = trimBefore
        state = committed.state.withLock { $0 }
    }

    package func savepoint<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
        let before = state
        do {
            return try body()
        } catch {
            state = before
            throw error
        }
    }

    package func makeReader() throws(HubStoreError) -> any HubReader { MemoryHubReader(committed) }

    package func close() throws(HubStoreError) {
        precondition(!isInTransaction, "a store is closed between transactions")
        for row in state.replicas.indices where state.replicas[row].suspect == run { state.replicas[row].suspect = nil }
        committed.state.withLock { $0 = state }
    }

    // MARK: Projects

    package func createProject(
        instance: String, apiKey: String, secret: String, requiresHMAC: Bool, now: Milliseconds
    ) throws(HubStoreError) -> Project {
        let seed = PublicID.bytes(high: random(), low: random()) + PublicID.bytes(high: random(), low: random())
        let instance = instance.lowercased()
        let isTaken = state.projects.contains { $0.project.instance == instance || $0.project.apiKey == apiKey }
        guard !isTaken else { throw HubStoreError(.failed, "a project has this instance or key") }
        let project = Project(
            key: ProjectKey(row: Int64(state.projects.count) + 1), instance: instance, apiKey: apiKey, secret: secret,
            requiresHMAC: requiresHMAC, created: now)
        state.projects.append(ProjectRow(project: project, seed: seed))
        return project
    }

    package func projects() throws(HubStoreError) -> [Project] { state.projects.map(\.project) }

    package func project(_ name: String) throws(HubStoreError) -> Project? { state.project(name) }

    package func updateProject(_ project: Project) throws(HubStoreError) {
        guard let index = state.projects.firstIndex(where: { $0.project.key == project.key }) else {
            throw HubStoreError(.notFound, "no such project")
        }
        state.projects[index].project = project
    }

    package func operatorHash() throws(HubStoreError) -> [UInt8]? { state.operatorHash }

    package func setOperatorHash(_ hash: [UInt8]) throws(HubStoreError) { state.operatorHash = hash }

    // MARK: Appending

    /// Appends an entry to an inbox; the next number is its own.
    func append(_ entry: Entry, bytes: [UInt8], publish: Int64 = 0, to inbox: InboxKey) -> Appended {
        let index = Int(inbox.row) - 1
        let chain = hasher.link(after: state.inboxes[index].value.chain, entry: bytes[...])
        let appended = state.inboxes[index].value.append(entry, bytes: bytes, publish: publish, chain: chain)
        var item = ItemID(high: 0, low: 0)
        if case .item(let id, _, _) = entry.kind { item = id }
        while state.entries.count < nextSeq - 1 { state.entries.append(nil) }
        state.entries.append(EntryPlace(inbox: inbox, position: appended.position, publish: publish, item: item))
        nextSeq += 1
        return appended
    }

    /// Appends a decided act, applies its effect, and remembers it for dedupe.
    func append(_ act: Act, to inbox: InboxKey, now: Milliseconds) throws(HubStoreError) -> Appended {
        let entry = Entry(time: now, kind: .act(act))
        index(act.effect, of: inbox)
        let appended = append(entry, bytes: entry.bytes, to: inbox)
        try applyDevice(act.effect, in: inbox, now: now)
        remember(act, in: inbox, now: now)
        return appended
    }

    func remember(_ act: Act, in inbox: InboxKey, now: Milliseconds) {
        state[inbox].remember(act, now: now)
        state.oldest = min(state.oldest, now)
    }

    /// Keeps the index from interests to devices; before the fold.
    private func index(_ effect: Act.Effect, of inbox: InboxKey) {
        switch effect {
        case .interest(let name, let on): setInterest(name, of: inbox, on: on)
        case .interests(let names):
            let current = state[inbox].state.interests() ?? []
            let wanted = Set(names)
            for name in current where !wanted.contains(name) { setInterest(name, of: inbox, on: false) }
            for name in wanted where !current.contains(name) { setInterest(name, of: inbox, on: true) }
        case .end:
            for name in state[inbox].state.interests() ?? [] { setInterest(name, of: inbox, on: false) }
        default: break
        }
    }

    func setInterest(_ name: String, of inbox: InboxKey, on: Bool) {
        let key = ScopedName(project: state[inbox].project, name: name)
        if on {
            state.interests[key, default: []].insert(inbox)
        } else {
            state.interests[key]?.remove(inbox)
            if state.interests[key]?.isEmpty == true { state.interests[key] = nil }
        }
    }

    // MARK: Through HTTP

    package func act(
        _ operation: Operation, uid: UInt64, observed: Position?, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ActResult {
        guard try !state.box(inbox).value.kind.isDeleted else {
            throw HubStoreError(.notFound, "the inbox was deleted")
        }
        let catalogue = bringCatalogue(for: operation, in: inbox, now: now)
        if let known = state[inbox].known(uid) {
            if known.author == .api { return ActResult(outcome: known.outcome, catalogue: catalogue) }
            let duplicate = Act(author: .api, n: nil, uid: uid, itime: now, outcome: .duplicate)
            return ActResult(
                outcome: .duplicate, appended: try append(duplicate, to: inbox, now: now), catalogue: catalogue)
        }
        let mutation = Mutation(
            n: 0, uid: uid, observed: observed ?? state[inbox].head, observedTime: 0, moment: .age(0),
            operation: operation)
        let act = resolve(mutation, by: .api, in: inbox, now: now)
        guard act.effect != .none else {
            remember(act, in: inbox, now: now)
            return ActResult(outcome: act.outcome, results: act.results, catalogue: catalogue)
        }
        return ActResult(
            outcome: act.outcome, results: act.results, appended: try append(act, to: inbox, now: now),
            catalogue: catalogue)
    }

    /// Decides a new mutation. No reference to the inbox outlives the call, or the append would copy all of it.
}
