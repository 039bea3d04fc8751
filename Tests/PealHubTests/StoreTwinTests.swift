import Foundation
import PealHubMemory
import PealModel
import Testing

@testable import PealHub

/// Two stores that get the same requests and the same random bits give the same answers and the same logs.
@Suite struct StoreTwinTests {
    /// `PEAL_TWINS` asks for more.
    static let seeds = ProcessInfo.processInfo.environment["PEAL_TWINS"].flatMap { UInt64($0) } ?? 40

    @Test(arguments: 0..<StoreTwinTests.seeds)
    func `SQLite and memory answer random requests alike`(_ seed: UInt64) throws {
        var twins = try Twins(.sqlite, seed: seed)
        for _ in 0..<30 { try twins.group() }
        try twins.compareAll()
    }

    #if PostgreSQL
        @Test(arguments: 0..<StoreTwinTests.seeds / 5)
        func `PostgreSQL and memory answer random requests alike`(_ seed: UInt64) throws {
            var twins = try Twins(.postgres, seed: seed)
            for _ in 0..<30 { try twins.group() }
            try twins.compareAll()
        }
    #endif
}

/// A pair of stores and a random driver. Every random choice is made once and given to both.
private struct Twins {
    struct Member {
        var id: ReplicaID
        var user: String?
        var admitted: Admitted?
        var attempt: Int64 = 0
        var nonces: [String] = [""]
        var sent: [Mutation] = []
        var proof = Proof()
        var cursor = Cursor.start
    }

    let seed: UInt64
    let one: StoreFixture
    let other: StoreFixture
    var random: SplitMix
    var now: Milliseconds = 1_700_000_000_000
    var members: [Member]
    var items: [(inbox: InboxKey, id: ItemID)] = []
    var publishes = 0
    /// Inboxes that were deleted: their rows go little by little, and nobody reads them.
    var ended: Set<InboxKey> = []
    var inGroup = false

    init(_ kind: StoreKind, seed: UInt64) throws {
        self.seed = seed
        let retention = Retention(
            entries: 4, age: 3_600_000, hold: seed.isMultiple(of: 2) ? 60_000 : 5_000, period: 2_000)
        one = try StoreFixture(kind, seed: seed, retention: retention)
        other = try StoreFixture(.memory, seed: seed, retention: retention)
        (other.store as? MemoryHubStore)?.countsPositions = kind.name == StoreKind.postgresName
        // Every other pair makes a durable job of each publish that matches more than one.
        if seed % 4 < 2 {
            one.makeWide(from: 1)
            other.makeWide(from: 1)
        }
        random = SplitMix(state: seed &* 31 &+ 7)
        members = (1...5).map { number in
            Member(id: ReplicaID(high: seed, low: number), user: number < 4 ? ["anna", "berta"][Int(number) % 2] : nil)
        }
    }

    mutating func chance(_ part: Int, of whole: Int) -> Bool { Int(random.next() % UInt64(whole)) < part }
    mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    /// Runs a request on both, in savepoints of their own, and compares what came of it, errors included.
    @discardableResult
    func both<Value: Equatable>(
        _ what: String, _ body: (any HubStore, ProjectKey) throws(HubStoreError) -> Value
    ) throws -> Value? {
        var results: [Result<Value, HubStoreError>] = []
        for hub in [one, other] {
            do throws(HubStoreError) {
                results.append(
                    .success(
                        try hub.store.savepoint { () throws(HubStoreError) in
                            try body(hub.store, hub.project.key)
                        }))
            } catch {
                results.append(.failure(error))
                try hub.takeKeysAgain()
            }
        }
        switch (results[0], results[1]) {
        case (.success(let left), .success(let right)):
            #expect(left == right, "seed \(seed): \(what)")
            return left
        case (.failure(let left), .failure(let right)):
            #expect(left.code == right.code, "seed \(seed): \(what)")
            return nil
        default:
            Issue.record("seed \(seed): \(what): \(results)")
            return nil
        }
    }

