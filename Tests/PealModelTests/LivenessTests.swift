import PealModel
import Testing

@Test func `a session that knows of more and makes no progress for ten seconds reconnects and reports`() {
    var device = DeviceBench.greeting()
    _ = device.received(.welcome(DeviceBench.welcome(head: 9)), bytes: 300)
    #expect(device.welcomed(at: 3, outbox: false).contains(.schedule(.stall, 10_000)))
    #expect(
        device.fired(.stall)
            == [.status(.stalled), .report("no progress for 10 s"), .close(.stalled, "no progress")])
    #expect(device.closed(.stalled, "").reconnectDelay != nil)
}

@Test func `progress arms the stall timer anew, and the head disarms it`() {
    var device = DeviceBench.live(at: 0, head: 9)
    #expect(device.fold(DeviceBench.batch(0, 8)).first == .schedule(.stall, 10_000))
    #expect(device.fold(DeviceBench.batch(8, 9)).first == .cancel(.stall))
}

@Test func `a change of network probes a live socket, and an answer keeps it`() {
    var device = DeviceBench.live()
    #expect(device.networkChanged() == [.send(.ping), .schedule(.probe, 5_000)])
    #expect(device.received(.pong, bytes: 15) == [.cancel(.probe)])
    #expect(device.isLive)
}

@Test func `a probe without an answer ends the socket`() {
    var device = DeviceBench.live()
    _ = device.networkChanged()
    #expect(device.fired(.probe) == [.close(.tryAgain, "a probe was not answered")])
}

@Test func `a hub's probe is answered`() {
    var device = DeviceBench.live()
    #expect(device.received(.ping, bytes: 15) == [.send(.pong)])
}

@Test func `a frame that cannot be read is reported and closes the session`() {
    for state in [DeviceBench.greeting(), DeviceBench.live()] {
        var device = state
        #expect(
            device.received(FrameError(.protocolError, "'to' is missing"))
                == [.report("a frame from the hub: 'to' is missing"), .close(.tryAgain, "'to' is missing")])
        #expect(device.received(FrameError(.protocolError, "again")) == [])
    }
}

@Test func `an error of the hub is reported`() {
    var device = DeviceBench.live()
    #expect(
        device.received(.error(code: "x", retry: false, message: "m", last: 3), bytes: 9)
            == [.report("the hub says x: m")])
}
