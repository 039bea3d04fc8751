internal import CPealWebSocket
internal import Synchronization
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension WebSocketService {
    enum Phase {
        case fresh
        case running
        /// `stop` was called; the thread ends after this turn.
        case stopping
        /// The sockets are gone. Closures are dropped; jobs of the concurrency runtime still run, or their tasks would hang.
        case stopped
    }

    enum Job {
        case executor(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    struct Timer {
        var deadline: UInt64
        var body: @Sendable () -> Void
    }

    struct State {
        var phase = Phase.fresh
        var jobs: [Job] = []
        /// The earliest first.
        var timers: [Timer] = []
        var thread: pthread_t?
        /// Somebody runs what comes after the end.
        var late = false
    }

    /// Queues a job of the concurrency runtime. Callable from anywhere.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let startsLate = state.withLock { state in
            push(.executor(job), &state)
            guard state.phase == .stopped, !state.late else { return false }
            state.late = true
            return true
        }
        if startsLate { pthread_detach(startThread { $0.runLateJobs() }) }
    }

    /// Queues a closure for the thread, after what was queued before it. Callable from anywhere.
    ///
    /// - Returns: false after ``stop()``: the closure was dropped.
    @discardableResult
    public func post(_ body: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.phase != .stopped else { return false }
            push(.closure(body), &state)
            return true
        }
    }

    private func push(_ job: Job, _ state: inout State) {
        state.jobs.append(job)
        if state.jobs.count == 1 { wake(state) }
    }

    /// Under the lock, so that the handle cannot go away meanwhile.
    private func wake(_ state: State) {
        if state.phase == .running || state.phase == .stopping, !isCurrent { pws_wake(handle) }
    }

    /// Runs a closure on the thread after so many milliseconds, unless the service is stopped before. Callable from anywhere.
    public func post(afterMilliseconds delay: Int64, _ body: @escaping @Sendable () -> Void) {
        let deadline = Self.now() + UInt64(max(delay, 0)) * 1_000_000
        state.withLock { state in
            guard state.phase == .fresh || state.phase == .running else { return }
            let index = state.timers.lastIndex { $0.deadline <= deadline }.map { $0 + 1 } ?? 0
            state.timers.insert(Timer(deadline: deadline, body: body), at: index)
            if index == 0 { wake(state) }
        }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Runs the jobs that are queued and the timers that are due. On the thread.
    ///
    /// - Returns: whether the thread shall end, and nanoseconds until there is more to do.
    func runWhatIsDue() -> (stopping: Bool, next: UInt64?) {
        let now = Self.now()
        let (jobs, timers) = state.withLock { state in
            let jobs = state.jobs
            state.jobs = []
            if state.phase == .stopping { state.timers.removeAll() }
            let due = state.timers.prefix { $0.deadline <= now }
            state.timers.removeFirst(due.count)
            return (jobs, Array(due))
        }
        for job in jobs { run(job) }
        for timer in timers { timer.body() }
        let then = Self.now()
        return state.withLock { state in
            let more = !state.jobs.isEmpty || state.phase == .stopping
            let timer = state.timers.first.map { $0.deadline > then ? $0.deadline - then : 0 }
            return (state.phase == .stopping, more ? 0 : timer)
        }
    }

    private func run(_ job: Job) {
        switch job {
        case .executor(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .closure(let body): body()
        }
    }

    /// Runs what is queued after the sockets are gone, until nothing is left.
    func runLateJobs() {
        while true {
            flushTurn()
            let jobs = state.withLock { state in
                let jobs = state.jobs
                state.jobs = []
                state.late = !jobs.isEmpty
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { run(job) }
        }
    }

    /// Runs a closure on the thread and waits for it. Not from the thread itself; the service has been started.
    ///
    /// - Returns: nil where the service has stopped.
    func runAndWait<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R? {
        precondition(!isCurrent, "a service cannot wait for itself")
        precondition(state.withLock { $0.phase != .fresh }, "the service is started first")
        let box = ResultBox<R>()
        return post { box.set(body()) } ? box.wait() : nil
    }
}

// The semaphore orders the one write before the one read.
private final class ResultBox<R: Sendable>: @unchecked Sendable {
    private var value: R?
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        semaphore.initialize(to: sem_t())
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func set(_ value: R) {
        self.value = value
        sem_post(semaphore)
    }

    func wait() -> R {
        while sem_wait(semaphore) != 0 {}
        guard let value else { preconditionFailure("the value is set before the semaphore is posted") }
        return value
    }
}
