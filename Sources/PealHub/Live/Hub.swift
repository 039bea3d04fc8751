import PealModel
import PealSQLite
import PealWebSocket

/// The hub's live side: sessions, fan-out and catch-up, on the WebSocket service's own thread (ARCHITECTURE.md, decision 2).
///
/// It is entered from the socket layer's callbacks and from the committer, never blocks, and holds no queue of entries: a
/// session is a place in the log.
actor Hub {
    /// Milliseconds between looks at the clock.
    static let tick: Milliseconds = 5_000
    /// Milliseconds in which a hub that drains is not expected back.
    static let drainLow: Milliseconds = 500
    /// Milliseconds after that over which the devices spread, at least and at most: one more a session.
    static let drainLeast: Milliseconds = 2_500
    static let drainMost: Milliseconds = 60_000
    /// Bytes of entries in a frame; commas and the frame's own members need the rest of ``Limits/frameDown``.
    static let frameBytes = Limits.frameDown - 2 * Limits.windowEntries
    /// Bytes of a frame of entries without them and their commas, at most.
    static let frameHead = 200

    nonisolated let service: WebSocketService
    nonisolated var unownedExecutor: UnownedSerialExecutor { service.asUnownedSerialExecutor() }

    let reoffersLostActs: Bool
    private let limits: HubLimits
    /// Sockets of each address.
    private var addresses: [String: Int] = [:]
    let clock: @Sendable () -> Milliseconds
    let log: @Sendable (String) -> Void
    nonisolated let metrics = Metrics()
    nonisolated let readiness = Readiness()
    private var server: WebSocketServer?
    var committer: Committer?
    var logReader: LogReader?
    var connections: [ConnectionID: HubConnection] = [:]
    var sessions: [UInt64: ConnectionID] = [:]
    var inboxes: [InboxKey: LiveInbox] = [:]
    private var cursors: [ReplicaKey: Position] = [:]
    /// Inboxes that have grown and whose sessions are not told yet.
    var moved: [LiveInbox] = []
    /// A timer is set after which they are.
    var isWaiting = false
    var pace = FanoutPace()
    /// A chunk of a wide publish is being appended.
    var fanningOut = false
    /// What is due from time to time is being done.
    var tidying = false
    /// When it was done last.
    var tidied: Milliseconds?
    /// More became due while it was being done.
    var tidiesAgain = false
    /// Makes webhook calls; nil where none may be made.
    var sender: WebhookSender?
    /// Webhook calls are being taken from the queue.
    var takingWebhooks = false
    /// Calls that are being made.
    var webhooksOut = 0
    /// When the next one is due.
    var webhookDue: Milliseconds?
    /// A scheduled publish is being sent.
    var publishingDue = false
    /// When the next one is looked for.
    var dueTimer: Milliseconds?
    /// The start of the frame that is being written; reused.
    private var head: [UInt8] = []
    private static let comma: [UInt8] = Array(",".utf8)
    var isDraining = false
    /// Who looks on at logs.
    var feeds: [ObjectIdentifier: LogFeed] = [:]
    var feedsByInbox: [InboxKey: [LogFeed]] = [:]
    /// Told once the last socket is closed.
    var drained: (@Sendable () -> Void)?
    var restores = RestoreNotices()
    var projects: Projects?
    /// How often projects were changed here: a look that began before such a change knows nothing of it.
    var projectChanges = 0
    /// When the projects were looked at last.
    var lookedAtProjects: Milliseconds?
    /// Other hubs on the same store; nil where there can be none.
    var nodes: (any HubNodes)?
    /// What notices have named and no look has gone to yet.
    var unlooked = NodeNotice()
    /// A look at the store is under way.
    var isLooking = false
    /// Looks that were begun.
    var looks = 0

    /// A hub that is not connected to anything yet; ``attach(committer:logReader:projects:sender:)`` and ``start(_:)`` follow.
    init(
        service: WebSocketService, reoffersLostActs: Bool, limits: HubLimits = HubLimits(),
        clock: @escaping @Sendable () -> Milliseconds, log: @escaping @Sendable (String) -> Void
    ) {
        self.limits = limits
        self.service = service
        self.reoffersLostActs = reoffersLostActs
        self.clock = clock
        self.log = log
    }

    /// Connects the store's two sides and the projects; before anything listens.
    func attach(committer: Committer, logReader: LogReader, projects: Projects, sender: WebhookSender? = nil) {
        self.sender = sender
        self.projects = projects
        self.committer = committer
        self.logReader = logReader
    }

    /// Takes the listener, whose first sockets may be open already, starts the clock, and goes on with wide publishes that a
    /// crash cut short.
    func start(_ server: WebSocketServer) {
        self.server = server
        for id in connections.keys { server.requestWrite(id) }
        scheduleTick()
        fanOut()
        publishDue()
        callWebhooks()
        tidy()
    }

    /// Lets go of the other parts, which hold this one too; last of all.
    func detach() {
        server = nil
        committer = nil
        logReader = nil
        nodes = nil
    }

    /// Sessions that are open.
    var sessionCount: Int { sessions.count }

    // MARK: Socket events

    func opened(_ id: ConnectionID, peer: String) {
        connections[id] = HubConnection(id: id, peer: peer, frames: limits.framesPerSecond, opened: clock())
        addresses[peer, default: 0] += 1
        if limits.socketsPerAddress > 0, addresses[peer, default: 0] > limits.socketsPerAddress {
            metrics.limited.add()
            server?.close(id, code: CloseCode.rate.rawValue, reason: "too many sockets of this address")
        }
        if isDraining { server?.close(id, code: CloseCode.draining.rawValue, reason: "this hub is stopping") }
    }

    func received(_ id: ConnectionID, _ message: [UInt8]) {
        guard let connection = connections[id] else { return }
        guard connection.frames.take(now: .now) == nil else {
            metrics.limited.add()
            return perform(connection.session.denied(.rate, "too many frames a second"), connection)
        }
        let actions: [HubSession.Action]
        do throws(FrameError) {
            actions = connection.session.received(try UpFrame(message[...]), now: clock())
        } catch {
            actions = connection.session.received(error)
        }
        perform(actions, connection)
    }

    func closed(_ id: ConnectionID) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        leave(connection)
        let left = addresses[connection.peer, default: 1] - 1
        addresses[connection.peer] = left > 0 ? left : nil
        if isDraining, connections.isEmpty { tellDrained() }
    }

    func leave(_ connection: HubConnection) {
        if let joined = connection.joined, sessions[joined] == connection.id { sessions[joined] = nil }
        guard let inbox = connection.inbox else { return }
        connection.live?.connections[connection.id] = nil
        if connection.live?.connections.isEmpty == true { inboxes[inbox] = nil }
        connection.inbox = nil
        connection.live = nil
    }

    // MARK: Session actions

    func perform(_ actions: [HubSession.Action], _ connection: HubConnection) {
        for action in actions {
            switch action {
            case .write: server?.requestWrite(connection.id)
            case .admit(let hello): admit(hello, connection)
            case .firstFrame: firstFrame(connection)
            case .commit(let mutations): push(mutations, connection)
            case .commitSuspect(let mutation): pushSuspect(mutation, connection)
            case .checkToken(let token): checkToken(token, connection)
            case .acknowledge(let position):
                if let replica = connection.replica { cursors[replica] = position }
            case .loadPage(let request): loadPage(request, connection)
            case .close(let code, let reason):
                server?.close(connection.id, code: code.rawValue, reason: reason)
            case .bye: break
            }
        }
    }

    private func loadPage(_ request: SnapshotRequest, _ connection: HubConnection) {
        guard let inbox = connection.inbox else { return }
        if connection.resumes {
            connection.resumes = false
            metrics.repairs.add()
            log("a replica differs from the log that it has folded and loads a snapshot (docs/sync.md section 8)")
        }
        let id = connection.id
        logReader?.page(of: inbox, request) { result in
            self.service.post {
                self.assumeIsolated { hub in
                    guard let connection = hub.connections[id] else { return }
                    switch result {
                    case .success(let page): hub.perform(connection.session.loaded(page), connection)
                    case .failure(let error):
                        hub.log("a snapshot page was not read: \(error)")
                        hub.perform(connection.session.denied(.tryAgain, "the log cannot be read now"), connection)
                    }
                }
            }
        }
    }

    // MARK: Writing

    /// Gives the next frame of a session whose socket can be written.
    func nextMessage(_ id: ConnectionID, into buffer: inout MessageBuffer) -> Bool {
        guard let connection = connections[id], let output = connection.session.nextOutput() else { return false }
        switch output {
        case .frame(let frame):
            buffer.append(frame.bytes)
            return true
        case .entries(let position, let count, let bytes):
            // Its commas and its own members count, too.
            let room = min(bytes, Limits.frameDown) - Self.frameHead - count
            guard let entries = entries(after: position, count: count, bytes: max(1, room), connection),
                let last = entries.last, let session = connection.session.session,
                // At least one was given; it goes beyond the window only where nothing else is out.
                entries.count > 1 || last.content.count <= room || connection.session.unacknowledged == 0
            else { return false }
            connection.fetched = []
            let before = buffer.count
            head.removeAll(keepingCapacity: true)
            Batch.appendHead(
                session: session, from: position, to: last.position, chain: last.chain,
                sum: last.sum ?? connection.live?.sum(at: last.position), into: &head)
            buffer.append(head)
            for entry in entries {
                if entry.position > position + 1 { buffer.append(Self.comma) }
                buffer.append(count: entry.content.count) { entry.content.write(to: $0) }
            }
            buffer.append(Batch.tail)
            connection.session.sent(to: last.position, bytes: buffer.count - before, now: clock())
            connection.live?.wrote(through: last.position)
            return true
        }
    }

    /// Whether another frame waits, as far as is known without looking at the log.
    func hasMore(_ id: ConnectionID) -> Bool { connections[id]?.session.hasOutput ?? false }

    private func entries(
        after position: Position, count: Int, bytes: Int, _ connection: HubConnection
    ) -> ArraySlice<LogEntry>? {
        guard let inbox = connection.inbox else { return nil }
        if let slice = connection.live?.ring.slice(after: position, count: count, bytes: bytes) { return slice }
        if let first = connection.fetched.first, first.position == position + 1 {
            // The window may have shrunk since the read.
            return connection.fetched.prefix(count)
        }
        fetch(after: position, count: count, bytes: bytes, inbox, connection)
        return nil
    }

    private func fetch(
        after position: Position, count: Int, bytes: Int, _ inbox: InboxKey, _ connection: HubConnection
    ) {
        guard !connection.fetching else { return }
        connection.fetching = true
        let id = connection.id
        logReader?.entries(of: inbox, after: position, count: count, bytes: bytes) { result in
            self.service.post {
                self.assumeIsolated { hub in hub.fetched(result, id) }
            }
        }
    }

    private func fetched(_ result: Result<[LogEntry], HubStoreError>, _ id: ConnectionID) {
        guard let connection = connections[id] else { return }
        connection.fetching = false
        switch result {
        case .success(let entries):
            connection.fetched = entries[...]
            if !entries.isEmpty { server?.requestWrite(id) }
        case .failure(let error) where error.code == .belowFloor:
            perform(connection.session.overtaken(), connection)
        case .failure(let error):
            log("the log was not read: \(error)")
            perform(connection.session.denied(.tryAgain, "the log cannot be read now"), connection)
        }
    }

    // MARK: Clock

    private func scheduleTick() {
        service.post(afterMilliseconds: Self.tick) {
            self.assumeIsolated { hub in
                hub.ticked(now: hub.clock())
                hub.scheduleTick()
            }
        }
    }

    /// Looks at the clock: what is over ends, and what is due is done.
    func ticked(now: Milliseconds) {
        flushCursors(now)
        tidy()
        lookAtProjects(now)
        // Another hub may have ended over a wide publish that it took.
        if nodes != nil { fanOut() }
        tickFeeds(now: now)
        tickWebhooks(now: now)
        for line in restores.tick(now: now) { log(line) }
        for connection in connections.values {
            if connection.session.session == nil, now - connection.opened > HubLimits.hello {
                perform(connection.session.denied(.protocolError, "no hello came"), connection)
            } else {
                perform(connection.session.tick(now: now), connection)
            }
        }
    }

    func flushCursors(_ now: Milliseconds) {
        guard !cursors.isEmpty else { return }
        let batch = cursors.map { (replica: $0.key, position: $0.value) }
        cursors.removeAll()
        committer?.submit(
            { (store) throws(HubStoreError) in
                try store.acknowledge(batch, now: now)
                return Committed(value: ())
            },
            completion: { _ in })
    }
}
