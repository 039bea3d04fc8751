/// One thread with a queue: the executor of an actor that owns a ``Connection``, so that its blocking calls block nobody
/// else. Jobs run in the order in which they came; `post` and actor jobs share the queue.
///
/// The thread ends with ``stop()``, or by itself after the last reference is gone and the queue is empty.
public final class ConnectionExecutor: SerialExecutor {
    private let queue: ExecutorQueue

    /// Starts the thread.
    ///
    /// - Parameter name: what debuggers show; 15 bytes at most on Linux.
    public init(name: String) {
        queue = ExecutorQueue(name: name)
        queue.start()
    }

    deinit { queue.abandon() }

    /// Queues a job of the concurrency runtime. Not blocking; callable from anywhere.
    public func enqueue(_ job: consuming ExecutorJob) {
        queue.push(.executor(UnownedJob(job), self))
    }

    /// Queues a closure. Not blocking; callable from anywhere.
    public func post(_ body: @escaping @Sendable () -> Void) {
        queue.push(.closure(body))
    }

    /// Runs a closure after so many milliseconds, on the thread, unless it is cancelled or the executor is stopped before.
    /// Callable from anywhere.
    ///
    /// - Returns: what ``cancel(_:)`` takes.
    @discardableResult
    public func post(afterMilliseconds delay: Int64, _ body: @escaping @Sendable () -> Void) -> UInt64 {
        queue.schedule(afterMilliseconds: delay, body)
    }

    /// Stops a timer that has not run. Called on the executor, its closure will not run; from elsewhere it may be running.
    public func cancel(_ timer: UInt64) {
        queue.cancel(timer)
    }

    /// Runs what is queued, drops timers, ends the thread and waits for it; harmless when repeated. Traps on the thread itself.
    ///
    /// A job that comes later is not lost, for a task may wait for it: it runs on a thread that ends with it, still one at
    /// a time.
    public func stop() {
        queue.stop()
    }

    /// Traps where the caller is not on this executor's thread.
    public func checkIsolated() {
        precondition(queue.isCurrent, "this must run on the executor '\(queue.name)'")
    }

    /// Whether the caller is on this executor's thread.
    public func isIsolatingCurrentContext() -> Bool? { queue.isCurrent }
}
