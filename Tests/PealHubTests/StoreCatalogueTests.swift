import PealModel
import Testing

@testable import PealHub

@Suite struct StoreCatalogueTests {
    private func categories(required: Bool = false, label: String = "E-mail") -> [Catalogue.Category] {
        [
            Catalogue.Category(
                slug: "billing", label: "Billing",
                channels: [Catalogue.Channel(slug: "email", label: label, required: required)])
        ]
    }

    private func set(_ hub: StoreFixture, _ categories: [Catalogue.Category]) throws -> Catalogue {
        try hub.commit { (store) throws(HubStoreError) in
            try store.setCatalogue(categories, in: hub.project.key, now: hub.now)
        }
    }

    private func kinds(_ hub: StoreFixture, _ inbox: InboxKey) throws -> [Entry.Kind] {
        try hub.entries(inbox).map { try Entry($0.bytes[...]).kind }
    }

    private let off = PealModel.Operation.preference(category: "billing", channel: "email", enabled: false)

    @Test(arguments: StoreKind.all)
    func `each change is a next version, and the same content is no change`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        #expect(try hub.reader.catalogue(of: hub.project.key) == nil)
        #expect(try set(hub, categories()).version == 1)
        #expect(try set(hub, categories()).version == 1)
        #expect(try set(hub, categories(required: true)).version == 2)
        #expect(try hub.reader.catalogue(of: hub.project.key)?.categories == categories(required: true))
        let error = #expect(throws: HubStoreError.self) { try set(hub, categories() + categories()) }
        #expect(error?.code == .invalid)
        #expect(try hub.crashed().reader.catalogue(of: hub.project.key)?.version == 2)
    }

    @Test(arguments: StoreKind.all)
    func `a user's log gets the newest catalogue with a hello, once, and a device's does not`(_ kind: StoreKind) throws
    {
        let hub = try StoreFixture(kind)
        _ = try set(hub, categories())
        let newest = try set(hub, categories(required: true))
        let anna = try hub.join("anna", replica: 1)
        #expect(anna.welcome.head == 1)
        #expect(anna.appended?.position == 1)
        #expect(try kinds(hub, anna.inbox) == [.catalogue(newest)])
        #expect(try hub.join("anna", replica: 2).appended == nil)
        #expect(try hub.joinDevice(replica: 3).welcome.head == 0)
        // A publish alone brings none: nobody looks at that inbox yet.
        _ = try hub.publish("one", to: ["bob"])
        let bob = try hub.join("bob", replica: 4)
        #expect(try kinds(hub, bob.inbox).last == .catalogue(newest))
        #expect(bob.welcome.head == 2)
    }

    @Test(arguments: StoreKind.all)
    func `the log holds the catalogue by which the hub judges a preference`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let anna = try hub.join("anna", replica: 1)
        let newest = try set(hub, categories(required: true))
        let result = try hub.push([hub.mutation(1, off), hub.mutation(2, off)], anna)
        #expect(result.appended.map(\.position) == [1, 2, 3])
        let entries = try kinds(hub, anna.inbox)
        #expect(entries.first == .catalogue(newest))
        for entry in entries.dropFirst() {
            guard case .act(let act) = entry else { throw Unexpected("no act") }
            #expect(act.outcome.code == .denied)
        }
        let later = try set(hub, categories())
        let act = try hub.commit { (store) throws(HubStoreError) in
            try store.act(off, uid: 9, observed: nil, in: anna.inbox, now: hub.now)
        }
        #expect(act.outcome == .applied)
        #expect(act.entries.map(\.position) == [4, 5])
        #expect(try kinds(hub, anna.inbox)[3] == .catalogue(later))
        #expect(
            try hub.reader.preferences(of: anna.inbox) == [
                Preference(
                    key: PreferenceKey(category: "billing", channel: "email"), categoryLabel: "Billing",
                    channelLabel: "E-mail", enabled: false, chosen: true)
            ])
    }

    @Test(arguments: StoreKind.all)
    func `a snapshot holds the catalogue of its log, not a newer one that the log has not got yet`(
        _ kind: StoreKind
    ) throws {
        let hub = try StoreFixture(kind)
        let first = try set(hub, categories())
        let anna = try hub.join("anna", replica: 1)
        let second = try set(hub, categories(label: "Mail"))
        func page() throws -> Page {
            try hub.reader.snapshotPage(of: anna.inbox, id: nil, below: nil, maxRows: 9, maxBytes: 9_999)
        }
        #expect(try page().rest?.catalogue == first)
        let keys = [anna.inbox, try hub.joinDevice(replica: 2).inbox]
        for count in [1, 0] {
            let appended = try hub.commit { (store) throws(HubStoreError) in
                try store.bringCatalogue(to: keys, now: hub.now)
            }
            #expect(appended.count == count)
        }
        #expect(try page().rest?.catalogue == second)
    }

    @Test func `preferences and facts of a deleted user are purged`() throws {
        let hub = try StoreFixture()
        let anna = try hub.join("anna", replica: 1)
        let item = try hub.item(for: "anna")
        _ = try hub.push([hub.mutation(1, off), hub.mutation(2, .track(item: item, event: "opened", data: nil))], anna)
        #expect(try hub.reader.facts(of: item, in: anna.inbox).map(\.event) == ["opened"])
        let user = try #require(try hub.reader.user(UserIdentity(externalID: "anna"), in: hub.project.key))
        try hub.commit { (store) throws(HubStoreError) in
            _ = try store.deleteUser(user.key)
            while try store.upkeep(limit: 2, now: hub.now) {}
        }
        let store = try #require(hub.store as? SQLiteHubStore)
        for table in ["preference", "fact", "state", "log"] {
            #expect(try store.database.int("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
    }
}
