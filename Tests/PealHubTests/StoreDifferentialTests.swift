import PealModel
import Testing

@testable import PealHub

/// The store states in SQL what PealModel's `Resolver` and `InboxState` say as values; random histories tie the two.
@Suite struct StoreDifferentialTests {
    @Test(arguments: StoreKind.all, 0..<24)
    func `random acts of several authors end as the model says`(_ kind: StoreKind, _ seed: UInt64) throws {
        guard kind.plays(seed) else { return }
        var history = try RandomHistory(kind, seed: seed, device: seed.isMultiple(of: 3))
        for _ in 0..<20 { try history.group() }
        try history.compare()
    }
}

/// One inbox, four authors, and the model beside the store.
private struct RandomHistory {
    let seed: UInt64
    let hub: StoreFixture
    let inbox: InboxKey
    let sessions: [Admitted]
    let ids: [ReplicaID]
    var lastN: [Int64]
    var model: InboxState
    var items: [ItemID] = []
    var known: Set<UInt64> = []
    var random: SplitMix

    init(_ kind: StoreKind, seed: UInt64, device: Bool) throws {
        self.seed = seed
        random = SplitMix(state: seed &* 7_919 &+ 3)
        hub = try StoreFixture(kind, seed: seed)
        ids = (1...3).map { ReplicaID(high: seed, low: $0) }
        var sessions: [Admitted] = []
        for id in ids {
            let identity: InboxIdentity
            var proof = Proof()
            if device {
                identity = .device(id: sessions.first?.welcome.inbox)
                if let first = sessions.first { proof = Proof(secret: first.welcome.secret, replica: ids[0]) }
            } else {
                identity = .user(externalID: "anna", email: nil)
            }
            sessions.append(try hub.admitted(hub.hello(identity, replica: id, proof: proof)))
            try hub.proven(sessions[sessions.count - 1])
        }
        self.sessions = sessions
        inbox = sessions[0].inbox
        lastN = [0, 0, 0]
        model = InboxState(device: device)
    }

    /// A few steps in one group commit, as the committer does it.
    mutating func group() throws {
        try hub.store.begin()
        for _ in 0..<Int.random(in: 1...9, using: &random) {
            hub.now += Milliseconds.random(in: 0...2_000, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<5: try publish()
            case 5: try retract()
            case 6: try setCatalogue()
            case 7..<9: try actThroughHTTP()
            default: try push()
            }
        }
        try hub.store.commit()
    }

    private mutating func publish() throws {
        let name = "pubid-\(random.next())"
        // Only users are named by a publish; a device's inbox gets its items through an interest.
        let isDevice = model.interests() != nil
        if isDevice, model.interests()?.contains("news") != true {
            try expect(
                try hub.store.act(
                    .interest(name: "news", on: true), uid: fresh(), observed: nil, in: inbox, now: hub.now
                ).appended)
        }
        let request = PublishRequest(
            project: hub.project.key, name: name,
            body: ItemBody(title: name, sent: hub.now, silent: Bool.random(using: &random)),
            interests: isDevice ? ["news", "more"] : [],
            recipients: isDevice ? [] : [.init(identity: UserIdentity(externalID: "anna"))])
        let appended = try #require(try hub.store.publish(request, now: hub.now).appended.first, "seed \(seed)")
        items.append(try StoreFixture.id(of: appended))
        try expect(appended)
    }

    private mutating func retract() throws {
        let chosen = Set(someItems()).sorted()
        let there = chosen.filter { model.items[$0].map { !$0.deleted } ?? false }
        let appended = try hub.store.remove(chosen, why: "retract", from: inbox, now: hub.now)
        #expect((appended == nil) == there.isEmpty, "seed \(seed)")
        if let appended { try expect(appended, Entry(time: hub.now, kind: .removed(items: there, why: "retract"))) }
    }

