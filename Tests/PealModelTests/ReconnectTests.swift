import PealModel
import Testing

@Test func `a lost connection is tried again after the delay that the app is told`() {
    var device = DeviceBench.live()
    let actions = device.closed(.tryAgain, "lost")
    let delay = actions.reconnectDelay!
    #expect(
        actions == DeviceBench.cancels + [.status(.offline(retryAfter: delay)), .schedule(.reconnect, delay)])
    #expect(device.fired(.reconnect) == [.status(.connecting), .connect])
}

/// The delays of connections that fail one after the other.
private func delays(_ count: Int, seed: UInt64) -> [Milliseconds] {
    var device = DeviceSession(seed: seed)
    _ = device.start()
    return (0..<count).map { _ in
        let delay = device.closed(.tryAgain, "").reconnectDelay!
        _ = device.fired(.reconnect)
        return delay
    }
}

@Test func `the jitter is full: from zero to a ceiling that doubles from a second to a minute`() {
    let runs = (0..<400).map { delays(10, seed: $0) }
    for (index, ceiling) in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000].enumerated() {
        let tried = runs.map { $0[index] }
        let ceiling = Milliseconds(ceiling)
        #expect(tried.allSatisfy { 0...ceiling ~= $0 }, "try \(index)")
        #expect(tried.min()! < ceiling / 20, "try \(index)")
        #expect(tried.max()! > ceiling * 19 / 20, "try \(index)")
        #expect((ceiling * 4 / 10...ceiling * 6 / 10).contains(tried.reduce(0, +) / 400), "try \(index)")
    }
}

@Test func `one seed gives one jitter`() {
    #expect(delays(20, seed: 9) == delays(20, seed: 9))
    #expect(delays(20, seed: 9) != delays(20, seed: 10))
}

@Test func `after a healthy session the first try comes within three seconds, and the counter starts anew`() {
    var first: [Milliseconds] = []
    for seed in 0..<200 as Range<UInt64> {
        var device = DeviceSession(seed: seed)
        _ = device.start()
        for _ in 0..<9 {
            _ = device.closed(.tryAgain, "")
            _ = device.fired(.reconnect)
        }
        _ = device.opened()
        _ = device.greeted(attempt: 1)
        device.become()
        #expect(device.fired(.healthy) == [])
        first.append(device.closed(.tryAgain, "").reconnectDelay!)
        _ = device.fired(.reconnect)
        #expect(0...1_000 ~= device.closed(.tryAgain, "").reconnectDelay!, "seed \(seed)")
        _ = device.fired(.reconnect)
        #expect(0...2_000 ~= device.closed(.tryAgain, "").reconnectDelay!, "seed \(seed)")
    }
    #expect(first.allSatisfy { 0...3_000 ~= $0 })
    #expect(first.max()! > 2_700)
}

@Test func `a session that was not healthy resets nothing`() {
    var longest: Milliseconds = 0
    for seed in 0..<50 as Range<UInt64> {
        var device = DeviceSession(seed: seed)
        _ = device.start()
        for attempt in 1...9 as ClosedRange<Int64> {
            _ = device.opened()
            _ = device.greeted(attempt: attempt)
            device.become(attempt: attempt)
            longest = max(longest, device.closed(.tryAgain, "").reconnectDelay!)
            _ = device.fired(.reconnect)
        }
    }
    #expect(longest > 50_000)
}

@Test func `the network coming up brings one try within half a second`() {
    for seed in 0..<100 as Range<UInt64> {
        var device = DeviceBench.live(seed: seed)
        _ = device.closed(.tryAgain, "")
        let actions = device.networkChanged()
        #expect(actions.count == 1)
        #expect(0...500 ~= actions.reconnectDelay!)
    }
}

@Test func `a hub that drains spreads its replicas over its own window`() {
    for seed in 0..<100 as Range<UInt64> {
        var device = DeviceBench.live(seed: seed)
        #expect(device.received(.drain(low: 20_000, high: 30_000), bytes: 40) == [])
        #expect(20_000...30_000 ~= device.closed(.draining, "").reconnectDelay!)
        _ = device.fired(.reconnect)
        #expect(device.closed(.tryAgain, "").reconnectDelay! <= 1_000)
    }
}

@Test func `the window of a drain does not outlive its connection`() {
    var device = DeviceBench.live()
    _ = device.received(.drain(low: 900_000, high: 900_000), bytes: 40)
    #expect(device.closed(.replaced, "").reconnectDelay == 60_000)
    device.reconnect(attempt: 2)
    #expect(device.closed(.tryAgain, "").reconnectDelay! <= 60_000)
}
