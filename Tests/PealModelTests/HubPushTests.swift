import PealModel
import Testing

@Test func `a push is processed, and its resends are answered at once`() {
    var hub = HubBench.live()
    let push = [HubBench.mutation(1), HubBench.mutation(2)]
    #expect(hub.received(.push(push), now: 0) == [.firstFrame, .commit(push)])
    let settled = [Settled(n: 1, uid: 1, outcome: .applied)]
    #expect(hub.committed(settled) == [.write])
    #expect(hub.nextOutput() == .frame(.settled(settled, at: 0)))
    #expect(hub.received(.push(push), now: 0) == [.commit(push)])
    #expect(hub.committed([]) == [])
}

@Test func `one push is in flight`() {
    var hub = HubBench.live()
    _ = hub.received(.push([HubBench.mutation(1)]), now: 0)
    #expect(
        hub.received(.push([HubBench.mutation(2)]), now: 0)
            == [.close(.protocolError, "a push while one is in flight")])
}

@Test func `an empty push is nothing`() {
    var hub = HubBench.live()
    #expect(hub.received(.push([]), now: 0) == [.firstFrame])
    #expect(hub.received(.push([HubBench.mutation(1)]), now: 0) == [.commit([HubBench.mutation(1)])])
}

@Test func `a busy hub says so, and the push may come again`() {
    var hub = HubBench.live()
    _ = hub.received(.push([HubBench.mutation(1)]), now: 0)
    #expect(hub.busy(retryAfter: 700) == [.write])
    #expect(hub.nextOutput() == .frame(.busy(retryAfter: 700)))
    #expect(hub.received(.push([HubBench.mutation(1)]), now: 0) == [.commit([HubBench.mutation(1)])])
}

@Test func `downloads go on while a push is in flight`() {
    var hub = HubBench.live(head: 1)
    _ = hub.received(.push([HubBench.mutation(1)]), now: 0)
    #expect(hub.nextOutput() == .entries(after: 0, count: 100, bytes: 10_000))
}

@Test func `a replica that asks and does not read is cut`() {
    var hub = HubBench.live()
    for _ in 0..<16 { _ = hub.received(.ping, now: 0) }
    #expect(hub.received(.ping, now: 0) == [.close(.rate, "frames are not being read")])
    #expect(hub.nextOutput() == nil)
}

@Test func `a token is not looked at yet`() {
    var hub = HubBench.live()
    #expect(hub.received(.token("t"), now: 0) == [.firstFrame])
}
