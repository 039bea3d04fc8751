#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// State behind a lock, and a way to wait until it changes, with deadlines on the monotonic clock.
///
/// `Synchronization.Mutex` cannot be waited on, and the thread sanitizer does not see its locking where it is contended.
// The mutex guards the value; the two pointers never change.
final class Monitor<Value>: @unchecked Sendable {
    /// What a look at the state decides.
    enum Look<Result> {
        /// The wait is over.
        case done(Result)
        /// Look again after a signal, or at the deadline in nanoseconds.
        case wait(until: UInt64?)
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    init(_ value: sending Value) {
        self.value = value
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

    /// Reads or changes the state.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }

    /// Looks at the state, and again after each signal and deadline, until a look is done. Blocking.
    func wait<Result>(_ look: (inout Value) -> Look<Result>) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch look(&value) {
            case .done(let result): return result
            case .wait(.none): pthread_cond_wait(condition, mutex)
            case .wait(.some(let deadline)): wait(until: deadline)
            }
        }
    }

    /// Makes the waiting thread look again. Best without the lock, which that thread needs.
    func signal() {
        pthread_cond_signal(condition)
    }

    private func wait(until deadline: UInt64) {
        #if canImport(Glibc)
            var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
            pthread_cond_timedwait(condition, mutex, &time)
        #else
            let now = monotonicNow()
            let left = deadline > now ? deadline - now : 0
            var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            pthread_cond_timedwait_relative_np(condition, mutex, &time)
        #endif
    }
}

/// Nanoseconds on the monotonic clock.
func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
