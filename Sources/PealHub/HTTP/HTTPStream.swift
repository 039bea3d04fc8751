internal import CPealHTTP
internal import Synchronization

/// The body of an answer that goes on: whoever has it writes, the server sends as the client takes.
///
/// Any thread, not blocking. What waits is the writer's to bound: write when ``isEmpty``, and again when told that it is. A client that takes nothing
/// of what waits for the time of an answer is dropped.
package final class HTTPStream: Sendable {
    // `@unchecked`: used inside the lock, and only until the server says that the request is over.
    private struct Connection: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private struct State {
        var bytes: [UInt8] = []
        var taken = 0
        /// Nothing comes any more.
        var isEnded = false
        /// The client is gone, or got all of it.
        var isOver = false
        /// Set while the connection waits for bytes.
        var suspended: Connection?
    }

    private let state = Mutex(State())
    private let drained: @Sendable () -> Void
    private let over: @Sendable () -> Void

    /// A body without a byte yet.
    ///
    /// - Parameters:
    ///   - drained: everything that was written is on its way; called on the server's thread.
    ///   - over: nobody takes it any more; called once, on the server's thread.
    package init(drained: @escaping @Sendable () -> Void, over: @escaping @Sendable () -> Void) {
        self.drained = drained
        self.over = over
    }

    /// Whether nothing waits.
    package var isEmpty: Bool { state.withLock { $0.taken == $0.bytes.count } }

    /// Adds bytes. Lost where nobody takes them any more.
    package func write(_ bytes: [UInt8]) {
        state.withLock { state in
            guard !state.isEnded, !state.isOver else { return }
            if state.taken == state.bytes.count {
                state.bytes = bytes
                state.taken = 0
            } else {
                state.bytes += bytes
            }
            Self.resume(&state)
        }
    }

    /// Ends the body after what waits.
    package func end() {
        state.withLock { state in
            state.isEnded = true
            Self.resume(&state)
        }
    }

    private static func resume(_ state: inout State) {
        guard let connection = state.suspended else { return }
        state.suspended = nil
        MHD_resume_connection(connection.pointer)
    }

    // MARK: The server's thread

    /// Copies what waits; suspends the connection where nothing does. Negative at the end.
    func take(into buffer: UnsafeMutableRawBufferPointer, _ connection: OpaquePointer) -> Int {
        let (count, isDrained) = state.withLock { state -> (Int, Bool) in
            let count = min(buffer.count, state.bytes.count - state.taken)
            if count > 0 {
                state.bytes.withUnsafeBytes { bytes in
                    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.taken..<state.taken + count]))
                }
                state.taken += count
                return (count, state.taken == state.bytes.count)
            }
            if state.isEnded { return (-1, false) }
            MHD_suspend_connection(connection)
            state.suspended = Connection(pointer: connection)
            return (0, false)
        }
        if isDrained { drained() }
        return count
    }

    /// The request is over: the connection is not touched any more.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            state.suspended = nil
            return !state.isOver
        }
        if isFirst { over() }
    }
}
