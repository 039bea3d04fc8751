import PealWebSocket

/// Hands the socket layer's callbacks, which come on the hub's own thread, to the hub.
final class HubListener: WebSocketServerHandler {
    private let hub: Hub

    init(_ hub: Hub) { self.hub = hub }

    func opened(_ id: ConnectionID, peer: String) {
        hub.assumeIsolated { $0.opened(id, peer: peer) }
    }

    func received(_ id: ConnectionID, _ message: UnsafeRawBufferPointer) {
        let bytes = Array(message)
        hub.assumeIsolated { $0.received(id, bytes) }
    }

    func nextMessage(_ id: ConnectionID, into buffer: inout MessageBuffer) -> Bool {
        withUnsafeMutablePointer(to: &buffer) { pointer in
            // The hub runs on this very thread, inside this call.
            nonisolated(unsafe) let pointer = pointer
            return hub.assumeIsolated { $0.nextMessage(id, into: &pointer.pointee) }
        }
    }

    func hasMore(_ id: ConnectionID) -> Bool {
        hub.assumeIsolated { $0.hasMore(id) }
    }

    func closed(_ id: ConnectionID, code: UInt16, reason: String) {
        hub.assumeIsolated { $0.closed(id) }
    }
}
