import PealHub
import PealModel

/// A hub in the simulator: the shell around `HubSession` and a store, with the group commit as a step of its own.
final class SimHub {
    private struct Job {
        var link: Int?
        var run: (any HubStore) throws(HubStoreError) -> (done: () -> Void, appended: [Appended])
        var refuse: (HubStoreError) -> Void
    }

    unowned let world: World
    var store: any SimulatedHubStore
    var reader: any HubReader
    private(set) var links: [Int: Link] = [:]
    private var jobs: [Job] = []
    private var sessions: [UInt64: Int] = [:]
    /// The newest session of each replica, in the order of the commits.
    private var newest: [Int64: UInt64] = [:]
    private var acknowledged: [Int64: Position] = [:]
    /// When it last looked at the clock.
    private var ticked: Milliseconds = 0
    /// The next pushes are answered busy.
    var isBusy = false
    /// Tokens that were shown before it are over.
    var project: Project

    init(world: World, store: any SimulatedHubStore, project: Project) throws(HubStoreError) {
        self.world = world
        self.store = store
        self.project = project
        reader = try store.makeReader()
    }

    var hasJobs: Bool { !jobs.isEmpty }
    /// The links that the hub holds open, oldest first.
    var openLinks: [Link] { links.values.filter(\.isHubOpen).sorted { $0.id < $1.id } }

    func opened(_ link: Link) { links[link.id] = link }

    // MARK: Sessions

    /// The next frame of a link arrives.
    func receive(_ link: Link) {
        guard link.isHubOpen, !link.up.isEmpty, link.nextUp <= world.now else { return }
        if link.isTrickling { link.nextUp = world.now + Link.trickle }
        let frame = link.up.removeFirst()
        if case .got(let to) = frame, to > link.gotTo, to <= link.sentTo {
            link.gotTo = to
            link.creditSince = world.now
        }
        if world.schedule.shape.encodes {
            do throws(FrameError) {
                perform(link.session.received(try UpFrame(frame.bytes[...]), now: world.hubNow), link)
            } catch {
                perform(link.session.received(error), link)
            }
            return
        }
        perform(link.session.received(frame, now: world.hubNow), link)
    }

    func perform(_ actions: [HubSession.Action], _ link: Link) {
        for action in actions {
            switch action {
            case .admit(let hello): admit(hello, link)
            case .firstFrame: firstFrame(link)
            case .commit(let mutations):
                checkProof(link)
                push(mutations, link)
            case .commitSuspect(let mutation):
                checkProof(link)
                pushSuspect(mutation, link)
            case .checkToken(let token): checkToken(token, link)
            case .acknowledge(let position):
                if let replica = link.replica { acknowledged[replica] = max(acknowledged[replica] ?? 0, position) }
            case .loadPage(let request): loadPage(request, link)
            case .write: break
            case .close(let code, let reason): close(link, code, reason)
            case .bye: break
            }
        }
    }

    /// What is ready goes out before the close, as the socket layer does it.
    private func close(_ link: Link, _ code: CloseCode, _ reason: String) {
        if code == .newToken { checkTokenEnd(link) }
        while case .frame(let frame)? = link.session.nextOutput() { link.send(frame) }
        link.closing = (code, reason)
        leave(link)
    }

    /// The hub's end is gone.
    func leave(_ link: Link) {
        link.isHubOpen = false
        if let joined = link.joined, sessions[joined] == link.id { sessions[joined] = nil }
        links[link.id] = nil
    }

    func submit<Value>(
        _ link: Link?, _ work: @escaping (any HubStore) throws(HubStoreError) -> (value: Value, appended: [Appended]),
        _ completion: @escaping (Result<Value, HubStoreError>) -> Void
    ) {
        jobs.append(
            Job(
                link: link?.id,
                run: { (store) throws(HubStoreError) in
                    do throws(HubStoreError) {
                        let result = try store.savepoint { () throws(HubStoreError) in try work(store) }
                        return ({ completion(.success(result.value)) }, result.appended)
                    } catch {
                        if error.abortsCommit { throw error }
                        return ({ completion(.failure(error)) }, [])
                    }
                }, refuse: { completion(.failure($0)) }))
    }

    private func admit(_ hello: Hello, _ link: Link) {
        let now = world.hubNow
        link.hello = hello
        if let token = hello.proof.token { link.tokens = [token] }
        submit(link) { [self] (store) throws(HubStoreError) in
            let result = try Admitter.admit(hello, store: store, now: now)
            var appended: [Appended] = []
            if case .admitted(let admitted, _) = result {
                if admitted.welcome.mode != .forked { newest[admitted.replica.row] = admitted.welcome.session }
                if let entry = admitted.appended { appended = [entry] }
            }
            return (result, appended)
        } _: { [self] (result: Result<Admitter.Answer, HubStoreError>) in
            guard link.isHubOpen else { return }
            switch result {
            case .success(.admitted(let admitted, let expires)):
                checkToken(hello.proof.token, of: hello, at: now, taken: true)
                joined(admitted, hello, expires, link)
            case .success(.attemptTooLow(let last)): perform(link.session.refused(last: last), link)
            case .success(.denied(let code, let reason)):
                if !checkToken(hello.proof.token, of: hello, at: now, taken: false) {
                    world.fail("a device was refused: \(reason)")
                }
                perform(link.session.denied(code, reason), link)
            case .failure: perform(link.session.denied(.tryAgain, "the hub cannot take sessions now"), link)
            }
        }
    }

