import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The connections of a server, each with the moment by which it must have come further. The library closes only those that are
/// silent: one that sends a byte now and then, or reads one, would stay for ever. Any thread.
final class HTTPConnections: Sendable {
    private struct Connection {
        var socket: Int32
        /// Nil while a handler works.
        var deadline: ContinuousClock.Instant?
    }

    // The library's connections are names here, never followed.
    private let known = Mutex<[UInt: Connection]>([:])

    /// Notes a new connection.
    func opened(_ connection: OpaquePointer, socket: Int32, seconds: Int) {
        known.withLock {
            $0[UInt(bitPattern: connection)] = Connection(socket: socket, deadline: .now + .seconds(seconds))
        }
    }

    /// Gives a connection so many seconds for what it does next; nil where the hub is to do something.
    func wait(_ connection: OpaquePointer, seconds: Int?) {
        known.withLock { known in
            known[UInt(bitPattern: connection)]?.deadline = seconds.map { .now + .seconds($0) }
        }
    }

    /// Forgets a connection, before its socket is closed.
    func closed(_ connection: OpaquePointer) {
        known.withLock { $0[UInt(bitPattern: connection)] = nil }
    }

    /// Cuts those whose time is over; the server's thread sees it as the client's end.
    func cutOverdue(at now: ContinuousClock.Instant) {
        known.withLock { known in
            // Within the lock: a socket that is in the table is not closed yet, so its number is nobody else's.
            for (name, connection) in known where connection.deadline.map({ $0 < now }) ?? false {
                shutdown(connection.socket, Int32(SHUT_RDWR))
                known[name]?.deadline = nil
            }
        }
    }
}
