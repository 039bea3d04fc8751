/// The hub's end of a session (docs/sync.md section 6): a value. It holds a place in the log, never a queue of entries.
public struct HubSession: Equatable, Sendable {
    /// Milliseconds without credit that end a session.
    package static let creditPatience: Milliseconds = 60_000
    /// Milliseconds without credit and without a word after which the replica is probed.
    static let probeAfter: Milliseconds = 15_000
    /// Milliseconds that a probe's answer may take.
    static let probePatience: Milliseconds = 15_000
    /// Milliseconds before a token's end at which a fresh one is asked for.
    static let renewLead: Milliseconds = 60_000
    /// Milliseconds after which a push that came while one was in flight may come again.
    static let pushPatience: Milliseconds = 100
    /// Frames that are ready and not written; a replica that makes more without reading is cut.
    package static let readyLimit = 16

    private enum State: Hashable, Sendable {
        case fresh
        case admitting
        case live(Live)
        case closing
    }

    private struct Live: Hashable, Sendable {
        var session: UInt64
        var sent: Position
        /// The highest that was sent; after a snapshot's last page the log goes on from further down.
        var most: Position
        var got: Position
        var head: Position
        var windowEntries: Int64
        var windowBytes: Int64
        var bytes = 0
        /// Sent batches whose credit is out: (last position, bytes).
        var outstanding: [Sent] = []
        var progress: Milliseconds
        /// When the last frame came.
        var heard: Milliseconds
        /// When the replica was probed; nil once a frame has come.
        var probed: Milliseconds?
        /// When its token ends; nil for a proof that does not.
        var expires: Milliseconds?
        /// When a fresh one is asked for.
        var renewAt: Milliseconds = 0
        /// A fresh token was asked for.
        var renewing = false
        /// One is being checked; another one that comes meanwhile is not looked at.
        var checking = false
        var pushing = false
        var firstFrame = false
        /// While a snapshot is loaded nothing of the log is sent; then it goes on from the first page's `at`.
        var snapshot: Bool
        var loading = false
    }

    private struct Sent: Hashable, Sendable {
        var to: Position
        var bytes: Int
    }

    private var state = State.fresh
    private var ready: [DownFrame] = []
    private var refusals = 0
    private var windowEntries: Int64 = 0
    private var windowBytes: Int64 = 0

    /// A session whose socket has just been opened.
    public init() {}

    /// The id of the live session, or nil.
    public var session: UInt64? {
        if case .live(let live) = state { live.session } else { nil }
    }

    /// Entries that are sent and not acknowledged; bounded by the window (docs/sync.md invariant 12).
    public var unacknowledged: Int64 {
        if case .live(let live) = state { live.sent - live.got } else { 0 }
    }

    /// Entries of the log that are not acknowledged, sent or not; 0 for a session that is not live.
    public var lag: Int64 {
        if case .live(let live) = state { max(0, live.head - live.got) } else { 0 }
    }

    /// For explorers of states: all that decides what it does next.
    package func fingerprint(into hasher: inout Hasher) {
        hasher.combine(state)
        hasher.combine(refusals)
        for frame in ready { hasher.combine(frame.bytes) }
    }

    // MARK: Frames

    /// A frame came.
    public mutating func received(_ frame: UpFrame, now: Milliseconds) -> [Action] {
        switch (frame, state) {
        case (.hello(let hello), .fresh):
            guard hello.version == wireVersion else {
                return fail(.version, "this hub speaks version \(wireVersion)")
            }
            state = .admitting
            windowEntries = min(max(hello.windowEntries, 1), Int64(Limits.windowEntries))
            windowBytes = min(max(hello.windowBytes, 1), Int64(Limits.windowBytes))
            return [.admit(hello)]
        case (_, .fresh): return fail(.protocolError, "a session begins with a hello")
        case (.hello, .live), (.hello, .admitting): return fail(.protocolError, "a second hello")
        case (_, .live(var live)):
            var actions: [Action] = []
            live.heard = now
            live.probed = nil
            if !live.firstFrame {
                live.firstFrame = true
                actions.append(.firstFrame)
            }
            return actions + liveReceived(frame, &live, now: now)
        case (_, .admitting): return fail(.protocolError, "a frame before the welcome")
        case (_, .closing): return []
        }
    }

    /// A frame came that cannot be read.
    public mutating func received(_ error: FrameError) -> [Action] {
        fail(error.close, error.reason)
    }

