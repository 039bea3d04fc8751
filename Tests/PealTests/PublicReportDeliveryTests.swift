import PealHub
import PealModel
import PealReplica
import Testing

/// Faults of other sync systems, as their users reported them, played on a real hub store, real sessions and real files: what goes down.
@Suite struct PublicReportDelivery {
    private func agree(_ device: ScriptDevice, _ place: SourceLocation = #_sourceLocation) throws {
        #expect(try device.difference() == nil, sourceLocation: place)
    }

    @Test func `what was applied before a cut is not applied again after the reconnect, however often it comes`() throws
    {
        let script = try Script()
        let items = try (1...3).map { try script.publish("item \($0)") }
        let device = try script.device("phone")
        device.connect()
        // Acts, because an item that comes twice is known by its id.
        for on in [true, false] { try device.act(.read(items: [items[0]], on: on, passive: false)) }
        let link = try #require(device.link)
        link.isHeld = true
        try script.publish("item 6")
        script.run()
        let frame = try #require(link.down.last)
        let old = try #require(link.batches.last)
        link.deliver()
        device.cut()
        device.receive(frame)
        script.pass(3_000)
        #expect(device.isLive)
        // A hub that repeats itself: the same frame, then the same entries in frames of the new session, also with more before them.
        device.receive(frame)
        let session = try #require(device.link?.session.session)
        let log = try script.log()
        for from in 0..<6 as Range<Position> {
            let entries = log[Int(from)...].map { $0.bytes[...] }
            let batch = Batch(
                session: session, from: from, to: old.to, chain: old.chain, entries: Array(entries), sum: old.sum)
            device.receive(DownFrame.batch(batch).bytes)
        }
        script.run()
        #expect(device.inserted == [1, 2, 3, 6])
        #expect(device.isLive && device.divergences.isEmpty && device.swaps.isEmpty)
        try agree(device)
        // The next one comes in a frame that holds what is known, too.
        device.link?.isHeld = true
        try script.publish("item 7")
        script.run()
        let last = try #require(device.link?.batches.last)
        let whole = Batch(
            session: session, from: 2, to: 7, chain: last.chain, entries: try script.log()[2...].map { $0.bytes[...] },
            sum: last.sum)
        device.receive(DownFrame.batch(whole).bytes)
        device.link?.isHeld = false
        script.run()
        #expect(device.inserted == [1, 2, 3, 6, 7])
        #expect(device.divergences.isEmpty)
        try agree(device)
    }

    @Test func `an entry that arrives live before catch-up is applied once and in order`() throws {
        let script = try Script()
        script.batchEntries = 2
        let device = try script.device("phone")
        device.connect()
        try script.publish("item 1")
        script.run()
        device.disconnect()
        for number in 2...9 { try script.publish("item \(number)") }
        device.connectHeld()
        let link = try #require(device.link)
        // One batch of the catch-up is in, then something is published.
        while try device.cursor.position < 3, link.deliver() {}
        try script.publish("item 10")
        script.run()
        // The live one overtakes the rest.
        let all = link.down
        let session = try #require(link.session.session)
        let live = try script.log()[9].bytes
        let batch = Batch(
            session: session, from: 9, to: 10, chain: try #require(try script.reader.chain(of: script.inbox(), at: 10)),
            entries: [live[...]])
        device.receive(DownFrame.batch(batch).bytes)
        #expect(try device.cursor.position == 3, "nothing was taken out of order")
        #expect(!all.isEmpty)
        script.pass(60_000)
        #expect(device.inserted == Array(1...10))
        #expect(try device.titles == (1...10).reversed().map { "item \($0)" })
        try agree(device)
    }

    @Test(arguments: 0...8) func `a catch-up that fails half-way goes on where it was, and nothing is missing or twice`(
        _ good: Int
    ) throws {
        let script = try Script()
        script.batchEntries = 1
        for number in 1...8 { try script.publish("item \(number)") }
        let device = try script.device("phone")
        device.connectHeld()
        let link = try #require(device.link)
        link.deliver()  // The welcome.
        for _ in 0..<good { link.deliver() }
        #expect(try device.cursor.position == Position(good))
        device.cut()
        #expect(try device.cursor.position == Position(good))
        script.pass(2_000)
        #expect(device.inserted == Array(1...8))
        try agree(device)
    }

