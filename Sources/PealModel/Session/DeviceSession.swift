/// The replica's end of a session (docs/sync.md section 6 and 7): a value without clock, socket, store or task.
///
/// Each input returns actions; the shell carries them out in order, synchronously where they concern the replica's file,
/// and reports back through the input that the action names.
public struct DeviceSession: Equatable, Sendable {
    /// Milliseconds after which little credit is returned too, so that the hub knows the durable cursor.
    static let gotDelay: Milliseconds = 500
    /// Milliseconds without progress that make a session stalled.
    static let stallDelay: Milliseconds = 10_000
    /// Milliseconds after which a session is healthy.
    static let healthyDelay: Milliseconds = 30_000
    /// Milliseconds that a probe's answer may take.
    static let probeDelay: Milliseconds = 5_000
    /// Milliseconds that a welcome may take.
    static let greetingDelay: Milliseconds = 10_000
    /// Milliseconds that the answer to a push may take.
    static let pushDelay: Milliseconds = 30_000
    /// Milliseconds that a hub can make a replica wait for, at most.
    static let longestWait: Milliseconds = 600_000
    /// Milliseconds in which a second snapshot of one epoch is reported.
    static let resetPeriod: Milliseconds = 300_000
    /// Bytes of a push that a frame which was too large does not go below.
    static let leastPushBytes = 1_024
    /// Milliseconds that a connection waits for a fresh token, once its own delay is over.
    static let tokenDelay: Milliseconds = 60_000
    /// Milliseconds before a replaced session says hello again.
    static let replacedDelay: Milliseconds = 60_000

    enum State: Equatable, Sendable {
        case idle
        case waiting(Wait)
        case connecting
        case greeting(attempt: Int64?, refusals: Int)
        case welcoming(Welcome)
        case live(Live)
        case closing
        case stopped(CloseCode)
    }

    struct Wait: Equatable, Sendable {
        /// A newer session lives: a change of network does not cut the wait short.
        var isReplaced = false
        /// A fresh token is being fetched, without which the next connection would be for nothing.
        var needsToken = false
        /// The delay is over.
        var isDue = false
    }

    struct Live: Hashable, Sendable {
        var session: UInt64
        var position: Position
        var head: Position
        var snapshot: Bool
        /// The last position that came in a batch; credit above it would be credit for what was not sent.
        var received: Position = 0
        var unacknowledged = 0
        var unacknowledgedBytes = 0
        var gotScheduled = false
        var inFlight: Int64?
        var outboxWaits: Bool
        var busy = false
    }

    var state = State.idle
    private var backoff: Backoff
    let windowEntries: Int
    let windowBytes: Int
    private var drainWindow: ClosedRange<Milliseconds>?
    /// A fork was found since the last healthy session.
    private var forked = false
    /// The epoch of the last snapshot, for as long as another one is worth a report.
    private var lastReset: UInt64?
    /// A snapshot is not swapped in yet; one that goes on after a cut is no other.
    var resetting = false
    /// Bytes of a push's frame, at most: less after a frame that was too large for the hub.
    public private(set) var pushBytes = Limits.frameUp

    /// A session that has not started.
    ///
    /// - Parameters:
    ///   - seed: what its jitter comes from; random in production, fixed in a test.
    ///   - windowEntries: what the hello says of entries that may be unacknowledged.
    ///   - windowBytes: and of bytes.
    public init(
        seed: UInt64, windowEntries: Int64 = Int64(Limits.windowEntries), windowBytes: Int64 = Int64(Limits.windowBytes)
    ) {
        backoff = Backoff(seed: seed)
        self.windowEntries = Int(windowEntries)
        self.windowBytes = Int(windowBytes)
    }

    /// Whether frames are being exchanged.
    public var isLive: Bool {
        if case .live = state { true } else { false }
    }

    /// Entries that the hub has told of and that are not folded yet; nil without a live session.
    public var lag: Int64? {
        if case .live(let live) = state { max(0, live.head - live.position) } else { nil }
    }

    /// Whether the replica stands at the hub's head, as far as it has been told, and nothing that was queued is under way.
    public var isSettled: Bool {
        if case .live(let live) = state {
            !live.snapshot && live.position >= live.head && live.inFlight == nil && !live.outboxWaits
        } else {
            false
        }
    }

    /// For explorers of states: all that decides what a session that is being opened, or is open, does next; timers left out.
    package func fingerprint(into hasher: inout Hasher) {
        switch state {
        case .greeting(let attempt, let refusals):
            hasher.combine(attempt)
            hasher.combine(refusals)
        case .live(let live): hasher.combine(live)
        case .idle, .waiting, .connecting, .welcoming, .closing, .stopped: hasher.combine("\(state)")
        }
    }

