import PealHub
import PealModel
import PealReplica
import Testing

/// An installation in a ``Script``: its file, its session, its clocks. It is off until ``start()``.
final class ScriptDevice {
    unowned let script: Script
    let identity: InboxIdentity
    private(set) var path: String
    private(set) var replica: Replica!
    private(set) var driver: SessionDriver
    private(set) var link: ScriptLink?
    /// Whether it reaches the hub.
    var hasNetwork = true
    /// This device's wall clock less the true time.
    var skew: Milliseconds = 0
    /// What its sessions told: reports, positions that the app was told of as new, snapshots, delays before a reconnect.
    private(set) var reports: [String] = []
    private(set) var inserted: [Position] = []
    private(set) var swaps: [SwapReport] = []
    private(set) var forks = 0
    private(set) var divergences: [Divergence] = []
    private(set) var delays: [Milliseconds] = []
    private(set) var statuses: [DeviceSession.Status] = []
    private(set) var failures: [ReplicaError] = []
    /// Connections that were opened.
    private(set) var connections = 0
    private var timers: [DeviceSession.Timer: Milliseconds] = [:]
    private var wake: Milliseconds?
    private let token: (() -> String?)?
    private let seed: UInt64
    private let clock: Clock
    private let random: RandomSource
    private var runs: UInt64 = 0

    /// Clocks that the script moves. One thread.
    private final class Clock: @unchecked Sendable {
        unowned let script: Script
        weak var device: ScriptDevice?
        var booted: Milliseconds = 0
        var boots = 0
        init(_ script: Script) { self.script = script }
        var clock: ReplicaClock {
            ReplicaClock(
                wall: { [self] in script.now + (device?.skew ?? 0) }, boot: { [self] in script.now - booted },
                bootID: { [self] in "boot-\(boots)" })
        }
    }

    /// Random bits of a seed. One thread.
    private final class RandomSource: @unchecked Sendable {
        var generator: SplitMix64
        init(seed: UInt64) { generator = SplitMix64(seed: seed) }
    }

    init(script: Script, path: String, identity: InboxIdentity, seed: UInt64, token: (() -> String?)?) throws {
        self.script = script
        self.path = path
        self.identity = identity
        self.token = token
        self.seed = seed
        clock = Clock(script)
        random = RandomSource(seed: seed)
        driver = SessionDriver(seed: seed, proof: Proof(token: token?()))
        clock.device = self
        try open()
    }

    private func open(maximumPages: Int64? = nil) throws {
        var options = ReplicaOptions()
        options.clock = clock.clock
        let random = random
        options.random = { random.generator.next() }
        options.maximumPages = maximumPages
        replica = try Replica(path: path, identity: identity, project: "key", options: options)
        replica.onCommit = { [weak self] in self?.inserted += $0.inserted }
    }

    func letGo() { replica = nil }

    var isLive: Bool { driver.session.isLive }
    var nextDue: Milliseconds? { (Array(timers.values) + [wake].compactMap { $0 }).min() }

    // MARK: Session

    /// Starts the session, and delivers all there is.
    func connect() {
        drive { $0.start() }
        script.run()
    }

    /// Starts the session; frames of the hub wait on the new link for the test.
    func connectHeld() {
        drive { $0.start() }
        precondition(link != nil, "it was connected, or waits for its reconnect")
        link?.isHeld = true
        script.run()
    }

    /// Ends it in order.
    func disconnect() {
        drive { $0.stop() }
        script.run()
        drop()
        timers = [:]
        wake = nil
    }

    /// Does something as a person does, and tells the session.
    @discardableResult
    func act(_ operation: PealModel.Operation, observed: ViewPosition? = nil) throws -> UInt64 {
        let uid = try replica.enqueue(operation, observed: observed)
        drive { $0.outboxChanged() }
        script.run()
        return uid
    }

    func drive(_ input: (inout DeviceSession) -> [DeviceSession.Action]) { perform(driver.drive(replica, input)) }

    /// The connection is gone at both ends.
    func cut() {
        guard let link else { return }
        link.isOpen = false
        ended(CloseCode(rawValue: 1006), "lost")
    }

    /// The connection is gone, and the hub does not know.
    func cutUnnoticed() {
        guard link != nil else { return }
        ended(CloseCode(rawValue: 1006), "lost")
    }

    func receive(_ bytes: [UInt8]) {
        do throws(FrameError) {
            let frame = try DownFrame(bytes[...])
            drive { $0.received(frame, bytes: bytes.count) }
        } catch {
            drive { $0.received(error) }
        }
    }

    func ended(_ code: CloseCode, _ reason: String) {
        guard link != nil else { return }
        drop()
        perform(driver.closed(replica, code: code, reason: reason))
    }

    private func drop() {
        link?.isOpen = link?.isOpen == true && link?.closing == nil
        link = nil
    }