    private func joined(_ admitted: Admitted, _ hello: Hello, _ expires: Milliseconds?, _ link: Link) {
        if let old = admitted.replaced.flatMap({ sessions[$0] }), old != link.id, let other = links[old] {
            perform(other.session.denied(.replaced, "a newer session of this replica"), other)
        }
        world.note(
            "hub admits device \(link.device) on link \(link.id): \(admitted.welcome.mode), attempt \(hello.attempt), nonce \(admitted.welcome.nonce.prefix(4))"
        )
        world.admitted(admitted.welcome, hello, link)
        if admitted.welcome.mode != .forked {
            link.inbox = admitted.inbox.row
            link.replica = admitted.replica.row
            link.joined = admitted.welcome.session
            sessions[admitted.welcome.session] = link.id
        }
        link.sentTo = hello.cursor.position
        link.gotTo = hello.cursor.position
        perform(
            link.session.admitted(
                admitted.welcome, at: hello.cursor.position, now: world.hubNow, expires: expires), link)
    }

    private func firstFrame(_ link: Link) {
        guard let replica = link.replica, let session = link.session.session else { return }
        submit(link) { [world] (store) throws(HubStoreError) in
            (try store.firstFrame(ReplicaKey(row: replica), session: session, now: world.hubNow), [])
        } _: { _ in
        }
    }

    private func push(_ mutations: [Mutation], _ link: Link) {
        guard let replica = link.replica, let session = link.session.session else { return }
        if isBusy {
            perform(link.session.busy(retryAfter: 500), link)
            return
        }
        push(mutations, ReplicaKey(row: replica), session, link)
    }

    private func push(_ mutations: [Mutation], _ replica: ReplicaKey, _ session: UInt64, _ link: Link) {
        let now = world.hubNow
        submit(link) { [self] (store) throws(HubStoreError) in
            let result = try store.push(mutations, from: replica, session: session, now: now)
            if !result.appended.isEmpty, let last = newest[replica.row], last != session {
                world.fail("a push of an older session was taken")
            }
            return (result, result.appended)
        } _: { [self] (result: Result<PushResult, HubStoreError>) in
            answered(result, link)
        }
    }

    private func answered(_ result: Result<PushResult, HubStoreError>, _ link: Link) {
        guard link.isHubOpen else { return }
        perform(link.session.answered(result), link)
    }

    private func pushSuspect(_ mutation: Mutation, _ link: Link) {
        guard let replica = link.replica, let session = link.session.session else { return }
        let now = world.hubNow
        submit(link) { (store) throws(HubStoreError) in
            let result = try store.suspect(mutation, from: ReplicaKey(row: replica), session: session, now: now)
            return (result, result?.appended ?? [])
        } _: { [self] (result: Result<PushResult?, HubStoreError>) in
            switch result {
            // Also where the link has gone meanwhile: a note that nothing follows would look like a crash's.
            case .success(nil): push([mutation], ReplicaKey(row: replica), session, link)
            case .success(let answer?): answered(.success(answer), link)
            case .failure(let error): answered(.failure(error), link)
            }
        }
    }

    private func loadPage(_ request: SnapshotRequest, _ link: Link) {
        guard let inbox = link.inbox else { return }
        do throws(HubStoreError) {
            let page = try reader.page(
                of: InboxKey(row: inbox), request, maxRows: world.schedule.shape.pageRows, maxBytes: Limits.frameDown)
            if page.last {
                link.sentTo = Position(page.id)
                link.gotTo = link.sentTo
            }
            perform(link.session.loaded(page), link)
        } catch {
            perform(link.session.denied(.tryAgain, "the log cannot be read now"), link)
        }
    }

    // MARK: Group commit

    /// Makes what waits durable, up to so many requests.
    ///
    /// - Returns: whether anything was appended.
    @discardableResult
    func commit(_ count: Int) -> Bool { run(count) { $0.commit } }

    /// The transaction fails: nothing of it happened.
    func failCommit(_ count: Int) {
        let taken = take(count)
        if planted(.answersBeforeCommit) {
            try? store.begin()
            let done = taken.compactMap { try? $0.run(store).done }
            done.forEach { $0() }
            store.rollback()
            return
        }
        for job in taken { job.refuse(HubStoreError(.io, "a planned failure")) }
    }

    private func take(_ count: Int) -> [Job] {
        let taken = Array(jobs.prefix(count))
        jobs.removeFirst(taken.count)
        return taken
    }

