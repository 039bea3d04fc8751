internal import Foundation
public import PealModel
public import PealReplica
internal import PealSQLite
internal import PealWebSocket

/// One inbox on this device: its replica, and the session that keeps it in step with the hub.
///
/// Everything works offline: reads come from the replica, acts are durable and show at once, and are sent when there is a
/// hub. Calls run on the inbox's own thread; only ``connect()`` and what it starts touch the network.
public actor Inbox {
    /// What an inbox is made of.
    public struct Configuration: Sendable {
        /// The replica's file.
        public var path: String
        /// Whose inbox.
        public var identity: InboxIdentity
        /// What proves that this device may have it.
        public var proof: Proof
        /// Gets a fresh user token from the app's own server: before a token ends, and before a reconnect that needs one. Called on
        /// any thread; nil, which is the default, where the proof does not end or there is none to be had.
        public var freshToken: (@Sendable () async -> String?)?
        /// The project's API key, or its instance id.
        public var project: String
        /// Keys that the project's has replaced (docs/operations.md, "Secrets"): a file that was made with one of them is taken over.
        public var formerProjects: [String] = []
        /// The hub.
        public var hub: HubAddress
        /// A PEM file of certificate authorities in place of the system's.
        public var authorityPath: String?
        /// How much of the inbox this device keeps; nil for everything.
        public var keep: KeepLimits?
        /// Takes a line for whoever debugs; never holds a secret or a body.
        public var log: @Sendable (String) -> Void = { _ in }

        /// A configuration of its parts.
        public init(path: String, identity: InboxIdentity, proof: Proof, project: String, hub: HubAddress) {
            self.path = path
            self.identity = identity
            self.proof = proof
            self.project = project
            self.hub = hub
        }
    }

    nonisolated let executor: ConnectionExecutor
    /// The inbox's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let configuration: Configuration
    let replica: Replica
    var driver: SessionDriver
    var socket: WebSocketClient?
    var socketHandler: SocketHandler?
    var url: String?
    var connecting: Task<Void, Never>?
    var timers: [DeviceSession.Timer: UInt64] = [:]
    var wake: UInt64?
    var lease: Lease?
    var poke: Poke?
    var wanted = false
    /// The next look at what is not to be kept.
    var letGoTimer: UInt64?
    /// Stores that were fetched, by their identity.
    var storeFeeds: [ObjectIdentifier: StoreFeed] = [:]
    /// When the next item expires.
    var expiryTimer: UInt64?
    /// Who waits for the hub.
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
    /// Told of each commit and each status on the inbox's thread, before anything else happens there.
    var follower: Follower?
    private var tellHealth: (@Sendable (ClientStatus) -> Void)?
    private var isHealthDue = false
    /// For reports of the session that the next status carries.
    var lastProblem: String?

    private nonisolated let changeStreams = Broadcast<Change>(limit: 1_024)
    private nonisolated let statusStreams = Broadcast<InboxStatus>(limit: 64)
    private nonisolated let noticeStreams = Broadcast<InboxNotice>(limit: 64)
    /// Notices that ``recentNotices`` keeps.
    private static let keptNotices = 16
    /// What happened since this object was made and a person may want to know, oldest first; the last 16. Of earlier times
    /// ``inspect(integrity:)`` tells.
    public private(set) var recentNotices: [InboxNotice] = []
    /// Where the connection stands.
    public private(set) var status = InboxStatus(state: .offline)

    /// Opens or makes the replica. Blocking for a moment; nothing is sent yet.
    ///
    /// - Throws: ``PealError``: `file` (no replica, of another identity, of a newer version, damaged, not allowed).
    public init(_ configuration: Configuration) async throws(PealError) {
        try self.init(blocking: configuration)
        followCommits()
    }

    /// The same for a caller that cannot wait in a task; it has ``followCommits()`` called before anything else.
    init(blocking configuration: Configuration) throws(PealError) {
        self.configuration = configuration
        executor = ConnectionExecutor(name: "peal-inbox")
        var options = ReplicaOptions()
        options.keep = configuration.keep
        do {
            replica = try Replica(
                path: configuration.path, identity: configuration.identity, project: configuration.project,
                formerProjects: configuration.formerProjects, options: options)
        } catch {
            executor.stop()
            throw PealError(error)
        }
        driver = SessionDriver(seed: UInt64.random(in: 0 ... .max), proof: configuration.proof)
    }

    /// The replica commits on the inbox's thread only.
    func followCommits() {
        replica.onCommit = { [weak self] change in self?.assumeIsolated { $0.tellChange(change) } }
    }

    // MARK: Streams

    /// What each commit changes, also one of another process that shares the file. A reader that falls behind by 1,024 misses
    /// the oldest ones: after a pause, look at everything.
    public nonisolated var changes: AsyncStream<Change> { changeStreams.stream() }

    /// Where its file is.
    package nonisolated var path: String { configuration.path }

    /// The connection's status, beginning with the present one.
    public var statuses: AsyncStream<InboxStatus> { statusStreams.stream(first: status) }

    /// What happens from now on and a person may want to know, although the inbox deals with it by itself. A reader that falls
    /// behind by 64 misses the oldest ones.
    public nonisolated var notices: AsyncStream<InboxNotice> { noticeStreams.stream() }

    func tell(_ notice: InboxNotice) {
        configuration.log(notice.message)
        recentNotices.append(notice)
        if recentNotices.count > Self.keptNotices { recentNotices.removeFirst() }
        noticeStreams.send(notice)
    }

    func tell(_ status: InboxStatus) {
        guard status != self.status else { return }
        self.status = status
        statusStreams.send(status)
        follower?.status(self, status)
        tellHealthNow()
        tellWaiters()
    }

    func tellChange(_ change: Change) {
        followStores(change)
        follower?.change(self, change)
        changeStreams.send(change)
        if change.outbox { tellHealthSoon() }
    }

    /// Calls `tell` with the status and depths, now and whenever they may be different, on the inbox's thread.
    func watchHealth(_ tell: @escaping @Sendable (ClientStatus) -> Void) {
        tellHealth = tell
        tellHealthNow()
    }

    /// Once for what a drain or a burst of acts changes within a moment: the outbox is counted for it.
    private func tellHealthSoon() {
        guard tellHealth != nil, !isHealthDue else { return }
        isHealthDue = true
        executor.post(afterMilliseconds: 20) { [weak self] in self?.assumeIsolated { $0.tellHealthNow() } }
    }

    private func tellHealthNow() {
        isHealthDue = false
        guard let tellHealth else { return }
        let depth = (try? replica.outboxDepth()) ?? (waiting: 0, dead: 0)
        let state: ClientStatus.State =
            switch status.state {
            case .offline: wanted && status.retryAfter == nil ? .connecting : .offline
            case .connecting, .loading: .connecting
            case .live, .elsewhere: .live
            case .stalled: .stalled
            case .stopped: .stopped
            }
        tellHealth(
            ClientStatus(
                state: state, lag: driver.session.lag, outboxDepth: depth.waiting, deadLetters: depth.dead,
                lastError: status.message))
    }

    // MARK: Reads

    func reading<R>(_ body: () throws(ReplicaError) -> R) throws(PealError) -> R {
        do {
            return try body()
        } catch {
            throw PealError(error)
        }
    }

    /// A page of delivered notifications, newest first.
    ///
    /// - Throws: ``PealError``: `file`, `invalid`.
    public func page(
        _ query: DeliveredQuery, after: PageCursor? = nil, limit: Int = 50
    ) throws(PealError) -> DeliveredPage {
        try reading { () throws(ReplicaError) in try replica.page(query, after: after, limit: limit) }
    }

    /// How many are listed, unread and unseen.
    ///
    /// - Throws: ``PealError``: `file`.
    public func counts() throws(PealError) -> Counts {
        try reading { () throws(ReplicaError) in try replica.counts() }
    }

    /// One item; nil where it is not there.
    ///
    /// - Throws: ``PealError``: `file`.
    public func item(_ id: ItemID) throws(PealError) -> DeliveredItem? {
        try reading { () throws(ReplicaError) in try replica.item(id) }
    }

    /// One item by its number; nil where it is not there.
    ///
    /// - Throws: ``PealError``: `file`.
    public func item(number: Position) throws(PealError) -> DeliveredItem? {
        try reading { () throws(ReplicaError) in try replica.item(number: number) }
    }

    /// The interests of a device's inbox, in order.
    ///
    /// - Throws: ``PealError``: `file`.
    public func interests() throws(PealError) -> [String] {
        try reading { () throws(ReplicaError) in try replica.interests() }
    }

    /// Every preference of a user's inbox: the choice, else the catalogue's default; a required channel is on.
    ///
    /// - Throws: ``PealError``: `file`.
    public func preferences() throws(PealError) -> [Preference] {
        try reading { () throws(ReplicaError) in try replica.preferences() }
    }

    /// What happened to an item (opened, clicked, dismissed, answered), of each kind the first.
    ///
    /// - Throws: ``PealError``: `file`.
    public func facts(of item: ItemID) throws(PealError) -> [Fact] {
        try reading { () throws(ReplicaError) in try replica.facts(of: item) }
    }

    /// Acts that are not settled, and dead letters.
    ///
    /// - Throws: ``PealError``: `file`.
    public func outbox() throws(PealError) -> [OutboxItem] {
        try reading { () throws(ReplicaError) in try replica.outbox() }
    }

    /// What the file holds, for support.
    ///
    /// - Throws: ``PealError``: `file`.
    public func inspect(integrity: Bool = false) throws(PealError) -> Inspection {
        try reading { () throws(ReplicaError) in try replica.inspect(integrity: integrity) }
    }

    /// What somebody who looks now has seen: pass it with an act.
    ///
    /// - Throws: ``PealError``: `file`.
    public func view() throws(PealError) -> ViewPosition {
        try reading { () throws(ReplicaError) in try replica.view() }
    }

    // MARK: Acts

    /// Does something: durable, and shown, when this returns; sent when there is a hub.
    ///
    /// - Parameters:
    ///   - operation: what was done.
    ///   - observed: the view that the person acted on, as a page carries it; nil for the present one.
    ///   - hold: milliseconds in which ``undo(_:)`` takes it back.
    /// - Returns: the act's uid.
    /// - Throws: ``PealError``: `invalid`, `file`.
    @discardableResult
    public func perform(
        _ operation: PealModel.Operation, observed: ViewPosition? = nil, hold: Milliseconds = 0
    ) throws(PealError) -> UInt64 {
        let uid = try reading { () throws(ReplicaError) in
            try replica.enqueue(operation, observed: observed, hold: hold)
        }
        outboxChanged()
        return uid
    }

    /// Takes a held act back; false where it is no longer held.
    ///
    /// - Throws: ``PealError``: `file`.
    public func undo(_ uid: UInt64) throws(PealError) -> Bool {
        try reading { () throws(ReplicaError) in try replica.undo(uid) }
    }

    /// Sends a dead letter again, as a new act; nil where there is no such one.
    ///
    /// - Throws: ``PealError``: `file`.
    public func retry(_ uid: UInt64) throws(PealError) -> UInt64? {
        let new = try reading { () throws(ReplicaError) in try replica.retry(uid) }
        outboxChanged()
        return new
    }

    /// Drops a dead letter or an act that was not sent; false where there is none such.
    ///
    /// - Throws: ``PealError``: `file`.
    public func discard(_ uid: UInt64) throws(PealError) -> Bool {
        try reading { () throws(ReplicaError) in try replica.discard(uid) }
    }

    func outboxChanged() {
        if lease == nil { Poke.poke(path: configuration.path) }
        drive { $0.outboxChanged() }
    }

    /// Whether this replica stands at the hub's head, as far as it has been told, and every act that is due is settled.
    public var isSettled: Bool { driver.session.isSettled }

    // MARK: End

    /// Ends the session and closes the file; streams end. The inbox must not be used afterwards.
    public func close() {
        disconnect()
        changeStreams.finish()
        statusStreams.finish()
        noticeStreams.finish()
        storeFeeds = [:]
        if let expiryTimer { executor.cancel(expiryTimer) }
        tellHealth = nil
        follower = nil
        for waiter in waiters.values { waiter.resume() }
        waiters = [:]
        let executor = executor
        // The thread cannot wait for itself.
        Thread.detachNewThread { executor.stop() }
    }
}