    mutating func group() throws {
        let subscription = try one.nextSubscription
        for hub in [one, other] { try hub.store.begin() }
        let before = (members, items, ended)
        for _ in 0..<pick(1..<8) {
            now += Milliseconds(pick(0..<3_000))
            if chance(1, of: 60) { now += 25 * 3_600_000 }
            try step()
        }
        if chance(1, of: 9) {
            for hub in [one, other] {
                hub.store.rollback()
                try hub.takeKeysAgain()
            }
            try one.setNextSubscription(subscription)
            (members, items, ended) = before
        } else {
            for hub in [one, other] { try hub.store.commit() }
            if chance(1, of: 4) { try compareAll() }
        }
    }

    mutating func step() throws {
        switch pick(0..<25) {
        case 22, 23:
            let appended = try both("fan-out") { (store, _) throws(HubStoreError) in
                try store.fanOut(limit: 2, now: now)
            }
            note((appended ?? nil) ?? [])
        case 24: try catalogue()
        case 0..<3: try publish()
        case 3..<6: try hello()
        case 6..<12: try push()
        case 12..<15: try act()
        case 15: try remove()
        case 16: try both("expire") { (store, _) throws(HubStoreError) in try store.expire(limit: 3, now: now) }
        case 17: try both("upkeep") { (store, _) throws(HubStoreError) in try store.upkeep(limit: 4, now: now) }
        case 18: try undone()
        case 19: try chance(1, of: 4) ? revoke() : device()
        case 20: try cursors()
        default: try users()
        }
    }

    /// What a publish replaces is taken back in entries of its own, which are no items.
    mutating func note(_ appended: [Appended]) {
        for entry in appended { (try? StoreFixture.id(of: entry)).map { items.append((entry.inbox, $0)) } }
    }

    mutating func publish() throws {
        publishes += 1
        let name = "pubid-\(chance(1, of: 8) ? pick(0..<publishes) : publishes)"
        let body = ItemBody(
            title: name, category: chance(1, of: 2) ? "news" : nil, sent: now,
            expires: chance(1, of: 3) ? now + 5_000 : nil, silent: chance(1, of: 6))
        let users = ["anna", "berta", "carla"].filter { _ in chance(1, of: 2) }
        let interests = ["a", "b"].filter { _ in chance(1, of: 2) }
        let collapse = chance(1, of: 3) ? ["k", "l"][pick(0..<2)] : nil
        if chance(1, of: 5) {
            let old = "pubid-\(pick(0..<publishes))"
            try both("retract a publish") { (store, project) throws(HubStoreError) in
                try store.retract(old, of: project, now: now)
            }
        }
        let result = try both("publish") { (store, project) throws(HubStoreError) in
            try store.publish(
                PublishRequest(
                    project: project, name: name, body: body, interests: interests,
                    recipients: users.map { .init(identity: .init(externalID: $0)) }, collapse: collapse), now: now)
        }
        note(result?.appended ?? [])
        guard let entry = result?.appended.last else { return }
        try both("an item of a publish") { (store, project) throws(HubStoreError) in
            try store.item(ofPublish: name, of: project, in: entry.inbox)
        }
    }

    /// The store on SQLite uses the numbers of entries again that were the last ones when they were purged, the other does not: an
    /// entry behind them keeps the two alike.
    mutating func deleted(_ inboxes: [InboxKey]) throws {
        ended.formUnion(inboxes)
        publishes += 1
        let name = "pubid-\(publishes)"
        try both("a publish after a deletion") { (store, project) throws(HubStoreError) in
            try store.publish(
                PublishRequest(
                    project: project, name: name, body: ItemBody(title: name, sent: now),
                    recipients: [.init(identity: UserIdentity(externalID: "carla"))]), now: now)
        }
    }

