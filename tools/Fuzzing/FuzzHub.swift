import PealHub
import PealHubMemory
import PealModel

/// A hub for one inbox: the machine that ships, a store in memory, and one socket.
final class FuzzHub {
    private typealias Job = (FuzzHub) -> Void

    let time: FuzzTime
    let store: MemoryHubStore
    private(set) var session = HubSession()
    /// Frames on their way to the device.
    var down: [[UInt8]] = []
    /// The close code that the device has not read yet.
    var closing: CloseCode?
    /// Whether fresh tokens are good.
    var takesToken = true
    private var jobs: [Job] = []
    private var project: Project
    private var inbox: InboxKey?
    private var replica: ReplicaKey?
    private var hello: Hello?
    private var isOpen = false
    private var count = 0

    /// Traps where a fresh store does not take a project.
    init(_ time: FuzzTime) {
        self.time = time
        store = MemoryHubStore(
            retention: Retention(), random: { time.random() })
        do {
            try store.begin()
            project = try store.createProject(
                instance: "instance", apiKey: "key", secret: "secret", requiresHMAC: false, now: time.now)
            try store.commit()
        } catch {
            preconditionFailure("a fresh store takes a project: \(error)")
        }
    }

    var hasJobs: Bool { !jobs.isEmpty }
    var hasOutput: Bool { isOpen && session.hasOutput }
    /// What the window of the live session allows.
    var window: Int64? {
        guard session.session != nil, let hello else { return nil }
        return min(max(hello.windowEntries, 1), Int64(Limits.windowEntries))
    }

