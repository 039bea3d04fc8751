import PealModel
import Testing

@Test func `a push without an answer on a socket that lives ends the session`() {
    var device = DeviceBench.live(outbox: true)
    #expect(device.pushed(last: 3) == [.schedule(.push, 30_000)])
    #expect(
        device.fired(.push)
            == [.report("a push was not answered for 30 s"), .close(.tryAgain, "a push was not answered")])
    #expect(device.closed(.tryAgain, "").reconnectDelay != nil)
}

@Test func `an answered push is not waited for`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 3)
    let actions = device.fold(DeviceBench.batch(0, 3), settledThrough: 3)
    #expect(actions.contains(.cancel(.push)))
    #expect(!actions.contains(.schedule(.push, 30_000)))
    _ = device.pushed(last: nil)
    #expect(device.fired(.push) == [])
}

@Test func `an answer that stands behind a long log may take its time, but not behind others' news`() {
    var device = DeviceBench.live(at: 0, head: 9, outbox: true)
    _ = device.pushed(last: 3)
    #expect(device.fold(DeviceBench.batch(0, 4)).contains(.schedule(.push, 30_000)))
    #expect(!device.fold(DeviceBench.batch(4, 9)).contains(.schedule(.push, 30_000)))
    #expect(!device.fold(DeviceBench.batch(9, 10)).contains(.schedule(.push, 30_000)))
    #expect(device.fired(.push).last == .close(.tryAgain, "a push was not answered"))
}

@Test func `a frame that was too large halves the next pushes, down to a floor`() {
    var device = DeviceBench.live(outbox: true)
    #expect(device.pushBytes == Limits.frameUp)
    for attempt in 2...12 as ClosedRange<Int64> {
        let before = device.pushBytes
        #expect(device.closed(.frameTooLarge, "").reconnectDelay != nil)
        #expect(device.pushBytes == max(before / 2, 1_024))
        device.reconnect(attempt: attempt)
    }
    #expect(device.pushBytes == 1_024)
}