    mutating func hello() throws {
        let index = pick(0..<members.count)
        var member = members[index]
        let inbox: InboxIdentity =
            member.user.map { .user(externalID: $0, email: nil) }
            ?? .device(id: chance(1, of: 6) ? nil : member.admitted?.welcome.inbox)
        let hello = one.hello(
            inbox, replica: member.id, attempt: member.attempt + Int64(pick(0..<8) == 0 ? 0 : 1),
            nonce: chance(1, of: 6) ? member.nonces[pick(0..<member.nonces.count)] : member.nonces.last ?? "",
            cursor: chance(1, of: 6) ? Cursor(epoch: 1, position: 2, chain: 3) : member.cursor, outbox: 1...9,
            proof: chance(1, of: 9) ? Proof(secret: "wrong") : member.proof)
        let result = try both("hello") { (store, project) throws(HubStoreError) in
            try store.admit(hello, project: project, now: now)
        }
        guard case .admitted(let admitted)? = result else { return }
        member.attempt = hello.attempt
        if admitted.welcome.mode != .forked {
            member.admitted = admitted
            member.nonces.append(admitted.welcome.nonce)
            if let secret = admitted.welcome.secret { member.proof = Proof(secret: secret) }
            member.cursor.epoch = admitted.welcome.epoch
            if chance(2, of: 3) {
                try both("first frame") { (store, _) throws(HubStoreError) in
                    try store.firstFrame(admitted.replica, session: admitted.welcome.session, now: now)
                }
            }
        }
        members[index] = member
    }

    mutating func push() throws {
        let index = pick(0..<members.count)
        guard let admitted = members[index].admitted else { return }
        var mutations: [Mutation] = []
        let next = Int64(members[index].sent.count) + 1
        for offset in 0..<Int64(pick(1..<4)) { mutations.append(mutation(next + offset, admitted.inbox)) }
        if chance(1, of: 6) { mutations.insert(contentsOf: members[index].sent.suffix(2), at: 0) }
        if chance(1, of: 40) { mutations[0].n += 1 }
        if chance(1, of: 40) { mutations[0].uid ^= 1 }
        let session = admitted.welcome.session ^ (chance(1, of: 30) ? 1 : 0)
        if chance(1, of: 9) {
            let suspect = mutations[0]
            let answer = try both("suspect") { (store, _) throws(HubStoreError) in
                try store.suspect(suspect, from: admitted.replica, session: session, now: now)
            }
            if answer != .some(nil) { return }
        }
        let result = try both("push") { (store, _) throws(HubStoreError) in
            try store.push(mutations, from: admitted.replica, session: session, now: now)
        }
        if result?.stop == .ended { try deleted([admitted.inbox]) }
        let processed = (result?.appended ?? []).count { entry in
            if case .act = try? Entry(entry.bytes[...]).kind { true } else { false }
        }
        members[index].sent += mutations.filter { $0.n >= next }.prefix(processed)
    }

    mutating func act() throws {
        guard let inbox = members[pick(0..<members.count)].admitted?.inbox else { return }
        let mutation = mutation(1, inbox)
        let observed = chance(1, of: 2) ? nil : mutation.observed
        let result = try both("act") { (store, _) throws(HubStoreError) in
            try store.act(mutation.operation, uid: mutation.uid, observed: observed, in: inbox, now: now)
        }
        if mutation.operation == .end, result?.outcome == .applied { try deleted([inbox]) }
    }

    mutating func mutation(_ n: Int64, _ inbox: InboxKey) -> Mutation {
        let known = members[pick(0..<members.count)].sent
        let uid = chance(1, of: 12) ? known.last?.uid ?? random.next() : random.next()
        let on = chance(1, of: 2)
        let mine = items.filter { $0.inbox == inbox || chance(1, of: 30) }.map(\.id)
        let some = mine.isEmpty ? [] : (0..<pick(1..<4)).map { _ in mine[pick(0..<mine.count)] }
        let operation: PealModel.Operation =
            switch pick(0..<20) {
            case 12..<20: other(some, on)
            case 0..<4: .read(items: some, on: on, passive: chance(1, of: 3))
            case 4, 5: .archive(items: some, on: on)
            case 6: .seen(items: some)
            case 7: .delete(items: some)
            case 8, 9: .mark(MarkKind.allCases[pick(0..<3)], upTo: Position(pick(0..<40)))
            case 10: .interest(name: ["a", "b", "not one"][pick(0..<3)], on: on)
            default: .interests(replace: on ? ["a", "b"] : [])
            }
        return Mutation(
            n: n, uid: uid, observed: Position(pick(0..<40)), observedTime: now - 5_000,
            moment: on ? .age(Milliseconds(pick(0..<9_000))) : .wall(now - Milliseconds(pick(0..<9_000))),
            operation: operation)
    }

