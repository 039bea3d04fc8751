package import PealModel

/// Carries a session's actions out on its replica, and says what is left to do outside: sockets, timers, words for people.
///
/// A value without clock, socket or task: the client library's shell and the simulator drive the same one. It lives on the
/// replica's executor, and blocks as the replica does.
package struct SessionDriver {
    /// What the shell is to do, in order.
    package enum Effect: Equatable, Sendable {
        /// Stage a page of a snapshot, once what stands before it is sent: ``SessionDriver/stage(_:_:)``.
        case stage(Page)
        /// Open a socket; then ``SessionDriver/opened`` or ``SessionDriver/closed``.
        case connect
        /// Send a frame.
        case send(UpFrame)
        /// Close the socket.
        case close(CloseCode, String)
        /// Fetch a fresh token within so many milliseconds and put it into ``SessionDriver/proof``; then
        /// ``DeviceSession/freshToken(_:)``.
        case fetchToken(within: Milliseconds)
        /// Start or restart a timer.
        case schedule(DeviceSession.Timer, Milliseconds)
        /// Stop a timer.
        case cancel(DeviceSession.Timer)
        /// Acts become due in so many milliseconds: then ``DeviceSession/outboxChanged()``.
        case wake(Milliseconds)
        /// Tell the app.
        case status(DeviceSession.Status)
        /// Tell whoever looks after the app.
        case report(String)
        /// This replica took a new id: its file was restored or copied.
        case forked
        /// A snapshot took the place of the base.
        case swapped(SwapReport)
        /// The hub's sum showed that this replica differs; the session ends by itself where a snapshot is to repair it.
        case diverged(Divergence)
        /// Entries that could not be read were set aside.
        case quarantined([Position])
    }

    /// The machine.
    package private(set) var session: DeviceSession
    /// What the app proves the user with.
    package var proof: Proof
    private let windowEntries: Int64
    private let windowBytes: Int64
    private var effects: [Effect] = []

    /// A session that has not started.
    ///
    /// - Parameters:
    ///   - seed: what its jitter comes from.
    ///   - proof: what the app proves the user with.
    ///   - windowEntries: entries that may be unacknowledged.
    ///   - windowBytes: bytes that may be unacknowledged.
    package init(
        seed: UInt64, proof: Proof, windowEntries: Int64 = Int64(Limits.windowEntries),
        windowBytes: Int64 = Int64(Limits.windowBytes)
    ) {
        session = DeviceSession(seed: seed, windowEntries: windowEntries, windowBytes: windowBytes)
        self.proof = proof
        self.windowEntries = windowEntries
        self.windowBytes = windowBytes
    }

    /// Gives the machine an input and carries out what follows on the replica.
    ///
    /// - Returns: what the shell is to do, and the error that cut it short: then the shell closes the socket with 4000.
    package mutating func drive(
        _ store: some ReplicaStore, _ input: (inout DeviceSession) -> [DeviceSession.Action]
    ) -> (effects: [Effect], failure: ReplicaError?) {
        effects = []
        defer { effects = [] }
        do throws(ReplicaError) {
            try run(input(&session), store)
            return (effects, nil)
        } catch {
            return (effects, error)
        }
    }

    /// The socket is closed, or could not be opened.
    package mutating func closed(
        _ store: some ReplicaStore, code: CloseCode, reason: String
    ) -> (effects: [Effect], failure: ReplicaError?) {
        // A file that fails here fails again at the next hello, where it is reported.
        try? store.sessionEnded(code: code, reason: reason)
        return drive(store) { $0.closed(code, reason) }
    }

    private mutating func run(_ actions: [DeviceSession.Action], _ store: some ReplicaStore) throws(ReplicaError) {
        for action in actions { try carryOut(action, store) }
    }

    private mutating func carryOut(_ action: DeviceSession.Action, _ store: some ReplicaStore) throws(ReplicaError) {
        switch action {
        case .connect: effects.append(.connect)
        case .hello:
            let hello = try store.hello(
                proof: proof, windowEntries: windowEntries, windowBytes: windowBytes)
            effects.append(.send(.hello(hello)))
            try run(session.greeted(attempt: hello.attempt), store)
        case .send(let frame): effects.append(.send(frame))
        case .close(let code, let reason): effects.append(.close(code, reason))
        case .welcome(let welcome):
            let check = try store.welcomed(welcome)
            if let divergence = check.divergence { effects.append(.diverged(divergence)) }
            try run(
                check.fork == nil
                    ? session.welcomed(at: check.position, outbox: check.outbox, repair: check.repair)
                    : session.foundFork(), store)
        case .apply(let batch): try apply(batch, store)
        case .requestPage: effects.append(.send(.snapshot(try store.snapshotRequest())))
        case .stage(let page): effects.append(.stage(page))
        case .push: try push(store)
        case .resetPush: try store.resetInFlight(retryAfter: nil)
        case .settle(let settled, let at): try run(session.settled(through: store.settled(settled, at: at)), store)
        case .catchUpAttempt(let last): try store.attemptRefused(last: last)
        case .fork:
            try store.fork(to: nil)
            effects.append(.forked)
        case .fetchToken(let within): effects.append(.fetchToken(within: within))
        case .schedule(let timer, let delay): effects.append(.schedule(timer, delay))
        case .cancel(let timer): effects.append(.cancel(timer))
        case .status(let status): effects.append(.status(status))
        case .report(let text): effects.append(.report(text))
        }
    }

    private mutating func apply(_ batch: Batch, _ store: some ReplicaStore) throws(ReplicaError) {
        let applied = try store.apply(batch)
        if let swap = applied.swap { effects.append(.swapped(swap)) }
        if !applied.quarantined.isEmpty { effects.append(.quarantined(applied.quarantined)) }
        if applied.verdict == .foreign { return try run(session.foundFork(), store) }
        try run(
            session.applied(
                to: applied.position, settledThrough: applied.settledThrough, swapped: applied.swap != nil), store)
        if applied.wantsSnapshot, applied.divergence?.isMended ?? true { try run(session.diverged(), store) }
        try take(applied.divergence, store)
    }

    private mutating func take(_ divergence: Divergence?, _ store: some ReplicaStore) throws(ReplicaError) {
        guard let divergence else { return }
        effects.append(.diverged(divergence))
        if !divergence.isMended { try run(session.diverged(), store) }
    }

    /// Stages a page: the effect of that name.
    package mutating func stage(
        _ store: some ReplicaStore, _ page: Page
    ) -> (effects: [Effect], failure: ReplicaError?) {
        effects = []
        defer { effects = [] }
        do throws(ReplicaError) {
            let staged = try store.stage(page)
            if let swap = staged.swap { effects.append(.swapped(swap)) }
            try run(session.staged(to: staged.position, last: staged.last, swapped: staged.swap != nil), store)
            try run(session.settled(through: staged.settledThrough), store)
            try take(staged.divergence, store)
            return (effects, nil)
        } catch {
            return (effects, error)
        }
    }

    private mutating func push(_ store: some ReplicaStore) throws(ReplicaError) {
        let push = try store.nextPush(maximumCount: Limits.mutationsPerPush, maximumBytes: session.pushBytes)
        if let push {
            let isAlone = push.suspect && push.mutations.count == 1
            effects.append(.send(isAlone ? .suspect(push.mutations[0]) : .push(push.mutations)))
        }
        try run(session.pushed(last: push?.last), store)
        if push == nil, let due = try store.nextDue() { effects.append(.wake(max(due, 1))) }
    }
}