    /// Whether a socket is open that frames can still come from.
    private var isConnected: Bool {
        switch state {
        case .greeting, .welcoming, .live: true
        case .idle, .waiting, .connecting, .closing, .stopped: false
        }
    }

    // MARK: Connection

    /// Starts, or starts again after a stop.
    public mutating func start() -> [Action] {
        switch state {
        case .idle, .stopped: return connect()
        default: return []
        }
    }

    /// Ends for good: the hub is told not to expect this replica.
    public mutating func stop() -> [Action] {
        let live = isLive
        let wasOpen = isConnected || state == .connecting
        state = .idle
        lastReset = nil
        var actions = Timer.allCases.map(Action.cancel)
        if live { actions.append(.send(.bye)) }
        if wasOpen { actions.append(.close(.tryAgain, "bye")) }
        return actions + [.status(.offline(retryAfter: nil))]
    }

    /// The socket is open.
    public mutating func opened() -> [Action] {
        guard state == .connecting else { return [] }
        state = .greeting(attempt: nil, refusals: 0)
        return [.hello, .schedule(.greeting, Self.greetingDelay)]
    }

    /// The hello of an attempt was sent.
    public mutating func greeted(attempt: Int64) -> [Action] {
        guard case .greeting(_, let refusals) = state else { return [] }
        state = .greeting(attempt: attempt, refusals: refusals)
        return []
    }

    /// The socket is closed, by whichever end, or could not be opened.
    public mutating func closed(_ code: CloseCode, _ reason: String) -> [Action] {
        switch state {
        case .idle, .waiting, .stopped: return []
        default: break
        }
        let cancels = [Timer.greeting, .got, .stall, .healthy, .probe, .busy, .push].map(Action.cancel)
        let window = drainWindow
        drainWindow = nil
        switch code.consequence {
        case .stop:
            state = .stopped(code)
            return cancels + [.status(.stopped(code, reason))]
        case .act where code == .forked && state != .closing: return cancels + Self.fork + waitAfterFork()
        case .act where code == .forked: return cancels + waitAfterFork()
        case .act where code == .replaced: return cancels + wait(Self.replacedDelay, Wait(isReplaced: true))
        case .act where code == .newToken:
            return cancels + [.fetchToken(within: 0)] + wait(backoff.next(), Wait(needsToken: true))
        case .act where code == .frameTooLarge:
            pushBytes = max(pushBytes / 2, Self.leastPushBytes)
            return cancels + wait(backoff.next())
        case .act, .backOff:
            return cancels + wait(window.map { backoff.within($0) } ?? backoff.next())
        }
    }

    private static var fork: [Action] {
        [.fork, .report("this replica was restored or copied; it goes on under a new id")]
    }

    /// At once after the first fork; a hub that sees forks all the time must not be hammered.
    private mutating func waitAfterFork() -> [Action] {
        let delay = forked ? backoff.next() : 0
        forked = true
        return wait(delay)
    }

    private mutating func wait(_ delay: Milliseconds, _ wait: Wait = Wait()) -> [Action] {
        state = .waiting(wait)
        return [.status(.offline(retryAfter: delay)), .schedule(.reconnect, delay)]
    }

    mutating func close(_ code: CloseCode, _ reason: String) -> [Action] {
        state = .closing
        return [.close(code, reason)]
    }

    /// The network came up or changed: one try within half a second, or a probe of what may be a dead socket.
    public mutating func networkChanged() -> [Action] {
        switch state {
        case .waiting(let wait) where !wait.isReplaced:
            [.schedule(.reconnect, backoff.within(0...Backoff.networkUp))]
        case .live: [.send(.ping), .schedule(.probe, Self.probeDelay)]
        default: []
        }
    }

    /// A timer ran out.
    public mutating func fired(_ timer: Timer) -> [Action] {
        switch (timer, state) {
        case (.reconnect, .waiting(var wait)):
            guard wait.needsToken, !wait.isDue else { return connect() }
            wait.isDue = true
            state = .waiting(wait)
            return [.schedule(.reconnect, Self.tokenDelay)]
        case (.greeting, .greeting), (.greeting, .welcoming): return close(.tryAgain, "no welcome")
        case (.probe, .live): return close(.tryAgain, "a probe was not answered")
        case (.got, .live(var live)):
            live.gotScheduled = false
            return credit(&live)
        case (.stall, .live) where !planted(.stallIgnored):
            return [.status(.stalled), .report("no progress for \(Self.stallDelay / 1_000) s")]
                + close(.stalled, "no progress")
        case (.healthy, .live):
            backoff.sessionIsHealthy()
            forked = false
            return []
        case (.busy, .live(var live)):
            live.busy = false
            return push(&live)
        case (.push, .live(let live)) where live.inFlight != nil:
            return [.report("a push was not answered for \(Self.pushDelay / 1_000) s")]
                + close(.tryAgain, "a push was not answered")
        case (.reset, _):
            lastReset = nil
            return []
        default: return []
        }
    }

