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
/// Jobs from other threads wake it through the one call of libwebsockets that is safe from anywhere.
public final class WebSocketService: SerialExecutor {
    private enum Job {
        case executor(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct Timer {
        var deadline: UInt64
        var body: @Sendable () -> Void
    }

    private struct State {
        var jobs: [Job] = []
        var timers: [Timer] = []
        var stopping = false
        var running = false
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    private let name: String
    // Only used on the thread, but for pws_wake; destroyed by the thread itself after the last job.
    nonisolated(unsafe) let handle: OpaquePointer

    /// Makes the service; ``start()`` starts its thread.
    ///
    /// - Parameter name: what debuggers show; 15 bytes at most on Linux.
    /// - Throws: ``WebSocketError`` where descriptors or memory ran out.
    public init(name: String = "peal-websocket") throws(WebSocketError) {
        guard let handle = pws_service_create(dispatchEvent) else {
            throw WebSocketError(.resources, "the socket service could not be made: out of memory or descriptors")
        }
        self.handle = handle
        self.name = name
    }

    /// Starts the thread; harmless when repeated.
    public func start() {
        let starts = state.withLock { state in
            if state.running || state.stopping { return false }
            state.running = true
            return true
        }
        guard starts else { return }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        let result = pthread_create(&thread, nil, { context in
            let service = Unmanaged<WebSocketService>.fromOpaque(context!).takeRetainedValue()
            service.run()
            return nil
        }, box.toOpaque())
        precondition(result == 0, "a thread could not be started")
        let started = thread
        state.withLock { $0.thread = started }
    }

    /// Closes every socket, runs what is queued, ends the thread and waits for it; harmless when repeated. Not from the
    /// thread itself.
    public func stop() {
        precondition(!isCurrent, "a service cannot wait for itself")
        let (thread, never) = state.withLock { state in
            let never = !state.running && !state.stopping
            state.stopping = true
            defer { state.thread = nil }
            return (state.thread, never)
        }
        if never {
            pws_service_destroy(handle)
        } else if let thread {
            pws_wake(handle)
            pthread_join(thread, nil)
        }
    }

    /// Queues a job of the concurrency runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        push(.executor(UnownedJob(job)))
    }

    /// Queues a closure; callable from anywhere, dropped after ``stop()``.
    public func post(_ body: @escaping @Sendable () -> Void) {
        push(.closure(body))
    }

    private func push(_ job: Job) {
        state.withLock { state in
            guard state.running || !state.stopping else { return }
            state.jobs.append(job)
            // Under the lock: the thread destroys the handle only after it has taken the lock for the last time.
            if state.jobs.count == 1, state.running, !isCurrent { pws_wake(handle) }
        }
    }

    /// Runs a closure on the thread after so many milliseconds.
    public func post(afterMilliseconds delay: Int64, _ body: @escaping @Sendable () -> Void) {
        let deadline = Self.now() + UInt64(max(delay, 0)) * 1_000_000
        state.withLock { state in
            guard !state.stopping else { return }
            let index = state.timers.firstIndex { $0.deadline > deadline } ?? state.timers.endIndex
            state.timers.insert(Timer(deadline: deadline, body: body), at: index)
            if state.running, !isCurrent { pws_wake(handle) }
        }
    }

    /// Traps where the caller is not on the service's thread.
    public func checkIsolated() {
        precondition(isCurrent, "this must run on the thread of the socket service '\(name)'")
    }

    /// Whether the caller is on the service's thread.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    var isCurrent: Bool { pthread_getspecific(Self.key) == Unmanaged.passUnretained(self).toOpaque() }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// CPU time of the calling thread in microseconds; on the service's thread, what serving has cost.
    public static func threadCPUMicroseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    private func run() {
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        pws_prepare_thread(String(name.prefix(15)))
        while true {
            let (jobs, timers, stopping, next) = take()
            for job in jobs {
                switch job {
                case .executor(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let body): body()
                }
            }
            for timer in timers { timer.body() }
            if !jobs.isEmpty || !timers.isEmpty { continue }
            if stopping { break }
            pws_set_deadline(handle, next.map { Int64($0 / 1_000) } ?? -1)
            pws_run(handle)
            flushTurn()
        }
        pws_service_destroy(handle)
        flushTurn()
        // What the last callbacks queued; the handle is gone, so nothing wakes the thread any more.
        while true {
            let jobs = state.withLock { state in
                let jobs = state.jobs
                state.jobs = []
                if jobs.isEmpty { state.running = false }
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs {
                switch job {
                case .executor(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let body): body()
                }
            }
        }
    }

    private func take() -> (jobs: [Job], timers: [Timer], stopping: Bool, next: UInt64?) {
        let now = Self.now()
        return state.withLock { state in
            let jobs = state.jobs
            state.jobs.removeAll(keepingCapacity: false)
            if state.stopping { state.timers.removeAll() }
            let due = state.timers.prefix { $0.deadline <= now }
            state.timers.removeFirst(due.count)
            return (jobs, Array(due), state.stopping, state.timers.first.map { $0.deadline > now ? $0.deadline - now : 0 })
        }
    }

    // MARK: Turns

    // Only used on the thread.
    private nonisolated(unsafe) var turn: [WebSocketClient] = []

    /// Hands a client's events over at the end of this turn of the loop, all at once.
    func deliverAfterTurn(_ client: WebSocketClient) {
        turn.append(client)
    }

    private func flushTurn() {
        guard !turn.isEmpty else { return }
        let clients = turn
        turn.removeAll(keepingCapacity: true)
        for client in clients { client.deliver() }
    }

    /// Raises this process's limit of open files to what the system allows, for servers of many sockets.
    ///
    /// - Returns: the limit; -1 where it cannot be read.
    @discardableResult
    public static func raiseFileLimit() -> Int64 { pws_raise_file_limit() }
}

/// What owns connections: libwebsockets' events find it by the pointer that was given with them. Only used on the thread.
final class EventOwner: @unchecked Sendable {
    // Called on the service's thread only.
    let handle: (OpaquePointer, pws_event, UInt16, UnsafeRawBufferPointer) -> Bool

    init(_ handle: @escaping (OpaquePointer, pws_event, UInt16, UnsafeRawBufferPointer) -> Bool) {
        self.handle = handle
    }

    /// Keeps the owner alive while C holds its pointer.
    func retained() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Takes back what ``retained()`` gave.
    func release() { Unmanaged.passUnretained(self).release() }
}

private let dispatchEvent: pws_callback = { owner, connection, event, code, bytes, count in
    guard let owner, let connection else { return 0 }
    let target = Unmanaged<EventOwner>.fromOpaque(owner).takeUnretainedValue()
    return target.handle(connection, event, code, UnsafeRawBufferPointer(start: bytes, count: count)) ? 1 : 0
}
