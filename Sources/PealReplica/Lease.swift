#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The right to drive a file's session: one process at a time has it, by `flock` on `<file>.lease`; the kernel frees it
/// when the process dies, however it dies. Release and deinit free it too.
///
/// Not Sendable; belongs to the executor of its ``Replica``.
public final class Lease {
    private var descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { release() }

    /// Takes the lease of a replica's file. Not blocking.
    ///
    /// - Parameter path: of the replica's file.
    /// - Returns: nil where another process, or another object of this one, has it.
    /// - Throws: ``ReplicaError``: `cantOpen`, `ioError`.
    public static func take(path: String) throws(ReplicaError) -> Lease? {
        let name = path + ".lease"
        let descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ReplicaError(.cantOpen, "\(name): \(reason(errno))") }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return Lease(descriptor: descriptor) }
        let failure = errno
        close(descriptor)
        guard failure == EWOULDBLOCK else { throw ReplicaError(.ioError, "\(name): \(reason(failure))") }
        return nil
    }

    /// Frees the lease; harmless when repeated. The file stays, because removing it would let two processes hold two files.
    public func release() {
        guard descriptor >= 0 else { return }
        // Said, not left to the closing: a child that the app is starting has the descriptor, too, until it becomes another program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
        descriptor = -1
    }

    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