    private mutating func other(_ some: [ItemID], _ on: Bool) -> PealModel.Operation {
        let id = ["anna", "dora"][pick(0..<2)]
        switch pick(0..<16) {
        case 0..<6:
            return .preference(category: ["c", "d"][pick(0..<2)], channel: ["push", "mail"][pick(0..<2)], enabled: on)
        case 6..<11:
            guard let item = some.first else { return .seen(items: []) }
            return .track(
                item: item, event: ["opened", "clicked", "slept"][pick(0..<3)], data: on ? Array("7".utf8)[...] : nil)
        case 11, 12: return .token("t\(pick(0..<3))", platform: on ? "fcm" : nil)
        case 13:
            let code = HMACSHA256.code(Array(id.utf8), key: Array(one.project.secret.utf8))
            return .user(id: id, proof: on ? Base64.standard.encode(code) : "wrong")
        case 14: return .user(id: nil, proof: nil)
        default: return chance(1, of: 4) ? .end : .token("")
        }
    }

    mutating func catalogue() throws {
        let channels = ["push", "mail"].map {
            Catalogue.Channel(slug: $0, label: $0, enabled: chance(1, of: 2), required: chance(1, of: 4))
        }
        let categories = [Catalogue.Category(slug: "c", label: chance(1, of: 9) ? "" : "C", channels: channels)]
        try both("a catalogue") { (store, project) throws(HubStoreError) in
            _ = try store.setCatalogue(categories, in: project, now: now)
            return try store.catalogue(of: project)
        }
        guard chance(1, of: 3) else { return }
        let keys = members.compactMap { $0.admitted?.inbox }
        try both("bringing it") { (store, _) throws(HubStoreError) in try store.bringCatalogue(to: keys, now: now) }
    }

    mutating func remove() throws {
        guard !items.isEmpty else { return }
        let chosen = items[pick(0..<items.count)]
        try both("retract") { (store, _) throws(HubStoreError) in
            try store.remove([chosen.id, chosen.id], why: "retract", from: chosen.inbox, now: now)
        }
    }

    /// A request that appends and then throws: its own changes are undone.
    mutating func undone() throws {
        publishes += 1
        let name = "pubid-\(publishes)"
        _ = try both("a request that throws") { (store, project) throws(HubStoreError) -> Bool in
            _ = try store.publish(
                PublishRequest(
                    project: project, name: name, body: ItemBody(title: name, sent: now),
                    recipients: [.init(identity: UserIdentity(externalID: "anna"))]), now: now)
            throw HubStoreError(.failed, "a test's own")
        }
    }

    /// The replica of a member is revoked, or of one that may have none, in an inbox that may be another's.
    mutating func revoke() throws {
        let member = members[pick(0..<members.count)]
        guard let inbox = members[pick(0..<members.count)].admitted?.inbox else { return }
        let key = try both("revoke") { (store, _) throws(HubStoreError) in
            try store.revoke(member.id, of: inbox, now: now)
        }
        // Others go on in its place, so that schedules do not run dry.
        guard key != nil, let index = members.firstIndex(where: { $0.id == member.id }) else { return }
        if chance(1, of: 2) {
            members[index] = Member(id: ReplicaID(high: random.next(), low: random.next()), user: member.user)
        }
    }

