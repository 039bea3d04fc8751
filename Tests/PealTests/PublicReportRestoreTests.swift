import PealHub
import PealModel
import PealReplica
import Testing

/// Faults of other sync systems, as their users reported them: files that were restored or copied, and devices that were away.
@Suite struct PublicReportRestore {
    private func read(_ item: ItemID, on: Bool = true) -> PealModel.Operation {
        .read(items: [item], on: on, passive: false)
    }

    /// What became of an act, as the log tells it.
    private func outcomes(_ script: Script, _ uid: UInt64) throws -> [Outcome.Code] {
        try script.log().compactMap { entry in
            guard case .act(let act) = entry.kind, act.uid == uid else { return nil }
            return act.outcome.code
        }
    }

    @Test func `a device that is restored from a backup loses none of its later acts`() throws {
        let script = try Script()
        let items = try (1...6).map { try script.publish("item \($0)") }
        let device = try script.device("phone")
        device.connect()
        try device.act(read(items[0]))
        let backup = try device.backup()
        try device.act(read(items[1]))
        try device.act(.archive(items: [items[2]], on: true))
        device.disconnect()
        try device.restore(backup)
        // What is done on the restored file has numbers that the hub has seen already.
        let later = try [read(items[3]), read(items[4]), .archive(items: [items[5]], on: true)].map {
            try device.replica.enqueue($0)
        }
        device.connect()
        script.pass(60_000)
        for uid in later { #expect(try outcomes(script, uid) == [.applied]) }
        #expect(try device.replica.outbox().isEmpty)
        #expect(try script.list().total == 4 && script.list().unread == 0)
        #expect(try device.difference() == nil)
        #expect(device.reports == ["this replica was restored or copied; it goes on under a new id"])
    }

    @Test
    func `two devices on copies of one file become two, and neither's acts are lost nor its session ended for ever`()
        throws
    {
        let script = try Script()
        let items = try (1...8).map { try script.publish("item \($0)") }
        let one = try script.device("phone")
        one.connect()
        let copy = try one.backup()
        let other = try script.device("clone", onCopy: copy, of: one)
        other.connect()
        script.pass(120_000)
        var uids: [UInt64] = []
        for (index, item) in items.enumerated() {
            uids.append(try (index.isMultiple(of: 2) ? one : other).act(read(item)))
            script.pass(1_000)
        }
        script.pass(120_000)
        #expect(one.isLive && other.isLive)
        #expect(try one.replica.replicaID() != other.replica.replicaID())
        for uid in uids { #expect(try outcomes(script, uid) == [.applied]) }
        #expect(try one.difference() == nil)
        #expect(try other.difference() == nil)
        let forks = (one.reports + other.reports).filter { $0.contains("restored or copied") }
        #expect(forks.count == 1, "one of them took a new id, once")
        // And then there is peace: no session ends the other one.
        let connections = one.connections + other.connections
        #expect(connections <= 5, "\(connections) connections")
        script.pass(3_600_000)
        #expect(one.connections + other.connections == connections)
    }

    @Test(arguments: [false, true])
    func `what was deleted does not return with a device that was away for 19 days`(_ isTrimmed: Bool) throws {
        let script = try Script(retention: isTrimmed ? Retention(entries: 3, hold: 0) : Retention())
        let items = try (1...5).map { try script.publish("item \($0)") }
        let (away, other) = (try script.device("phone"), try script.device("tablet"))
        away.connect()
        other.connect()
        away.disconnect()
        // On the one that is away everything is touched that can be.
        for operation: PealModel.Operation in [
            read(items[0]), read(items[0], on: false), .archive(items: [items[1]], on: true), .seen(items: [items[2]]),
            .track(item: items[0], event: "opened", data: nil), .mark(.read, upTo: 4),
        ] { _ = try away.replica.enqueue(operation) }
        #expect(try away.replica.counts().total == 4)
        try other.act(.delete(items: Array(items[..<3])))
        for day in 1...19 {
            script.pass(86_400_000)
            if day % 5 == 0 { try script.publish("day \(day)") }
            script.run()
        }
        while try script.commit({ try $0.upkeep(limit: 500, now: script.now) }) {}
        away.connect()
        script.pass(60_000)
        #expect(away.link?.modes == [isTrimmed ? .snapshot : .resume])
        for device in [away, other] {
            #expect(try device.titles == ["day 15", "day 10", "day 5", "item 5", "item 4"])
            #expect(try items[..<3].allSatisfy { try device.replica.item($0) == nil })
            #expect(try device.difference() == nil)
        }
        #expect(try away.replica.outbox().isEmpty, "every act has an outcome")
        #expect(try away.replica.item(items[3])?.read == true, "the mark counts for what is still there")
    }

    @Test(arguments: [false, true])
    func `a device whose clock is a year ahead wins nothing by it, and loses nothing`(_ isRebooted: Bool) throws {
        let script = try Script()
        let items = try (1...3).map { try script.publish("item \($0)") }
        let (wrong, right) = (try script.device("phone"), try script.device("tablet"))
        let year: Milliseconds = 365 * 86_400_000
        wrong.skew = isRebooted ? year : 0
        wrong.connect()
        right.connect()
        wrong.disconnect()
        // Without a reboot the clock jumps after the act, and the age is what counts; with one, the measured offset does.
        _ = try wrong.replica.enqueue(read(items[0]))
        wrong.skew = year
        script.pass(60_000)
        if isRebooted { try wrong.reboot() }
        right.disconnect()
        _ = try right.replica.enqueue(read(items[0], on: false))
        script.pass(60_000)
        // The right device's later word is at the hub first.
        right.connect()
        wrong.connect()
        script.pass(60_000)
        #expect(try wrong.replica.item(items[0])?.read == false)
        #expect(
            try right.replica.item(items[0])?.read == false,
            "the later act stands, though its device has the earlier clock")
        // The wrong clock is no reason to hide, to hold back or to forget.
        try wrong.act(read(items[1]))
        try right.act(read(items[1], on: false))
        script.run()
        #expect(try right.replica.item(items[1])?.read == false, "who had seen it decides")
        for entry in try script.log() {
            guard case .act(let act) = entry.kind else { continue }
            #expect(act.itime <= entry.time)
        }
        wrong.cut()
        script.pass(120_000)
        #expect(wrong.isLive)
        #expect(try wrong.replica.inspect().journal > 0, "what may have to be offered again is kept")
        #expect(try wrong.difference() == nil)
        #expect(try right.difference() == nil)
    }

    @Test func `a sum that never agrees brings one snapshot and one report a day, not a loop`() throws {
        let script = try Script()
        try script.publish("item 1")
        let device = try script.device("phone")
        // A hub whose sum is wrong always, by the same cause.
        script.tamper = { frame in
            switch frame {
            case .batch(var batch):
                batch.sum = batch.sum.map { $0 &+ 77 }
                return .batch(batch)
            case .page(var page):
                page.sum = page.sum.map { $0 &+ 77 }
                return .page(page)
            default: return frame
            }
        }
        device.connect()
        for _ in 0..<70 {
            script.pass(20 * 60_000)
            try script.publish("another")
            script.run()
        }
        #expect(device.divergences.count <= 2, "a report in 23 hours, and one more for what the snapshot left")
        #expect(device.swaps.count == 1, "\(device.swaps.count) snapshots")
        #expect(device.connections <= 4, "\(device.connections) connections")
        #expect(device.isLive)
        #expect(try device.replica.counts().total == 71, "and everything is there all the same")
    }

    @Test func `a cause that is another with each entry brings no more than a snapshot an hour`() throws {
        let script = try Script()
        try script.publish("item 1")
        let device = try script.device("phone")
        var wrong: UInt64 = 1
        script.tamper = { frame in
            guard case .batch(var batch) = frame else { return frame }
            wrong = wrong &* 3
            batch.sum = batch.sum.map { $0 &+ wrong }
            return .batch(batch)
        }
        device.connect()
        for _ in 0..<360 {
            script.pass(60_000)
            try script.publish("another")
            script.run()
        }
        #expect((1...7).contains(device.swaps.count), "\(device.swaps.count) snapshots in six hours")
        #expect(try device.replica.counts().total == 361)
    }
}
