internal import Foundation
internal import PealModel
internal import PealReplica
internal import PealSQLite
internal import PealWebSocket

/// The shell of a session: what ``SessionDriver`` leaves to do, in order, on the inbox's thread.
extension Inbox {
    /// Milliseconds between looks at what another process does with the file.
    private static let watchInterval: Int64 = 200

    /// Connects, and stays connected until ``disconnect()``. Not blocking; ``statuses`` tells how it goes. One process of a
    /// machine has the connection, the others read, queue, and take over when it ends.
    public func connect() {
        wanted = true
        takeLease()
    }

    /// Ends the session; the hub is told not to expect this device. Acts are kept.
    public func disconnect() {
        wanted = false
        connecting?.cancel()
        connecting = nil
        drive { $0.stop() }
        socketHandler?.detach()
        socket = nil
        socketHandler = nil
        poke?.stop()
        poke = nil
        lease?.release()
        lease = nil
        if let wake { executor.cancel(wake) }
        wake = nil
        stopLettingGo()
    }

    /// The device woke up, or its network came or changed: call it when the system says so. A connection that looks alive is
    /// probed and given up after five seconds without an answer; one that is waited for is tried within half a second
    /// (docs/sync.md section 6). Without it a connection that died in a sleep is noticed by its silence only, after 45 s. Not blocking.
    public func networkChanged() { drive { $0.networkChanged() } }

    private func takeLease() {
        guard wanted, lease == nil else { return }
        do throws(ReplicaError) {
            lease = try Lease.take(path: configuration.path)
            guard lease != nil else {
                tell(InboxStatus(state: .elsewhere))
                watch(lastVersion: nil)
                return
            }
            let executor = executor
            poke = try Poke(path: configuration.path) { [weak self] in
                guard let self else { return }
                executor.post { self.assumeIsolated { $0.poked() } }
            }
        } catch {
            lastProblem = error.message
            configuration.log("the lease was not taken: \(error)")
        }
        drive { $0.start() }
    }

    /// Another process queued an act.
    private func poked() {
        var change = Change()
        change.everything = true
        change.outbox = true
        tellChange(change)
        drive { $0.outboxChanged() }
    }

    /// While another process has the connection: tell what it commits, and take over when it ends.
    private func watch(lastVersion: Int64?) {
        guard wanted, lease == nil else { return }
        var version = lastVersion
        if let now = try? replica.dataVersion() {
            if let lastVersion, lastVersion != now {
                var change = Change()
                change.everything = true
                change.outbox = true
                change.interests = true
                change.preferences = true
                tellChange(change)
            }
            version = now
        }
        let seen = version
        executor.post(afterMilliseconds: Self.watchInterval) { [weak self] in
            self?.assumeIsolated { inbox in
                guard inbox.wanted, inbox.lease == nil else { return }
                if let lease = try? Lease.take(path: inbox.configuration.path) {
                    lease.release()
                    inbox.takeLease()
                } else {
                    inbox.watch(lastVersion: seen)
                }
            }
        }
    }

    // MARK: Effects

    /// Gives the session an input, and does what the driver leaves to the shell.
    func drive(_ input: (inout DeviceSession) -> [DeviceSession.Action]) { perform(driver.drive(replica, input)) }

    private func perform(_ result: (effects: [SessionDriver.Effect], failure: ReplicaError?)) {
        for effect in result.effects { perform(effect) }
        if let failure = result.failure { failed(failure) }
        tellWaiters()
    }

    private func perform(_ effect: SessionDriver.Effect) {
        switch effect {
        case .stage(let page): perform(driver.stage(replica, page))
        case .connect: openSocket()
        case .send(let frame): send(frame)
        case .close(let code, let reason): socket?.close(code: code.rawValue, reason: reason)
        case .fetchToken: fetchToken()
        case .schedule(let timer, let delay): schedule(timer, delay)
        case .cancel(let timer): cancel(timer)
        case .wake(let delay): scheduleWake(delay)
        case .status(let status): tell(status)
        case .report(let text):
            lastProblem = text
            configuration.log(text)
        case .forked: tell(.forked)
        case .swapped(let swap): report(swap)
        case .diverged(let divergence):
            lastProblem = divergence.description
            tell(InboxNotice(.diverged, divergence.description))
        case .quarantined(let positions):
            for position in positions {
                tell(InboxNotice(.setAside, "the entry at \(position) cannot be read; it was set aside"))
            }
        }
    }

    /// The token is the next hello's proof, too.
    private func fetchToken() {
        guard let fresh = configuration.freshToken else {
            drive { $0.freshToken(nil) }
            return
        }
        Task { [weak self] in await self?.tokenCame(fresh()) }
    }

    private func tokenCame(_ token: String?) {
        if let token { driver.proof.token = token }
        drive { $0.freshToken(token) }
    }

    /// Held acts and retries become due by time.
    private func scheduleWake(_ delay: Milliseconds) {
        if let wake { executor.cancel(wake) }
        wake = executor.post(afterMilliseconds: delay) { [weak self] in
            self?.assumeIsolated { inbox in inbox.drive { $0.outboxChanged() } }
        }
    }

    private func report(_ swap: SwapReport) {
        if swap.ahead { tell(InboxNotice(wentBack: swap)) }
        guard swap.unexplainedCount > 0 else { return }
        configuration.log(
            "a snapshot differed from this replica in \(swap.unexplainedCount) places that no entry explains")
        for sentence in swap.unexplained { configuration.log(sentence) }
    }

    /// The file failed under the session: end it, keep what is durable, and try again later.
    private func failed(_ error: ReplicaError) {
        lastProblem = error.message
        configuration.log("the replica failed: \(error)")
        socket?.close(code: CloseCode.tryAgain.rawValue, reason: "the replica's file failed")
    }

