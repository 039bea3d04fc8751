import PealModel
import Testing

@testable import PealHub

/// The items of a publish, and their deliveries, in both stores.
@Suite struct StoreReportTests {
    private func publish(_ hub: StoreFixture, _ name: String, _ users: [String]) throws -> [Appended] {
        try hub.commit { (store) throws(HubStoreError) in
            try store.publish(
                PublishRequest(
                    project: hub.project.key, name: name, body: ItemBody(title: name, sent: hub.now),
                    recipients: users.map { .init(identity: UserIdentity(externalID: $0)) }), now: hub.now
            ).appended
        }
    }

    @Test(arguments: StoreKind.all)
    func `the item of a publish is found in each inbox, and in no other`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        // Wide ones leave their rows of the log for later, narrow ones do not.
        let crowd = (0..<70).map { "user \($0)" }
        var appended: [(name: String, entry: Appended)] = []
        for number in 0..<12 {
            let users = number % 3 == 0 ? crowd : [crowd[number], crowd[1]]
            for entry in try publish(hub, "publish \(number)", users) { appended.append(("publish \(number)", entry)) }
        }
        func item(_ name: String, _ inbox: InboxKey, of project: ProjectKey? = nil) throws -> ItemID? {
            try hub.commit { (store) throws(HubStoreError) in
                try store.item(ofPublish: name, of: project ?? hub.project.key, in: inbox)
            }
        }
        for (name, entry) in appended { #expect(try item(name, entry.inbox) == StoreFixture.id(of: entry)) }
        let last = appended.filter { $0.name == "publish 11" }.map(\.entry.inbox)
        for inbox in Set(appended.map(\.entry.inbox)).subtracting(last) {
            #expect(try item("publish 11", inbox) == nil)
        }
        #expect(try item("no publish", last[0]) == nil)
        #expect(try item("publish 11", last[0], of: ProjectKey(row: 9)) == nil)
    }

    @Test(arguments: StoreKind.all)
    func `a delivery is noted once, for an item that is there`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let entry = try publish(hub, "one", ["anna"])[0]
        func report(_ name: String) throws -> Bool {
            try hub.commit { (store) throws(HubStoreError) in
                try store.reportDelivery(ofPublish: name, of: hub.project.key, in: entry.inbox, now: hub.now)
            }
        }
        #expect(try report("one"))
        #expect(try !report("one"))
        #expect(try !report("another"))
    }
}
