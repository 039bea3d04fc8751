internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Wakes the process that holds a file's ``Lease``, through the FIFO `<file>.poke`: whoever queued an act pokes it.
public final class Poke: Sendable {
    private let descriptor: Int32
    private let stopWrite: Int32
    private let thread = Mutex<pthread_t?>(nil)

    /// What the thread needs; the thread outlives no caller, because ``stop()`` joins it.
    private struct Ends: Sendable {
        var fifo: Int32
        var stop: Int32
        var woken: @Sendable () -> Void
    }

    private final class Box: Sendable {
        let ends: Ends
        init(_ ends: Ends) { self.ends = ends }
    }

    /// Listens; only the process with the lease should.
    ///
    /// - Parameters:
    ///   - path: of the replica's file.
    ///   - woken: called on a thread of its own, once for any number of pokes that came together; must not block for long.
    /// - Throws: ``ReplicaError``: `cantOpen`.
    public init(path: String, woken: @escaping @Sendable () -> Void) throws(ReplicaError) {
        let name = path + ".poke"
        guard mkfifo(name, 0o600) == 0 || errno == EEXIST else {
            throw ReplicaError(.cantOpen, "\(name): \(Lease.reason(errno))")
        }
        // Opened for both, so that the last writer's close is no end of file.
        descriptor = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw ReplicaError(.cantOpen, "\(name): \(Lease.reason(errno))") }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            close(descriptor)
            throw ReplicaError(.cantOpen, "a pipe: \(Lease.reason(errno))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        stopWrite = ends[1]
        var started = pthread_t()
        let box = Unmanaged.passRetained(Box(Ends(fifo: descriptor, stop: ends[0], woken: woken)))
        let result = pthread_create(
            &started, nil,
            { context in
                Poke.listen(Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().ends)
                return nil
            }, box.toOpaque())
        precondition(result == 0, "a thread could not be started")
        let running = started
        thread.withLock { $0 = running }
    }

    deinit { stop() }

    /// Ends listening and waits for the thread; harmless when repeated. Not from `woken`.
    public func stop() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        close(stopWrite)
        pthread_join(running, nil)
        close(descriptor)
    }

    private static func listen(_ ends: Ends) {
        var waits = [
            pollfd(fd: ends.fifo, events: Int16(POLLIN), revents: 0),
            pollfd(fd: ends.stop, events: Int16(POLLIN), revents: 0),
        ]
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            guard poll(&waits, nfds_t(waits.count), -1) >= 0 || errno == EINTR else { break }
            if waits[1].revents != 0 { break }
            guard waits[0].revents & Int16(POLLIN) != 0 else { continue }
            while read(ends.fifo, &buffer, buffer.count) > 0 {}
            ends.woken()
        }
        close(ends.stop)
    }

    /// Wakes the process that listens; without one nothing happens. Not blocking.
    ///
    /// - Parameter path: of the replica's file.
    public static func poke(path: String) {
        let descriptor = open(path + ".poke", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        // A full FIFO means that the owner has enough to wake up for. A listener that has just gone raises no signal here:
        // the descriptor was opened while there was one, and SIGPIPE is blocked around the write.
        var pipe = sigset_t()
        var before = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        var byte: UInt8 = 1
        if write(descriptor, &byte, 1) < 0, errno == EPIPE {
            #if canImport(Glibc)
                var now = timespec()
                sigtimedwait(&pipe, nil, &now)
            #endif
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        close(descriptor)
    }
}
