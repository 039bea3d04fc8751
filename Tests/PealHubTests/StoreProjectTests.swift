import PealModel
import Testing

@testable import PealHub

/// Tenants in both stores: names, rotation, closing, the operator's token.
@Suite struct StoreProjectTests {
    @Test(arguments: StoreKind.all)
    func `a project is found by its names, also by the key before`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        var project = hub.project
        project.name = "Shop"
        project.rotate(key: "another key", secret: "another secret", until: hub.now + 10)
        project.requiresHMAC = true
        let changed = project
        try hub.commit { (store) throws(HubStoreError) in try store.updateProject(changed) }
        for name in [changed.instance, "another key", "key"] {
            #expect(try hub.reader.project(name) == changed)
        }
        #expect(try hub.reader.project("no key") == nil)
        #expect(try hub.reader.tenants().projects == [changed])
    }

    @Test(arguments: StoreKind.all)
    func `a project that is not there is not written`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let other = Project(
            key: ProjectKey(row: 99), instance: "i", apiKey: "k", secret: "s", requiresHMAC: false, created: 1)
        let error = #expect(throws: HubStoreError.self) {
            try hub.commit { (store) throws(HubStoreError) in try store.updateProject(other) }
        }
        #expect(error?.code == .notFound)
    }

    @Test(arguments: StoreKind.all)
    func `the operator's token is kept as a hash`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        #expect(try hub.reader.tenants().operatorHash == nil)
        let hash = Secret.stored("token")
        try hub.commit { (store) throws(HubStoreError) in try store.setOperatorHash(hash) }
        #expect(try hub.reader.tenants().operatorHash == hash)
    }

    @Test func `what a rotation replaced is good until its time, and nothing before it`() {
        var project = Project(
            key: ProjectKey(row: 1), instance: "i", apiKey: "k1", secret: "s1", requiresHMAC: false, created: 0)
        project.rotate(key: "k2", secret: "s2", until: 100)
        #expect(["k1", "k2", "i"].allSatisfy { project.isNamed($0, at: 99) })
        #expect(["s1", "s2"].allSatisfy { project.hasSecret($0, at: 99) } && !project.hasSecret("s3", at: 99))
        #expect(
            !project.isNamed("k1", at: 100) && !project.hasSecret("s1", at: 100) && project.hasSecret("s2", at: 100))
        project.rotate(key: nil, secret: "s3", until: 100)
        #expect(!project.hasSecret("s1", at: 50) && project.hasSecret("s2", at: 50) && project.hasSecret("s3", at: 50))
        #expect(project.hasEnded(after: 99, through: 100) && !project.hasEnded(after: 100, through: 200))
        project.revoked = 10
        #expect(!project.isNamed("i", at: 50) && !project.hasSecret("s3", at: 50) && !project.hasKey("k2", at: 50))
    }
}
