import PealModel
import PealReplica

/// A replica that the simulator can look into, and copy.
protocol SimulatedReplica: ReplicaStore {
    func enqueue(_ operation: Operation, observed: ViewPosition?, hold: Milliseconds) throws(ReplicaError) -> UInt64
    func undo(_ uid: UInt64) throws(ReplicaError) -> Bool
    func discard(_ uid: UInt64) throws(ReplicaError) -> Bool
    func retry(_ uid: UInt64) throws(ReplicaError) -> UInt64?
    var cursor: Cursor { get }
    var replicaID: ReplicaID { get }
    var view: ViewPosition { get }
    /// What an app sees.
    func sight() throws(ReplicaError) -> Sight
    /// Acts that are not settled, dead letters left out; and dead letters.
    func waiting() throws(ReplicaError) -> [UInt64]
    func dead() throws(ReplicaError) -> [UInt64]
    /// Acts in the journal.
    func settled() throws(ReplicaError) -> [UInt64]
    /// The process starts again on what is durable.
    func reopened() throws(ReplicaError) -> any SimulatedReplica
    /// Another process on the same file.
    func another() throws(ReplicaError) -> any SimulatedReplica
    /// A copy of what is durable, as a backup or a clone.
    func copied() throws(ReplicaError) -> any SimulatedReplica
    /// Base against a fold of the log through the cursor; nil where they agree.
    func difference(from state: InboxState) throws(ReplicaError) -> String?
    /// Damages what is durable, behind the replica's back; false where it cannot.
    func damage(_ bits: UInt32) -> Bool
    /// The damage has not been repaired.
    var isDamaged: Bool { get }
    /// No more divergences were reported and repaired than damage was done.
    var explainsDivergence: Bool { get }
}

/// What a person sees at one moment.
struct Sight: Equatable {
    var view: ViewPosition
    /// Ids, oldest first.
    var items: [ItemID]
    var read: Set<ItemID>
    var seen: Set<ItemID>
    var archived: Set<ItemID>
    var interests: Set<String>?
    /// Acts shape it that the hub has not decided.
    var isPending: Bool
}

/// One installation: its replica, the session, and its clocks.
final class SimDevice {
    let id: Int
    let identity: InboxIdentity
    unowned let world: World
    var store: any SimulatedReplica
    var driver: SessionDriver
    var link: Link?
    var isOnline = false
    var timers: [DeviceSession.Timer: Milliseconds] = [:]
    var wake: Milliseconds?
    var clock: DeviceClock
    /// What the person last looked at.
    var sight: Sight?
    /// Where the sight's position lay in the hub's log.
    var backup: (any SimulatedReplica)?
    /// Whether it may fork: it was restored, or copied.
    var mayFork = false
    var forks = 0
    var resets = 0
    /// Where its app gets user tokens, and the answers that are under way.
    var tokens = TokenSource.good
    var fetches: [TokenFetch] = []
    /// It was given another user's token: the hub may refuse it for good.
    var hasForeignToken = false
    /// The session ended until a person does something.
    var isStopped = false
    /// The process does not run: its frames wait, its timers too.
    var isSuspended = false

    init(id: Int, identity: InboxIdentity, world: World, store: any SimulatedReplica, clock: DeviceClock) {
        self.id = id
        self.identity = identity
        self.world = world
        self.store = store
        self.clock = clock
        driver = Self.driver(world)
    }

    private static func driver(_ world: World) -> SessionDriver {
        SessionDriver(
            seed: world.random.next(), proof: Proof(), windowEntries: world.schedule.shape.windowEntries)
    }

    // MARK: Session

    func drive(_ input: (inout DeviceSession) -> [DeviceSession.Action]) {
        let before = store.cursor
        let replica = store.replicaID
        perform(drive(store, input), before, replica)
    }

    /// Opens the existential.
    private func drive(
        _ store: some SimulatedReplica, _ input: (inout DeviceSession) -> [DeviceSession.Action]
    ) -> (effects: [SessionDriver.Effect], failure: ReplicaError?) { driver.drive(store, input) }

    private func stage(
        _ store: some SimulatedReplica, _ page: Page
    ) -> (effects: [SessionDriver.Effect], failure: ReplicaError?) { driver.stage(store, page) }

    private func closed(
        _ store: some SimulatedReplica, _ code: CloseCode, _ reason: String
    ) -> (effects: [SessionDriver.Effect], failure: ReplicaError?) {
        driver.closed(store, code: code, reason: reason)
    }

    private func perform(
        _ result: (effects: [SessionDriver.Effect], failure: ReplicaError?), _ before: Cursor, _ replica: ReplicaID
    ) {
        var swapped = false
        if let failure = result.failure { world.fail("device \(id): its replica failed: \(failure)") }
        for effect in result.effects {
            if case .swapped(let report) = effect {
                swapped = true
                world.swapped(self, report)
            }
        }
        if store.replicaID != replica { world.forked(self, from: replica) }
        world.moved(self, from: before, swapped: swapped)
        for effect in result.effects { perform(effect) }
    }

