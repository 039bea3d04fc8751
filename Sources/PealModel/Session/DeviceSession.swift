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
    /// Milliseconds before a replaced session says hello again.
    static let replacedDelay: Milliseconds = 60_000

    private enum State: Equatable, Sendable {
        case idle
        case waiting
        case connecting
        case greeting(attempt: Int64?, refusals: Int)
        case welcoming(Welcome)
        case live(Live)
        case closing
        case stopped(CloseCode)
    }

    private struct Live: Equatable, Sendable {
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

    private var state = State.idle
    private var backoff: Backoff
    private let windowEntries: Int
    private let windowBytes: Int
    private var drainWindow: ClosedRange<Milliseconds>?
    /// A fork was found since the last healthy session.
    private var forked = false

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

    /// Whether the replica stands at the hub's head, as far as it has been told, and nothing that was queued is under way.
    public var isSettled: Bool {
        if case .live(let live) = state {
            !live.snapshot && live.position >= live.head && live.inFlight == nil && !live.outboxWaits
        } else {
            false
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
        case .idle, .stopped:
            state = .connecting
            return [.status(.connecting), .connect]
        default: return []
        }
    }

    /// Ends for good: the hub is told not to expect this replica.
    public mutating func stop() -> [Action] {
        let live = isLive
        let wasOpen = isConnected || state == .connecting
        state = .idle
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
        let cancels = [Timer.greeting, .got, .stall, .healthy, .probe, .busy].map(Action.cancel)
        let window = drainWindow
        drainWindow = nil
        switch code.consequence {
        case .stop:
            state = .stopped(code)
            return cancels + [.status(.stopped(code, reason))]
        case .act where code == .forked && state != .closing: return cancels + Self.fork + waitAfterFork()
        case .act where code == .forked: return cancels + waitAfterFork()
        case .act where code == .replaced: return cancels + wait(Self.replacedDelay)
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

    private mutating func wait(_ delay: Milliseconds) -> [Action] {
        state = .waiting
        return [.status(.offline(retryAfter: delay)), .schedule(.reconnect, delay)]
    }

    private mutating func close(_ code: CloseCode, _ reason: String) -> [Action] {
        state = .closing
        return [.close(code, reason)]
    }

    /// The network came up or changed: one try within half a second, or a probe of what may be a dead socket.
    public mutating func networkChanged() -> [Action] {
        switch state {
        case .waiting: [.schedule(.reconnect, backoff.within(0...Backoff.networkUp))]
        case .live: [.send(.ping), .schedule(.probe, Self.probeDelay)]
        default: []
        }
    }

    /// A timer ran out.
    public mutating func fired(_ timer: Timer) -> [Action] {
        switch (timer, state) {
        case (.reconnect, .waiting):
            state = .connecting
            return [.status(.connecting), .connect]
        case (.greeting, .greeting), (.greeting, .welcoming): return close(.tryAgain, "no welcome")
        case (.probe, .live): return close(.tryAgain, "a probe was not answered")
        case (.got, .live(var live)):
            live.gotScheduled = false
            return credit(&live)
        case (.stall, .live):
            return [.status(.stalled), .report("no progress for \(Self.stallDelay / 1_000) s")]
                + close(.stalled, "no progress")
        case (.healthy, .live):
            backoff.sessionIsHealthy()
            forked = false
            return []
        case (.busy, .live(var live)):
            live.busy = false
            return push(&live)
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
        case (.page(let page), .live(let live)) where live.snapshot: return [.stage(page)]
        case (.settled(let settled, let at), .live): return [.settle(settled, at: at)]
        case (.busy(let retryAfter), .live(var live)):
            live.inFlight = nil
            live.busy = true
            live.outboxWaits = true
            state = .live(live)
            return [.resetPush, .schedule(.busy, max(retryAfter, 1))]
        case (.ping, .live): return [.send(.pong)]
        case (.pong, .live): return [.cancel(.probe)]
        case (.drain(let low, let high), .live):
            drainWindow = low...high
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
            return actions + [.status(.loading), .schedule(.stall, Self.stallDelay), .requestPage]
        }
        actions.append(.status(.live))
        if position < welcome.head { actions.append(.schedule(.stall, Self.stallDelay)) }
        return actions + push(&live)
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

    private mutating func batchCame(_ batch: Batch, bytes: Int, _ live: inout Live) -> [Action] {
        guard batch.session == live.session || planted(.noSessionCheck) else { return [] }
        live.head = max(live.head, batch.to)
        live.unacknowledged += batch.entries.count
        live.unacknowledgedBytes += bytes
        live.received = max(live.received, batch.to)
        state = .live(live)
        if batch.from > live.position, !planted(.gapAccepted) { return close(.gap, "a gap in the log") }
        if batch.to > live.position { return [.apply(batch)] }
        // Folded already (a staged snapshot that goes on). It must be credited, or a hub that repeats more than a window
        // would wait for ever.
        return [stall(live)] + returnCredit(&live)
    }

    private func stall(_ live: Live) -> Action {
        live.position < live.head ? .schedule(.stall, Self.stallDelay) : .cancel(.stall)
    }

    /// A batch is folded and durable.
    ///
    /// - Parameters:
    ///   - position: where the replica stands now.
    ///   - settledThrough: the highest own number that is settled.
    ///   - swapped: a staged snapshot took the place of the base with it.
    public mutating func applied(to position: Position, settledThrough: Int64, swapped: Bool) -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.position = position
        if let last = live.inFlight, settledThrough >= last { live.inFlight = nil }
        var actions = [stall(live)]
        if swapped, live.snapshot {
            live.snapshot = false
            // The swap may have offered the journal again (docs/sync.md section 7, ahead).
            live.outboxWaits = live.outboxWaits || !planted(.journalWaitsAfterSwap)
            actions.append(.status(.live))
        }
        return actions + returnCredit(&live) + push(&live)
    }

    /// A page is staged and durable.
    ///
    /// - Parameters:
    ///   - position: where the stage stands, or the cursor after a swap.
    ///   - last: no page lies below.
    ///   - swapped: the stage took the place of the base, because nothing had happened since its first page.
    public mutating func staged(to position: Position, last: Bool, swapped: Bool) -> [Action] {
        guard case .live(var live) = state, live.snapshot else { return [] }
        live.position = position
        if !last {
            state = .live(live)
            return [.schedule(.stall, Self.stallDelay), .requestPage]
        }
        live.snapshot = !swapped
        guard swapped else {
            state = .live(live)
            return [.schedule(.stall, Self.stallDelay)]
        }
        live.outboxWaits = live.outboxWaits || !planted(.journalWaitsAfterSwap)
        return [stall(live), .status(.live)] + push(&live)
    }

    /// At half the window at once, before that after a delay.
    private mutating func returnCredit(_ live: inout Live) -> [Action] {
        let halfWindow =
            live.unacknowledged * 2 >= windowEntries || live.unacknowledgedBytes * 2 >= windowBytes
        if halfWindow { return credit(&live) }
        defer { state = .live(live) }
        if live.gotScheduled { return [] }
        live.gotScheduled = true
        return [.schedule(.got, Self.gotDelay)]
    }

    private mutating func credit(_ live: inout Live) -> [Action] {
        live.unacknowledged = 0
        live.unacknowledgedBytes = 0
        live.gotScheduled = false
        state = .live(live)
        return [.cancel(.got), .send(.got(to: min(live.position, live.received)))]
    }

    // MARK: Outbox

    /// Acts were queued.
    public mutating func outboxChanged() -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.outboxWaits = true
        return push(&live)
    }

    private mutating func push(_ live: inout Live) -> [Action] {
        defer { state = .live(live) }
        guard live.outboxWaits, live.inFlight == nil, !live.snapshot || planted(.pushWhileLoading), !live.busy else {
            return []
        }
        live.outboxWaits = false
        live.inFlight = .max
        return [.push]
    }

    /// A push was sent whose highest number is `last`; nil where nothing waited.
    public mutating func pushed(last: Int64?) -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.inFlight = last
        // What did not fit waits for the outcomes of this push; what was queued meanwhile is not forgotten.
        if last != nil { live.outboxWaits = true }
        return push(&live)
    }

    /// Outbox rows are settled through a number.
    public mutating func settled(through n: Int64) -> [Action] {
        guard case .live(var live) = state else { return [] }
        if let last = live.inFlight, n >= last { live.inFlight = nil }
        return push(&live)
    }
}
