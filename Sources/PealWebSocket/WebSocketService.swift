internal import CPealWebSocket
internal import Synchronization
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// One thread that serves sockets, and the executor of whatever lives on it.
///
/// Its handlers are called on the thread; an actor that uses it as its executor is entered from them by `assumeIsolated`.
/// Jobs from other threads wake it through the one call of libwebsockets that is safe from anywhere. SIGPIPE is ignored for
/// the process.
public final class WebSocketService: SerialExecutor {
    let state = Mutex(State())
    private let name: String
    // Only used on the thread, but for pws_wake, which is called under the lock while `state.open`; destroyed by the thread
    // itself, or by `stop` or `deinit` where the thread never ran.
    nonisolated(unsafe) let handle: OpaquePointer
    // Only used on the thread.
    private nonisolated(unsafe) var turn: [ClientCore] = []
    private nonisolated(unsafe) var owners: [ObjectIdentifier: EventOwner] = [:]
    /// What clients put a message together in. Only used on the thread.
    nonisolated(unsafe) var scratch = MessageBuffer()

    /// Makes the service; ``start()`` starts its thread.
    ///
    /// - Parameter name: what debuggers show; 15 bytes at most on Linux.
    /// - Throws: ``WebSocketError``: `resources`, where descriptors or memory ran out.
    public init(name: String = "peal-websocket") throws(WebSocketError) {
        guard let handle = pws_service_create(EventOwner.callback) else {
            throw WebSocketError(.resources, "the socket service could not be made: out of memory or descriptors")
        }
        self.handle = handle
        self.name = name
    }

    deinit {
        if state.withLock({ $0.phase == .fresh }) { pws_service_destroy(handle) }
    }

    /// Starts the thread, which keeps the service alive until ``stop()``; harmless when repeated, and after ``stop()``.
    public func start() {
        state.withLock { state in
            guard state.phase == .fresh else { return }
            state.phase = .running
            state.thread = startThread { $0.serve() }
        }
    }

    /// Closes every socket, runs what is queued, ends the thread and waits for it; harmless when repeated. Not from the
    /// thread itself.
    public func stop() {
        precondition(!isCurrent, "a service cannot wait for itself")
        let (thread, fresh): (pthread_t?, Bool) = state.withLock { state in
            let fresh = state.phase == .fresh
            if fresh { (state.phase, state.late) = (.stopped, true) }
            if state.phase == .running { state.phase = .stopping }
            if state.phase == .stopping { pws_wake(handle) }
            defer { state.thread = nil }
            return (state.thread, fresh)
        }
        if fresh {
            pws_service_destroy(handle)
            pthread_join(startThread { $0.runLateJobs() }, nil)
        }
        if let thread { pthread_join(thread, nil) }
    }

    /// Traps where the caller is not on the service's thread.
    public func checkIsolated() {
        precondition(isCurrent, "this must run on the thread of the socket service '\(name)'")
    }

    /// Whether the caller is on the service's thread.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// CPU time of the calling thread in microseconds; on the service's thread, what serving has cost.
    public static func threadCPUMicroseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// Raises this process's limit of open files to what the system allows, for services of many sockets. Before the
    /// service is made.
    ///
    /// - Returns: the limit; -1 where it cannot be read.
    @discardableResult
    public static func raiseFileLimit() -> Int64 { pws_raise_file_limit() }

    // MARK: The thread

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    var isCurrent: Bool { pthread_getspecific(Self.key) == Unmanaged.passUnretained(self).toOpaque() }

    private final class Start {
        let service: WebSocketService
        let body: (WebSocketService) -> Void
        init(_ service: WebSocketService, _ body: @escaping (WebSocketService) -> Void) {
            self.service = service
            self.body = body
        }
    }

    /// Starts a thread that is the service's own while `body` runs.
    func startThread(_ body: @escaping (WebSocketService) -> Void) -> pthread_t {
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(self, body))
        let result = pthread_create(
            &thread, nil,
            { context in
                let start = Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
                let service = start.service
                pthread_setspecific(WebSocketService.key, Unmanaged.passUnretained(service).toOpaque())
                pws_prepare_thread(String(service.name.prefix(15)))
                start.body(service)
                return nil
            }, start.toOpaque())
        precondition(result == 0, "a thread could not be started")
        return thread
    }

    private func serve() {
        var stopping = false
        while !stopping {
            let next: UInt64?
            (stopping, next) = runWhatIsDue()
            flushTurn()
            pws_set_deadline(handle, next.map { Int64(($0 + 999_999) / 1_000_000 * 1_000) } ?? -1)
            pws_run(handle, next != 0)
            flushTurn()
        }
        state.withLock {
            $0.phase = .stopped
            $0.late = true
        }
        pws_service_destroy(handle)
        for owner in owners.values { owner.serviceEnded() }
        owners.removeAll()
        runLateJobs()
    }

    /// The handle, or nil where the sockets are gone. On the thread.
    var openHandle: OpaquePointer? {
        state.withLock { $0.phase == .running || $0.phase == .stopping ? handle : nil }
    }

    // MARK: Owners and turns, on the thread

    /// Keeps an owner while C may call it.
    func keep(_ owner: EventOwner) { owners[ObjectIdentifier(owner)] = owner }

    /// Takes ``keep(_:)`` back.
    func letGo(_ owner: EventOwner) { owners[ObjectIdentifier(owner)] = nil }

    /// Hands a client's events over at the end of this turn of the loop, all at once.
    func deliverAfterTurn(_ client: ClientCore) { turn.append(client) }

    func flushTurn() {
        guard !turn.isEmpty else { return }
        let clients = turn
        turn.removeAll(keepingCapacity: true)
        for client in clients { client.deliver() }
    }
}
