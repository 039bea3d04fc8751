#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import Synchronization

/// The right to serve a hub's file: one process at a time has it, by `flock` on `<file>.lock`, because a hub tells its own devices only
/// what went through itself. The kernel frees it when the process dies, however it dies.
final class HubLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// Takes it. Not blocking. Where no lock can be had for another reason than a hub, as on a file system without them, there is none:
    /// what is wrong with the file, the store says.
    ///
    /// - Throws: ``HubError``: another hub has it.
    init(of path: String) throws(HubError) {
        let opened = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let isTaken = opened >= 0 && flock(opened, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
        if isTaken { close(opened) }
        descriptor = Mutex(isTaken ? -1 : opened)
        guard !isTaken else {
            throw HubError(
                message: "another hub runs on \(path), and a file has one hub; stop that one, or name another directory"
            )
        }
    }

    deinit { release() }

    /// Frees it; harmless when repeated. The file stays, because removing it would let two processes hold two files.
    func release() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            close(descriptor)
            descriptor = -1
        }
    }
}
