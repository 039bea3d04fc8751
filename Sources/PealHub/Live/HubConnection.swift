import PealModel
import PealWebSocket

/// One device's socket on the hub: its session, and where its entries come from. Belongs to the hub's thread.
final class HubConnection {
    let id: ConnectionID
    var session = HubSession()
    /// The inbox, once admitted.
    var inbox: InboxKey?
    /// The live side of it.
    var live: LiveInbox?
    /// The project, once admitted.
    var project: ProjectKey?
    /// The replica, once admitted.
    var replica: ReplicaKey?
    /// What it was admitted with: whose token a fresh one must be.
    var hello: Hello?
    /// The session's id, once admitted; it stays when the session is denied.
    var joined: UInt64?
    /// How many looks at the store had begun when it was admitted.
    var joinedAfter = 0
    /// Entries that were read from the log and wait for the socket: at most one frame of them.
    var fetched: ArraySlice<LogEntry> = []
    /// A read of the log is under way.
    var fetching = false
    /// The log could be resumed: a snapshot that is asked for all the same repairs a divergence.
    var resumes = false
    /// When the socket was opened; one that says no hello is closed.
    let opened: Milliseconds
    /// The other end's address.
    let peer: String
    /// How many frames it may send.
    var frames: TokenBucket

    init(id: ConnectionID, peer: String, frames: Int, opened: Milliseconds) {
        self.id = id
        self.peer = peer
        self.frames = TokenBucket(rate: frames, burst: HubLimits.frameBurst, now: .now)
        self.opened = opened
    }
}

/// An inbox that somebody is connected to. Belongs to the hub's thread.
final class LiveInbox {
    var head: Position
    /// The additive sum at `head` (docs/sync.md section 8).
    var sum: UInt64
    var ring = Ring()
    /// Who is connected; each connection has this inbox as its `live` meanwhile, and lets go of it when it leaves.
    var connections: [ConnectionID: HubConnection] = [:]
    /// Its sessions are to be told of `head`.
    var hasMoved = false

    init(head: Position, sum: UInt64) {
        self.head = head
        self.sum = sum
    }

    /// Takes a newer head, with its sum; false for one that is known. What was appended reaches the ring, if at all, before it.
    func advance(to head: Position, sum: UInt64) -> Bool {
        guard head > self.head else { return false }
        self.head = head
        self.sum = sum
        return true
    }

    /// The sum at a position that was read from the log, which does not keep it: known where it is the head.
    func sum(at position: Position) -> UInt64? { position == head ? sum : nil }

    /// A session was given entries: with no other session, nobody asks for them again.
    func wrote(through position: Position) {
        if connections.count == 1 { ring.forget(through: position) }
    }
}