    private mutating func setCatalogue() throws {
        let channels = ["push", "email"].map {
            Catalogue.Channel(
                slug: $0, label: $0, enabled: Bool.random(using: &random), required: Bool.random(using: &random))
        }
        let categories = [Catalogue.Category(slug: "a", label: "A", channels: channels)]
        let set = try hub.store.setCatalogue(categories, in: hub.project.key, now: hub.now)
        #expect(set.categories == categories, "seed \(seed)")
        guard Bool.random(using: &random) else { return }
        let appended = try hub.store.bringCatalogue(to: [inbox], now: hub.now)
        #expect(appended.count <= (model.isDevice ? 0 : 1), "seed \(seed)")
        for entry in appended { try expect(entry, Entry(time: hub.now, kind: .catalogue(set))) }
    }

    private mutating func actThroughHTTP() throws {
        var mutation = mutation(n: 0, uid: random.next() % 8 == 0 ? known.min() ?? fresh() : fresh())
        mutation.moment = .age(0)
        mutation.observedTime = 0
        let isKnown = !known.insert(mutation.uid).inserted
        let result = try hub.store.act(
            mutation.operation, uid: mutation.uid, observed: mutation.observed, in: inbox, now: hub.now)
        try expect(result.catalogue)
        guard !isKnown else {
            // Either the earlier answer, or a duplicate of a replica's act that is entered.
            if let appended = result.appended { try expect(appended) }
            return
        }
        let act = Resolver.resolve(mutation, by: .api, in: model, now: hub.now)
        #expect(result.outcome == act.outcome, "seed \(seed)")
        #expect(result.results == act.results, "seed \(seed)")
        #expect((result.appended == nil) == (act.effect == .none), "seed \(seed)")
        if let appended = result.appended { try expect(appended, Entry(time: hub.now, kind: .act(act))) }
    }

    private mutating func push() throws {
        let who = Int.random(in: 0..<3, using: &random)
        let author = Author.replica(ids[who])
        let uid = random.next() % 10 == 0 ? known.randomElement(using: &random) ?? fresh() : fresh()
        let mutation = mutation(n: lastN[who] + 1, uid: uid)
        let result = try hub.store.push(
            [mutation], from: sessions[who].replica, session: sessions[who].welcome.session, now: hub.now)
        lastN[who] += 1
        #expect(result.stop == nil, "seed \(seed)")
        for entry in result.appended.dropLast() { try expect(entry) }
        let act =
            known.insert(uid).inserted
            ? Resolver.resolve(mutation, by: author, in: model, now: hub.now)
            : Act(author: author, n: mutation.n, uid: uid, itime: hub.now, outcome: .duplicate)
        #expect((1...2).contains(result.appended.count), "seed \(seed)")
        try expect(result.appended.last, Entry(time: hub.now, kind: .act(act)))
    }

