public import PealModel
internal import PealSQLite

/// One inbox on one device: a SQLite file with base, overlay and outbox (docs/sync.md sections 1, 4 and 8). No network.
///
/// Not Sendable: it lives on its owner's executor, and every call blocks until SQLite has answered. Several processes may
/// have the same file open; the one with the ``Lease`` drives a session, the others read and queue acts. Every call throws
/// ``ReplicaError`` with the codes of SQLite's answers (`busy`, `full`, `ioError`, `corrupt`, `database`); a call that
/// throws has changed nothing. Calls that write throw `newerVersion` where ``isReadOnly``.
public final class Replica {
    /// Called after each commit of this object that changed something, on the replica's executor, outside any transaction:
    /// it may call back in. Commits of other processes are not announced: compare ``ReplicaReader/dataVersion()``.
    public var onCommit: ((Change) -> Void)?

    /// The path that it was opened with.
    public let path: String
    /// A newer library made the file: everything that writes throws `newerVersion`.
    public let isReadOnly: Bool
    /// The identity that it was opened for.
    public let identity: InboxIdentity

    let connection: Connection
    let options: ReplicaOptions
    let queries: Queries
    private var synchronous = Connection.Synchronous.full

    /// Checkpoints are few, because a snapshot is being loaded.
    var isLoading = false
    /// What the running session knows and a crash may forget.
    var session = SessionMemory()
    /// The overlay as last computed; nil where it must be computed anew.
    var overlay: Overlay?
    /// What the open transaction changes.
    var change = Change()

    /// The session's part of the memory.
    struct SessionMemory {
        /// The epoch of the welcome.
        var epoch: UInt64?
        /// A snapshot is due: batches are not for the base.
        var awaitsSnapshot = false
        /// The hub went back, and its last number is of another copy's act: numbers tell nothing of what it has.
        var offersAll = false
        /// The hub went back, and its operator wants what it lost to be offered again (the rule) or dropped.
        var reoffers = true
        /// Outcomes that wait until the cursor reaches a position, so that nothing disappears before its effect is there.
        var settled: [(settled: Settled, at: Position)] = []
    }

    /// Opens a file, or makes it with mode 0600. Blocking.
    ///
    /// - Parameters:
    ///   - path: of the file; its folder must be there.
    ///   - identity: whose inbox. A device's id may be nil; one that is given must be the bound one.
    ///   - project: the project's API key or instance id.
    ///   - formerProjects: what named the same project before, such as a key that was replaced: a file that was made with one of them is
    ///     taken over. So is one that no hub has welcomed and that holds no act, whatever key it was made with.
    ///   - options: clocks and limits.
    /// - Throws: ``ReplicaError``: `notAReplica`, `otherIdentity`, `cantOpen`, `readOnly`, and as the type says.
    public init(
        path: String, identity: InboxIdentity, project: String, formerProjects: [String] = [],
        options: ReplicaOptions = ReplicaOptions()
    ) throws(ReplicaError) {
        self.path = path
        self.identity = identity
        self.options = options
        let opened: (connection: Connection, readOnly: Bool)
        var state: ReplicaState
        do throws(SQLiteError) {
            opened = try ReplicaFile.open(path, identity, project: project, options: options)
            state = try ReplicaState.loadOrFail(opened.connection)
            if state.project != project, state.identity == ReplicaFile.text(identity), !opened.readOnly {
                try ReplicaFile.takeOver(opened.connection, &state, by: project, from: formerProjects)
            }
        } catch {
            throw ReplicaError(error, opening: path)
        }
        connection = opened.connection
        isReadOnly = opened.readOnly
        queries = Queries(connection: connection, clock: options.clock)
        guard state.identity == ReplicaFile.text(identity) else {
            throw ReplicaError(.otherIdentity, "\(path) belongs to another user, or is a device's")
        }
        guard state.project == project else {
            throw ReplicaError(
                .otherIdentity,
                "\(path) belongs to another project: it was made with the key \(state.project.prefix(8))…, and this is \(project.prefix(8))…"
            )
        }
        if case .device(let id?) = identity, let inbox = state.inbox, inbox != id {
            throw ReplicaError(.otherIdentity, "\(path) is the inbox of another device")
        }
        do throws(ReplicaError) {
            try mendOutbox()
        } catch {
            throw ReplicaError(error, opening: path)
        }
    }

    // MARK: Transactions

    /// Runs `body` in a writing transaction and announces what it changed. `full` is for what must survive a power cut;
    /// what the hub can send again is `normal`.
    func write<R>(
        _ durability: Connection.Synchronous, _ body: () throws(SQLiteError) -> R
    ) throws(ReplicaError) -> R {
        guard !isReadOnly else {
            throw ReplicaError(.newerVersion, "\(path) was made by a newer version; it is read-only here")
        }
        change = Change()
        // What the session knows follows the file: a transaction that is undone has changed neither.
        let before = session
        let result: R
        do throws(SQLiteError) {
            if durability != synchronous {
                try connection.setSynchronous(durability)
                synchronous = durability
            }
            result = try connection.transaction(.immediate, body)
        } catch {
            overlay = nil
            session = before
            throw ReplicaError(error)
        }
        let done = change
        change = Change()
        if done != Change() { onCommit?(done) }
        return result
    }

    /// Runs `body` on one state of the file.
    func read<R>(_ body: () throws(SQLiteError) -> R) throws(ReplicaError) -> R {
        do throws(SQLiteError) {
            // Within `consistently` the transaction is there already.
            if connection.isInTransaction { return try body() }
            return try connection.transaction(.deferred, body)
        } catch {
            throw ReplicaError(error)
        }
    }

    /// Runs reads that belong together, such as a page and counts, on one state of the file, although another process may write.
    /// Blocking; nothing is written in it.
    ///
    /// - Throws: ``ReplicaError``, also that of `body`.
    public func consistently<R>(_ body: () throws(ReplicaError) -> R) throws(ReplicaError) -> R {
        let result = try read { () throws(SQLiteError) in
            Result { () throws(ReplicaError) in try body() }
        }
        return try result.get()
    }

    /// The one row; it is there since the file was made.
    func loadState() throws(SQLiteError) -> ReplicaState { try ReplicaState.loadOrFail(connection) }

    /// The hub's clock as well as this device can tell, never before what the hub has said already.
    func hubNow(_ state: ReplicaState) -> Milliseconds {
        max(options.clock.wall() + (state.clockOffset ?? 0), state.time, state.synced)
    }

    // MARK: Identity

    /// This replica's id; a fork changes it.
    public func replicaID() throws(ReplicaError) -> ReplicaID { try read(loadState).replica }

    /// The bound inbox; nil before the first welcome.
    public func inboxID() throws(ReplicaError) -> String? { try read(loadState).inbox }

    /// How far the log has been folded.
    public func cursor() throws(ReplicaError) -> Cursor { try read(loadState).cursor }

    /// What somebody sees who looks now.
    public func view() throws(ReplicaError) -> ViewPosition {
        let state = try read(loadState)
        return ViewPosition(position: state.cursor.position, time: state.time)
    }
}