    @Test
    func
        `a file that is full half-way through a catch-up keeps cursor and data together, and goes on when there is room`()
        throws
    {
        let script = try Script()
        script.batchEntries = 20
        let device = try script.device("phone")
        for number in 1...200 { try script.publish(String(repeating: "\(number) ", count: 60)) }
        try device.kill(maximumPages: 60)
        device.connect()
        #expect(device.failures.contains { $0.code == .full })
        let stuck = try device.cursor.position
        #expect(stuck > 0 && stuck < 200)
        #expect(try device.replica.counts().total == stuck, "cursor and data moved together")
        script.pass(60_000)
        try device.kill()
        device.connect()
        #expect(device.inserted == Array(1...200))
        try agree(device)
    }

    @Test func `an epoch is never paired with a position of another log, wherever the process is killed`() throws {
        for step in 0..<12 {
            let script = try Script()
            script.pageRows = 1
            let early = try script.backup()
            for number in 1...3 { try script.publish("item \(number)") }
            let device = try script.device("phone")
            device.connect()
            let before = try device.cursor
            // The hub is restored to before the user: the same inbox gets a log of another epoch, longer than the old one.
            device.disconnect()
            try script.restore(early)
            for number in 4...8 { try script.publish("item \(number)") }
            device.connectHeld()
            for _ in 0..<step { device.link?.deliver() }
            try device.kill()
            let killed = try device.cursor
            #expect(killed == before || killed.epoch != before.epoch, "step \(step)")
            if killed.epoch == before.epoch {
                #expect(killed == before, "step \(step)")
            } else {
                let chain = try script.reader.chain(of: script.inbox(), at: killed.position)
                #expect(try killed.epoch == script.epoch() && killed.chain == chain, "step \(step)")
            }
            device.connect()
            script.pass(60_000)
            #expect(try device.titles == (4...8).reversed().map { "item \($0)" }, "step \(step)")
            try agree(device)
            // From now on the pair is of the new log.
            #expect(try device.cursor.epoch == script.epoch())
            device.cut()
            script.pass(60_000)
            #expect(script.hellos.last?.cursor == (try device.cursor))
            #expect(device.link?.modes == [.resume])
        }
    }

    @Test
    func
        `messages of one second stay in the order in which they were sent, on the device, on the hub and over a snapshot`()
        throws
    {
        let script = try Script(retention: Retention(entries: 5, hold: 0))
        let device = try script.device("phone")
        device.connect()
        // The clock stands: all have one time.
        for number in 1...40 { try script.publish("item \(number)") }
        script.run()
        let wanted = (1...40).reversed().map { "item \($0)" }
        #expect(try device.titles == wanted)
        #expect(try script.list().items.map { $0.body.title ?? "" } == wanted)
        // Pages of a list that is scrolled, too.
        var scrolled: [String] = []
        var after: PageCursor?
        repeat {
            let page = try device.replica.page(DeliveredQuery(), after: after, limit: 7)
            scrolled += try page.items.map { try $0.decodeBody().title ?? "" }
            after = page.next
        } while after != nil
        #expect(scrolled == wanted)
        while try script.commit({ try $0.upkeep(limit: 500, now: script.now) }) {}
        script.pageRows = 3
        let other = try script.device("tablet")
        other.connect()
        #expect(other.link?.modes == [.snapshot])
        #expect(try other.titles == wanted)
        try agree(other)
    }

    @Test(arguments: 0...6)
    func `a bootstrap that is interrupted is never shown as whole, and is whole in the end`(_ pages: Int) throws {
        let script = try Script(retention: Retention(entries: 1, hold: 0))
        for number in 1...10 { try script.publish("item \(number)") }
        while try script.commit({ try $0.upkeep(limit: 500, now: script.now) }) {}
        script.pageRows = 2
        let device = try script.device("phone")
        device.connectHeld()
        device.link?.deliver()
        for page in 0..<pages {
            script.run()
            // Something happens while it loads, so that the last page alone does not end it.
            if page == 2 { try script.publish("item 11") }
            device.link?.deliver()
            let counts = try device.replica.counts()
            #expect(
                counts.isPartial || counts.total == 0 || counts.total >= 10, "a part is shown as the whole: \(counts)")
        }
        try device.kill()
        let counts = try device.replica.counts()
        #expect(counts.isPartial || counts.total == 0 || counts.total >= 10, "a part is shown as the whole: \(counts)")
        if pages < 5 { #expect(counts.isPartial || counts.total == 0) }
        device.connect()
        script.pass(10_000)
        #expect(device.isLive)
        #expect(try device.titles.count == script.list().total)
        try agree(device)
    }
}
