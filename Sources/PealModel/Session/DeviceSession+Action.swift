extension DeviceSession {
    /// What the shell is to do.
    public enum Action: Equatable, Sendable {
        /// Open a socket; then ``DeviceSession/opened()`` or ``DeviceSession/closed(_:_:)``.
        case connect
        /// Make the next attempt durable, send the hello; then ``DeviceSession/greeted(attempt:)``.
        case hello
        /// Send a frame.
        case send(UpFrame)
        /// Close the socket; ``DeviceSession/closed(_:_:)`` follows.
        case close(CloseCode, String)
        /// Make a welcome durable; then ``DeviceSession/welcomed(at:outbox:repair:)`` or ``DeviceSession/foundFork()``.
        case welcome(Welcome)
        /// Fold a batch; then ``DeviceSession/applied(to:settledThrough:swapped:)``.
        case apply(Batch)
        /// Ask for the first page, or for the next from where the stage stands: send ``UpFrame/snapshot(_:)``. Later pages are asked for
        /// by ``send(_:)``.
        case requestPage
        /// Stage a page, once what stands before it is sent; then ``DeviceSession/staged(to:last:swapped:)``.
        case stage(Page)
        /// Take the next push from the outbox and send it; then ``DeviceSession/pushed(last:)``.
        case push
        /// Offer what was sent and not settled again.
        case resetPush
        /// Settle outbox rows; then ``DeviceSession/settled(through:)``.
        case settle([Settled], at: Position)
        /// Make the hub's last attempt durable, so that the next hello is higher.
        case catchUpAttempt(Int64)
        /// Take a new replica id, keep the data, offer outbox and journal again (docs/sync.md section 7).
        case fork
        /// Fetch a fresh token, which is wanted within so many milliseconds; then ``DeviceSession/freshToken(_:)``, with nil where
        /// there is none to be had.
        case fetchToken(within: Milliseconds)
        /// Start or restart a timer; then ``DeviceSession/fired(_:)``.
        case schedule(Timer, Milliseconds)
        /// Stop a timer.
        case cancel(Timer)
        /// Tell the app.
        case status(Status)
        /// Tell whoever looks after the app.
        case report(String)
    }

    /// The timers of a session.
    public enum Timer: Hashable, Sendable, CaseIterable {
        /// The next connection.
        case reconnect
        /// The answer to a hello.
        case greeting
        /// Credit that is due although little has come.
        case got
        /// No progress although the hub has more.
        case stall
        /// The session has been healthy long enough.
        case healthy
        /// The answer to a probe.
        case probe
        /// A busy hub.
        case busy
        /// The answer to a push.
        case push
        /// Two snapshots within so short a time are reported.
        case reset
    }

    /// What an app is told.
    public enum Status: Equatable, Sendable {
        /// Not connected; the next try comes after so many milliseconds, nil for none.
        case offline(retryAfter: Milliseconds?)
        /// A connection is being made.
        case connecting
        /// Connected and loading a snapshot.
        case loading
        /// Connected.
        case live
        /// Connected without progress.
        case stalled
        /// Stopped until a person changes something.
        case stopped(CloseCode, String)
    }
}
