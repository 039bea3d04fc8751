import PealModel
import Testing

@testable import PealHub

@Suite struct StoreUserTests {
    private func upsert(
        _ hub: StoreFixture, _ externalID: String?, _ email: String?, _ profile: UserProfile = UserProfile()
    ) throws -> (user: UserRecord, isNew: Bool) {
        try hub.commit { (store) throws(HubStoreError) in
            try store.upsertUser(
                UserIdentity(externalID: externalID, email: email), profile: profile, in: hub.project.key, now: hub.now)
        }
    }

    @Test(arguments: StoreKind.all)
    func `an email and an external id of different users are an error and change nothing`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try upsert(hub, "anna", nil)
        _ = try upsert(hub, nil, "b@example.com")
        _ = try upsert(hub, "carla", "c@example.com")
        for (id, email) in [("anna", "b@example.com"), ("anna", "c@example.com"), ("dora", "c@example.com")] {
            let error = #expect(throws: HubStoreError.self) { try upsert(hub, id, email) }
            #expect(error?.code == .conflict)
        }
        let error = #expect(throws: HubStoreError.self) { try upsert(hub, nil, "") }
        #expect(error?.code == .invalid)
        #expect(try upsert(hub, "berta", "B@Example.com").isNew == false)
        let user = try #require(try hub.reader.user(UserIdentity(externalID: "berta"), in: hub.project.key))
        #expect(user.identity.email == "b@example.com")
    }

    @Test(arguments: StoreKind.all)
    func `a partial profile leaves the rest as it is`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        _ = try upsert(hub, "anna", nil, UserProfile(firstName: "Anna", attributes: Array("{\"a\":1}".utf8)))
        let user = try upsert(hub, "anna", "anna@example.com", UserProfile(lastName: "Berg")).user
        #expect(user.profile == UserProfile(firstName: "Anna", lastName: "Berg", attributes: Array("{\"a\":1}".utf8)))
        #expect(try hub.reader.user(UserIdentity(email: "ANNA@example.com"), in: hub.project.key) == user)
    }

    @Test(arguments: StoreKind.all)
    func `projects do not see each other's users, inboxes and devices`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try upsert(hub, "anna", nil).user
        let device = try hub.joinDevice(replica: 5)
        let other = try hub.commit { (store) throws(HubStoreError) in
            try store.createProject(
                instance: "2F0C0000-0000-4000-8000-000000000002", apiKey: "other", secret: "s", requiresHMAC: true,
                now: hub.now)
        }
        #expect(try hub.reader.user(anna.identity, in: other.key) == nil)
        #expect(try hub.reader.inbox(anna.inboxID, in: other.key) == nil)
        let found = try hub.commit { (store) throws(HubStoreError) in
            try store.device(device.welcome.inbox, in: other.key)
        }
        #expect(found == nil)
        #expect(try hub.reader.project("2f0c0000-0000-4000-8000-000000000002") == other)
        #expect(try hub.reader.project("other") == other)
        #expect(try hub.reader.project("none") == nil)
    }

    @Test(arguments: StoreKind.all)
    func `a known token gives the same device with its interests, and is not taken from another`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind)
        func register(_ token: String) throws -> (device: DeviceRecord, isNew: Bool) {
            try hub.commit { (store) throws(HubStoreError) in
                try store.registerDevice(
                    platform: "fcm", token: token, metadata: nil, in: hub.project.key, now: hub.now)
            }
        }
        let first = try register("a")
        _ = try hub.commit { (store) throws(HubStoreError) in
            try store.act(
                .interests(replace: ["x", "y"]), uid: 1, observed: nil, in: first.device.inbox, now: hub.now)
        }
        let again = try register("a")
        #expect(first.isNew && !again.isNew && again.device == first.device)
        let names = try hub.commit { (store) throws(HubStoreError) in
            try store.interests(of: again.device.inbox, after: "x", limit: 10)
        }
        #expect(names == ["y"])
        var second = try register("b").device
        second.token = "a"
        let error = #expect(throws: HubStoreError.self) {
            try hub.commit { (store) throws(HubStoreError) in try store.updateDevice(second) }
        }
        #expect(error?.code == .conflict)
        second.token = "c"
        try hub.commit { (store) throws(HubStoreError) in try store.updateDevice(second) }
        #expect(try register("c").device.id == second.id)
    }

    @Test(arguments: StoreKind.all)
    func `a deleted device gets nothing, and its token makes a new one`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        func register() throws -> (device: DeviceRecord, isNew: Bool) {
            try hub.commit { (store) throws(HubStoreError) in
                try store.registerDevice(
                    platform: "fcm", token: "a", metadata: nil, in: hub.project.key, now: hub.now)
            }
        }
        let device = try register().device
        try hub.commit { (store) throws(HubStoreError) in
            _ = try store.act(.interest(name: "x", on: true), uid: 1, observed: nil, in: device.inbox, now: hub.now)
            try store.deleteDevice(device.inbox)
        }
        #expect(try hub.publish("pubid-1", interests: ["x"]).matched == 0)
        #expect(try hub.reader.inbox(device.id, in: hub.project.key) == nil)
        #expect(try register().device.id != device.id)
        #expect(throws: HubStoreError.self) {
            try hub.commit { (store) throws(HubStoreError) in
                try store.act(.interest(name: "x", on: true), uid: 2, observed: nil, in: device.inbox, now: hub.now)
            }
        }
    }

    @Test(arguments: StoreKind.all)
    func `an idempotency key replays for a day and refuses another request`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let digest: [UInt8] = [1, 2]
        func replay(_ digest: [UInt8]) throws -> Replay {
            try hub.commit { (store) throws(HubStoreError) in
                try store.replay("k", digest: digest, in: hub.project.key, now: hub.now)
            }
        }
        #expect(try replay(digest) == .new)
        try hub.commit { (store) throws(HubStoreError) in
            try store.remember("k", digest: digest, status: 201, body: [7], in: hub.project.key, now: hub.now)
        }
        #expect(try replay(digest) == .answered(status: 201, body: [7]))
        #expect(try replay([9]) == .different)
        hub.now += HubStoreLimits.answerAge
        #expect(try replay([9]) == .new)
    }

    @Test func `upkeep forgets old answers and acts in steps, and a forgotten number is still not processed again`()
        throws
    {
        let hub = try StoreFixture()
        let anna = try hub.join("anna", replica: 1)
        let sent = (1...5).map { hub.mutation($0, .mark(.read, upTo: 0)) }
        _ = try hub.push(sent, anna)
        try hub.commit { (store) throws(HubStoreError) in
            try store.remember("k", digest: [], status: 200, body: [], in: hub.project.key, now: hub.now)
        }
        hub.now += Limits.uidAge + 1
        var steps = 1
        while try hub.commit({ (store) throws(HubStoreError) in try store.upkeep(limit: 2, now: hub.now) }) {
            steps += 1
        }
        #expect(steps == 3)
        let store = try #require(hub.store as? SQLiteHubStore)
        #expect(try store.database.int("SELECT (SELECT count(*) FROM act) + (SELECT count(*) FROM answer)") == 0)
        let again = try hub.push(sent, anna)
        #expect(again.appended.isEmpty && again.settled.count == 5 && again.settled[0].outcome == .duplicate)
    }
}