    private mutating func connect() -> [Action] {
        state = .connecting
        return [.status(.connecting), .connect]
    }

    /// A fresh token was fetched and is what the next hello proves with; nil where there is none to be had, so that the old one is
    /// tried again.
    public mutating func freshToken(_ token: String?) -> [Action] {
        switch state {
        case .live: return token.map { [.send(.token($0))] } ?? []
        case .waiting(var wait) where wait.needsToken:
            wait.needsToken = false
            state = .waiting(wait)
            return wait.isDue ? connect() : []
        default: return []
        }
    }

    // MARK: Frames

    /// A frame came.
    public mutating func received(_ frame: DownFrame, bytes: Int) -> [Action] {
        switch (frame, state) {
        case (.welcome(let welcome), .greeting(let attempt, _)) where welcome.attempt == attempt:
            state = .welcoming(welcome)
            return [.cancel(.greeting), .welcome(welcome)]
        case (.error(_, _, _, let last?), .greeting(_, let refusals)) where refusals < 3:
            state = .greeting(attempt: nil, refusals: refusals + 1)
            return [.catchUpAttempt(last), .hello]
        case (.batch(let batch), .live(var live)): return batchCame(batch, bytes: bytes, &live)
        case (.page(let page), .live(let live)) where live.snapshot: return pageCame(page)
        case (.settled(let settled, let at), .live): return [.settle(settled, at: at)]
        case (.busy(let retryAfter), .live(var live)):
            live.inFlight = nil
            live.busy = true
            live.outboxWaits = true
            state = .live(live)
            return [.cancel(.push), .resetPush, .schedule(.busy, min(max(retryAfter, 1), Self.longestWait))]
        case (.renew(let seconds), .live): return [.fetchToken(within: max(0, min(seconds, 86_400)) * 1_000)]
        case (.ping, .live): return [.send(.pong)]
        case (.pong, .live): return [.cancel(.probe)]
        case (.drain(let low, let high), .live):
            drainWindow = min(max(low, 0), Self.longestWait)...min(max(low, high, 0), Self.longestWait)
            return []
        case (.error(let code, _, let message, _), _): return [.report("the hub says \(code): \(message)")]
        default: return []
        }
    }

    /// A frame came that cannot be read.
    public mutating func received(_ error: FrameError) -> [Action] {
        guard isConnected else { return [] }
        return [.report("a frame from the hub: \(error.reason)")] + close(.tryAgain, error.reason)
    }

    /// The welcome is durable.
    ///
    /// - Parameters:
    ///   - position: where the replica stands: its cursor, or its stage's.
    ///   - outbox: whether acts wait to be sent.
    ///   - repair: this replica has diverged: it loads a snapshot although the log could be resumed.
    public mutating func welcomed(at position: Position, outbox: Bool, repair: Bool = false) -> [Action] {
        guard case .welcoming(let welcome) = state else { return [] }
        if welcome.mode == .forked { return foundFork() }
        let snapshot = welcome.mode != .resume || repair
        var live = Live(
            session: welcome.session, position: position, head: welcome.head, snapshot: snapshot,
            outboxWaits: outbox)
        var actions: [Action] = [.resetPush, .schedule(.healthy, Self.healthyDelay)]
        if snapshot {
            state = .live(live)
            actions += noteReset(of: welcome.epoch)
            return actions + [.status(.loading), .schedule(.stall, Self.stallDelay), .requestPage]
        }
        resetting = false
        actions.append(.status(.live))
        if position < welcome.head { actions.append(.schedule(.stall, Self.stallDelay)) }
        return actions + push(&live)
    }

    /// At most one reset an epoch in 5 minutes goes without a report (docs/sync.md section 7): a loop must not be silent.
    private mutating func noteReset(of epoch: UInt64) -> [Action] {
        guard !resetting else { return [] }
        resetting = true
        let again = lastReset == epoch
        lastReset = epoch
        let report = Action.report("a second snapshot within \(Self.resetPeriod / 60_000) minutes")
        return (again ? [report] : []) + [.schedule(.reset, Self.resetPeriod)]
    }

    /// The welcome, or the log, shows that another copy of this replica lives: take a new identity (docs/sync.md section 7).
    public mutating func foundFork() -> [Action] {
        guard isConnected else { return [] }
        return Self.fork + close(.forked, "forked")
    }

    /// The hub's sum showed that this replica differs, and a snapshot is to repair it (docs/sync.md section 8). The next session
    /// loads it: its welcome tells the outcomes of what is in flight now, which the log after a snapshot would not.
    public mutating func diverged() -> [Action] {
        guard isConnected else { return [] }
        return close(.chainMismatch, "diverged")
    }
}
