internal import CPealSQLite
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
internal import Synchronization

/// One thread with a queue: the executor of an actor that owns a ``Connection``, so that its blocking calls block nobody
/// else. Jobs run in the order in which they came; `post` and actor jobs share the queue.
public final class ConnectionExecutor: SerialExecutor {
    private enum Job {
        case executor(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct Timer {
        var id: UInt64
        var deadline: UInt64
        var body: @Sendable () -> Void
    }

    private struct State {
        var jobs: [Job] = []
        /// By rising deadline.
        var timers: [Timer] = []
        var nextTimer: UInt64 = 0
        var stopping = false
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    private let wake: Wake
    private let name: String

    /// Starts the thread.
    ///
    /// - Parameter name: what debuggers show; 15 bytes at most on Linux.
    public init(name: String) {
        self.name = name
        wake = Wake()
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, nil,
            { context in
                let executor = Unmanaged<ConnectionExecutor>.fromOpaque(context!).takeRetainedValue()
                executor.run()
                return nil
            }, box.toOpaque())
        precondition(result == 0, "a thread could not be started")
        let started = thread
        state.withLock { $0.thread = started }
    }

    /// Queues a job of the concurrency runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        push(.executor(job))
    }

    /// Queues a closure. Not blocking; callable from anywhere.
    public func post(_ body: @escaping @Sendable () -> Void) {
        push(.closure(body))
    }

    private func push(_ job: Job) {
        let first = state.withLock { state in
            state.jobs.append(job)
            return state.jobs.count == 1
        }
        if first { wake.signal() }
    }

    /// Runs a closure after so many milliseconds, on the thread, unless it is cancelled.
    ///
    /// - Returns: what ``cancel(_:)`` takes.
    @discardableResult
    public func post(afterMilliseconds delay: Int64, _ body: @escaping @Sendable () -> Void) -> UInt64 {
        let deadline = Wake.now() + UInt64(max(delay, 0)) * 1_000_000
        let id = state.withLock { state in
            let id = state.nextTimer
            state.nextTimer += 1
            let index = state.timers.firstIndex { $0.deadline > deadline } ?? state.timers.endIndex
            state.timers.insert(Timer(id: id, deadline: deadline, body: body), at: index)
            return id
        }
        wake.signal()
        return id
    }

    /// Stops a timer that has not run.
    public func cancel(_ timer: UInt64) {
        state.withLock { $0.timers.removeAll { $0.id == timer } }
    }

    /// Runs what is queued, drops timers, ends the thread and waits for it; harmless when repeated. Jobs that come later
    /// never run. Not from the thread itself.
    public func stop() {
        precondition(!isCurrent, "an executor cannot wait for itself")
        let thread = state.withLock { state in
            state.stopping = true
            defer { state.thread = nil }
            return state.thread
        }
        wake.signal()
        if let thread { pthread_join(thread, nil) }
    }

    private var isCurrent: Bool { pthread_getspecific(Self.key) == Unmanaged.passUnretained(self).toOpaque() }

    /// Traps where the caller is not on this executor's thread.
    public func checkIsolated() {
        precondition(isCurrent, "this must run on the executor '\(name)'")
    }

    /// Whether the caller is on this executor's thread.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private func run() {
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        peal_name_thread(String(name.prefix(15)))
        while true {
            let (jobs, timers, stopping, next) = take()
            for job in jobs {
                switch job {
                case .executor(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let body): body()
                }
            }
            for timer in timers { timer.body() }
            if jobs.isEmpty, timers.isEmpty {
                if stopping { return }
                wake.wait(until: next)
            }
        }
    }

    private func take() -> (jobs: [Job], timers: [Timer], stopping: Bool, next: UInt64?) {
        let now = Wake.now()
        return state.withLock { state in
            let jobs = state.jobs
            state.jobs.removeAll(keepingCapacity: false)
            if state.stopping { state.timers.removeAll() }
            let due = state.timers.prefix { $0.deadline <= now }
            state.timers.removeFirst(due.count)
            return (jobs, Array(due), state.stopping, state.timers.first?.deadline)
        }
    }
}

/// A binary semaphore with a deadline on the monotonic clock.
private final class Wake: @unchecked Sendable {
    // The mutex and the condition are the synchronisation; `signalled` is only touched under the mutex.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var signalled = false

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        #if canImport(Glibc)
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        #else
            pthread_cond_init(condition, nil)
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    func signal() {
        pthread_mutex_lock(mutex)
        signalled = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait(until deadline: UInt64?) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !signalled {
            guard let deadline else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            #if canImport(Glibc)
                var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
                if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
            #else
                let now = Self.now()
                let left = deadline > now ? deadline - now : 0
                var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
                if pthread_cond_timedwait_relative_np(condition, mutex, &time) == ETIMEDOUT { break }
            #endif
        }
        signalled = false
    }
}
