import PealModel
import Testing

@Test(arguments: [Admission.Mode.snapshot, .ahead])
func `nothing of the log goes down before the last page, then all from the first page's position`(
    _ mode: Admission.Mode
) {
    var hub = HubBench.live(mode, at: 3, head: 40)
    #expect(hub.nextOutput() == nil)
    #expect(hub.headMoved(to: 41) == [])
    let request = SnapshotRequest()
    #expect(hub.received(.snapshot(request), now: 0) == [.firstFrame, .loadPage(request)])
    let first = HubBench.page(41, at: 41, last: false)
    #expect(hub.loaded(first) == [.write])
    #expect(hub.nextOutput() == .frame(.page(first)))
    #expect(hub.headMoved(to: 45) == [])
    #expect(hub.nextOutput() == nil)
    let next = SnapshotRequest(id: 41, after: 9, at: 41, chain: 1)
    #expect(hub.received(.snapshot(next), now: 0) == [.loadPage(next)])
    let last = HubBench.page(41, at: 45, last: true)
    #expect(hub.loaded(last) == [.write])
    #expect(hub.nextOutput() == .frame(.page(last)))
    #expect(hub.nextOutput() == .entries(after: 41, count: 100, bytes: 10_000))
}

@Test func `one page is on its way at a time`() {
    var hub = HubBench.live(.snapshot, head: 40)
    _ = hub.received(.snapshot(SnapshotRequest()), now: 0)
    #expect(
        hub.received(.snapshot(SnapshotRequest()), now: 0)
            == [.close(.protocolError, "a page is already on its way")])
    #expect(hub.loaded(HubBench.page(40, at: 40, last: true)) == [])
}

@Test func `a page that was not asked for is not sent`() {
    var hub = HubBench.live(.snapshot, head: 40)
    #expect(hub.loaded(HubBench.page(40, at: 40, last: true)) == [])
    #expect(hub.nextOutput() == nil)
}

@Test func `a live session may ask for a snapshot, and credit starts anew after it`() {
    var hub = HubBench.live(head: 40)
    hub.sent(to: 30, bytes: 9_999, now: 0)
    _ = hub.received(.snapshot(SnapshotRequest()), now: 0)
    #expect(hub.nextOutput() == nil)
    // Credit for what was sent before is still taken, and writes nothing.
    #expect(hub.received(.got(to: 20), now: 0).contains(.acknowledge(20)))
    #expect(hub.nextOutput() == nil)
    _ = hub.loaded(HubBench.page(40, at: 40, last: true))
    _ = hub.nextOutput()
    #expect(hub.unacknowledged == 0)
    _ = hub.headMoved(to: 41)
    #expect(hub.nextOutput() == .entries(after: 40, count: 100, bytes: 10_000))
    #expect(hub.received(.got(to: 30), now: 0) == [])
}

@Test func `a snapshot id that is no position breaks the protocol`() {
    var hub = HubBench.live(.snapshot, head: 40)
    #expect(
        hub.received(.snapshot(SnapshotRequest(id: .max, after: 3)), now: 0)
            == [.firstFrame, .close(.protocolError, "'id' is no snapshot")])
}

@Test func `credit for what was sent before the last page of a snapshot that went on is taken`() {
    var hub = HubBench.live(at: 6, head: 10)
    hub.sent(to: 10, bytes: 10, now: 0)
    _ = hub.received(.snapshot(SnapshotRequest(id: 7, after: 4, at: 7, chain: 1)), now: 0)
    _ = hub.loaded(HubBench.page(7, at: 10, last: true))
    _ = hub.nextOutput()
    #expect(hub.hasOutput, "the log goes on from the first page")
    #expect(hub.received(.got(to: 10), now: 0) == [.acknowledge(10)])
    #expect(!hub.hasOutput, "the replica has it")
    #expect(hub.received(.got(to: 11), now: 0) == [.close(.protocolError, "'to' is above what was sent")])
}
