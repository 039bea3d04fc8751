import PealModel
import Testing

private func loading(_ mode: Admission.Mode = .snapshot, at position: Position = 0, head: Position = 10)
    -> DeviceSession
{
    DeviceBench.live(mode, at: position, head: head, outbox: true)
}

@Test(arguments: [Admission.Mode.snapshot, .ahead])
func `a snapshot is asked for page by page, and nothing is pushed before the swap`(_ mode: Admission.Mode) {
    var device = DeviceBench.greeting()
    _ = device.received(.welcome(DeviceBench.welcome(mode, head: 10)), bytes: 300)
    #expect(
        device.welcomed(at: 0, outbox: true) == [
            .resetPush, .schedule(.healthy, 30_000), .schedule(.reset, 300_000), .status(.loading),
            .schedule(.stall, 10_000), .requestPage,
        ])
    #expect(device.outboxChanged() == [])
    let first = DeviceBench.page(at: 10, last: false)
    let next = SnapshotRequest(id: first.id, after: first.after, at: first.at, chain: first.chain)
    #expect(device.received(.page(first), bytes: 900) == [.send(.snapshot(next)), .stage(first)])
    #expect(device.staged(to: 10, last: false, swapped: false) == [.schedule(.stall, 10_000)])
    let last = DeviceBench.page(at: 12, last: true)
    #expect(device.received(.page(last), bytes: 900) == [.stage(last)])
    #expect(device.staged(to: 10, last: true, swapped: false) == [.schedule(.stall, 10_000)])
    #expect(device.outboxChanged() == [])
    let tail = DeviceBench.batch(10, 12)
    #expect(device.received(.batch(tail), bytes: 90) == [.apply(tail)])
    #expect(
        device.applied(to: 12, settledThrough: 0, swapped: true)
            == [.cancel(.stall), .status(.live), .schedule(.got, 500), .push])
}

@Test func `a snapshot during which nothing happened is swapped in with its last page`() {
    var device = loading()
    let only = DeviceBench.page(at: 10, last: true)
    #expect(device.received(.page(only), bytes: 900) == [.stage(only)])
    #expect(device.staged(to: 10, last: true, swapped: true) == [.cancel(.stall), .status(.live), .push])
}

@Test func `after a swap the outbox is looked at even if it was empty: the journal may be offered again`() {
    for withBatch in [false, true] {
        var device = DeviceBench.greeting()
        _ = device.received(.welcome(DeviceBench.welcome(.ahead, head: 10)), bytes: 300)
        _ = device.welcomed(at: 0, outbox: false)
        let swap =
            withBatch
            ? device.applied(to: 12, settledThrough: 0, swapped: true)
            : device.staged(to: 10, last: true, swapped: true)
        #expect(swap.contains(.push))
    }
}

@Test func `the log that follows a snapshot does not push before the swap`() {
    var device = loading()
    _ = device.staged(to: 10, last: true, swapped: false)
    let one = DeviceBench.batch(10, 11)
    #expect(device.received(.batch(one), bytes: 90) == [.apply(one)])
    let actions = device.applied(to: 11, settledThrough: 0, swapped: false)
    #expect(!actions.contains(.push))
    #expect(!actions.contains(.status(.live)))
}

@Test func `a page outside a snapshot is ignored`() {
    var device = DeviceBench.live()
    let before = device
    #expect(device.received(.page(DeviceBench.page(at: 1, last: true)), bytes: 9) == [])
    #expect(device.staged(to: 9, last: true, swapped: true) == [])
    #expect(device == before)
}

@Test func `a page that does not come is a stall`() {
    var device = loading()
    #expect(device.fired(.stall).last == .close(.stalled, "no progress"))
}

@Test func `while a snapshot loads a batch does not end the wait: a page or the log up to the newest page is due`() {
    // All that the hub is known to have, and the newest page is younger.
    var device = loading(head: 10)
    _ = device.received(.page(DeviceBench.page(at: 12, last: true)), bytes: 9)
    _ = device.staged(to: 10, last: true, swapped: false)
    #expect(device.fold(DeviceBench.batch(10, 11)).first == .schedule(.stall, 10_000))
    // A replica that has diverged asks for a page of a log that it has folded.
    var diverged = DeviceBench.greeting()
    _ = diverged.received(.welcome(DeviceBench.welcome(head: 10)), bytes: 300)
    _ = diverged.welcomed(at: 10, outbox: false, repair: true)
    #expect(diverged.fold(DeviceBench.batch(10, 11)).first == .schedule(.stall, 10_000))
}

@Test func `a hub that went back starts the replica below its old cursor`() {
    var device = loading(.ahead, at: 50, head: 10)
    _ = device.staged(to: 10, last: true, swapped: true)
    let next = DeviceBench.batch(10, 11)
    #expect(device.received(.batch(next), bytes: 90) == [.apply(next)])
    _ = device.applied(to: 11, settledThrough: 0, swapped: false)
    #expect(device.fired(.got) == [.cancel(.got), .send(.got(to: 11))])
}
