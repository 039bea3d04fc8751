import PealModel

/// Random logs: publishes, retracts and acts of three replicas and the API, with stale views and skewed clocks.
struct RandomActs {
    var random: SplitMix64
    var inbox = Inbox()
    private var published: UInt64 = 0
    private var catalogues: Int64 = 0
    private let authors = [phone, tablet, laptop, .api]

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Appends one random entry; returns the author, view and act where it was an act.
    mutating func step() -> (observed: Position, act: Act)? {
        if published == 0 || random.chance(20) {
            published += 1
            inbox.publish(item(published))
            return nil
        }
        if random.chance(3) {
            inbox.append(.removed(items: [anyItem()], why: random.chance(50) ? "retract" : "expired"))
            return nil
        }
        if random.chance(3) {
            catalogues += 1
            inbox.append(.catalogue(catalogue()))
            return nil
        }
        let observed = random.chance(40) ? inbox.head : Position(random.below(Int(inbox.head) + 1))
        let wall = random.chance(30) ? nil : inbox.now - Milliseconds(random.below(20_000))
        let act = inbox.act(operation(), by: random.pick(authors), observed: observed, at: wall)
        return (observed, act)
    }

    private mutating func anyItem() -> ItemID { item(UInt64(1 + random.below(Int(published) + 1))) }

    private mutating func items() -> [ItemID] { (0...random.below(3)).map { _ in anyItem() } }

    private mutating func catalogue() -> Catalogue {
        let channels = ["email", "push"].map {
            Catalogue.Channel(slug: $0, label: $0, enabled: random.chance(50), required: random.chance(30))
        }
        return Catalogue(
            version: catalogues, categories: [Catalogue.Category(slug: "a", label: "A", channels: channels)])
    }

    private mutating func operation() -> PealModel.Operation {
        switch random.below(22) {
        case 0...5: .read(items: items(), on: random.chance(60), passive: random.chance(30))
        case 6...8: .archive(items: items(), on: random.chance(60))
        case 9...10: .seen(items: items())
        case 11: .delete(items: [anyItem()])
        case 12...15:
            .preference(
                category: random.pick(["a", "b"]), channel: random.pick(["email", "push"]), enabled: random.chance(50))
        case 16, 17:
            .track(
                item: anyItem(), event: random.pick(["opened", "clicked", "answered", "slept"]),
                data: random.chance(50) ? raw("\(random.below(9))") : nil)
        default: .mark(random.pick(MarkKind.allCases), upTo: Position(random.below(Int(inbox.head) + 3)))
        }
    }
}
