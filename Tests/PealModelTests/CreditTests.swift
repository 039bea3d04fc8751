import PealModel
import Testing

@Test func `entries are sent while credit in entries lasts, and again when it comes back`() {
    var hub = HubBench.live(head: 250)
    #expect(hub.nextOutput() == .entries(after: 0, count: 100, bytes: 10_000))
    hub.sent(to: 60, bytes: 600, now: 0)
    #expect(hub.nextOutput() == .entries(after: 60, count: 40, bytes: 9_400))
    hub.sent(to: 100, bytes: 400, now: 0)
    #expect(hub.nextOutput() == nil)
    #expect(hub.unacknowledged == 100)
    #expect(hub.received(.got(to: 60), now: 1) == [.firstFrame, .acknowledge(60), .write])
    #expect(hub.nextOutput() == .entries(after: 100, count: 60, bytes: 9_600))
}

@Test func `bytes are credit too, and come back with the whole batch that held them`() {
    var hub = HubBench.live(head: 250)
    hub.sent(to: 10, bytes: 6_000, now: 0)
    hub.sent(to: 20, bytes: 4_000, now: 0)
    #expect(hub.nextOutput() == nil)
    _ = hub.received(.got(to: 9), now: 1)
    #expect(hub.nextOutput() == nil)
    _ = hub.received(.got(to: 10), now: 1)
    #expect(hub.nextOutput() == .entries(after: 20, count: 90, bytes: 6_000))
}

@Test func `one entry always fits where nothing is out, however small the window`() {
    var hub = HubBench.live(head: 2, entries: 1, bytes: 1)
    #expect(hub.nextOutput() == .entries(after: 0, count: 1, bytes: 1))
    hub.sent(to: 1, bytes: 9_000, now: 0)
    #expect(hub.nextOutput() == nil)
    _ = hub.received(.got(to: 1), now: 0)
    #expect(hub.nextOutput() == .entries(after: 1, count: 1, bytes: 1))
}

@Test func `a window is at least one and at most the hub's own`() {
    var greedy = HubBench.live(head: 100_000, entries: .max, bytes: .max)
    #expect(
        greedy.nextOutput() == .entries(after: 0, count: Limits.windowEntries, bytes: Limits.windowBytes))
    var absurd = HubBench.live(head: 100_000, entries: -4, bytes: .min)
    #expect(absurd.nextOutput() == .entries(after: 0, count: 1, bytes: 1))
}

@Test func `credit for what was not sent breaks the protocol`() {
    var hub = HubBench.live(head: 10)
    hub.sent(to: 5, bytes: 50, now: 0)
    #expect(
        hub.received(.got(to: 6), now: 0) == [.firstFrame, .close(.protocolError, "'to' is above what was sent")])
}

@Test func `credit that is not new is ignored`() {
    var hub = HubBench.live(at: 3, head: 10)
    hub.sent(to: 5, bytes: 50, now: 0)
    _ = hub.received(.got(to: 5), now: 0)
    for to in [5, 4, 3, 0, -1, .min] as [Position] { #expect(hub.received(.got(to: to), now: 0) == []) }
    #expect(hub.unacknowledged == 0)
}

@Test func `credit that comes when everything is sent is noted and writes nothing`() {
    var hub = HubBench.live(head: 5)
    hub.sent(to: 5, bytes: 50, now: 0)
    #expect(hub.nextOutput() == nil)
    #expect(hub.received(.got(to: 5), now: 0) == [.firstFrame, .acknowledge(5)])
    #expect(hub.headMoved(to: 5) == [])
    #expect(hub.headMoved(to: 6) == [.write])
    #expect(hub.nextOutput() == .entries(after: 5, count: 100, bytes: 10_000))
}

@Test func `answers go before entries and cost no credit`() {
    var hub = HubBench.live(head: 5, entries: 1)
    hub.sent(to: 1, bytes: 10, now: 0)
    _ = hub.received(.ping, now: 0)
    #expect(hub.nextOutput() == .frame(.pong))
    #expect(hub.nextOutput() == nil)
}

@Test func `a session without credit for a minute is cut, and not a moment before`() {
    var hub = HubBench.live(head: 250, now: 1_000)
    hub.sent(to: 100, bytes: 100, now: 5_000)
    _ = hub.received(.pong, now: 55_000)
    #expect(hub.tick(now: 64_999) == [])
    #expect(hub.tick(now: 65_000) == [.close(.noCredit, "no credit for 60 s")])
    #expect(hub.tick(now: 70_000) == [])
}

@Test func `credit starts the minute again, and an idle session is never cut`() {
    var hub = HubBench.live(head: 250)
    hub.sent(to: 100, bytes: 100, now: 0)
    _ = hub.received(.got(to: 50), now: 30_000)
    #expect(hub.tick(now: 89_999) == [.write])
    var idle = HubBench.live(head: 5)
    idle.sent(to: 5, bytes: 50, now: 0)
    _ = idle.received(.got(to: 5), now: 0)
    #expect(idle.tick(now: 10_000_000) == [])
    // What comes after a long silence has its own minute.
    _ = idle.headMoved(to: 300)
    idle.sent(to: 105, bytes: 100, now: 10_000_000)
    _ = idle.received(.pong, now: 10_050_000)
    #expect(idle.tick(now: 10_059_999) == [])
    #expect(idle.tick(now: 10_060_000) != [])
}

@Test func `a log that was trimmed past a slow session turns it to a snapshot`() {
    var hub = HubBench.live(head: 5)
    #expect(
        hub.overtaken() == [.close(.chainMismatch, "the log was trimmed past this session; a snapshot follows")])
}

@Test func `what a session has out never exceeds its window, in whichever order things happen`() {
    forEachSeed(0..<200) { random, seed in
        let entries = Int64(1 + random.below(50))
        let bytes = 1 + random.below(5_000)
        var hub = HubBench.live(head: 0, entries: entries, bytes: Int64(bytes))
        var (head, sent, got, out): (Position, Position, Position, [(to: Position, bytes: Int)]) = (0, 0, 0, [])
        for step in 0..<200 {
            switch random.below(3) {
            case 0:
                head += Position(random.below(20))
                _ = hub.headMoved(to: head)
            case 1 where sent > got:
                got += Position(1 + random.below(Int(sent - got)))
                _ = hub.received(.got(to: got), now: Milliseconds(step))
            default:
                guard case .entries(let after, let count, let room) = hub.nextOutput() else { continue }
                #expect(after == sent, "seed \(seed)")
                sent = min(head, sent + Position(1 + random.below(count)))
                let size = 1 + random.below(room)
                hub.sent(to: sent, bytes: size, now: Milliseconds(step))
                out.append((sent, size))
            }
            out.removeAll { $0.to <= got }
            #expect(hub.unacknowledged == sent - got, "seed \(seed)")
            #expect(hub.unacknowledged <= entries, "seed \(seed)")
            #expect(out.reduce(0) { $0 + $1.bytes } <= bytes, "seed \(seed)")
        }
        _ = hub.received(.got(to: sent), now: 0)
        #expect((hub.nextOutput() == nil) == (sent == head), "seed \(seed)")
    }
}
