internal import CPealSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The queue and the thread of a ``ConnectionExecutor``. The thread keeps the queue alive, not the executor.
final class ExecutorQueue: Sendable {
    enum Job {
        /// The reference keeps the executor alive until the job has run.
        case executor(UnownedJob, ConnectionExecutor)
        case closure(@Sendable () -> Void)
    }

    private struct Timer {
        var id: UInt64
        var deadline: UInt64
        var body: @Sendable () -> Void
    }

    /// What the thread does next.
    private enum Work {
        case jobs([Job])
        case timer(Timer)
        case end
    }

    private struct State {
        var jobs: [Job] = []
        /// By rising deadline.
        var timers: [Timer] = []
        var nextTimer: UInt64 = 0
        var isStopping = false
        /// A thread runs the jobs, or is about to.
        var hasThread = true
        /// The thread that `stop` joins.
        var thread: pthread_t?

        mutating func takeDueTimer() -> Timer? {
            guard let first = timers.first, first.deadline <= monotonicNow() else { return nil }
            return timers.removeFirst()
        }
    }

    /// A longer delay counts as this one: ten years.
    private static let longestDelay: Int64 = 315_360_000_000
    /// A burst's array of jobs above this capacity is given back.
    private static let keptCapacity = 4_096

    let name: String
    private let state = Monitor(State())

    init(name: String) { self.name = name }

    /// Starts the first thread.
    func start() {
        let thread = makeThread()
        state.withLock { $0.thread = thread }
    }

    func push(_ job: Job) {
        let (isFirst, needsThread) = state.withLock { state in
            state.jobs.append(job)
            defer { state.hasThread = true }
            return (state.jobs.count == 1, !state.hasThread)
        }
        if needsThread {
            pthread_detach(makeThread())
        } else if isFirst {
            state.signal()
        }
    }

    func schedule(afterMilliseconds delay: Int64, _ body: @escaping @Sendable () -> Void) -> UInt64 {
        let deadline = monotonicNow() + UInt64(min(max(delay, 0), Self.longestDelay)) * 1_000_000
        let (id, isNext) = state.withLock { state in
            let id = state.nextTimer
            state.nextTimer += 1
            if state.isStopping { return (id, false) }
            let index = state.timers.firstIndex { $0.deadline > deadline } ?? state.timers.endIndex
            state.timers.insert(Timer(id: id, deadline: deadline, body: body), at: index)
            return (id, index == 0)
        }
        if isNext { state.signal() }
        return id
    }

    func cancel(_ timer: UInt64) {
        // Its closure may own what takes locks when it goes: let it go outside of this one.
        let removed = state.withLock { state in
            state.timers.firstIndex { $0.id == timer }.map { state.timers.remove(at: $0) }
        }
        _ = removed
    }

    func stop() {
        precondition(!isCurrent, "an executor cannot wait for itself")
        if let thread = end() { pthread_join(thread, nil) }
    }

    /// The executor is gone: nobody joins the thread.
    func abandon() {
        if let thread = end() { pthread_detach(thread) }
    }

    private func end() -> pthread_t? {
        let (thread, timers) = state.withLock { state in
            state.isStopping = true
            defer {
                state.thread = nil
                state.timers = []
            }
            return (state.thread, state.timers)
        }
        _ = timers
        state.signal()
        return thread
    }

    var isCurrent: Bool {
        pthread_getspecific(Self.key) == UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private func makeThread() -> pthread_t {
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let result = pthread_create(
            &thread, nil,
            { context in
                #if canImport(Glibc)
                    guard let context else { return nil }
                #endif
                Unmanaged<ExecutorQueue>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(result == 0, "a thread could not be started")
        #if canImport(Glibc)
            return thread
        #else
            return thread!
        #endif
    }

    private func run() {
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        peal_name_thread(String(name.prefix(15)))
        var spare: [Job] = []
        // Jobs and timers take turns, so that neither keeps the other waiting.
        var isTimersTurn = false
        while true {
            switch next(giving: spare, timersFirst: isTimersTurn) {
            case .jobs(var batch):
                spare = []
                for job in batch { run(job) }
                batch.removeAll(keepingCapacity: batch.capacity <= Self.keptCapacity)
                spare = batch
                isTimersTurn = true
            case .timer(let timer):
                timer.body()
                isTimersTurn = false
            case .end: return
            }
        }
    }

    private func run(_ job: Job) {
        switch job {
        case .executor(let job, let executor): job.runSynchronously(on: executor.asUnownedSerialExecutor())
        case .closure(let body): body()
        }
    }

    /// Waits for work. Jobs are taken all at once, and an empty array with room is left in their place. After `end`, a job
    /// that comes starts another thread.
    private func next(giving spare: [Job], timersFirst: Bool) -> Work {
        state.wait { state in
            if timersFirst, let timer = state.takeDueTimer() { return .done(.timer(timer)) }
            if !state.jobs.isEmpty {
                let jobs = state.jobs
                state.jobs = spare
                return .done(.jobs(jobs))
            }
            if let timer = state.takeDueTimer() { return .done(.timer(timer)) }
            if state.isStopping {
                state.hasThread = false
                return .done(.end)
            }
            return .wait(until: state.timers.first?.deadline)
        }
    }
}
