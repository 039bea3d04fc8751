public import PealModel

/// One inbox on one device: a SQLite file with base, overlay and outbox (SYNC.md sections 1, 4 and 8). No network.
///
/// Not Sendable: it lives on its owner's executor, and every call blocks until SQLite has answered. Several processes may
/// have the same file open; the one with the ``Lease`` drives a session, the others read and queue acts.
public final class Replica {
    /// Called after each commit of this object that changed something, on the replica's executor, outside any transaction:
    /// it may call back in.
    public var onCommit: ((Change) -> Void)?

    /// Opens a file, or makes it with mode 0600.
    public init(
        path: String, identity: InboxIdentity, project: String, options: ReplicaOptions = ReplicaOptions()
    ) throws(ReplicaError) { fatalError("sketch") }

    public var path: String { fatalError("sketch") }
    /// A newer library made the file: everything that writes throws `newerVersion`.
    public var isReadOnly: Bool { fatalError("sketch") }
    public func replicaID() throws(ReplicaError) -> ReplicaID { fatalError("sketch") }
    public func inboxID() throws(ReplicaError) -> String? { fatalError("sketch") }
    public func cursor() throws(ReplicaError) -> Cursor { fatalError("sketch") }
    /// What somebody sees who looks now.
    public func view() throws(ReplicaError) -> ViewPosition { fatalError("sketch") }

    // MARK: Session

    /// The next hello; its attempt is durable before this returns, and what was in flight is queued again.
    public func hello(
        proof: Proof, windowEntries: Int64 = Int64(Limits.windowEntries), windowBytes: Int64 = Int64(Limits.windowBytes)
    ) throws(ReplicaError) -> Hello { fatalError("sketch") }
    public func attemptRefused(last: Int64) throws(ReplicaError) { fatalError("sketch") }
    public func welcomed(_ welcome: Welcome) throws(ReplicaError) -> WelcomeCheck { fatalError("sketch") }
    public func apply(_ batch: Batch) throws(ReplicaError) -> Applied { fatalError("sketch") }
    public func snapshotRequest() throws(ReplicaError) -> SnapshotRequest { fatalError("sketch") }
    public func stage(_ page: Page) throws(ReplicaError) -> Staged { fatalError("sketch") }
    /// nil where nothing is due.
    public func nextPush(
        maximumCount: Int = Limits.mutationsPerPush, maximumBytes: Int = Limits.frameUp
    ) throws(ReplicaError) -> Push? { fatalError("sketch") }
    /// `retryAfter` for busy; nil after a lost connection.
    public func resetInFlight(retryAfter: Milliseconds? = nil) throws(ReplicaError) { fatalError("sketch") }
    /// Returns the highest own number that is settled.
    public func settled(_ settled: [Settled]) throws(ReplicaError) -> Int64 { fatalError("sketch") }
    public func fork(to id: ReplicaID? = nil) throws(ReplicaError) { fatalError("sketch") }
    public func sessionEnded(code: CloseCode?, reason: String) throws(ReplicaError) { fatalError("sketch") }

    // MARK: App

    /// Durable before it returns. `observed` nil means what the file shows now. `hold`: milliseconds in which it can be undone.
    @discardableResult
    public func enqueue(
        _ operation: PealModel.Operation, observed: ViewPosition? = nil, hold: Milliseconds = 0
    ) throws(ReplicaError) -> UInt64 { fatalError("sketch") }
    /// false where it is no longer held.
    public func undo(_ uid: UInt64) throws(ReplicaError) -> Bool { fatalError("sketch") }
    /// The new act's uid; nil where there is no such dead letter.
    public func retry(_ uid: UInt64) throws(ReplicaError) -> UInt64? { fatalError("sketch") }
    /// Dead letters, and acts that were not sent yet; false where there is none such.
    public func discard(_ uid: UInt64) throws(ReplicaError) -> Bool { fatalError("sketch") }
    /// Milliseconds until a held act or a busy hub's retry is due; nil where nothing waits for time.
    public func nextDue() throws(ReplicaError) -> Milliseconds? { fatalError("sketch") }

    // MARK: Queries; ReplicaReader has the same

    public func page(
        _ query: DeliveredQuery, after: PageCursor? = nil, limit: Int = 50
    ) throws(ReplicaError) -> DeliveredPage { fatalError("sketch") }
    public func item(_ id: ItemID) throws(ReplicaError) -> DeliveredItem? { fatalError("sketch") }
    public func item(number: Position) throws(ReplicaError) -> DeliveredItem? { fatalError("sketch") }
    public func counts() throws(ReplicaError) -> Counts { fatalError("sketch") }
    public func interests() throws(ReplicaError) -> [String] { fatalError("sketch") }
    public func outbox() throws(ReplicaError) -> [OutboxItem] { fatalError("sketch") }
    public func inspect(integrity: Bool = false) throws(ReplicaError) -> Inspection { fatalError("sketch") }
}

/// A second, read-only connection to a replica's file: pages without waiting for ingest. Not Sendable; blocking.
public final class ReplicaReader {
    public init(path: String) throws(ReplicaError) { fatalError("sketch") }
    /// Moves when another connection commits.
    public func dataVersion() throws(ReplicaError) -> Int64 { fatalError("sketch") }
    // + page, item, counts, interests, outbox, inspect as on Replica
}

/// Who may hold the socket of a file: one process, by flock on `<path>.lease`; freed by the kernel at process death.
public final class Lease {
    /// nil where another process has it.
    public static func take(path: String) throws(ReplicaError) -> Lease? { fatalError("sketch") }
    public func release() { fatalError("sketch") }
}

/// A FIFO `<path>.poke`: whoever queued an act wakes the lease's owner.
public final class Poke {
    /// The owner's end; `woken` is called on a thread of its own, coalesced, until ``stop()``.
    public init(path: String, woken: @escaping @Sendable () -> Void) throws(ReplicaError) { fatalError("sketch") }
    public func stop() { fatalError("sketch") }
    /// Wakes the owner; without one nothing happens.
    public static func poke(path: String) { fatalError("sketch") }
}