    /// The entry is what the model decides, where it decides; then it is folded.
    private mutating func expect(_ appended: Appended?, _ wanted: Entry? = nil) throws {
        guard let appended else { return }
        let entry = try Entry(appended.bytes[...])
        if let wanted { #expect(entry == wanted, "seed \(seed), position \(appended.position)") }
        model.fold(entry)
        #expect(appended.position == model.head, "seed \(seed)")
        #expect(appended.sum == model.sum, "seed \(seed), position \(appended.position)")
    }

    private mutating func fresh() -> UInt64 { random.next() }

    private mutating func someItems() -> [ItemID] {
        var some = (0..<Int.random(in: 1...4, using: &random)).compactMap { _ in items.randomElement(using: &random) }
        if random.next() % 12 == 0 { some.append(ItemID(time: hub.now, counter: random.next() % 99, random: 5)) }
        return some
    }

    private mutating func mutation(n: Int64, uid: UInt64) -> Mutation {
        let on = Bool.random(using: &random)
        let operation: PealModel.Operation =
            switch Int.random(in: 0..<17, using: &random) {
            case 0..<4: .read(items: someItems(), on: on, passive: Bool.random(using: &random))
            case 4, 5: .archive(items: someItems(), on: on)
            case 6: .seen(items: someItems())
            case 7: .delete(items: someItems())
            case 8, 9: .mark(MarkKind.allCases.randomElement(using: &random)!, upTo: observed())
            case 10...12:
                .preference(
                    category: ["a", "b"].randomElement(using: &random)!,
                    channel: ["push", "email"].randomElement(using: &random)!, enabled: on)
            case 13, 14: track()
            case 15: .interest(name: ["a", "b", "not one"].randomElement(using: &random)!, on: on)
            default: .interests(replace: on ? ["a", "news"] : ["b"])
            }
        let moment: Mutation.Moment =
            on
            ? .age(Milliseconds.random(in: -50...9_000, using: &random))
            : .wall(hub.now - Milliseconds.random(in: -50...9_000, using: &random))
        return Mutation(
            n: n, uid: uid, observed: observed(), observedTime: hub.now - 5_000, moment: moment, operation: operation)
    }

    private mutating func track() -> PealModel.Operation {
        .track(
            item: someItems().first ?? ItemID(high: 0, low: 0),
            event: ["opened", "clicked", "answered", "slept"].randomElement(using: &random)!,
            data: Bool.random(using: &random) ? Array("{}".utf8)[...] : nil)
    }

    private mutating func observed() -> Position {
        max(0, model.head - Position.random(in: -2...12, using: &random))
    }

    // MARK: At the end

    func compare() throws {
        #expect(try hub.folded(inbox, device: model.interests() != nil) == model, "seed \(seed)")
        let page = try hub.reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: .max, maxBytes: .max)
        #expect(page.last && page.at == model.head, "seed \(seed)")
        #expect(page.sum == model.sum, "seed \(seed)")
        #expect(page.rest?.marks == model.marks, "seed \(seed)")
        #expect(page.rest?.interests == model.interests()?.sorted(), "seed \(seed)")
        #expect(page.rest?.preferences == model.cells, "seed \(seed)")
        #expect(page.rest?.catalogue == model.currentCatalogue, "seed \(seed)")
        for row in page.rows {
            let facts = model.facts[row.id, default: []].sorted { $0.event < $1.event }
            #expect(row.facts == facts, "seed \(seed)")
            #expect(try hub.reader.facts(of: row.id, in: inbox) == facts, "seed \(seed)")
        }
        let newest = model.isDevice ? nil : try hub.reader.catalogue(of: hub.project.key)
        #expect(
            try hub.reader.preferences(of: inbox)
                == Preference.all(model.cells.mapValues(\.register.value), newest), "seed \(seed)")
        let alive = model.items.filter { !$0.value.deleted }
        #expect(Dictionary(uniqueKeysWithValues: page.rows.map { ($0.id, $0.state) }) == alive, "seed \(seed)")
        #expect(Dictionary(uniqueKeysWithValues: page.rows.map { ($0.id, $0.body) }) == model.bodies, "seed \(seed)")
        try compareLists(alive)
    }

    private func compareLists(_ alive: [ItemID: ItemState]) throws {
        let listed = try alive.filter { try !ItemBody(JSONObject(try #require(model.bodies[$0.key]))).silent }
        for read in [nil, true, false] {
            for archived in [nil, true, false] {
                let matching = listed.values.filter { state in
                    (read == nil || model.marks.isRead(state) == read)
                        && (archived == nil || model.marks.isArchived(state) == archived)
                }
                let page = try hub.reader.list(
                    ListQuery(read: read, archived: archived, perPage: 100, now: hub.now), of: inbox)
                #expect(page.total == matching.count, "seed \(seed)")
                #expect(page.unread == matching.count { !model.marks.isRead($0) }, "seed \(seed)")
                #expect(page.unseen == matching.count { !model.marks.isSeen($0) }, "seed \(seed)")
                #expect(page.items.map(\.position) == matching.map(\.position).sorted(by: >), "seed \(seed)")
                for item in page.items {
                    let state = try #require(listed[item.id])
                    #expect((item.readAt != nil) == model.marks.isRead(state), "seed \(seed)")
                    #expect((item.seenAt != nil) == model.marks.isSeen(state), "seed \(seed)")
                    #expect((item.archivedAt != nil) == model.marks.isArchived(state), "seed \(seed)")
                }
            }
        }
    }
}
