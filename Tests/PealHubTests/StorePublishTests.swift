import PealModel
import Testing

@testable import PealHub

@Suite struct StorePublishTests {
    /// Devices that have the interest of their number modulo 2, and all of them `all`.
    private func devices(_ hub: StoreFixture, _ count: Int) throws -> [InboxKey] {
        try hub.commit { (store) throws(HubStoreError) in
            var inboxes: [InboxKey] = []
            for number in 0..<count {
                let device = try store.registerDevice(
                    platform: "apns", token: "t\(number)", metadata: nil, in: hub.project.key, now: hub.now
                ).device
                _ = try store.act(
                    .interests(replace: ["all", number.isMultiple(of: 2) ? "even" : "odd"]), uid: UInt64(number) + 1,
                    observed: nil, in: device.inbox, now: hub.now)
                inboxes.append(device.inbox)
            }
            return inboxes
        }
    }

    private func items(_ hub: StoreFixture, _ inbox: InboxKey) throws -> [Position] {
        try hub.entries(inbox).filter {
            if case .item = try Entry($0.bytes[...]).kind { true } else { false }
        }.map(\.position)
    }

    private func interests(_ hub: StoreFixture, _ inbox: InboxKey) throws -> [[String]] {
        try hub.entries(inbox).compactMap {
            guard case .item(_, _, let body) = try Entry($0.bytes[...]).kind else { return nil }
            return try ItemBody(JSONObject(body)).interests
        }
    }

