import PealHub
import PealModel
import PealReplica
import Testing

/// Faults of other sync systems, as their users reported them: what goes up, and when it is tried again.
@Suite struct PublicReportOutbox {
    private func started(_ script: Script, items: Int = 3) throws -> (ScriptDevice, [ItemID]) {
        let ids = try (1...items).map { try script.publish("item \($0)") }
        let device = try script.device("phone")
        device.connect()
        return (device, ids)
    }

    private func read(_ item: ItemID) -> PealModel.Operation { .read(items: [item], on: true, passive: false) }

    @Test func `an upload that fails once is tried again by itself, and once is enough`() throws {
        let script = try Script()
        let (device, items) = try started(script)
        script.pass(1_000)
        script.failingCommits = 1
        try device.act(read(items[0]))
        #expect(try device.replica.outbox().map(\.state) == [.queued])
        // Nobody acts and nothing is published: only time passes.
        script.pass(10_000)
        #expect(try device.replica.outbox().isEmpty)
        #expect(try script.log().count == 4)
        #expect(try device.difference() == nil)
    }

    @Test func `an upload whose answer was lost, or that was lost itself, is sent again after the reconnect`() throws {
        for isLostOnTheWay in [true, false] {
            let script = try Script()
            let (device, items) = try started(script)
            let link = try #require(device.link)
            link.isHeld = true
            _ = try device.replica.enqueue(read(items[0]))
            device.drive { $0.outboxChanged() }
            if isLostOnTheWay { link.up.removeAll() }
            script.run()
            #expect(try script.log().count == (isLostOnTheWay ? 3 : 4))
            device.cut()
            script.pass(60_000)
            #expect(try device.replica.outbox().isEmpty)
            #expect(try script.log().count == 4, "it took effect once")
            #expect(try device.difference() == nil)
        }
    }

    @Test func `an upload that is never answered on a socket that looks alive is sent again`() throws {
        let script = try Script()
        let (device, items) = try started(script)
        let link = try #require(device.link)
        _ = try device.replica.enqueue(read(items[0]))
        device.drive { $0.outboxChanged() }
        link.up.removeAll()
        script.pass(29_000)
        #expect(try device.replica.outbox().count == 1)
        script.pass(60_000)
        #expect(try device.replica.outbox().isEmpty)
        #expect(device.reports.contains("a push was not answered for 30 s"))
        #expect(try device.difference() == nil)
    }

    @Test func `a queue whose process was killed in the middle of a push goes on with the next start`() throws {
        for wasProcessed in [true, false] {
            let script = try Script()
            let (device, items) = try started(script)
            device.link?.isHeld = true
            for item in items {
                _ = try device.replica.enqueue(read(item))
                device.drive { $0.outboxChanged() }
            }
            if wasProcessed { script.run() }
            #expect(try device.replica.outbox().first?.state == .sent)
            try device.kill()
            device.connect()
            // Without an outside event.
            script.pass(5_000)
            #expect(try device.replica.outbox().isEmpty)
            #expect(try device.replica.counts().unread == 0)
            #expect(try script.log().filter { if case .act = $0.kind { true } else { false } }.count == 3)
            #expect(try device.difference() == nil)
        }
    }

    @Test func `acts behind one that the hub can never take are sent, and that one is a dead letter with a sentence`()
        throws
    {
        let script = try Script()
        let (device, items) = try started(script)
        device.disconnect()
        let bad = try device.replica.enqueue(read(items[0]))
        script.store.fault = { (mutation) throws(HubStoreError) in
            if mutation.uid == bad { throw HubStoreError(.failed, "a planned failure") }
        }
        for item in items.dropFirst() { _ = try device.replica.enqueue(read(item)) }
        device.connect()
        script.pass(120_000)
        let left = try device.replica.outbox()
        #expect(left.map(\.id) == [bad] && left.map(\.state) == [.dead])
        #expect(left.first?.outcome?.code == .poison)
        #expect(left.first?.outcome?.reason?.isEmpty == false)
        #expect(try device.replica.counts().unread == 1)
        // What was wrong is mended, and the person tries again.
        script.store.fault = nil
        _ = try device.replica.retry(bad)
        device.drive { $0.outboxChanged() }
        script.run()
        #expect(try device.replica.outbox().isEmpty)
        #expect(try device.difference() == nil)
    }

    @Test
    func `an act over which the hub ends each time is a dead letter after four times, and the acts behind it are sent`()
        throws
    {
        let script = try Script()
        let (device, items) = try started(script)
        device.disconnect()
        let uids = try items.map { try device.replica.enqueue(read($0)) }
        script.fatal = [uids[0]]
        device.connect()
        script.pass(600_000)
        #expect(script.crashes == 4, "three cuts with it in flight, and one alone as a suspect")
        let left = try device.replica.outbox()
        #expect(left.map(\.id) == [uids[0]] && left.map(\.outcome?.code) == [.poison])
        #expect(left.first?.outcome?.reason?.isEmpty == false)
        #expect(try device.replica.counts().unread == 1)
        #expect(try device.difference() == nil)
    }

