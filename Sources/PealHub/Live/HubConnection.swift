import PealModel
import PealWebSocket

/// One device's socket on the hub: its session, and where its entries come from. Belongs to the hub's thread.
final class HubConnection {
    let id: ConnectionID
    var session = HubSession()
    /// The inbox, once admitted.
    var inbox: InboxKey?
    /// The replica, once admitted.
    var replica: ReplicaKey?
    /// The session's id, once admitted; it stays when the session is denied.
    var joined: UInt64?
    /// Entries that were read from the log and wait for the socket: at most one frame of them.
    var fetched: ArraySlice<LogEntry> = []
    /// A read of the log is under way.
    var fetching = false
    /// The log could be resumed: a snapshot that is asked for all the same repairs a divergence.
    var resumes = false
    /// When the socket was opened; one that says no hello is closed.
    let opened: Milliseconds

    init(id: ConnectionID, opened: Milliseconds) {
        self.id = id
        self.opened = opened
    }
}

/// An inbox that somebody is connected to.
struct LiveInbox {
    var head: Position
    /// The additive sum at `head` (docs/sync.md section 8).
    var sum: UInt64
    var ring = Ring()
    var connections: Set<ConnectionID> = []

    /// The sum at a position that was read from the log, which does not keep it: known where it is the head.
    func sum(at position: Position) -> UInt64? { position == head ? sum : nil }
}
