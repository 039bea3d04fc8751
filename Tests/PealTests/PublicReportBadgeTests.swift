import PealHub
import PealModel
import PealReplica
import Testing

/// Faults of other inboxes, as their users reported them: numbers that are not what the list shows.
@Suite struct PublicReportBadge {
    /// The badge by counting what is listed, one by one.
    private func recount(_ device: ScriptDevice) throws -> Counts {
        let all = try device.replica.page(DeliveredQuery(), limit: 500).items
        return Counts(
            total: Int64(all.count), unread: Int64(all.count { !$0.read }), unseen: Int64(all.count { !$0.seen }))
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `the badge is a recount on every device after every act, offline and on, and the hub's when all is sent`(
        _ seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed)
        let script = try Script()
        var items = try (1...10).map { try script.publish("item \($0)") }
        let devices = [try script.device("phone"), try script.device("tablet")]
        for device in devices { device.connect() }
        for step in 0..<60 {
            let device = devices[Int.random(in: 0...1, using: &random)]
            let some = (0...Int.random(in: 0...2, using: &random)).map { _ in items.randomElement(using: &random)! }
            let on = Bool.random(using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0...3: try device.act(.read(items: some, on: on, passive: Bool.random(using: &random)))
            case 4: try device.act(.archive(items: some, on: on))
            case 5: try device.act(.delete(items: [some[0]]))
            case 6: try device.act(.mark(.read, upTo: .random(in: 0...Position(items.count), using: &random)))
            case 7: try device.act(.mark(on ? .seen : .archive, upTo: .random(in: 0...6, using: &random)))
            case 8: try device.act(.seen(items: some))
            case 9: if device.isLive { device.disconnect() } else { device.connect() }
            default:
                items.append(try script.publish("item \(items.count + 1)"))
                script.run()
            }
            for device in devices {
                #expect(try device.replica.counts() == recount(device), "seed \(seed), step \(step)")
            }
            script.pass(500)
        }
        for device in devices {
            device.connect()
            script.pass(60_000)
        }
        for device in devices {
            let difference = try device.difference()
            #expect(difference == nil, "seed \(seed)")
            #expect(try device.replica.counts() == recount(device), "seed \(seed)")
        }
        #expect(try devices[0].titles == devices[1].titles, "seed \(seed)")
    }

    @Test func `read-all leaves nothing unseen, at once and offline, on the hub and on every other device`() throws {
        let script = try Script()
        for number in 1...5 { try script.publish("item \(number)") }
        let (one, other) = (try script.device("phone"), try script.device("tablet"))
        one.connect()
        other.connect()
        one.disconnect()
        let none = Counts(total: 5, unread: 0, unseen: 0)
        #expect(try one.replica.counts() == Counts(total: 5, unread: 5, unseen: 5))
        _ = try one.replica.enqueue(.mark(.read, upTo: one.cursor.position))
        #expect(try one.replica.counts() == none)
        #expect(try one.replica.page(DeliveredQuery(seen: false), limit: 10).items.isEmpty)
        one.connect()
        script.run()
        #expect(try one.replica.counts() == none)
        #expect(try other.replica.counts() == none)
        #expect(try script.list().unseen == 0 && script.list().unread == 0)
        // An unread afterwards makes it unread again, not unseen.
        let item = try #require(try other.replica.item(number: 2))
        try other.act(.read(items: [item.id], on: false, passive: false))
        for device in [one, other] {
            #expect(try device.replica.counts() == Counts(total: 5, unread: 1, unseen: 0))
            #expect(try device.difference() == nil)
        }
    }

    @Test func `what arrives while read-all is under way stays unread and unseen`() throws {
        let script = try Script()
        for number in 1...3 { try script.publish("item \(number)") }
        let device = try script.device("phone")
        device.connect()
        device.disconnect()
        _ = try device.replica.enqueue(.mark(.read, upTo: .max))
        try script.publish("item 4")
        device.connect()
        script.run()
        #expect(try device.replica.counts() == Counts(total: 4, unread: 1, unseen: 1))
        #expect(try device.replica.item(number: 4)?.read == false)
        #expect(try device.difference() == nil)
    }
}
