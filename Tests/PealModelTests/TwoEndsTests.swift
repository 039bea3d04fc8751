import PealModel
import Testing

/// Random events, faults among them, while the law of the fold is looked at.
private func disturb(_ ends: inout TwoEnds, steps: Int, seed: UInt64) {
    for _ in 0..<steps {
        ends.now += Milliseconds(ends.random.below(40))
        switch ends.random.below(30) {
        case 0, 1, 2:
            ends.hub.publish(now: ends.now)
            ends.wake()
        case 3: ends.act()
        case 4: ends.hub.floor = max(ends.hub.floor, ends.hub.head - Position(ends.random.below(30)))
        case 5: ends.cutWithNotice()
        case 6: ends.networkChanged()
        case 7...9: _ = ends.fireTimer(within: 60_000)
        case 10: _ = ends.fireTimer(within: 200)
        case 11...16: _ = ends.deliverUp()
        case 17...22: _ = ends.write()
        default: _ = ends.deliverDown()
        }
        check(ends, seed)
    }
}

private func check(_ ends: TwoEnds, _ seed: UInt64) {
    let cursor = ends.device.cursor
    if ends.device.base != ends.hub.history[Int(cursor.position)] {
        Issue.record("seed \(seed): base is not the fold of the log through \(cursor.position)")
    }
    if cursor.epoch != nil, cursor.chain != ends.hub.chain(cursor.position) {
        Issue.record("seed \(seed): the cursor's chain is not that of \(cursor.position)")
    }
    if ends.hub.session?.unacknowledged ?? 0 > 20 { Issue.record("seed \(seed): more than the window is out") }
}

/// No faults from here on: everything that is under way arrives, timers fire when their time has come.
private func settle(_ ends: inout TwoEnds, seed: UInt64) -> Int {
    for step in 0..<20_000 {
        if ends.device.session.isSettled, ends.device.outbox.isEmpty, ends.down.isEmpty, ends.up.isEmpty,
            ends.device.cursor.position == ends.hub.head
        {
            return step
        }
        if ends.deliverUp() || ends.write() || ends.deliverDown() {
            check(ends, seed)
            continue
        }
        if !ends.fireTimer(within: .max / 2) {
            Issue.record("seed \(seed): nothing can happen any more")
            return step
        }
    }
    Issue.record("seed \(seed): not settled, at \(ends.device.cursor.position) of \(ends.hub.head)")
    return 20_000
}

@Test func `after any faults the replica reaches the head with an empty outbox, and each act has had one effect`()
    throws
{
    var snapshots = 0
    for seed in 0..<400 as Range<UInt64> {
        var ends = TwoEnds(seed: seed)
        ends.hub.busyPercent = ends.random.pick([0, 0, 20])
        disturb(&ends, steps: 400, seed: seed)
        if ends.device.stage != nil { snapshots += 1 }
        ends.hub.busyPercent = 0
        _ = settle(&ends, seed: seed)
        #expect(ends.device.base == ends.hub.history.last, "seed \(seed)")
        var uids: [UInt64: Int] = [:]
        for bytes in ends.hub.log {
            if case .act(let act) = try Entry(bytes[...]).kind { uids[act.uid, default: 0] += 1 }
        }
        #expect(uids.count == Int(ends.device.uids), "seed \(seed)")
        #expect(uids.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    }
    // The runs must have been interrupted while they loaded snapshots too.
    #expect(snapshots > 10)
}

@Test func `a quiet session costs a bounded number of frames`() {
    for seed in 0..<50 as Range<UInt64> {
        var ends = TwoEnds(seed: seed)
        for _ in 0..<300 { ends.hub.publish(now: 0) }
        ends.wake()
        #expect(settle(&ends, seed: seed) < 700, "seed \(seed)")
    }
}

@Test func `a replica that diverged finds out by the sum and is repaired by one snapshot`() {
    for seed in 0..<100 as Range<UInt64> {
        var ends = TwoEnds(seed: seed)
        for _ in 0..<5 { ends.hub.publish(now: 0) }
        ends.wake()
        _ = settle(&ends, seed: seed)
        // Something that no entry says.
        ends.device.base.fold(Entry(time: 0, kind: .removed(items: [item(3)], why: "retract")))
        for _ in 0..<ends.random.below(3) { ends.act() }
        ends.hub.publish(now: 0)
        ends.wake()
        for _ in 0..<20_000 {
            if ends.device.repairs > 0, ends.device.session.isSettled, ends.device.outbox.isEmpty { break }
            if ends.random.chance(1) { ends.cutWithNotice() }
            if ends.deliverUp() || ends.write() || ends.deliverDown() { continue }
            if !ends.fireTimer(within: .max / 2) { break }
        }
        #expect(ends.device.repairs == 1, "seed \(seed)")
        #expect(ends.device.base == ends.hub.history.last, "seed \(seed)")
        #expect(ends.device.outbox.isEmpty, "seed \(seed)")
    }
}
