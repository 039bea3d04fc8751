import PealModel
import Testing

@Test func `a batch that follows the cursor is folded, and little credit is returned after half a second`() {
    var device = DeviceBench.live(at: 3, head: 3)
    let batch = DeviceBench.batch(3, 5)
    #expect(device.received(.batch(batch), bytes: 200) == [.apply(batch)])
    #expect(
        device.applied(to: 5, settledThrough: 0, swapped: false) == [.cancel(.stall), .schedule(.got, 500)])
    // The timer runs already.
    #expect(device.fold(DeviceBench.batch(5, 6)) == [.cancel(.stall)])
    #expect(device.fired(.got) == [.cancel(.got), .send(.got(to: 6))])
    #expect(device.fold(DeviceBench.batch(6, 7)) == [.cancel(.stall), .schedule(.got, 500)])
}

@Test func `half a window of entries is credited at once`() {
    var device = DeviceBench.live()
    #expect(!device.fold(DeviceBench.batch(0, 2_047)).contains(.send(.got(to: 2_047))))
    #expect(
        device.fold(DeviceBench.batch(2_047, 2_048)) == [.cancel(.stall), .cancel(.got), .send(.got(to: 2_048))])
    #expect(device.fold(DeviceBench.batch(2_048, 2_049)) == [.cancel(.stall), .schedule(.got, 500)])
}

@Test func `half a window of bytes is credited at once`() {
    var device = DeviceBench.live()
    #expect(device.fold(DeviceBench.batch(0, 1), bytes: 524_287) == [.cancel(.stall), .schedule(.got, 500)])
    #expect(
        device.fold(DeviceBench.batch(1, 2), bytes: 1) == [.cancel(.stall), .cancel(.got), .send(.got(to: 2))])
}

@Test func `a batch of another session is ignored`() {
    var device = DeviceBench.live(at: 3, head: 3)
    let before = device
    #expect(device.received(.batch(DeviceBench.batch(3, 4, session: 6)), bytes: 9) == [])
    #expect(device == before)
}

@Test func `a batch that lies below the cursor is not folded, but credited`() {
    var device = DeviceBench.live(at: 10, head: 10)
    #expect(device.received(.batch(DeviceBench.batch(2, 6)), bytes: 9) == [.cancel(.stall), .schedule(.got, 500)])
    // Credit is for what came in this session, never for more.
    #expect(device.fired(.got) == [.cancel(.got), .send(.got(to: 6))])
    #expect(device.received(.batch(DeviceBench.batch(6, 10)), bytes: 9) == [.cancel(.stall), .schedule(.got, 500)])
    #expect(device.fold(DeviceBench.batch(10, 11)) == [.cancel(.stall)])
    #expect(device.fired(.got) == [.cancel(.got), .send(.got(to: 11))])
}

@Test func `more than a window below the cursor does not lock the session`() {
    var hub = HubBench.live(head: 9_000, entries: 4_096, bytes: 1_000_000)
    var device = DeviceBench.live(at: 9_000, head: 9_000)
    var position: Position = 0
    while case .entries(let after, let count, _) = hub.nextOutput() {
        position = min(after + Position(min(count, 500)), 9_000)
        hub.sent(to: position, bytes: 500, now: 0)
        for case .send(let frame) in device.received(.batch(DeviceBench.batch(after, position)), bytes: 500) {
            _ = hub.received(frame, now: 0)
        }
    }
    #expect(position == 9_000)
    #expect(hub.session != nil)
}

@Test func `a batch that overlaps the cursor is folded from there`() {
    var device = DeviceBench.live(at: 5, head: 5)
    let batch = DeviceBench.batch(3, 8)
    #expect(device.received(.batch(batch), bytes: 9) == [.apply(batch)])
    #expect(device.applied(to: 8, settledThrough: 0, swapped: false) == [.cancel(.stall), .schedule(.got, 500)])
}

@Test func `a gap closes the session, and nothing more is folded`() {
    var device = DeviceBench.live(at: 3, head: 3)
    #expect(device.received(.batch(DeviceBench.batch(4, 5)), bytes: 9) == [.close(.gap, "a gap in the log")])
    #expect(device.received(.batch(DeviceBench.batch(3, 4)), bytes: 9) == [])
    #expect(device.closed(.gap, "").reconnectDelay != nil)
}

@Test func `downloads go on while a push is in flight and while the hub is busy`() {
    var device = DeviceBench.live(outbox: true)
    _ = device.pushed(last: 4)
    #expect(device.fold(DeviceBench.batch(0, 1)) == [.cancel(.stall), .schedule(.got, 500)])
    _ = device.received(.busy(retryAfter: 9_000), bytes: 9)
    #expect(device.fold(DeviceBench.batch(1, 2)) == [.cancel(.stall)])
}