    private func tell(_ status: DeviceSession.Status) {
        let told: InboxStatus
        switch status {
        case .offline(let retryAfter):
            told = InboxStatus(state: .offline, retryAfter: retryAfter, message: lastProblem)
        case .connecting: told = InboxStatus(state: .connecting, message: lastProblem)
        case .loading: told = InboxStatus(state: .loading)
        case .live:
            lastProblem = nil
            told = InboxStatus(state: .live)
            letGo()
        case .stalled: told = InboxStatus(state: .stalled, message: "no progress")
        case .stopped(let code, let reason):
            told = InboxStatus(state: .stopped, message: reason, code: code.rawValue)
        }
        tell(told)
    }

    // MARK: Timers

    private func schedule(_ timer: DeviceSession.Timer, _ delay: Milliseconds) {
        cancel(timer)
        timers[timer] = executor.post(afterMilliseconds: delay) { [weak self] in
            self?.assumeIsolated { inbox in
                inbox.timers[timer] = nil
                inbox.drive { $0.fired(timer) }
            }
        }
    }

    private func cancel(_ timer: DeviceSession.Timer) {
        if let id = timers.removeValue(forKey: timer) { executor.cancel(id) }
    }

    // MARK: Socket

    private func openSocket() {
        guard let url else {
            askForURL()
            return
        }
        if driver.proof.token == nil, let fresh = configuration.freshToken {
            askForToken(fresh)
            return
        }
        let handler = SocketHandler(self, executor)
        var configuration = WebSocketClientConfiguration(url: url, subprotocol: wireSubprotocol)
        configuration.authorityPath = self.configuration.authorityPath
        configuration.proxy = self.configuration.hub.proxy?.address
        configuration.maximumMessageBytes = Limits.frameDown
        configuration.pingSeconds = Int(Limits.heartbeatSeconds)
        configuration.hangupSeconds = Int(Limits.heartbeatSeconds) * 3 / 2
        socketHandler?.detach()
        socketHandler = handler
        do throws(WebSocketError) {
            let client = WebSocketClient(service: try SocketService.shared(), handler: handler)
            socket = client
            try client.connect(configuration)
        } catch {
            socketClosed(CloseCode.tryAgain.rawValue, error.message)
        }
    }

    /// The first token, without which the first hello would be for nothing.
    private func askForToken(_ fresh: @escaping @Sendable () async -> String?) {
        connecting = Task { [weak self] in
            let token = await fresh()
            guard !Task.isCancelled else { return }
            await self?.firstTokenCame(token)
        }
    }

    private func firstTokenCame(_ token: String?) {
        guard wanted else { return }
        connecting = nil
        guard let token else { return socketClosed(1006, "there is no user token") }
        driver.proof.token = token
        openSocket()
    }

    private func askForURL() {
        let hub = configuration.hub
        let authorityPath = configuration.authorityPath
        connecting = Task { [weak self] in
            let answer: Result<String, PealError>
            do throws(PealError) {
                answer = .success(try await hub.webSocketURL(authorityPath: authorityPath))
            } catch {
                answer = .failure(error)
            }
            guard !Task.isCancelled else { return }
            await self?.answered(answer)
        }
    }

    private func answered(_ answer: Result<String, PealError>) {
        guard wanted else { return }
        connecting = nil
        switch answer {
        case .success(let found):
            url = found
            openSocket()
        case .failure(let error): socketClosed(1006, error.message)
        }
    }

    private func send(_ frame: UpFrame) {
        guard let socket else { return }
        if !socket.send(frame.bytes) { configuration.log("a frame was not sent: the socket is closed or full") }
    }

    /// Events of the socket, as one turn of its loop brought them.
    func received(_ events: [WebSocketEvent], from handler: SocketHandler) {
        guard handler === socketHandler else { return }
        for event in events {
            switch event {
            case .opened: drive { $0.opened() }
            case .message(let bytes):
                do throws(FrameError) {
                    let frame = try DownFrame(bytes[...])
                    drive { $0.received(frame, bytes: bytes.count) }
                } catch {
                    drive { $0.received(error) }
                }
            case .closed(let code, let reason): socketClosed(code, reason)
            }
        }
    }

    private func socketClosed(_ code: UInt16, _ reason: String) {
        socket = nil
        if !reason.isEmpty { lastProblem = reason }
        // The hub may have moved; its address is asked for again after a connection that failed.
        if code == 1006 { url = nil }
        perform(driver.closed(replica, code: CloseCode(rawValue: code), reason: reason))
    }
}

/// Carries a socket's events to the inbox's thread: the one hop of the way in.
final class SocketHandler: WebSocketClientHandler, @unchecked Sendable {
    // `inbox` is only written on the inbox's thread and only read in closures that run there.
    private weak var inbox: Inbox?
    private let executor: ConnectionExecutor

    init(_ inbox: Inbox, _ executor: ConnectionExecutor) {
        self.inbox = inbox
        self.executor = executor
    }

    func received(_ events: [WebSocketEvent]) {
        executor.post { [self] in
            guard let inbox else { return }
            inbox.assumeIsolated { $0.received(events, from: self) }
        }
    }

    func detach() { inbox = nil }
}

/// The one socket thread of a process: many inboxes share it.
enum SocketService {
    private static let made: Result<WebSocketService, WebSocketError> = {
        do throws(WebSocketError) {
            let service = try WebSocketService(name: "peal-socket")
            service.start()
            return .success(service)
        } catch {
            return .failure(error)
        }
    }()

    static func shared() throws(WebSocketError) -> WebSocketService { try made.get() }
}
