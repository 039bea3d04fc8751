import PealModel
import Testing

/// A hub and one replica with the real session machines and real bytes between them, all else the simplest thing that works.
///
/// Pages hold no rows: the stage takes the hub's state at the snapshot's id, because rows are the stores' affair.
struct TwoEnds {
    /// What is under way on the socket.
    enum Packet {
        case frame([UInt8])
        case close(CloseCode)
    }

    var random: SplitMix64
    var now: Milliseconds = 0
    var hub = HubSide()
    var device: DeviceSide
    var down: [Packet] = []
    var up: [[UInt8]] = []
    var open = false

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        device = DeviceSide(seed: seed)
        run(device.session.start())
    }

    // MARK: The device's shell

    private mutating func run(_ actions: [DeviceSession.Action]) {
        for action in actions { run(action) }
    }

    private mutating func run(_ action: DeviceSession.Action) {
        switch action {
        case .connect:
            (up, down, open) = ([], [], true)
            hub.session = HubSession()
            run(device.session.opened())
        case .hello:
            device.attempt += 1
            up.append(UpFrame.hello(device.hello).bytes)
            run(device.session.greeted(attempt: device.attempt))
        case .send(let frame): up.append(frame.bytes)
        case .close(let code, let reason):
            cut()
            run(device.session.closed(code, reason))
        case .welcome(let welcome):
            device.nonce = welcome.nonce
            if device.cursor.epoch == nil { device.cursor.epoch = welcome.epoch }
            if welcome.mode == .resume, !device.repair { device.stage = nil }
            let position = device.stage?.position ?? device.cursor.position
            run(
                device.session.welcomed(
                    at: position, outbox: !device.outbox.isEmpty,
                    repair: device.repair && welcome.mode == .resume))
        case .apply(let batch):
            let swapped = device.fold(batch)
            let position = device.stage?.position ?? device.cursor.position
            run(device.session.applied(to: position, settledThrough: device.settled, swapped: swapped))
            if device.compare(batch.sum) { run(device.session.diverged()) }
        case .requestPage: up.append(UpFrame.snapshot(device.stage?.request ?? SnapshotRequest()).bytes)
        case .stage(let page):
            let swapped = device.take(page, state: hub.history[Int(page.id)])
            let position = device.stage?.position ?? device.cursor.position
            run(device.session.staged(to: position, last: page.last, swapped: swapped))
        case .push:
            let push = device.nextPush()
            if !push.isEmpty { up.append(UpFrame.push(push).bytes) }
            run(device.session.pushed(last: push.last?.n))
        case .resetPush: device.sent = 0
        case .settle(let settled, _):
            for each in settled { device.settle(each.uid, n: each.n) }
            run(device.session.settled(through: device.settled))
        case .catchUpAttempt(let last): device.attempt = max(device.attempt, last)
        case .fork: Issue.record("a fork without a restore or a clone")
        case .fetchToken: run(device.session.freshToken(nil))
        case .schedule(let timer, let delay): device.timers[timer] = now + delay
        case .cancel(let timer): device.timers[timer] = nil
        case .status(.stopped(let code, let reason)): Issue.record("stopped: \(code.rawValue) \(reason)")
        case .status, .report: break
        }
    }

    /// An act of the device's person.
    mutating func act() {
        guard let last = hub.published.last else { return }
        device.uids += 1
        let operation: PealModel.Operation =
            random.chance(60)
            ? read(item(UInt64(1 + random.below(Int(last)))), on: random.chance(60))
            : .mark(.read, upTo: device.cursor.position)
        device.outbox.append(
            Mutation(
                n: Int64(device.uids), uid: device.uids, observed: device.cursor.position, observedTime: 0,
                moment: .age(0), operation: operation))
        run(device.session.outboxChanged())
    }

    mutating func networkChanged() { run(device.session.networkChanged()) }

    /// Moves the clock to the next timer that is due within `limit`, and fires it.
    mutating func fireTimer(within limit: Milliseconds) -> Bool {
        let order = DeviceSession.Timer.allCases
        let due = order.filter { device.timers[$0].map { $0 <= now + limit } ?? false }
        guard let timer = due.min(by: { device.timers[$0]! < device.timers[$1]! }) else { return false }
        now = max(now, device.timers.removeValue(forKey: timer)!)
        run(device.session.fired(timer))
        return true
    }

    // MARK: The socket

    /// Both directions are lost.
    mutating func cut() {
        (up, down, open) = ([], [], false)
        hub.session = nil
    }

    mutating func cutWithNotice() {
        guard open else { return }
        cut()
        run(device.session.closed(.tryAgain, "cut"))
    }

    mutating func deliverDown() -> Bool {
        guard !down.isEmpty else { return false }
        switch down.removeFirst() {
        case .frame(let bytes):
            do { run(device.session.received(try DownFrame(bytes[...]), bytes: bytes.count)) } catch {
                Issue.record("\(error)")
            }
        case .close(let code):
            cut()
            run(device.session.closed(code, ""))
        }
        return true
    }

    mutating func deliverUp() -> Bool {
        guard !up.isEmpty else { return false }
        let bytes = up.removeFirst()
        do { carryOut(hub.session?.received(try UpFrame(bytes[...]), now: now) ?? []) } catch {
            Issue.record("\(error)")
        }
        return true
    }

    // MARK: The hub's shell

    private mutating func carryOut(_ actions: [HubSession.Action]) {
        for action in actions {
            switch action {
            case .admit(let hello): carryOut(hub.admit(hello, now: now))
            case .firstFrame:
                let issued = hub.known?.issued ?? ""
                hub.known?.current = issued
            case .commit(let mutations):
                if random.chance(hub.busyPercent) {
                    carryOut(hub.session?.busy(retryAfter: 200) ?? [])
                } else {
                    let settled = hub.commit(mutations, now: now)
                    carryOut(hub.session?.committed(settled) ?? [])
                    wake()
                }
            case .commitSuspect: Issue.record("this device suspects nothing")
            case .checkToken: Issue.record("this device has no token")
            case .loadPage(let request):
                let page = hub.page(request)
                carryOut(hub.session?.loaded(page) ?? [])
            case .close(let code, _):
                while case .frame(let frame)? = hub.session?.nextOutput() { down.append(.frame(frame.bytes)) }
                down.append(.close(code))
                hub.session = nil
            case .acknowledge, .write, .bye: break
            }
        }
    }

    mutating func wake() {
        let head = hub.head
        carryOut(hub.session?.headMoved(to: head) ?? [])
    }

    /// Writes one frame where the session has one.
    mutating func write() -> Bool {
        switch hub.session?.nextOutput() {
        case nil: return false
        case .frame(let frame): down.append(.frame(frame.bytes))
        case .entries(let after, let count, let bytes):
            guard after >= hub.floor else {
                carryOut(hub.session?.overtaken() ?? [])
                return true
            }
            let frame = hub.batch(after: after, count: min(count, 1 + random.below(6)), bytes: bytes)
            hub.session?.sent(to: frame.to, bytes: frame.bytes.count, now: now)
            down.append(.frame(frame.bytes))
        }
        return true
    }
}
