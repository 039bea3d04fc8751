import PealHub
import PealHubMemory
import PealModel
import PealReplica

/// A hub and a device of one input, and the laws that can be seen from here (docs/fuzzing.md).
final class SessionWorld {
    static let start: Milliseconds = 1_700_000_000_000
    static let window: Int64 = 20
    /// Steps of an input; the rest is not run, so that an input ends in time.
    static let steps = 200

    let hub: FuzzHub
    var device: FuzzDevice
    let time: FuzzTime
    let isDevice: Bool
    /// The first law that did not hold.
    private(set) var problem: String?
    /// Every frame that the device took was one that the hub had sent.
    private var isHonest = true
    private var backup: MemoryHubStore.State?

    static func run(_ bytes: [UInt8]) -> String? {
        var input = FuzzInput(bytes)
        let world = SessionWorld(device: input.byte() & 1 == 1)
        for _ in 0..<steps {
            guard !input.isEmpty, world.problem == nil else { break }
            let step = Int(input.byte()) % SessionStep.allCases.count
            world.perform(SessionStep.allCases[step], &input)
        }
        world.finish()
        return world.problem
    }

    /// The file of a user's replica after a program.
    static func make(_ program: [(SessionStep, [UInt8])]) -> String {
        let world = SessionWorld(device: false)
        for (step, bytes) in program {
            var input = FuzzInput(bytes)
            world.perform(step, &input)
        }
        world.device.close()
        return world.device.path
    }

    private init(device isDevice: Bool) {
        time = FuzzTime(Self.start)
        self.isDevice = isDevice
        hub = FuzzHub(time)
        device = FuzzDevice(time, isDevice: isDevice)
    }

    func fail(_ text: String) { if problem == nil { problem = text } }

    private func perform(_ step: SessionStep, _ input: inout FuzzInput) {
        switch step {
        case .flow: flow()
        case .deliverUp: deliverUp { $0 }
        case .deliverDown: deliverDown { $0 }
        case .commit: hub.commit()
        case .write: hub.write()
        case .patchUp: deliverUp { input.patched($0) }
        case .patchDown: deliverDown { input.patched($0) }
        case .goldenUp:
            let frame = GoldenFrames.up[input.index(below: GoldenFrames.up.count)]
            receiveUp(input.patched(frame))
        case .goldenDown: goldenDown(&input)
        case .rawUp: receiveUp(Array(input.take(Int(input.number(2)))))
        case .rawDown: receiveDown(Array(input.take(Int(input.number(2)))))
        case .clock: advance(input.byte())
        case .cut: cut()
        case .act: act(&input)
        case .publish: hub.publish(Int(input.byte() & 15), toInterest: isDevice)
        case .dropUp: if !device.up.isEmpty { device.up.removeFirst() }
        case .dropDown: if !hub.down.isEmpty { hub.down.removeFirst() }
        case .doubleUp: if let first = device.up.first { device.up.insert(first, at: 0) }
        case .doubleDown: if let first = hub.down.first { hub.down.insert(first, at: 0) }
        case .restartDevice:
            device.up = []
            hub.leave()
            device.restart()
            drive { $0.start() }
        default: performRare(step, &input)
        }
        check()
    }

    private func performRare(_ step: SessionStep, _ input: inout FuzzInput) {
        switch step {
        case .restartHub: hub.restart()
        case .backUpHub: backup = hub.store.snapshot()
        case .restoreHub:
            hub.restart()
            if let backup { hub.store.restore(backup) }
        case .start: drive { $0.start() }
        case .stop:
            drive { $0.stop() }
            device.isOpen = false
            device.up = []
            hub.leave()
        case .networkChanged: drive { $0.networkChanged() }
        case .secondThoughts: device.secondThoughts(input.byte(), input.index(below: 16))
        case .otherAct: hub.act(operation(&input), observed: input.byte() & 1 == 0 ? nil : input.strangeNumber())
        case .upkeep: hub.upkeep()
        case .token:
            hub.takesToken = input.byte() & 1 == 0
            drive { $0.freshToken("fresh") }
        default: break
        }
    }

    // MARK: The device's end

    private func drive(_ body: (inout DeviceSession) -> [DeviceSession.Action]) {
        perform(device.drive(body))
    }

    private func perform(_ outcome: FuzzDevice.Outcome) {
        if let failure = outcome.failure { judge(failure) }
        var wentBack = outcome.after.position < outcome.before.position
        for effect in outcome.effects {
            if case .swapped = effect { wentBack = false }
        }
        if wentBack { fail("the cursor went back from \(outcome.before.position) to \(outcome.after.position)") }
        for effect in outcome.effects { perform(effect) }
        if outcome.failure != nil, device.isOpen { lost(CloseCode.tryAgain, "the replica failed") }
    }

    /// What a peer says must never look to a replica like a broken file.
    private func judge(_ failure: ReplicaError) {
        switch failure.code {
        case .otherInbox: break
        default: fail("the replica failed: \(failure)")
        }
    }

