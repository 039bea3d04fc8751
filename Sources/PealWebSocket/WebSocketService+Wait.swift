internal import Synchronization
#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

extension WebSocketService {
    /// Runs a closure on the thread and waits for it. Not from the thread itself; the service has been started.
    func runAndWait<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R {
        precondition(!isCurrent, "a service cannot wait for itself")
        let box = ResultBox<R>()
        post { box.set(body()) }
        return box.wait()
    }
}

/// A value that one thread waits for.
private final class ResultBox<R: Sendable>: @unchecked Sendable {
    // The semaphore orders the one write before the one read.
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
