import PealModel
import Testing

@Test func `a hello is judged, and its welcome is the first frame down`() {
    var hub = HubSession()
    let hello = HubBench.hello()
    #expect(hub.received(.hello(hello), now: 0) == [.admit(hello)])
    #expect(hub.session == nil)
    let welcome = HubBench.welcome(head: 3)
    #expect(hub.admitted(welcome, at: 1, now: 0) == [.write])
    #expect(hub.session == 5)
    #expect(hub.nextOutput() == .frame(.welcome(welcome)))
    #expect(hub.nextOutput() == .entries(after: 1, count: 100, bytes: 10_000))
}

@Test func `the first frame after a welcome makes its nonce current, before anything else and once`() {
    var hub = HubBench.live(head: 0)
    let push = [HubBench.mutation(1)]
    #expect(hub.received(.push(push), now: 0) == [.firstFrame, .commit(push)])
    #expect(hub.received(.ping, now: 0) == [.write])
    var other = HubBench.live()
    #expect(other.received(.pong, now: 0) == [.firstFrame])
}

@Test func `a session begins with a hello and has one`() {
    for frame in [UpFrame.got(to: 1), .ping, .bye, .push([HubBench.mutation(1)]), .snapshot(SnapshotRequest())] {
        var hub = HubSession()
        #expect(hub.received(frame, now: 0) == [.close(.protocolError, "a session begins with a hello")])
        #expect(hub.received(.hello(HubBench.hello()), now: 0) == [])
    }
    var hub = HubSession()
    _ = hub.received(.hello(HubBench.hello()), now: 0)
    var early = hub
    #expect(early.received(.ping, now: 0) == [.close(.protocolError, "a frame before the welcome")])
    var admitting = hub
    #expect(
        admitting.received(.hello(HubBench.hello(attempt: 2)), now: 0) == [.close(.protocolError, "a second hello")])
    // The answer of the shell comes too late and changes nothing.
    #expect(admitting.admitted(HubBench.welcome(), at: 0, now: 0) == [])
    #expect(admitting.session == nil)
    var live = HubBench.live()
    #expect(live.received(.hello(HubBench.hello(attempt: 2)), now: 0) == [.close(.protocolError, "a second hello")])
}

@Test func `a version that this hub does not speak is told so`() {
    var hub = HubSession()
    #expect(
        hub.received(.hello(HubBench.hello(version: 2)), now: 0) == [.close(.version, "this hub speaks version 1")])
}

@Test func `a low attempt is refused with the last one, and the next hello may come on the same socket`() {
    var hub = HubSession()
    _ = hub.received(.hello(HubBench.hello(attempt: 1)), now: 0)
    #expect(hub.refused(last: 4) == [.write])
    #expect(
        hub.nextOutput()
            == .frame(
                .error(
                    code: "attempt", retry: true, message: "the attempt is not higher than the last", last: 4)))
    let again = HubBench.hello(attempt: 5)
    #expect(hub.received(.hello(again), now: 0) == [.admit(again)])
    #expect(hub.admitted(HubBench.welcome(attempt: 5), at: 0, now: 0) == [.write])
}

@Test func `a fourth refused hello ends the connection`() {
    var hub = HubSession()
    for attempt in 1...3 as ClosedRange<Int64> {
        _ = hub.received(.hello(HubBench.hello(attempt: attempt)), now: 0)
        #expect(hub.refused(last: 9) == [.write])
    }
    _ = hub.received(.hello(HubBench.hello(attempt: 4)), now: 0)
    #expect(hub.refused(last: 9) == [.close(.rate, "too many hellos")])
    #expect(hub.nextOutput() == nil)
}

@Test func `a fork is welcomed as such, written, and closed with 4103`() {
    var hub = HubSession()
    _ = hub.received(.hello(HubBench.hello()), now: 0)
    let welcome = HubBench.welcome(.forked)
    #expect(
        hub.admitted(welcome, at: 0, now: 0)
            == [.write, .close(.forked, "this replica was restored or copied")])
    #expect(hub.nextOutput() == .frame(.welcome(welcome)))
    #expect(hub.nextOutput() == nil)
    #expect(hub.session == nil)
    #expect(hub.received(.ping, now: 0) == [])
}

@Test func `a refusal for good closes once, whatever follows`() {
    var hub = HubSession()
    _ = hub.received(.hello(HubBench.hello()), now: 0)
    #expect(hub.denied(.unknown, "no such project") == [.close(.unknown, "no such project")])
    #expect(hub.denied(.revoked, "again") == [])
    #expect(hub.received(FrameError(.protocolError, "x")) == [])
}

@Test func `a newer session of the same replica ends a live one`() {
    var hub = HubBench.live(head: 5)
    #expect(hub.denied(.replaced, "a newer session") == [.close(.replaced, "a newer session")])
    #expect(hub.nextOutput() == nil)
    #expect(hub.headMoved(to: 9) == [])
    #expect(hub.committed([]) == [])
}

@Test func `bye is reported and closes`() {
    var hub = HubBench.live()
    #expect(hub.received(.bye, now: 0) == [.firstFrame, .bye, .close(.tryAgain, "bye")])
    #expect(hub.received(.ping, now: 0) == [])
}

@Test func `a frame that cannot be read closes as it says`() {
    var hub = HubBench.live()
    #expect(hub.received(FrameError(.frameTooLarge, "big")) == [.close(.frameTooLarge, "big")])
}