    mutating func device() throws {
        let token = "t\(pick(0..<3))"
        let metadata: [UInt8]? = chance(1, of: 2) ? [1] : nil
        let device = try both("register") { (store, project) throws(HubStoreError) in
            try store.registerDevice(platform: "fcm", token: token, metadata: metadata, in: project, now: now).device
        }
        guard let device else { return }
        try both("interests") { (store, _) throws(HubStoreError) in
            try store.interests(of: device.inbox, after: nil, limit: 9)
        }
        if chance(1, of: 4) {
            try both("update") { (store, project) throws(HubStoreError) -> [DeviceRecord] in
                var changed = device
                changed.token = "t1"
                changed.user = try store.user(UserIdentity(externalID: "anna"), in: project)?.key
                try store.updateDevice(changed)
                return try changed.user.map { (user) throws(HubStoreError) in try store.devices(of: user) } ?? []
            }
        }
    }

    mutating func cursors() throws {
        guard let admitted = members[pick(0..<members.count)].admitted else { return }
        let to = Position(pick(0..<5))
        try both("acknowledge") { (store, _) throws(HubStoreError) in
            try store.acknowledge([(admitted.replica, to)], now: now)
            return true
        }
        let key = "k\(pick(0..<3))"
        try both("replay") { (store, project) throws(HubStoreError) in
            try store.remember(key + "x", digest: [1], status: 200, body: [2], in: project, now: now)
            return try store.replay(key, digest: [1], in: project, now: now)
        }
    }

    mutating func users() throws {
        let identity = UserIdentity(
            externalID: chance(3, of: 4) ? ["anna", "berta", "dora"][pick(0..<3)] : nil,
            email: chance(1, of: 2) ? "\(pick(0..<4))@example.com" : nil)
        let user = try both("upsert") { (store, project) throws(HubStoreError) in
            try store.upsertUser(
                identity, profile: UserProfile(firstName: identity.email), in: project, now: now
            ).user
        }
        if let user, chance(1, of: 2) {
            let token = ["t", "u", "tt"][pick(0..<3)]
            let platform = ["apns", "fcm"][pick(0..<2)]
            if chance(1, of: 3) {
                try both("unsubscribe") { (store, _) throws(HubStoreError) in
                    try store.unsubscribe(user.key, token: token)
                }
            } else {
                try both("subscribe") { (store, _) throws(HubStoreError) in
                    try store.subscribe(user.key, platform: platform, token: token, now: now)
                }
            }
            try both("subscriptions") { (store, _) throws(HubStoreError) in try store.subscriptions(of: user.key) }
        }
        if let user, user.identity.externalID == "dora", chance(1, of: 2) {
            let gone = try both("delete") { (store, _) throws(HubStoreError) in try store.deleteUser(user.key) }
            try one.takeKeysAgain()
            try deleted(gone ?? [])
        }
    }

    // MARK: Comparison

    func compareAll() throws {
        let last = Int64(12)
        for row in 1...last {
            let inbox = InboxKey(row: row)
            if ended.contains(inbox) { continue }
            let logs = [one, other].map { hub in try? hub.reader.log(of: inbox) }
            #expect(logs[0] == logs[1], "seed \(seed), inbox \(row)")
            guard logs[0] != nil else { continue }
            try same(row) { try? $0.entries(of: inbox, after: 0, maxCount: 7, maxBytes: 2_000) }
            try same(row) { try? $0.entries(of: inbox, after: 3, maxCount: .max, maxBytes: .max) }
            try same(row) { try $0.snapshotPage(of: inbox, id: nil, below: nil, maxRows: 3, maxBytes: 99_999) }
            try same(row) { try $0.snapshotPage(of: inbox, id: 4, below: 9, maxRows: 99, maxBytes: 9_999) }
            try same(row) { try $0.list(ListQuery(perPage: 50, now: now), of: inbox) }
            try same(row) { try $0.list(ListQuery(read: false, categories: ["news"], perPage: 2, now: now), of: inbox) }
            try same(row) { try? $0.preferences(of: inbox) }
            for position in 0...6 { try same(row) { try $0.chain(of: inbox, at: Position(position)) } }
            try same(row) { try $0.sum(of: inbox) }
        }
    }

    func same<Value: Equatable>(_ row: Int64, _ read: (any HubReader) throws -> Value) throws {
        #expect(try read(one.reader) == read(other.reader), "seed \(seed), inbox \(row)")
    }
}