    private func run(_ count: Int, _ end: (any HubStore) -> () throws(HubStoreError) -> Void) -> Bool {
        let taken = take(count)
        guard !taken.isEmpty else { return false }
        var done: [() -> Void] = []
        var appended: [Appended] = []
        do throws(HubStoreError) {
            try store.begin()
            for job in taken {
                let result = try job.run(store)
                done.append(result.done)
                appended += result.appended
            }
            try end(store)()
        } catch {
            store.rollback()
            for job in taken { job.refuse(error) }
            return false
        }
        for entry in appended { world.appended(entry) }
        for body in done { body() }
        moved(appended)
        return !appended.isEmpty
    }

    private func moved(_ appended: [Appended]) {
        var heads: [Int64: Position] = [:]
        for entry in appended { heads[entry.inbox.row] = entry.position }
        guard !heads.isEmpty else { return }
        for link in openLinks {
            guard let inbox = link.inbox, let head = heads[inbox] else { continue }
            perform(link.session.headMoved(to: head), link)
        }
    }

    /// Goes on with wide publishes, and notes durable cursors.
    func keepUp() {
        let now = world.hubNow
        submit(nil) { (store) throws(HubStoreError) in
            (true, try store.fanOut(limit: 2, now: now) ?? [])
        } _: { (_: Result<Bool, HubStoreError>) in
        }
        let cursors = acknowledged.sorted { $0.key < $1.key }.map {
            (replica: ReplicaKey(row: $0.key), position: $0.value)
        }
        guard !cursors.isEmpty else { return }
        acknowledged = [:]
        submit(nil) { (store) throws(HubStoreError) in
            try store.acknowledge(cursors, now: now)
            return (true, [])
        } _: { (_: Result<Bool, HubStoreError>) in
        }
    }

    /// Queues work that is not a session's.
    func enqueue<Value>(
        _ work: @escaping (any HubStore) throws(HubStoreError) -> (value: Value, appended: [Appended]),
        _ completion: @escaping (Result<Value, HubStoreError>) -> Void
    ) { submit(nil, work, completion) }

    // MARK: Writing

    /// The socket of a link can be written: one frame goes out.
    func write(_ link: Link) -> Bool {
        guard link.isHubOpen, let output = link.session.nextOutput() else { return false }
        switch output {
        case .frame(let frame): link.send(frame)
        case .entries(let position, let count, let bytes):
            guard let inbox = link.inbox, let session = link.session.session else { return false }
            do throws(HubStoreError) {
                let entries = try reader.entries(
                    of: InboxKey(row: inbox), after: position, maxCount: min(count, 5), maxBytes: bytes)
                guard let last = entries.last else { return false }
                let standing = try reader.sum(of: InboxKey(row: inbox))
                link.send(
                    .batch(
                        Batch(
                            session: session, from: position, to: last.position, chain: last.chain,
                            entries: entries.map { $0.bytes[...] },
                            sum: standing.head == last.position ? standing.sum : nil)))
                link.session.sent(to: last.position, bytes: 100 * entries.count, now: world.hubNow)
                if link.sentTo == link.gotTo { link.creditSince = world.hubNow }
                link.sentTo = last.position
                world.sent(link)
            } catch {
                if error.code == .belowFloor {
                    perform(link.session.overtaken(), link)
                } else {
                    perform(link.session.denied(.tryAgain, "the log cannot be read now"), link)
                }
            }
        }
        return true
    }

    /// Looks at the clock every 5 s, as the live hub does.
    func tick() {
        guard world.hubNow - ticked >= 5_000 else { return }
        ticked = world.hubNow
        for link in openLinks {
            if link.session.session == nil, world.hubNow - link.opened > 10_000 {
                perform(link.session.denied(.protocolError, "no hello came"), link)
            } else {
                perform(link.session.tick(now: world.hubNow), link)
            }
            if link.isHubOpen { checkPatience(link) }
        }
    }

    // MARK: The process

    /// The process ends: what was not durable is gone, and so is every session.
    func crash() {
        for link in openLinks { leave(link) }
        for job in jobs { _ = job }
        jobs = []
        sessions = [:]
        newest = [:]
        acknowledged = [:]
        isBusy = false
    }

    /// Another store takes the place of this one; after ``crash()``.
    func replace(store: any SimulatedHubStore) throws(HubStoreError) {
        reader.close()
        self.store = store
        reader = try store.makeReader()
    }
}

/// A store that the simulator can copy, and make fail.
protocol SimulatedHubStore: HubStore {
    /// Called in each mutation's savepoint; throws to make it fail.
    var fault: ((Mutation) throws(HubStoreError) -> Void)? { get set }
    /// Matching inboxes above which a publish becomes a durable job.
    var wideFrom: Int { get set }
    /// Another store on what is durable now.
    func copy(seed: UInt64) throws(HubStoreError) -> any SimulatedHubStore
}
