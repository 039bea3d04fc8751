#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Nobody reads standard output any more.
struct ClosedPipe: Error {}

/// Standard output of a long command: lines are kept and written a batch at a time, and a reader that does not read does not hold up
/// a Ctrl-C.
struct PipeWriter {
    private var buffer: [UInt8] = []
    /// What a pipe that can be written takes without waiting (`PIPE_BUF` of Linux).
    private static let piece = 4_096

    /// Keeps a line for ``flush()``.
    mutating func line(_ text: String) {
        buffer.append(contentsOf: text.utf8)
        buffer.append(0x0A)
    }

    /// Writes what is kept. Waits for the reader, in turns short enough to notice a cancelled task.
    ///
    /// - Throws: ``ClosedPipe``, `CancellationError` where the reader does not read and the task is cancelled, ``CommandError``.
    mutating func flush() async throws {
        var written = 0
        while written < buffer.count {
            switch Self.state(waiting: 50) {
            case .closed: throw ClosedPipe()
            case .full:
                try Task.checkCancellation()
                await Task.yield()
            case .ready:
                let count = buffer.withUnsafeBytes { bytes in
                    write(1, bytes.baseAddress! + written, min(Self.piece, bytes.count - written))
                }
                if count >= 0 {
                    written += count
                } else if errno == EPIPE {
                    throw ClosedPipe()
                } else if errno != EINTR, errno != EAGAIN {
                    throw CommandError(
                        code: .failure,
                        message: "Standard output cannot be written: \(String(cString: strerror(errno))).")
                }
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Returns when nobody reads standard output any more, where it is a pipe; else when the task is cancelled.
    static func closed() async throws {
        while state(waiting: 0, asking: 0) != .closed { try await Task.sleep(for: .milliseconds(200)) }
    }

    private enum State { case ready, full, closed }

    private static func state(waiting milliseconds: Int32, asking events: Int32 = Int32(POLLOUT)) -> State {
        var file = pollfd(fd: 1, events: Int16(events), revents: 0)
        guard poll(&file, 1, milliseconds) > 0 else { return .full }
        return Int32(file.revents) & (Int32(POLLERR) | Int32(POLLNVAL)) != 0 ? .closed : .ready
    }
}