    private mutating func liveReceived(_ frame: UpFrame, _ live: inout Live, now: Milliseconds) -> [Action] {
        defer { if case .live = state { state = .live(live) } }
        switch frame {
        case .got(let to):
            guard to <= live.most else { return fail(.protocolError, "'to' is above what was sent") }
            return got(to, &live, now: now)
        case .push(let mutations): return push(mutations.isEmpty ? nil : .commit(mutations), &live, now: now)
        case .suspect(let mutation): return push(.commitSuspect(mutation), &live, now: now)
        case .token(let token):
            guard !live.checking else { return [] }
            live.checking = true
            return [.checkToken(token)]
        case .snapshot(let request):
            guard !live.loading else { return fail(.protocolError, "a page is already on its way") }
            // An id is the position of a first page; a larger number would trap when the log goes on from it.
            guard request.id.map({ $0 <= UInt64(Int64.max) }) ?? true else {
                return fail(.protocolError, "'id' is no snapshot")
            }
            live.snapshot = true
            live.loading = true
            return [.loadPage(request)]
        case .ping: return queue(.pong)
        case .bye:
            state = .closing
            return [.bye, .close(.tryAgain, "bye")]
        case .pong, .hello: return []
        }
    }

    /// A push of a token that is over stays unprocessed: the replica comes again with a fresh one, and nothing is denied.
    private mutating func push(_ action: Action?, _ live: inout Live, now: Milliseconds) -> [Action] {
        if let expires = live.expires, now >= expires, !planted(.expiredPushTaken) {
            return fail(.newToken, "the token has expired")
        }
        guard let action else { return [] }
        // The entries of an earlier time can settle a resend before its own answer is out, and so end it for the replica.
        guard !live.pushing else { return queue(.busy(retryAfter: Self.pushPatience)) }
        live.pushing = true
        return [action]
    }

    private func got(_ to: Position, _ live: inout Live, now: Milliseconds) -> [Action] {
        guard to > live.got else { return [] }
        live.got = to
        // A replica that goes on with a snapshot may have what was sent before the last page.
        live.sent = max(live.sent, to)
        live.progress = now
        while let first = live.outstanding.first, first.to <= to {
            live.bytes -= first.bytes
            live.outstanding.removeFirst()
        }
        return live.sent < live.head ? [.acknowledge(to), .write] : [.acknowledge(to)]
    }

    private mutating func fail(_ code: CloseCode, _ reason: String) -> [Action] {
        if state == .closing { return [] }
        state = .closing
        ready.removeAll()
        return [.close(code, reason)]
    }

    private mutating func queue(_ frame: DownFrame) -> [Action] {
        guard ready.count < Self.readyLimit else { return fail(.rate, "frames are not being read") }
        ready.append(frame)
        return [.write]
    }

    // MARK: Answers of the shell

    /// The hello was accepted and the welcome is durable.
    ///
    /// - Parameters:
    ///   - welcome: what to answer.
    ///   - cursor: where the replica stands.
    ///   - now: the hub's clock.
    ///   - expires: when the token that proved the replica ends; nil for a proof that does not.
    public mutating func admitted(
        _ welcome: Welcome, at cursor: Position, now: Milliseconds, expires: Milliseconds? = nil
    ) -> [Action] {
        guard state == .admitting else { return [] }
        if welcome.mode == .forked {
            ready.append(.welcome(welcome))
            state = .closing
            return [.write, .close(.forked, "this replica was restored or copied")]
        }
        var live = Live(
            session: welcome.session, sent: cursor, most: cursor, got: cursor, head: welcome.head,
            windowEntries: windowEntries, windowBytes: windowBytes, progress: now,
            heard: now, expires: expires, snapshot: welcome.mode != .resume)
        if let expires { live.renewAt = expires - Self.renewLead }
        state = .live(live)
        return queue(.welcome(welcome))
    }

    /// The hello's attempt was too low; the replica may say hello again on this socket.
    public mutating func refused(last: Int64) -> [Action] {
        guard state == .admitting else { return [] }
        refusals += 1
        guard refusals <= 3 else { return fail(.rate, "too many hellos") }
        state = .fresh
        return queue(
            .error(code: "attempt", retry: true, message: "the attempt is not higher than the last", last: last))
    }

    /// The hello was refused for good, or the session is to end.
    public mutating func denied(_ code: CloseCode, _ reason: String) -> [Action] { fail(code, reason) }

    /// A fresh token was taken.
    public mutating func renewed(expires: Milliseconds) -> [Action] {
        guard case .live(var live) = state else { return [] }
        if !planted(.renewalIgnored) { live.expires = expires }
        // One that lives shorter than the lead is followed after half of its life, not at each look at the clock. The last frame
        // that came was the token, or came after it.
        live.renewAt = max(expires - Self.renewLead, live.heard + (expires - live.heard) / 2)
        live.renewing = false
        live.checking = false
        state = .live(live)
        return queue(.renewed(expires: expires))
    }