    private func perform(_ effect: SessionDriver.Effect) {
        switch effect {
        case .stage(let page): perform(device.stage(page))
        case .connect:
            hub.leave()
            hub.down = []
            device.up = []
            device.isOpen = true
            hub.opened()
            drive { $0.opened() }
        case .send(let frame):
            guard device.isOpen else { return fail("a device sent on a socket that it had closed") }
            if frame.bytes.count > Limits.frameUp { fail("a device sent \(frame.bytes.count) bytes") }
            device.up.append(frame.bytes)
        case .close(let code, let reason): lost(code, reason)
        case .schedule(let timer, let delay):
            guard (0...600_000).contains(delay) else { return fail("a timer of \(delay) ms") }
            device.timers[timer] = time.now + delay
        case .cancel(let timer): device.timers[timer] = nil
        case .fetchToken(let within): if within < 0 { fail("a token is wanted within \(within) ms") }
        case .wake(let delay): if delay < 0 { fail("a wake in \(delay) ms") }
        case .status, .report, .forked, .swapped, .diverged, .quarantined: break
        }
    }

    /// The device's end of the socket is closed.
    private func lost(_ code: CloseCode, _ reason: String) {
        device.isOpen = false
        device.up = []
        hub.leave()
        perform(device.closed(code, reason))
    }

    private func cut() {
        guard device.isOpen else { return }
        lost(CloseCode(rawValue: 1006), "cut")
    }

    private func receiveDown(_ bytes: [UInt8], isHonest: Bool = false) {
        guard device.isOpen else { return }
        do throws(FrameError) {
            let frame = try DownFrame(bytes[...])
            if !isHonest { self.isHonest = false }
            drive { $0.received(frame, bytes: bytes.count) }
        } catch {
            drive { $0.received(error) }
            if device.isOpen { fail("a device kept a socket with a frame that cannot be read") }
        }
    }

    private func goldenDown(_ input: inout FuzzInput) {
        let bytes = GoldenFrames.down[input.index(below: GoldenFrames.down.count)]
        let forges = input.byte() & 1 == 1
        let patched = input.patched(bytes)
        guard forges, let session = hub.session.session, var frame = try? DownFrame(patched[...]) else {
            return receiveDown(patched)
        }
        // Of this session, and next in line, so that it is taken.
        if case .batch(var batch) = frame {
            let from = device.cursor.position
            batch.session = session
            batch.from = from
            batch.to = from + Int64(batch.entries.count)
            frame = .batch(batch)
        }
        receiveDown(frame.bytes)
    }

    // MARK: The hub's end

    private func receiveUp(_ bytes: [UInt8]) {
        if let text = hub.receive(bytes) { fail(text) }
    }

    private func deliverUp(_ change: ([UInt8]) -> [UInt8]) {
        guard !device.up.isEmpty else { return }
        receiveUp(change(device.up.removeFirst()))
    }

    private func deliverDown(_ change: ([UInt8]) -> [UInt8]) {
        if hub.down.isEmpty {
            guard let closing = hub.closing, device.isOpen else { return }
            hub.closing = nil
            return lost(closing, "the hub closed")
        }
        let frame = hub.down.removeFirst()
        let changed = change(frame)
        receiveDown(changed, isHonest: frame == changed)
    }

    private func flow() {
        for _ in 0..<12 {
            for _ in 0..<20 where !device.up.isEmpty { deliverUp { $0 } }
            hub.commit()
            for _ in 0..<20 where hub.hasOutput { hub.write() }
            for _ in 0..<20 where !hub.down.isEmpty || hub.closing != nil { deliverDown { $0 } }
            if device.up.isEmpty, !hub.hasJobs, !hub.hasOutput, hub.down.isEmpty {
                guard device.timers[.got] != nil || device.timers[.reconnect] != nil else { return }
                advance(2)
            }
        }
    }

    private func advance(_ choice: UInt8) {
        let spans: [Milliseconds] = [1, 100, 1_000, 5_000, 15_000, 60_000, 600_000, 86_400_000, 40 * 86_400_000]
        time.now += spans[Int(choice) % spans.count]
        for timer in DeviceSession.Timer.allCases {
            guard let due = device.timers[timer], due <= time.now else { continue }
            device.timers[timer] = nil
            drive { $0.fired(timer) }
        }
        hub.tick()
    }

    private func operation(_ input: inout FuzzInput) -> PealModel.Operation {
        let operation = GoldenFrames.operations[input.index(below: GoldenFrames.operations.count)]
        let items = hub.items
        guard !items.isEmpty else { return operation }
        let chosen = [items[input.index(below: items.count)]]
        return switch operation {
        case .read(_, let on, let passive): .read(items: chosen, on: on, passive: passive)
        case .seen: .seen(items: chosen)
        case .archive(_, let on): .archive(items: chosen, on: on)
        case .delete: .delete(items: chosen)
        case .track(_, let event, let data): .track(item: chosen[0], event: event, data: data)
        default: operation
        }
    }

    private func act(_ input: inout FuzzInput) {
        device.act(operation(&input), hold: input.byte() & 7 == 7 ? 5_000 : 0)
        drive { $0.outboxChanged() }
    }

    // MARK: Laws

    private func check() {
        if let live = hub.window, hub.session.unacknowledged > live {
            fail("\(hub.session.unacknowledged) entries are out, the window is \(live)")
        }
        if device.up.count > 10_000 || hub.down.count > 10_000 { fail("an end talks without end") }
    }

    private func finish() {
        guard problem == nil else { return }
        // What a hub may lie about is its own: marks above the log, acts that were never made.
        if let text = device.verify(isHonest ? nil : ["integrity", "counts", "sum", "bodies"]) { fail(text) }
        device.close()
    }
}
