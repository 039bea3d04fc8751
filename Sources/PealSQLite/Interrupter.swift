internal import CPealSQLite
internal import Synchronization

extension Connection {
    /// Stops what a connection is doing: the one thing that another thread may call. It does not keep the connection open.
    public final class Interrupter: Sendable {
        // The address, 0 once closed. The lock keeps the connection from being closed during the call.
        private let address: Mutex<UInt>

        init(_ handle: OpaquePointer) { address = Mutex(UInt(bitPattern: handle)) }

        /// Makes the running statements end with `interrupted`, soon; SQLite may undo a whole write transaction then. Nothing
        /// happens where nothing runs. Not blocking.
        public func interrupt() {
            address.withLock { address in
                if let handle = OpaquePointer(bitPattern: address) { sqlite3_interrupt(handle) }
            }
        }

        func invalidate() { address.withLock { $0 = 0 } }
    }
}
