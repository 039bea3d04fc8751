#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Opens once; threads wait for it.
final class DispatchLatch: @unchecked Sendable {
    // The semaphore is the synchronisation.
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

    func open() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}