    private func perform(_ effect: SessionDriver.Effect) {
        switch effect {
        case .stage(let page):
            let before = store.cursor
            let replica = store.replicaID
            perform(stage(store, page), before, replica)
        case .connect:
            if needsFirstToken { fetchToken(connects: true) } else { openSocket() }
        case .send(let frame):
            guard let link, link.isDeviceOpen else { return }
            link.sent.append(frame)
            link.note(frame, at: world.now)
            if !link.isCut, !link.swallowsUp { link.up.append(frame) }
        case .close(let code, let reason):
            guard let link else { return }
            link.isDeviceOpen = false
            self.link = nil
            socketClosed(code, reason)
        case .fetchToken: fetchToken()
        case .schedule(let timer, let delay): timers[timer] = world.now + delay
        case .cancel(let timer): timers[timer] = nil
        case .wake(let delay): wake = world.now + delay
        case .status(.stopped(let code, let reason)): stopped(code, reason)
        case .status, .report, .forked: break
        case .swapped:
            resets += 1
            if !world.schedule.shape.isSQLite, !store.explainsDivergence {
                world.fail("device \(id): a repair that nothing asks for")
            }
        case .diverged(let divergence):
            world.note("device \(id): \(divergence)")
            if !store.explainsDivergence { world.fail("device \(id): \(divergence)") }
        case .quarantined(let positions): world.fail("device \(id): entries cannot be read: \(positions)")
        }
    }

    func openSocket() {
        let link = world.open(self)
        self.link = link
        if link == nil {
            socketClosed(CloseCode(rawValue: 1006), "nobody listens")
        } else {
            drive { $0.opened() }
        }
    }

    func socketClosed(_ code: CloseCode, _ reason: String) {
        let before = store.cursor
        let replica = store.replicaID
        perform(closed(store, code, reason), before, replica)
    }

    /// The next frame arrives, or the end of the connection.
    func receive() -> Bool {
        let before = waiting
        defer { checkSettled(before) }
        return receiveNext()
    }

    private var waiting: [UInt64] { (try? store.waiting()) ?? [] }

    /// An act leaves the outbox when its effect is in the base, not before: else what a person did vanishes for a while.
    private func checkSettled(_ before: [UInt64]) {
        guard !before.isEmpty else { return }
        let now = waiting
        guard now != before else { return }
        let after = Set(now)
        for uid in before where !after.contains(uid) { world.ghost.checkSettled(uid, self) }
    }

    private func receiveNext() -> Bool {
        guard let link, link.isDeviceOpen, !isSuspended, link.nextDown <= world.now else { return false }
        if !link.down.isEmpty {
            if link.isTrickling { link.nextDown = world.now + Link.trickle }
            let frame = link.down.removeFirst()
            link.heard(frame, at: world.now)
            guard world.schedule.shape.encodes else {
                drive { $0.received(frame, bytes: 100) }
                if case .page = frame { world.ghost.check(self) }
                return true
            }
            do throws(FrameError) {
                let decoded = try DownFrame(frame.bytes[...])
                drive { $0.received(decoded, bytes: 100) }
            } catch {
                world.fail("a frame of the hub cannot be read: \(error)")
            }
            return true
        }
        guard let closing = link.closing, !link.isCut, !link.swallowsDown else { return false }
        link.isDeviceOpen = false
        self.link = nil
        socketClosed(closing.code, closing.reason)
        return true
    }

    /// The device learns that its connection is gone.
    func noticeCut() {
        guard let link else { return }
        link.isDeviceOpen = false
        self.link = nil
        socketClosed(CloseCode(rawValue: 1006), "lost")
    }

    func goOnline() {
        guard !isOnline else { return }
        isOnline = true
        drive { $0.start() }
    }

    /// Says bye, and keeps its acts.
    func goOffline() {
        guard isOnline else { return }
        resume()
        isOnline = false
        isStopped = false
        fetches.removeAll(where: \.connects)
        drive { $0.stop() }
        link?.isDeviceOpen = false
        link = nil
        timers = [:]
        wake = nil
    }

    /// The system stops the process; its sockets stay open, and nobody answers at them.
    func suspend() {
        guard !isSuspended else { return }
        world.note("device \(id) is suspended")
        isSuspended = true
        if let link, link.isDeviceOpen { link.silent = link.silent ?? world.now }
    }

    /// It runs again: what was due meanwhile is due now.
    func resume() {
        guard isSuspended else { return }
        world.note("device \(id) runs again")
        isSuspended = false
        if let link, !link.isCut, !link.swallowsUp, !link.swallowsDown { link.silent = nil }
        fire()
        drive { $0.networkChanged() }
    }

    func fire() {
        guard !isSuspended else { return }
        answerFetches()
        let isAnyDue = timers.values.contains { $0 <= world.now }
        for timer in DeviceSession.Timer.allCases where isAnyDue {
            guard let due = timers[timer], due <= world.now else { continue }
            timers[timer] = nil
            drive { $0.fired(timer) }
        }
        if let due = wake, due <= world.now {
            wake = nil
            drive { $0.outboxChanged() }
        }
        checkPatience()
    }

    // MARK: The process

    /// The process ends and starts again; or its file was replaced.
    func restart(on file: (any SimulatedReplica)? = nil) {
        link?.isDeviceOpen = false
        link = nil
        timers = [:]
        wake = nil
        sight = nil
        fetches = []
        isSuspended = false
        isStopped = false
        hasForeignToken = false
        do throws(ReplicaError) {
            if let file { store = file } else { store = try store.reopened() }
        } catch {
            world.fail("device \(id): its file does not open: \(error)")
        }
        driver = Self.driver(world)
        if isOnline { drive { $0.start() } }
    }
}

/// A device's clocks; a reference, because the store's closures read it.
final class DeviceClock: @unchecked Sendable {
    // The simulator has one thread.
    unowned let world: World
    /// Wall minus the true time.
    var skew: Milliseconds = 0
    var bootTime: Milliseconds = 0
    var boot = 0
    var random: SimRandom

    init(world: World) {
        self.world = world
        random = SimRandom(seed: world.random.next())
    }

    var clock: ReplicaClock {
        ReplicaClock(
            wall: { [self] in world.now + skew }, boot: { [self] in world.now - bootTime },
            bootID: { [self] in "boot-\(boot)" })
    }
}
