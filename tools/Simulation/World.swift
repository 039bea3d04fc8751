import PealHub
import PealModel
import PealReplica

/// One hub, some devices, and everything that can go wrong between them, in virtual time on one thread.
final class World {
    /// A violated invariant.
    struct Violation: Error, CustomStringConvertible {
        /// At which step; nil after the last one.
        var step: Int?
        /// What is wrong.
        var description: String
    }

    let schedule: Schedule
    var random: SimRandom
    /// The true time, in milliseconds since 1970.
    var now: Milliseconds = 1_800_000_000_000
    var hub: SimHub!
    var tokens: SimTokens!
    var isHubUp = true
    var devices: [SimDevice] = []
    var ghost: Ghost!
    var backups: [(store: any SimulatedHubStore, memory: Ghost.Memory)] = []
    var nextLink = 0
    /// Links whose device is gone, newest last: their frames can come again.
    var graves: [Link] = []
    /// Every link that the hub has not dropped or the device still holds.
    var links: [Link] = []
    var stepIndex: Int?
    var violation: Violation?
    /// What happened, for a person; only where asked for.
    var trace: [String]?
    var project: Project!
    /// Mutations that make the hub fail, and how often still.
    var poisoned: [UInt64: Int] = [:]
    var publishCount = 0
    let factory: StoreFactory
    /// What was damaged has been found.
    var isDamageOver = false
    /// The hub was restored since: then a device may be refused or unknown.
    var hubWasRestored = false

    /// A world as a schedule shapes it.
    init(_ schedule: Schedule, traced: Bool = false) {
        self.schedule = schedule
        random = SimRandom(seed: schedule.seed ^ 0x5EED)
        if traced { trace = [] }
        factory = StoreFactory(sqlite: schedule.shape.isSQLite)
        ghost = Ghost(world: self)
        do throws(HubStoreError) {
            let store = try factory.hub(self)
            try store.begin()
            project = try store.createProject(
                instance: "instance", apiKey: "key", secret: "secret", requiresHMAC: schedule.shape.tokenLife != nil,
                now: now)
            try store.commit()
            tokens = SimTokens(project)
            hub = try SimHub(world: self, store: plant(store), project: project)
        } catch {
            fail("the hub does not start: \(error)")
        }
        for user in 0..<schedule.shape.users {
            for _ in 0..<schedule.shape.devicesPerUser { addDevice(.user(externalID: "user-\(user)", email: nil)) }
        }
        for _ in 0..<schedule.shape.interestDevices { addDevice(.device(id: nil)) }
    }

    func plant(_ store: any SimulatedHubStore) -> any SimulatedHubStore {
        store.wideFrom = schedule.shape.wideFrom
        store.fault = { [unowned self] (mutation) throws(HubStoreError) in
            guard let left = poisoned[mutation.uid], left > 0 else { return }
            poisoned[mutation.uid] = left - 1
            throw HubStoreError(.invalid, "a planned failure")
        }
        return store
    }

    private func addDevice(_ identity: InboxIdentity) {
        let clock = DeviceClock(world: self)
        if !schedule.shape.trueClocks {
            clock.skew = [0, 31_536_000_000, -86_400_000, 3_000, -3_000][random.below(5)]
        }
        do throws(ReplicaError) {
            let store = try factory.replica(identity, options: options(clock))
            devices.append(
                SimDevice(id: devices.count, identity: identity, world: self, store: store, clock: clock))
        } catch {
            fail("a replica cannot be made: \(error)")
        }
    }

    func options(_ clock: DeviceClock) -> ReplicaOptions {
        var options = ReplicaOptions()
        options.clock = clock.clock
        options.random = { clock.random.next() }
        return options
    }

    var hubNow: Milliseconds { now }

    // MARK: Telling

    func note(_ text: @autoclosure () -> String) {
        guard trace != nil else { return }
        trace?.append(text())
    }

    func fail(_ text: String) {
        guard violation == nil else { return }
        violation = Violation(step: stepIndex, description: text)
    }

    // MARK: Running

    /// Runs the steps, lets the faults stop, and checks what must then be true.
    func run() -> Violation? {
        for (index, step) in schedule.steps.enumerated() {
            stepIndex = index
            perform(step)
            if violation != nil { break }
        }
        stepIndex = nil
        if violation == nil { heal() }
        if violation == nil { ghost.checkEnd() }
        factory.close(hub)
        return violation
    }

    func pick<Element>(_ list: [Element], _ bits: UInt32) -> Element? {
        list.isEmpty ? nil : list[Int(bits) % list.count]
    }

    func advance(_ milliseconds: Milliseconds) {
        now += milliseconds
        hangUp()
        for device in devices { device.fire() }
        if isHubUp { hub.tick() }
    }

    // MARK: Connections

    /// A device opens a socket; nil where nobody listens.
    func open(_ device: SimDevice) -> Link? {
        guard isHubUp, device.isOnline else { return nil }
        let link = Link(id: nextLink, device: device.id, opened: hubNow)
        nextLink += 1
        links.append(link)
        hub.opened(link)
        return link
    }

    /// Forgets what nobody can see any more.
    func sweep() {
        links.removeAll { link in
            let isOver = !link.isHubOpen && !link.isDeviceOpen
            if isOver, !link.sent.isEmpty, graves.count < 20 { graves.append(link) }
            return isOver
        }
    }

    // MARK: What the parts report

    func appended(_ entry: Appended) { ghost.appended(entry) }

    func admitted(_ welcome: Welcome, _ hello: Hello, _ link: Link) { ghost.admitted(welcome, hello, link) }

    func sent(_ link: Link) {
        if link.session.unacknowledged > schedule.shape.windowEntries {
            fail("\(link.session.unacknowledged) entries are out, the window is \(schedule.shape.windowEntries)")
        }
    }

    func swapped(_ device: SimDevice, _ report: SwapReport) {
        // What was on the screen is of a timeline that is no more; the app draws anew.
        if report.ahead {
            device.sight = nil
            ghost.lowered(device)
        }
        if report.unexplainedCount > 0 {
            fail("device \(device.id): a swap found what no entry explains: \(report.unexplained)")
        }
    }

    func forked(_ device: SimDevice, from old: ReplicaID) {
        device.forks += 1
        note("device \(device.id) forked from \(old) to \(device.store.replicaID)")
        if !device.mayFork, !hubWasRestored { fail("device \(device.id) forked without a restore or a clone") }
    }

    func moved(_ device: SimDevice, from before: Cursor, swapped: Bool) {
        let after = device.store.cursor
        guard after != before else { return }
        note("device \(device.id) stands at \(after.position)\(swapped ? " by a snapshot" : "")")
        if !swapped, after.position < before.position { fail("device \(device.id): its cursor went back") }
        ghost.check(device)
    }
}
