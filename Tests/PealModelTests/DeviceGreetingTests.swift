import PealModel
import Testing

@Test func `a session connects, says hello, and is live after a durable welcome`() {
    var device = DeviceSession(seed: 1)
    #expect(device.start() == [.status(.connecting), .connect])
    #expect(device.opened() == [.hello, .schedule(.greeting, 10_000)])
    #expect(device.greeted(attempt: 7) == [])
    let welcome = DeviceBench.welcome(head: 3, attempt: 7)
    #expect(device.received(.welcome(welcome), bytes: 300) == [.cancel(.greeting), .welcome(welcome)])
    #expect(!device.isLive)
    #expect(
        device.welcomed(at: 1, outbox: true)
            == [.resetPush, .schedule(.healthy, 30_000), .status(.live), .schedule(.stall, 10_000), .push])
    #expect(device.isLive)
}

@Test func `a session at the head of an empty outbox waits for nothing`() {
    var device = DeviceBench.greeting()
    _ = device.received(.welcome(DeviceBench.welcome(head: 3)), bytes: 300)
    #expect(
        device.welcomed(at: 3, outbox: false) == [.resetPush, .schedule(.healthy, 30_000), .status(.live)])
}

@Test func `the welcome of another attempt is not taken`() {
    var device = DeviceSession(seed: 1)
    _ = device.start()
    _ = device.opened()
    // Before the hello has gone out no welcome can be its answer.
    #expect(device.received(.welcome(DeviceBench.welcome(attempt: 1)), bytes: 300) == [])
    _ = device.greeted(attempt: 2)
    #expect(device.received(.welcome(DeviceBench.welcome(attempt: 1)), bytes: 300) == [])
    #expect(device.received(.welcome(DeviceBench.welcome(attempt: 3)), bytes: 300) == [])
    let welcome = DeviceBench.welcome(attempt: 2)
    #expect(device.received(.welcome(welcome), bytes: 300) == [.cancel(.greeting), .welcome(welcome)])
    #expect(device.received(.welcome(welcome), bytes: 300) == [])
}

@Test func `a refused attempt catches up with the hub's and says hello again, three times at most`() {
    var device = DeviceBench.greeting()
    let refusal = DownFrame.error(code: "attempt", retry: true, message: "low", last: 41)
    for _ in 1...3 {
        #expect(device.received(refusal, bytes: 90) == [.catchUpAttempt(41), .hello])
        // The welcome of the refused attempt would be a late one.
        #expect(device.received(.welcome(DeviceBench.welcome(attempt: 1)), bytes: 300) == [])
        #expect(device.greeted(attempt: 42) == [])
    }
    #expect(device.received(refusal, bytes: 90) == [.report("the hub says attempt: low")])
    #expect(device.fired(.greeting) == [.close(.tryAgain, "no welcome")])
}

@Test func `no welcome in time ends the connection`() {
    var device = DeviceBench.greeting()
    #expect(device.fired(.greeting) == [.close(.tryAgain, "no welcome")])
    #expect(device.fired(.greeting) == [])
    #expect(device.closed(.tryAgain, "").reconnectDelay != nil)
}

@Test func `frames before the welcome change nothing`() {
    var device = DeviceBench.greeting()
    let before = device
    for frame in [
        DownFrame.batch(DeviceBench.batch(0, 1)), .page(DeviceBench.page(at: 1, last: true)), .settled([], at: 0),
        .busy(retryAfter: 1), .ping, .pong, .drain(low: 0, high: 1), .renew(in: 1), .renewed(expires: 1),
    ] {
        #expect(device.received(frame, bytes: 10) == [])
        #expect(device == before)
    }
}

@Test func `start twice is start once`() {
    var device = DeviceSession(seed: 1)
    _ = device.start()
    #expect(device.start() == [])
    _ = device.closed(.tryAgain, "")
    #expect(device.start() == [])
}

@Test func `inputs that come too late change nothing`() {
    var device = DeviceBench.greeting()
    _ = device.closed(.tryAgain, "")
    let before = device
    #expect(device.opened() == [])
    #expect(device.greeted(attempt: 9) == [])
    #expect(device.welcomed(at: 1, outbox: true) == [])
    #expect(device.applied(to: 1, settledThrough: 1, swapped: true) == [])
    #expect(device.staged(to: 1, last: true, swapped: true) == [])
    #expect(device.pushed(last: 1) == [])
    #expect(device.settled(through: 1) == [])
    #expect(device.outboxChanged() == [])
    #expect(device.foundFork() == [])
    #expect(device.received(.ping, bytes: 1) == [])
    #expect(device.received(FrameError(.protocolError, "late")) == [])
    #expect(device.closed(.revoked, "") == [])
    for timer in DeviceSession.Timer.allCases where timer != .reconnect { #expect(device.fired(timer) == []) }
    #expect(device == before)
}

@Test func `a stop says bye on a live socket, and nothing that follows brings the session back`() {
    var device = DeviceBench.live()
    let all = DeviceSession.Timer.allCases.map(DeviceSession.Action.cancel)
    #expect(device.stop() == all + [.send(.bye), .close(.tryAgain, "bye"), .status(.offline(retryAfter: nil))])
    #expect(device.received(FrameError(.protocolError, "late")) == [])
    #expect(device.foundFork() == [])
    #expect(device.closed(.tryAgain, "bye") == [])
    #expect(device.networkChanged() == [])
    #expect(device.fired(.reconnect) == [])
    #expect(device.start() == [.status(.connecting), .connect])
}

@Test func `a stop closes a socket that is open and no other`() {
    let all = DeviceSession.Timer.allCases.map(DeviceSession.Action.cancel)
    let offline = [DeviceSession.Action.status(.offline(retryAfter: nil))]
    var idle = DeviceSession(seed: 1)
    #expect(idle.stop() == all + offline)
    var greeting = DeviceBench.greeting()
    #expect(greeting.stop() == all + [.close(.tryAgain, "bye")] + offline)
    var waiting = DeviceBench.greeting()
    _ = waiting.closed(.tryAgain, "")
    #expect(waiting.stop() == all + offline)
    var stopped = DeviceBench.live()
    _ = stopped.closed(.revoked, "")
    #expect(stopped.stop() == all + offline)
}
