import PealHubMemory
import PealModel
import Testing

@testable import PealHub

/// Publishes that are to come, that replace, and that are taken back, in both stores.
@Suite struct StoreScheduleTests {
    private func request(
        _ hub: StoreFixture, _ name: String, users: [String] = [], interests: [String] = [], collapse: String? = nil,
        expires: Milliseconds? = nil
    ) -> PublishRequest {
        PublishRequest(
            project: hub.project.key, name: name, body: ItemBody(title: name, sent: hub.now, expires: expires),
            interests: interests, recipients: users.map { .init(identity: UserIdentity(externalID: $0)) },
            collapse: collapse)
    }

    private func publish(_ hub: StoreFixture, _ request: PublishRequest) throws -> PublishResult {
        try hub.commit { (store) throws(HubStoreError) in try store.publish(request, now: hub.now) }
    }

    /// The titles that a user's list shows.
    private func titles(_ hub: StoreFixture, _ user: String) throws -> [String] {
        let found = try hub.reader.user(UserIdentity(externalID: user), in: hub.project.key)
        guard let found else { return [] }
        return try hub.reader.list(ListQuery(perPage: 100, now: hub.now), of: found.inbox).items.compactMap(
            \.body.title)
    }

    @Test(arguments: StoreKind.all)
    func `a publish waits for its time, in order, and is sent once`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let start = hub.now
        for (name, delay) in [("later", 200), ("soon", 100), ("never", 300)] as [(String, Int64)] {
            try hub.commit { (store) throws(HubStoreError) in
                try store.schedule(self.request(hub, name, users: ["anna"], collapse: "c"), at: start + delay)
            }
        }
        #expect(try hub.reader.publish("soon", of: hub.project.key)?.status == .scheduled)
        func cancel() throws -> Bool {
            try hub.commit { (store) throws(HubStoreError) in try store.cancel("never", of: hub.project.key) }
        }
        #expect(try cancel())
        #expect(try !cancel())
        func due(_ now: Milliseconds) throws -> (PublishResult?, Milliseconds?) {
            hub.now = now
            return try hub.commit { (store) throws(HubStoreError) in
                (try store.publishDue(now: now), try store.nextDue())
            }
        }
        let early = try due(start + 99)
        #expect(early.0 == nil && early.1 == start + 100)
        #expect(try due(start + 500).0?.matched == 1)
        #expect(try titles(hub, "anna") == ["soon"])
        #expect(try due(start + 500).1 == nil)
        #expect(try titles(hub, "anna") == ["later"], "the second replaced the first")
        let last = try due(start + 500)
        #expect(last.0 == nil && last.1 == nil)
        #expect(try hub.reader.publish("soon", of: hub.project.key)?.status == .published)
        #expect(try hub.reader.publish("never", of: hub.project.key)?.status == .cancelled)
        #expect(try hub.reader.publish("soon", of: ProjectKey(row: 9)) == nil)
        _ = try hub.commit { (store) throws(HubStoreError) in
            try store.upkeep(limit: 9, now: start + HubStoreLimits.broadcastAge + 1_000)
        }
        #expect(try hub.reader.publish("never", of: hub.project.key) == nil)
    }

    @Test(arguments: StoreKind.all)
    func `a later publish of a key takes the place of the one before, narrow or wide`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let crowd = (0..<70).map { "user \($0)" }
        _ = try publish(hub, request(hub, "one", users: crowd, collapse: "k"))
        _ = try publish(hub, request(hub, "other", users: [crowd[0]]))
        let again = try publish(hub, request(hub, "two", users: [crowd[0], crowd[1]], collapse: "k"))
        #expect(again.matched == 2 && again.appended.count == 4)
        #expect(try titles(hub, crowd[0]) == ["two", "other"] && titles(hub, crowd[2]) == ["one"])
        let wide = try publish(hub, request(hub, "three", users: crowd, collapse: "k"))
        #expect(wide.appended.count == 140)
        #expect(try titles(hub, crowd[0]) == ["three", "other"] && titles(hub, crowd[2]) == ["three"])
        let page = try hub.reader.deliveries(of: "two", in: hub.project.key, after: 0, limit: 9, now: hub.now)
        #expect(page.deliveries.count == 2 && page.next == nil && page.deliveries.allSatisfy(\.isGone))
    }

    @Test(arguments: StoreKind.all)
    func `what is taken back goes from every list at once, and from every inbox`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try publish(hub, request(hub, "one", users: ["anna", "berta", "carla"]))
        _ = try publish(hub, request(hub, "two", users: ["anna"]))
        func retract(_ name: String) throws -> Bool {
            try hub.commit { (store) throws(HubStoreError) in
                try store.retract(name, of: hub.project.key, now: hub.now)
            }
        }
        #expect(try retract("one"))
        #expect(try !retract("one"))
        #expect(try !retract("none"))
        #expect(try titles(hub, "anna") == ["two"])
        var entries: [Entry] = []
        while true {
            let some = try hub.commit { (store) throws(HubStoreError) in try store.expire(limit: 2, now: hub.now) }
            if some.isEmpty { break }
            entries += try some.map { try Entry($0.bytes[...]) }
        }
        let reasons = entries.map { entry in if case .removed(_, let why) = entry.kind { why } else { "" } }
        #expect(reasons == ["retract", "retract", "retract"])
        #expect(try hub.reader.publish("one", of: hub.project.key)?.status == .retracted)
    }

    @Test(arguments: StoreKind.all)
    func `a wide publish that is taken back reaches nobody else`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        hub.makeWide(from: 2)
        for number in 1...6 {
            let admitted = try hub.joinDevice(replica: UInt64(number))
            _ = try hub.commit { (store) throws(HubStoreError) in
                try store.act(
                    .interest(name: "a", on: true), uid: UInt64(number), observed: nil, in: admitted.inbox, now: hub.now
                )
            }
        }
        let result = try publish(hub, request(hub, "wide", interests: ["a"]))
        #expect(result.isWide && result.matched == 6)
        let first = try hub.commit { (store) throws(HubStoreError) in try store.fanOut(limit: 2, now: hub.now) }
        #expect(first?.count == 2)
        let isRetracted = try hub.commit { (store) throws(HubStoreError) in
            try store.retract("wide", of: hub.project.key, now: hub.now)
        }
        #expect(isRetracted)
        var more: [Appended] = []
        while let some = try hub.commit({ (store) throws(HubStoreError) in try store.fanOut(limit: 2, now: hub.now) }) {
            more += some
        }
        #expect(more.isEmpty)
        let removed = try hub.commit { (store) throws(HubStoreError) in try store.expire(limit: 9, now: hub.now) }
        #expect(removed.count == 2)
    }
}