    func suspended(_ duration: Milliseconds) {
        for timer in timers.keys { timers[timer]? += duration }
        wake? += duration
    }

    /// What the app proves its user with from now on.
    func prove(token: String) { driver.proof.token = token }

    func fire() {
        for timer in DeviceSession.Timer.allCases {
            guard let due = timers[timer], due <= script.now else { continue }
            timers[timer] = nil
            drive { $0.fired(timer) }
        }
        if let due = wake, due <= script.now {
            wake = nil
            drive { $0.outboxChanged() }
        }
    }

    private func perform(_ result: (effects: [SessionDriver.Effect], failure: ReplicaError?)) {
        for effect in result.effects { perform(effect) }
        guard let failure = result.failure else { return }
        failures.append(failure)
        // As the library does it: the socket closes with 4000.
        link?.isOpen = false
        ended(.tryAgain, "the replica's file failed")
    }

    private func perform(_ effect: SessionDriver.Effect) {
        switch effect {
        case .stage(let page): perform(driver.stage(replica, page))
        case .connect:
            connections += 1
            link = hasNetwork ? script.open(self) : nil
            guard link != nil else {
                return perform(driver.closed(replica, code: CloseCode(rawValue: 1006), reason: "nobody listens"))
            }
            drive { $0.opened() }
        case .send(let frame): link?.up.append(frame.bytes)
        case .close(let code, let reason):
            link?.isOpen = false
            ended(code, reason)
        case .fetchToken:
            let fresh = token?()
            if let fresh { driver.proof.token = fresh }
            drive { $0.freshToken(fresh) }
        case .schedule(let timer, let delay):
            timers[timer] = script.now + delay
            if timer == .reconnect { delays.append(delay) }
        case .cancel(let timer): timers[timer] = nil
        case .wake(let delay): wake = script.now + delay
        case .status(let status): statuses.append(status)
        case .report(let text): reports.append(text)
        case .forked: forks += 1
        case .swapped(let report): swaps.append(report)
        case .diverged(let divergence): divergences.append(divergence)
        case .quarantined(let positions): reports.append("set aside: \(positions)")
        }
    }

    // MARK: The process and its file

    /// The process is killed: what is not durable is gone. It is off afterwards.
    func kill(maximumPages: Int64? = nil) throws {
        link?.isOpen = false
        link = nil
        timers = [:]
        wake = nil
        replica = nil
        runs += 1
        try open(maximumPages: maximumPages)
        driver = SessionDriver(seed: seed &+ runs &* 1_000, proof: Proof(token: driver.proof.token))
    }

    /// Another boot: the clock that runs since boot begins anew.
    func reboot() throws {
        clock.boots += 1
        clock.booted = script.now
        try kill()
    }

    /// A copy of the file of this moment.
    func backup() throws -> String { try script.copy(path) }

    /// The device is restored from a copy of its file. It is off afterwards.
    func restore(_ backup: String) throws {
        path = try script.copy(backup)
        try kill()
    }

    // MARK: What it shows

    var cursor: Cursor { get throws { try replica.cursor() } }

    /// Titles as the app lists them, newest first.
    var titles: [String] {
        get throws {
            try replica.page(DeliveredQuery(archived: nil), limit: 500).items.map { try $0.decodeBody().title ?? "" }
        }
    }

    /// Compares the file with the hub, where both stand at one position and nothing is pending: what differs, nil for nothing.
    func difference() throws -> String? {
        guard case .user(let user?, _) = identity else { return "not a user's" }
        // It would have been repaired, and hide what went wrong.
        if let divergence = divergences.first { return "it differed: \(divergence)" }
        let inbox = try script.inbox(of: user)
        let standing = try script.reader.sum(of: inbox)
        let cursor = try cursor
        if cursor.position != standing.head { return "the cursor is \(cursor.position), the head \(standing.head)" }
        if cursor.chain != (try script.reader.chain(of: inbox, at: cursor.position)) { return "the chains differ" }
        let waiting = try replica.outbox().filter { $0.state != .dead }
        if !waiting.isEmpty { return "\(waiting.count) acts are waiting" }
        let list = try script.list(of: user)
        let counts = try replica.counts()
        let theirs = Counts(total: Int64(list.total), unread: Int64(list.unread), unseen: Int64(list.unseen))
        if counts != theirs { return "counts are \(counts), the hub's \(theirs)" }
        let shown = try replica.page(DeliveredQuery(), limit: 100).items
        let mine = shown.map { "\($0.number) \($0.read) \($0.seen)" }
        let listed = list.items.map { "\($0.position) \($0.readAt != nil) \($0.seenAt != nil)" }
        if mine != listed { return "the list is \(mine), the hub's \(listed)" }
        if try replica.sum() != standing.sum { return "the sums differ" }
        let failed = try replica.verify().checks.filter(\.isFailure)
        return failed.isEmpty ? nil : "checks fail: \(failed)"
    }
}
