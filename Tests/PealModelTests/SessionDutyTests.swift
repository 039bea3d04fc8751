import PealModel
import Testing

// MARK: Drain

@Test func `a hub that stops gives a window first, and then closes`() {
    var hub = HubBench.live(head: 5)
    _ = hub.received(.ping, now: 0)
    #expect(
        hub.drain(low: 500, high: 3_000) == [.write, .close(.draining, "this hub is stopping")])
    // What was ready goes first; entries do not.
    #expect(hub.nextOutput() == .frame(.pong))
    #expect(hub.nextOutput() == .frame(.drain(low: 500, high: 3_000)))
    #expect(hub.nextOutput() == nil)
    #expect(hub.drain(low: 500, high: 3_000) == [])
}

@Test func `a socket without a session is only closed`() {
    var hub = HubSession()
    #expect(hub.drain(low: 1, high: 2) == [.close(.draining, "this hub is stopping")])
}

// MARK: Probes of the hub

@Test func `a session that owes credit and says nothing is probed, and cut where it stays silent`() {
    var hub = HubBench.live(head: 6)
    hub.sent(to: 5, bytes: 50, now: 1_000)
    #expect(hub.tick(now: 15_999) == [])
    #expect(hub.tick(now: 16_000) == [.write])
    #expect(hub.nextOutput() == .frame(.ping))
    #expect(hub.tick(now: 30_999) == [])
    #expect(hub.tick(now: 31_000) == [.close(.tryAgain, "a probe was not answered")])
}

@Test func `one that answers the probe has a minute for its credit, and is probed again`() {
    var hub = HubBench.live(head: 9)
    hub.sent(to: 5, bytes: 50, now: 0)
    _ = hub.tick(now: 15_000)
    _ = hub.received(.pong, now: 16_000)
    #expect(hub.tick(now: 30_999) == [])
    #expect(hub.tick(now: 31_000) == [.write])
    _ = hub.received(.pong, now: 32_000)
    #expect(hub.tick(now: 47_000) == [.write])
    _ = hub.received(.pong, now: 47_001)
    #expect(hub.tick(now: 60_000) == [.close(.noCredit, "no credit for 60 s")])
}

@Test func `an idle session is not probed`() {
    var hub = HubBench.live(head: 5)
    hub.sent(to: 5, bytes: 50, now: 0)
    #expect(hub.tick(now: 1_000_000) == [])
}

// MARK: Replaced, resets, later types

@Test func `a change of network does not cut the wait of a replaced session short`() {
    var device = DeviceBench.live()
    #expect(device.closed(.replaced, "").reconnectDelay == 60_000)
    #expect(device.networkChanged() == [])
    #expect(device.fired(.reconnect) == [.status(.connecting), .connect])
    _ = device.closed(.tryAgain, "")
    #expect(device.networkChanged().reconnectDelay != nil)
}

@Test func `a second snapshot of an epoch within five minutes is reported`() {
    let report = DeviceSession.Action.report("a second snapshot within 5 minutes")
    var device = DeviceBench.greeting()
    func welcomed(_ attempt: Int64, _ mode: Admission.Mode) -> [DeviceSession.Action] {
        _ = device.received(.welcome(DeviceBench.welcome(mode, head: 9, attempt: attempt)), bytes: 300)
        return device.welcomed(at: 0, outbox: false)
    }
    func reconnect(_ attempt: Int64) {
        _ = device.closed(.tryAgain, "")
        _ = device.fired(.reconnect)
        _ = device.opened()
        _ = device.greeted(attempt: attempt)
    }
    let first = welcomed(1, .ahead)
    #expect(first.contains(.schedule(.reset, 300_000)) && !first.contains(report))
    // The same one goes on after a cut.
    reconnect(2)
    #expect(!welcomed(2, .snapshot).contains(report))
    _ = device.staged(to: 9, last: true, swapped: true)
    reconnect(3)
    #expect(welcomed(3, .snapshot).contains(report))
    _ = device.staged(to: 9, last: true, swapped: true)
    #expect(device.fired(.reset) == [])
    reconnect(4)
    #expect(!welcomed(4, .snapshot).contains(report))
}

@Test func `a frame of a later type is ignored`() throws {
    var device = DeviceBench.live()
    let frame = try DownFrame(raw(#"{"type":"weather","sun":true}"#))
    #expect(frame == .unknown(type: "weather"))
    #expect(device.received(frame, bytes: 30) == [])
    #expect(device.isLive)
    #expect(throws: FrameError.self) { try DownFrame(raw(#"{"sun":true}"#)) }
    // Up it is an error: the hub is the newer end.
    #expect(throws: FrameError.self) { try UpFrame(raw(#"{"type":"weather"}"#)) }
}

@Test func `a suspect is one mutation on the wire`() throws {
    let frame = UpFrame.suspect(HubBench.mutation(4))
    #expect(try UpFrame(frame.bytes[...]) == frame)
    #expect(throws: FrameError.self) { try UpFrame(raw(#"{"type":"push","suspect":true,"mutations":[]}"#)) }
}