    @Test func `the back-off does not begin anew with each attempt that gets as far as a welcome`() throws {
        let script = try Script()
        let (device, _) = try started(script)
        // A hub that welcomes, and ends at once; and then one that does not even take the connection.
        for round in 0..<12 {
            if let link = device.link { script.close(link, .tryAgain) }
            script.run()
            if round >= 8 { script.isUp = false }
            while !device.isLive, device.link == nil, device.connections < round + 2 { script.pass(1_000) }
        }
        let late = device.delays.suffix(6)
        #expect(late.max()! > 20_000, "\(device.delays)")
        #expect(late.reduce(0, +) > 60_000, "\(device.delays)")
        // A session that holds for half a minute is what makes the next wait short.
        script.isUp = true
        script.pass(60_000)
        script.pass(30_000)
        #expect(device.isLive)
        device.cut()
        #expect(device.delays.last! <= 3_000)
    }

    @Test func `a herd of devices does not come back at one moment, whether the hub stops, is killed, or stays away`() {
        enum End: CaseIterable { case stopped, killed, away }
        for end in End.allCases {
            let delays: [Milliseconds] = (0..<2_000).map { seed in
                var device = DeviceSession(seed: UInt64(seed))
                _ = device.start()
                _ = device.opened()
                _ = device.greeted(attempt: 1)
                let welcome = Welcome(
                    session: 1, mode: .resume, epoch: 1, inbox: "i", head: 0, attempt: 1, nonce: "n", time: 1)
                _ = device.received(.welcome(welcome), bytes: 100)
                _ = device.welcomed(at: 0, outbox: false)
                _ = device.fired(.healthy)
                var actions: [DeviceSession.Action]
                switch end {
                case .stopped:
                    var hub = HubSession()
                    // What a hub with so many sockets says.
                    _ = hub.received(.hello(Self.hello), now: 0)
                    _ = hub.admitted(welcome, at: 0, now: 0)
                    _ = hub.drain(low: 500, high: 500 + 2_500 + 2_000)
                    while case .frame(let frame)? = hub.nextOutput() { _ = device.received(frame, bytes: 40) }
                    actions = device.closed(.draining, "")
                case .killed: actions = device.closed(CloseCode(rawValue: 1006), "")
                case .away:
                    actions = device.closed(CloseCode(rawValue: 1006), "")
                    for _ in 0..<6 {
                        _ = device.fired(.reconnect)
                        actions = device.closed(CloseCode(rawValue: 1006), "")
                    }
                }
                for case .schedule(.reconnect, let delay) in actions { return delay }
                return -1
            }
            #expect(!delays.contains(-1))
            // The fullest tenth of the window holds a tenth, and not much more.
            let span = delays.max()! - delays.min()! + 1
            #expect(span >= (end == .away ? 28_000 : end == .stopped ? 4_400 : 2_700), "\(end)")
            var tenths = [Int](repeating: 0, count: 10)
            for delay in delays { tenths[Int((delay - delays.min()!) * 10 / span)] += 1 }
            #expect(tenths.max()! < 300, "\(end): \(tenths)")
        }
    }

    private static let hello = Hello(
        project: "key", inbox: .user(externalID: "mary", email: nil), replica: ReplicaID(high: 1, low: 1),
        proof: Proof(), attempt: 1, nonce: "", cursor: .start)

    @Test func `a token that ended while the device slept is not shown again: a fresh one is fetched first`() throws {
        let script = try Script(requiresHMAC: true)
        var fetched = 0
        try script.publish("item 1")
        let device = try script.device("phone") {
            fetched += 1
            return script.token(of: "mary", seconds: 600)
        }
        device.connect()
        #expect(device.isLive && fetched == 1)
        // The lid is closed for a night: sockets are gone, timers did not run.
        device.cutUnnoticed()
        script.crash()
        script.suspend(8 * 3_600_000)
        script.pass(120_000)
        #expect(device.isLive)
        #expect(fetched == 2)
        let shown = script.hellos.compactMap(\.proof.token)
        #expect(shown.filter { $0 == shown[0] }.count <= 2, "the old one is shown once more at most")
        #expect(try device.difference() == nil)
    }

    @Test
    func `where only ended tokens are to be had, a device tries again at growing distances, and never denies an act`()
        throws
    {
        let script = try Script(requiresHMAC: true)
        try script.publish("item 1")
        let life = Life()
        let device = try script.device("phone") { script.token(of: "mary", seconds: life.seconds) }
        let act = try device.replica.enqueue(.mark(.read, upTo: 1))
        life.seconds = -5
        device.prove(token: script.token(of: "mary", seconds: -5))
        device.connect()
        script.pass(3_600_000)
        #expect(!device.isLive)
        #expect((30...200).contains(script.hellos.count), "\(script.hellos.count) hellos in an hour")
        #expect(try device.replica.outbox().map(\.id) == [act] && device.replica.outbox()[0].state != .dead)
        life.seconds = 900
        script.pass(120_000)
        #expect(device.isLive)
        #expect(try device.replica.outbox().isEmpty)
    }

    private final class Life { var seconds: Double = 900 }
}
