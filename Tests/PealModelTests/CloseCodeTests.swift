import PealModel
import Testing

private let backOff: [CloseCode] = [
    .tryAgain, .draining, .gap, .stalled, .noCredit, .rate, .newToken, .chainMismatch, .frameTooLarge,
]
private let stop: [CloseCode] = [.version, .revoked, .protocolError, .unknown]

@Test func `each code has its number and its range its meaning`() {
    #expect(
        (backOff + [.forked, .replaced] + stop).map(\.rawValue) == [
            4000, 4003, 4004, 4005, 4008, 4029, 4101, 4102, 4104, 4103, 4105, 4200, 4201, 4203, 4204,
        ])
    for code in 0...5_000 as ClosedRange<UInt16> {
        let expected: CloseCode.Consequence =
            switch code {
            case 4100...4199: .act
            case 4200...4299: .stop
            default: .backOff
            }
        #expect(CloseCode(rawValue: code).consequence == expected, "\(code)")
    }
}

@Test(arguments: backOff + [CloseCode(rawValue: 1000), CloseCode(rawValue: 1006), CloseCode(rawValue: 4099)])
func `these codes reconnect with back-off`(_ code: CloseCode) {
    var device = DeviceBench.live()
    #expect(0...1_000 ~= device.closed(code, "").reconnectDelay!)
    if code == .newToken { _ = device.freshToken(nil) }
    #expect(device.fired(.reconnect) == [.status(.connecting), .connect])
}

@Test(arguments: stop + [CloseCode(rawValue: 4299)])
func `these codes stop until a person changes something`(_ code: CloseCode) {
    for state in [DeviceBench.greeting(), DeviceBench.live()] {
        var device = state
        #expect(device.closed(code, "why") == DeviceBench.cancels + [.status(.stopped(code, "why"))])
        #expect(device.fired(.reconnect) == [])
        #expect(device.networkChanged() == [])
        #expect(device.start() == [.status(.connecting), .connect])
    }
}

@Test func `a replaced session says hello again after a minute`() {
    var device = DeviceBench.live()
    #expect(
        device.closed(.replaced, "")
            == DeviceBench.cancels + [.status(.offline(retryAfter: 60_000)), .schedule(.reconnect, 60_000)])
}

@Test func `a fork that the hub's close tells is taken up at once`() {
    var device = DeviceBench.greeting()
    #expect(
        device.closed(.forked, "")
            == DeviceBench.cancels + DeviceBench.forkActions
            + [.status(.offline(retryAfter: 0)), .schedule(.reconnect, 0)])
}

@Test func `a fork that the welcome tells is taken up once, though the close tells it again`() {
    var device = DeviceBench.greeting()
    let welcome = DeviceBench.welcome(.forked)
    #expect(device.received(.welcome(welcome), bytes: 300) == [.cancel(.greeting), .welcome(welcome)])
    #expect(
        device.welcomed(at: 0, outbox: true) == DeviceBench.forkActions + [.close(.forked, "forked")])
    #expect(
        device.closed(.forked, "")
            == DeviceBench.cancels + [.status(.offline(retryAfter: 0)), .schedule(.reconnect, 0)])
}

@Test func `a fork that the replica finds in the welcome or in the log closes the session`() {
    for state in [DeviceBench.live(), DeviceBench.live(.snapshot)] {
        var device = state
        #expect(device.foundFork() == DeviceBench.forkActions + [.close(.forked, "forked")])
        #expect(device.received(.batch(DeviceBench.batch(0, 1)), bytes: 9) == [])
        #expect(device.foundFork() == [])
    }
}

@Test func `forks without a healthy session between them back off, so that no loop hammers the hub`() {
    var delays: [Milliseconds] = []
    var device = DeviceBench.greeting()
    for _ in 0..<12 {
        delays.append(device.closed(.forked, "").reconnectDelay!)
        _ = device.fired(.reconnect)
        _ = device.opened()
    }
    #expect(delays[0] == 0)
    #expect(delays.dropFirst().reduce(0, +) > 30_000)
    _ = device.greeted(attempt: 1)
    device.become()
    _ = device.fired(.healthy)
    #expect(device.closed(.forked, "").reconnectDelay == 0)
}