    @Test(arguments: StoreKind.all)
    func `an item names as many interests as a publish may, beside its limit`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let names = (0..<Limits.interestsPerPublish).map {
            String(repeating: "x", count: Limits.interest - 3) + String(1_000 + $0).suffix(3)
        }
        let inbox = try hub.commit { (store) throws(HubStoreError) in
            let device = try store.registerDevice(
                platform: "apns", token: "t", metadata: nil, in: hub.project.key, now: hub.now
            ).device
            _ = try store.act(
                .interests(replace: names), uid: 1, observed: nil, in: device.inbox, now: hub.now)
            return device.inbox
        }
        let room = try hub.publish("pubid-0", to: ["anna"], body: ItemBody(title: "t", content: "", sent: hub.now))
            .appended[0].bytes.count
        let body = ItemBody(
            title: "t", content: String(repeating: "y", count: Limits.item - room), sent: hub.now)
        #expect(try hub.publish("pubid-1", interests: names.reversed() + names, body: body).matched == 1)
        #expect(try interests(hub, inbox) == [names])
        #expect(throws: HubStoreError.self) {
            try hub.publish(
                "pubid-2", interests: names,
                body: ItemBody(
                    title: "t", content: String(repeating: "y", count: Limits.item - room + 1), sent: hub.now))
        }
    }

    @Test(arguments: StoreKind.all)
    func `a device that matches several interests gets one item`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let inboxes = try devices(hub, 5)
        let result = try hub.publish("pubid-1", interests: ["even", "all", "all", "nobody's"])
        #expect(result.matched == 5)
        #expect(result.appended.map(\.inbox).sorted() == inboxes)
        for (number, inbox) in inboxes.enumerated() {
            #expect(try interests(hub, inbox) == [["all"] + (number.isMultiple(of: 2) ? ["even"] : [])])
        }
        #expect(Set(try result.appended.map { try StoreFixture.id(of: $0) }).count == 5)
        for inbox in inboxes { #expect(try items(hub, inbox) == [2]) }
        #expect(try hub.publish("pubid-2", interests: ["odd"]).appended.map(\.inbox) == [inboxes[1], inboxes[3]])
        #expect(try interests(hub, inboxes[1]) == [["all"], ["odd"]])
        let user = try #require(try hub.publish("pubid-3", to: ["anna"], interests: ["odd"]).appended.first).inbox
        #expect(try interests(hub, user) == [[]], "a user's item names none")
    }

    @Test(arguments: StoreKind.all)
    func `a publish of a known name appends nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try hub.publish("pubid-1", to: ["anna", "berta"])
        let again = try hub.publish("pubid-1", to: ["anna", "berta", "carla"])
        #expect(again == PublishResult(appended: [], matched: 2, isReplay: true))
    }

    @Test(arguments: StoreKind.all)
    func `users that are not there are made, and one that is named twice gets one item`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let request = PublishRequest(
            project: hub.project.key, name: "pubid-1", body: ItemBody(title: "t", sent: hub.now),
            recipients: [
                .init(
                    identity: UserIdentity(externalID: "anna", email: "Anna@Example.com"),
                    profile: UserProfile(firstName: "Anna")),
                .init(identity: UserIdentity(email: "anna@example.COM"), profile: UserProfile(lastName: "Berg")),
            ])
        let result = try hub.commit { (store) throws(HubStoreError) in try store.publish(request, now: hub.now) }
        #expect(result.appended.count == 1)
        let user = try #require(try hub.reader.user(UserIdentity(email: "anna@example.com"), in: hub.project.key))
        #expect(user.identity == UserIdentity(externalID: "anna", email: "anna@example.com"))
        #expect(user.profile == UserProfile(firstName: "Anna", lastName: "Berg"))
    }

    @Test(arguments: StoreKind.all)
    func `an item over the limit is refused, and one of exactly the limit is not`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let small = try hub.publish("pubid-a", to: ["anna"], body: ItemBody(title: "t", content: "", sent: hub.now))
        let room = Limits.item - small.appended[0].bytes.count
        func body(_ count: Int) -> ItemBody {
            ItemBody(title: "t", content: String(repeating: "x", count: count), sent: hub.now)
        }
        #expect(try hub.publish("pubid-b", to: ["anna"], body: body(room)).appended[0].bytes.count == Limits.item)
        let error = #expect(throws: HubStoreError.self) {
            try hub.publish("pubid-c", to: ["anna"], body: body(room + 1))
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func `the bytes of a template's entry are those that the model encodes`() throws {
        let hub = try StoreFixture()
        let body = ItemBody(title: "\"id\":\"00000000-0000-0000-0000-000000000000\"", sent: hub.now)
        let appended = try #require(try hub.publish("\"id\":\"", to: ["anna"], body: body).appended.first)
        let entry = try Entry(appended.bytes[...])
        #expect(entry.bytes == appended.bytes)
        guard case .item(let id, let publish, let bytes) = entry.kind else { throw Unexpected("no item") }
        #expect(publish == "\"id\":\"")
        #expect(try ItemBody(JSONObject(bytes)) == body)
        #expect(try hub.reader.item(id, of: appended.inbox, now: hub.now)?.body == body)
    }

    @Test func `a wide publish gives each frozen target one item across crashes, and later devices none`() throws {
        let hub = try StoreFixture()
        let count = HubStoreLimits.wideFrom + 77
        let inboxes = try devices(hub, count)
        let result = try hub.publish("pubid-wide", to: ["anna"], interests: ["even", "all"])
        #expect(result == PublishResult(appended: [], matched: count + 1, isWide: true))
        let late = try hub.commit { (store) throws(HubStoreError) in
            let device = try store.registerDevice(
                platform: "apns", token: "late", metadata: nil, in: hub.project.key, now: hub.now
            ).device
            _ = try store.act(
                .interest(name: "all", on: true), uid: 1, observed: nil, in: device.inbox, now: hub.now)
            try store.deleteDevice(inboxes[7])
            return device.inbox
        }
        var current = hub
        var rounds = 0
        while true {
            // A chunk that is lost in a crash, and then one that is kept.
            try current.store.begin()
            _ = try current.store.fanOut(limit: 500, now: hub.now)
            current = try current.crashed()
            let chunk = try current.commit { (store) throws(HubStoreError) in try store.fanOut(limit: 500, now: hub.now)
            }
            guard let chunk else { break }
            #expect(chunk.count <= 500)
            rounds += 1
            guard rounds < 20 else { throw Unexpected("the fan-out does not end") }
            current = try current.crashed()
        }
        #expect(rounds == 5)
        for (number, inbox) in inboxes.enumerated() where number != 7 {
            let found = try items(current, inbox)
            #expect(found.count == 1, "inbox \(number)")
            #expect(try interests(current, inbox) == [["all"] + (number.isMultiple(of: 2) ? ["even"] : [])])
        }
        #expect(try items(current, late).isEmpty)
        #expect(try items(current, inboxes[7]).isEmpty)
        let store = try #require(current.store as? SQLiteHubStore)
        #expect(try store.database.int("SELECT count(*) FROM target") == 0)
    }

    @Test(arguments: StoreKind.all)
    func `what is retracted or has expired leaves every list by an entry of its own, once`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let gone = try hub.item(for: "anna")
        let publish = try hub.publish(
            "pubid-e", to: ["anna", "berta"], body: ItemBody(title: "t", sent: hub.now, expires: hub.now + 1_000))
        let inbox = publish.appended[0].inbox
        _ = try hub.item(for: "anna")
        func expire() throws -> [Appended] {
            try hub.commit { (store) throws(HubStoreError) in try store.expire(limit: 1, now: hub.now) }
        }
        #expect(try expire().isEmpty)
        hub.now += 1_000
        #expect(try hub.reader.list(ListQuery(now: hub.now), of: inbox).total == 2)
        var expired: [Appended] = []
        while case let some = try expire(), !some.isEmpty { expired += some }
        #expect(expired.count == 2)
        let retracted = try hub.commit { (store) throws(HubStoreError) in
            try store.remove([gone], why: "retract", from: inbox, now: hub.now)
        }
        #expect(retracted != nil)
        let again = try hub.commit { (store) throws(HubStoreError) in
            try store.remove([gone], why: "retract", from: inbox, now: hub.now)
        }
        #expect(again == nil)
        #expect(try hub.reader.list(ListQuery(now: 0), of: inbox).total == 1)
        #expect(try hub.folded(inbox).items.values.count { $0.deleted } == 2)
    }
}
