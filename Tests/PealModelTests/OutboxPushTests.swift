import PealModel
import Testing

@Test func `an act is pushed at once where nothing is in flight`() {
    var device = DeviceBench.live()
    #expect(device.outboxChanged() == [.push])
    #expect(device.pushed(last: 3) == [.schedule(.push, 30_000)])
    #expect(device.outboxChanged() == [])
}

@Test func `one push is in flight; the next goes when its last outcome is folded`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    #expect(device.outboxChanged() == [])
    #expect(!device.fold(DeviceBench.batch(0, 1), settledThrough: 2).contains(.push))
    #expect(device.fold(DeviceBench.batch(1, 2), settledThrough: 3).last == .push)
}

@Test func `what did not fit into a push follows it, until nothing waits`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 100)
    #expect(device.fold(DeviceBench.batch(0, 1), settledThrough: 100).last == .push)
    #expect(device.pushed(last: nil) == [])
    #expect(!device.fold(DeviceBench.batch(1, 2), settledThrough: 100).contains(.push))
}

@Test func `the answer to a resend settles rows and lets the next push go`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    let settled = [Settled(n: 2, uid: 2, outcome: .applied), Settled(n: 3, uid: 3, outcome: .noop)]
    #expect(device.received(.settled(settled, at: 7), bytes: 90) == [.settle(settled, at: 7)])
    #expect(device.settled(through: 2) == [])
    #expect(device.settled(through: 3) == [.cancel(.push), .push])
}

@Test func `an act that is queued while an empty outbox is being looked at is not forgotten`() {
    var device = DeviceBench.live(outbox: true)
    #expect(device.outboxChanged() == [])
    #expect(device.pushed(last: nil) == [.push])
    #expect(device.pushed(last: nil) == [])
}

@Test func `a busy hub gets the same acts again after its delay, and none before`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    #expect(device.received(.busy(retryAfter: 700), bytes: 40) == [.cancel(.push), .resetPush, .schedule(.busy, 700)])
    #expect(device.outboxChanged() == [])
    #expect(device.settled(through: 9) == [])
    #expect(device.fired(.busy) == [.push])
}

@Test func `a busy hub without a delay is asked again after a moment`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    #expect(device.received(.busy(retryAfter: -5), bytes: 40) == [.cancel(.push), .resetPush, .schedule(.busy, 1)])
}

@Test func `a hub makes nobody wait for more than ten minutes`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    let actions = device.received(.busy(retryAfter: JSONObject.largestInt), bytes: 40)
    #expect(actions == [.cancel(.push), .resetPush, .schedule(.busy, 600_000)])
    _ = device.received(.drain(low: JSONObject.largestInt - 1, high: JSONObject.largestInt), bytes: 40)
    #expect(device.closed(.draining, "").reconnectDelay == 600_000)
}

@Test func `a new session offers what was sent again, and a push of the old one is forgotten`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    _ = device.closed(.tryAgain, "")
    _ = device.fired(.reconnect)
    _ = device.opened()
    _ = device.greeted(attempt: 2)
    _ = device.received(.welcome(DeviceBench.welcome(attempt: 2)), bytes: 300)
    let actions = device.welcomed(at: 0, outbox: true)
    #expect(actions.first == .resetPush)
    #expect(actions.last == .push)
}

@Test func `a session is settled at the head with an empty outbox, and not a moment before`() {
    var device = DeviceBench.greeting()
    #expect(!device.isSettled)
    device.become(at: 0, head: 2, outbox: true)
    #expect(!device.isSettled)
    _ = device.pushed(last: 1)
    #expect(!device.fold(DeviceBench.batch(0, 2)).isEmpty)
    #expect(!device.isSettled)
    _ = device.fold(DeviceBench.batch(2, 3), settledThrough: 1)
    #expect(!device.isSettled)
    _ = device.pushed(last: nil)
    #expect(device.isSettled)
}
