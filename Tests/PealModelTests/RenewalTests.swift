import PealModel
import Testing

private func hub(expires: Milliseconds?) -> HubSession {
    var hub = HubSession()
    _ = hub.received(.hello(HubBench.hello()), now: 0)
    _ = hub.admitted(HubBench.welcome(), at: 0, now: 0, expires: expires)
    _ = hub.nextOutput()
    return hub
}

// MARK: The hub's end

@Test func `a fresh token is asked for a minute before the old one ends, once`() {
    var hub = hub(expires: 200_000)
    #expect(hub.tick(now: 139_999) == [])
    #expect(hub.tick(now: 140_000) == [.write])
    #expect(hub.nextOutput() == .frame(.renew(in: 60)))
    #expect(hub.tick(now: 145_000) == [])
}

@Test func `a token that lives for a minute is followed once in half of its life`() {
    var hub = hub(expires: 60_000)
    #expect(hub.tick(now: 0) == [.write])
    _ = hub.nextOutput()
    _ = hub.received(.token("t"), now: 1_000)
    #expect(hub.renewed(expires: 61_000) == [.write])
    _ = hub.nextOutput()
    for now in stride(from: 5_000 as Milliseconds, to: 31_000, by: 5_000) { #expect(hub.tick(now: now) == []) }
    #expect(hub.tick(now: 31_000) == [.write])
    #expect(hub.nextOutput() == .frame(.renew(in: 30)))
}

@Test func `a session that owes a fresh token is cut for want of credit all the same`() {
    var hub = hub(expires: 120_000)
    _ = hub.headMoved(to: 10_000)
    hub.sent(to: 10, bytes: 100, now: 0)
    #expect(hub.tick(now: 60_000).last == .close(.noCredit, "no credit for 60 s"))
}

@Test func `a fresh token is checked, and moves the end`() {
    var hub = hub(expires: 200_000)
    _ = hub.tick(now: 190_000)
    _ = hub.nextOutput()
    #expect(hub.received(.token("t"), now: 191_000) == [.firstFrame, .checkToken("t")])
    #expect(hub.renewed(expires: 500_000) == [.write])
    #expect(hub.nextOutput() == .frame(.renewed(expires: 500_000)))
    #expect(hub.tick(now: 300_000) == [])
    #expect(hub.tick(now: 440_000) == [.write])
}

@Test func `a token that ends closes 4101, and a push that comes then stays unprocessed`() {
    var silent = hub(expires: 200_000)
    #expect(silent.tick(now: 200_000) == [.close(.newToken, "the token has expired")])
    var pushing = hub(expires: 200_000)
    #expect(
        pushing.received(.push([HubBench.mutation(1)]), now: 200_000)
            == [.firstFrame, .close(.newToken, "the token has expired")])
    var suspect = hub(expires: 200_000)
    #expect(
        suspect.received(.suspect(HubBench.mutation(1)), now: 200_001).last
            == .close(.newToken, "the token has expired"))
    // One that was taken before the end is processed.
    var early = hub(expires: 200_000)
    #expect(early.received(.push([HubBench.mutation(1)]), now: 199_999).last == .commit([HubBench.mutation(1)]))
}

@Test func `a token that comes after the end and before the close is taken`() {
    var hub = hub(expires: 200_000)
    #expect(hub.received(.token("t"), now: 200_500) == [.firstFrame, .checkToken("t")])
    #expect(hub.renewed(expires: 900_000) == [.write])
    #expect(hub.tick(now: 201_000) == [])
}

@Test func `one token is checked at a time, and one that could not be is asked for again`() {
    var hub = hub(expires: 200_000)
    #expect(hub.tick(now: 150_000) == [.write])
    _ = hub.nextOutput()
    #expect(hub.received(.token("t"), now: 151_000) == [.firstFrame, .checkToken("t")])
    #expect(hub.received(.token("u"), now: 151_001) == [])
    #expect(hub.notRenewed() == [])
    #expect(hub.tick(now: 155_000) == [.write])
    #expect(hub.received(.token("u"), now: 156_000) == [.checkToken("u")])
}

@Test func `a proof that does not end is never asked for again`() {
    var hub = hub(expires: nil)
    #expect(hub.tick(now: .max / 2) == [])
}

@Test func `a token that is not good ends the session as the shell says`() {
    var hub = hub(expires: 200_000)
    _ = hub.received(.token("t"), now: 0)
    #expect(hub.denied(.revoked, "the token is another user's") == [.close(.revoked, "the token is another user's")])
    #expect(hub.renewed(expires: 1) == [])
}

// MARK: The replica's end

@Test func `a replica that is asked fetches a token and sends it on the live socket`() {
    var device = DeviceBench.live()
    #expect(device.received(.renew(in: 60), bytes: 30) == [.fetchToken(within: 60_000)])
    #expect(device.freshToken("t") == [.send(.token("t"))])
    #expect(device.received(.renewed(expires: 9), bytes: 30) == [])
    // None to be had: the hub closes when the old one ends.
    #expect(device.freshToken(nil) == [])
}

@Test func `a token that has ended is replaced before the reconnect that needs it`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 1)
    let actions = device.closed(.newToken, "the token has expired")
    #expect(actions.contains(.fetchToken(within: 0)))
    #expect(actions.reconnectDelay != nil)
    #expect(device.fired(.reconnect) == [.schedule(.reconnect, 60_000)])
    #expect(device.freshToken("t") == [.status(.connecting), .connect])
    // The push that was in flight is offered again.
    _ = device.opened()
    _ = device.greeted(attempt: 2)
    _ = device.received(.welcome(DeviceBench.welcome(attempt: 2)), bytes: 300)
    #expect(device.welcomed(at: 0, outbox: true).first == .resetPush)
}

@Test func `a token that is there before the delay is over waits for it`() {
    var device = DeviceBench.live()
    _ = device.closed(.newToken, "")
    #expect(device.freshToken("t") == [])
    #expect(device.fired(.reconnect) == [.status(.connecting), .connect])
    #expect(device.freshToken("again") == [])
}

@Test func `a token that does not come in time is not waited for`() {
    var device = DeviceBench.live()
    _ = device.closed(.newToken, "")
    #expect(device.networkChanged().reconnectDelay != nil)
    #expect(device.fired(.reconnect) == [.schedule(.reconnect, 60_000)])
    #expect(device.fired(.reconnect) == [.status(.connecting), .connect])
}

@Test func `where no token is to be had the old one is tried again, with back-off`() {
    var device = DeviceBench.live()
    for attempt in 2...4 as ClosedRange<Int64> {
        #expect(device.closed(.newToken, "").contains(.fetchToken(within: 0)))
        #expect(device.freshToken(nil) == [])
        device.reconnect(attempt: attempt)
    }
    #expect(device.isLive)
}
