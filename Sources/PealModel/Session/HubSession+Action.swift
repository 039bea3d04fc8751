extension HubSession {
    /// What the shell is to do.
    public enum Action: Equatable, Sendable {
        /// Check and judge a hello; then ``HubSession/admitted(_:at:now:expires:)``, ``HubSession/refused(last:)`` or
        /// ``HubSession/denied(_:_:)``.
        case admit(Hello)
        /// The nonce of the welcome becomes current: its first frame came.
        case firstFrame
        /// Process a push; then ``HubSession/committed(_:)`` or another answer.
        case commit([Mutation])
        /// Note durably that a mutation may end the process, then process it; one whose note a crash left is answered
        /// `poison`. Then as for ``commit(_:)``.
        case commitSuspect(Mutation)
        /// Check a fresh token; then ``HubSession/renewed(expires:)``, ``HubSession/notRenewed()`` or
        /// ``HubSession/denied(_:_:)``.
        case checkToken(String)
        /// Note the durable cursor.
        case acknowledge(Position)
        /// Read a snapshot page; then ``HubSession/loaded(_:)``.
        case loadPage(SnapshotRequest)
        /// Ask to be called when the socket can be written.
        case write
        /// Close the socket after what is queued.
        case close(CloseCode, String)
        /// The replica said that it is not to be expected.
        case bye
    }

    /// What to write next.
    public enum Output: Equatable, Sendable {
        /// A frame that is ready.
        case frame(DownFrame)
        /// Entries after a position, at most so many and so many bytes; then ``HubSession/sent(to:bytes:now:)``.
        case entries(after: Position, count: Int, bytes: Int)
    }
}