    /// The items of the inbox.
    var items: [ItemID] {
        guard let inbox, let reader = try? store.makeReader() else { return [] }
        defer { reader.close() }
        guard let page = try? reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: 20, maxBytes: 100_000)
        else { return [] }
        return page.rows.map(\.id)
    }

    // MARK: The socket

    func opened() {
        session = HubSession()
        isOpen = true
        closing = nil
        hello = nil
    }

    /// The socket is gone.
    func leave() {
        isOpen = false
        jobs = []
        down = []
        closing = nil
    }

    /// - Returns: the law that did not hold.
    func receive(_ bytes: [UInt8]) -> String? {
        guard isOpen else { return nil }
        do throws(FrameError) {
            let frame = try UpFrame(bytes[...])
            if case .hello(let said) = frame { hello = said }
            return perform(session.received(frame, now: time.now))
        } catch {
            let actions = session.received(error)
            if let text = perform(actions) { return text }
            return isOpen ? "a hub kept a socket with a frame that cannot be read" : nil
        }
    }

    @discardableResult
    private func perform(_ actions: [HubSession.Action]) -> String? {
        for action in actions {
            switch action {
            case .admit(let hello): jobs.append { $0.admit(hello) }
            case .firstFrame:
                jobs.append { hub in
                    hub.transaction { (hub, replica, session) throws(HubStoreError) in
                        _ = try hub.store.firstFrame(replica, session: session, now: hub.time.now)
                    }
                }
            case .commit(let mutations): jobs.append { $0.push(mutations) }
            case .commitSuspect(let mutation): jobs.append { $0.suspect(mutation) }
            case .checkToken:
                perform(takesToken ? session.renewed(expires: time.now + 300_000) : session.denied(.revoked, "no good"))
            case .acknowledge(let position):
                jobs.append { hub in
                    hub.transaction { (hub, replica, _) throws(HubStoreError) in
                        try hub.store.acknowledge([(replica: replica, position: position)], now: hub.time.now)
                    }
                }
            case .loadPage(let request): load(request)
            case .close(let code, _): close(code)
            case .write, .bye: break
            }
        }
        if isOpen { return nil }
        return session.received(.ping, now: time.now).isEmpty ? nil : "a closed session answers"
    }

    private func close(_ code: CloseCode) {
        while case .frame(let frame)? = session.nextOutput() { down.append(frame.bytes) }
        closing = code
        isOpen = false
        jobs = []
    }

    func write() {
        guard isOpen, let output = session.nextOutput() else { return }
        switch output {
        case .frame(let frame): down.append(frame.bytes)
        case .entries(let position, let count, let bytes): write(after: position, count, bytes)
        }
    }

    private func write(after position: Position, _ count: Int, _ bytes: Int) {
        guard let inbox, let id = session.session else { return }
        do throws(HubStoreError) {
            let reader = try store.makeReader()
            defer { reader.close() }
            let entries = try reader.entries(of: inbox, after: position, maxCount: min(count, 5), maxBytes: bytes)
            guard let last = entries.last else { return }
            let standing = try reader.sum(of: inbox)
            let batch = Batch(
                session: id, from: position, to: last.position, chain: last.chain,
                entries: entries.map { $0.bytes[...] },
                sum: standing.head == last.position ? standing.sum : nil)
            let frame = DownFrame.batch(batch).bytes
            down.append(frame)
            session.sent(to: last.position, bytes: frame.count, now: time.now)
        } catch {
            perform(error.code == .belowFloor ? session.overtaken() : session.denied(.tryAgain, "no log"))
        }
    }

    func tick() { if isOpen { perform(session.tick(now: time.now)) } }

    // MARK: The store

    /// One request that waits is made durable.
    func commit() { if !jobs.isEmpty { jobs.removeFirst()(self) } }

    private func inTransaction<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
        try store.begin()
        do throws(HubStoreError) {
            let result = try store.savepoint(body)
            try store.commit()
            return result
        } catch {
            store.rollback()
            throw error
        }
    }

    private func transaction(_ body: (FuzzHub, ReplicaKey, UInt64) throws(HubStoreError) -> Void) {
        guard let replica, let id = session.session else { return }
        try? inTransaction { () throws(HubStoreError) in try body(self, replica, id) }
    }

    private func admit(_ hello: Hello) {
        let now = time.now
        do throws(HubStoreError) {
            let project = project.key
            let result = try inTransaction { () throws(HubStoreError) in
                try store.admit(hello, project: project, now: now)
            }
            switch result {
            case .admitted(let admitted):
                if admitted.welcome.mode != .forked {
                    inbox = admitted.inbox
                    replica = admitted.replica
                }
                perform(session.admitted(admitted.welcome, at: hello.cursor.position, now: now))
            case .attemptTooLow(let last): perform(session.refused(last: last))
            case .refused: perform(session.denied(.unknown, "refused"))
            }
        } catch {
            perform(session.denied(.tryAgain, "not now"))
        }
    }

    private func push(_ mutations: [Mutation]) {
        guard let replica, let id = session.session else { return }
        let now = time.now
        answer { () throws(HubStoreError) in
            try store.push(mutations, from: replica, session: id, now: now)
        }
    }

    private func suspect(_ mutation: Mutation) {
        guard let replica, let id = session.session else { return }
        let now = time.now
        do throws(HubStoreError) {
            let known = try inTransaction { () throws(HubStoreError) in
                try store.suspect(mutation, from: replica, session: id, now: now)
            }
            guard let known else { return push([mutation]) }
            perform(session.answered(.success(known)))
            moved()
        } catch {
            perform(session.answered(.failure(error)))
        }
    }

    private func answer(_ body: () throws(HubStoreError) -> PushResult) {
        do throws(HubStoreError) {
            let result = try inTransaction(body)
            moved()
            perform(session.answered(.success(result)))
        } catch {
            perform(session.answered(.failure(error)))
        }
    }

    private func load(_ request: SnapshotRequest) {
        guard let inbox else { return }
        do throws(HubStoreError) {
            let reader = try store.makeReader()
            defer { reader.close() }
            perform(session.loaded(try reader.page(of: inbox, request, maxRows: 3, maxBytes: Limits.frameDown)))
        } catch {
            perform(session.denied(.tryAgain, "no log"))
        }
    }

    private func moved() {
        guard let inbox, isOpen, let reader = try? store.makeReader(), let log = try? reader.log(of: inbox) else {
            return
        }
        perform(session.headMoved(to: log.head))
    }

    // MARK: Others

    /// Items for the inbox.
    func publish(_ items: Int, toInterest: Bool) {
        let now = time.now
        for _ in 0..<items {
            count += 1
            var request = PublishRequest(
                project: project.key, name: "pubid-\(count)",
                body: ItemBody(title: "Item \(count)", sent: now, expires: count % 5 == 0 ? now + 60_000 : nil))
            if toInterest {
                request.interests = ["donuts", "sun"]
            } else {
                request.recipients = [.init(identity: UserIdentity(externalID: "mary"))]
            }
            _ = try? inTransaction { () throws(HubStoreError) in try store.publish(request, now: now) }
        }
        moved()
    }

    /// Somebody else's act.
    func act(_ operation: PealModel.Operation, observed: Position?) {
        guard let inbox else { return }
        let now = time.now
        let uid = time.random()
        _ = try? inTransaction { () throws(HubStoreError) in
            try store.act(operation, uid: uid, observed: observed, in: inbox, now: now)
        }
        moved()
    }

    func upkeep() {
        let now = time.now
        _ = try? inTransaction { () throws(HubStoreError) in
            _ = try store.expire(limit: 10, now: now)
            return try store.upkeep(limit: 100, now: now)
        }
        moved()
    }

    /// The process ends and another one begins; the device learns nothing of it.
    func restart() {
        leave()
        session = HubSession()
        closing = .tryAgain
    }
}