    /// A fresh token could not be checked; it is asked for again.
    public mutating func notRenewed() -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.renewing = false
        live.checking = false
        state = .live(live)
        return []
    }

    /// The hub is about to end: the replica comes back at a moment of a window, in milliseconds from now, so that not all come
    /// at once.
    public mutating func drain(low: Milliseconds, high: Milliseconds) -> [Action] {
        guard case .live = state else { return fail(.draining, "this hub is stopping") }
        ready.append(.drain(low: low, high: high))
        state = .closing
        return [.write, .close(.draining, "this hub is stopping")]
    }

    /// The inbox has grown.
    public mutating func headMoved(to head: Position) -> [Action] {
        guard case .live(var live) = state, head > live.head else { return [] }
        // The only copy: what follows changes it in place.
        state = .closing
        live.head = head
        state = .live(live)
        return live.snapshot ? [] : [.write]
    }

    /// A push was processed; resends are answered at once, the rest comes as entries.
    public mutating func committed(_ settled: [Settled]) -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.pushing = false
        state = .live(live)
        return settled.isEmpty ? [] : queue(.settled(settled, at: live.head))
    }

    /// The device has ended itself: the last outcomes go before the close.
    public mutating func ended(_ settled: [Settled]) -> [Action] {
        guard case .live = state else { return [] }
        state = .closing
        // No entry follows: what the outcomes settle, they settle at once.
        ready = settled.isEmpty ? [] : [.settled(settled, at: 0)]
        return [.write, .close(.revoked, "this device has ended")]
    }

    /// Nothing of a push was processed.
    public mutating func busy(retryAfter: Milliseconds) -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.pushing = false
        state = .live(live)
        return queue(.busy(retryAfter: retryAfter))
    }

    /// A page was read. The id of a snapshot is the `at` of its first page, so the hub keeps nothing between pages.
    public mutating func loaded(_ page: Page) -> [Action] {
        guard case .live(var live) = state, live.loading else { return [] }
        live.loading = false
        if page.last {
            live.snapshot = false
            live.sent = planted(.tailFromLastPage) ? page.at : Position(page.id)
            live.most = max(live.most, live.sent)
            live.got = live.sent
            live.outstanding.removeAll()
            live.bytes = 0
        }
        state = .live(live)
        return queue(.page(page))
    }

    // MARK: Writing

    /// Whether ``nextOutput()`` would give something now.
    public var hasOutput: Bool {
        if !ready.isEmpty { return true }
        guard case .live(let live) = state, !live.snapshot, live.sent < live.head else { return false }
        if planted(.unboundedCredit) { return true }
        return live.sent - live.got < live.windowEntries
            && (Int64(live.bytes) < live.windowBytes || live.outstanding.isEmpty)
    }

    /// What to write now that the socket can be written; nil where nothing waits or no credit is left.
    public mutating func nextOutput() -> Output? {
        if !ready.isEmpty { return .frame(ready.removeFirst()) }
        guard case .live(let live) = state, !live.snapshot, live.sent < live.head else { return nil }
        let entries = planted(.unboundedCredit) ? 100 : live.windowEntries - (live.sent - live.got)
        let bytes = Int(live.windowBytes) - live.bytes
        // One entry always fits where nothing is out, however small the window.
        guard entries > 0, bytes > 0 || live.outstanding.isEmpty else { return nil }
        return .entries(after: live.sent, count: Int(entries), bytes: max(bytes, 1))
    }

    /// Entries through a position were written, in so many bytes.
    public mutating func sent(to position: Position, bytes: Int, now: Milliseconds) {
        guard case .live(var live) = state, position > live.sent else { return }
        // The only copy: what follows changes it in place.
        state = .closing
        if live.outstanding.isEmpty { live.progress = now }
        live.sent = position
        live.most = max(live.most, position)
        live.bytes += bytes
        live.outstanding.append(Sent(to: position, bytes: bytes))
        state = .live(live)
    }

    /// The log no longer holds what comes next: the session turns to a snapshot (docs/sync.md section 6, credit).
    public mutating func overtaken() -> [Action] {
        fail(.chainMismatch, "the log was trimmed past this session; a snapshot follows")
    }

    /// Looks at the clock: tokens end, and a session whose credit does not come back is probed and then cut.
    public mutating func tick(now: Milliseconds) -> [Action] {
        guard case .live(var live) = state else { return [] }
        var actions: [Action] = []
        if let expires = live.expires {
            if now >= expires { return fail(.newToken, "the token has expired") }
            if !live.renewing, now >= live.renewAt {
                live.renewing = true
                state = .live(live)
                actions = queue(.renew(in: max(1, (expires - now) / 1_000)))
                guard case .live = state else { return actions }
            }
        }
        return actions + tickCredit(&live, now: now)
    }

    private mutating func tickCredit(_ live: inout Live, now: Milliseconds) -> [Action] {
        guard live.sent < live.head, !live.outstanding.isEmpty, !planted(.creditForEver) else { return [] }
        if now - live.progress >= Self.creditPatience {
            return fail(.noCredit, "no credit for \(Self.creditPatience / 1_000) s")
        }
        if let probed = live.probed {
            return now - probed >= Self.probePatience ? fail(.tryAgain, "a probe was not answered") : []
        }
        guard now - live.progress >= Self.probeAfter, now - live.heard >= Self.probeAfter else { return [] }
        live.probed = now
        state = .live(live)
        return queue(.ping)
    }
}
