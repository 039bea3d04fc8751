import Foundation
import PealHub
import PealModel
import PealReplica
import Testing

@testable import Peal

/// Taking a user's data out, seeing and revoking devices, and having it deleted.
@Suite(.timeLimit(.minutes(4))) struct UserLifeTests {
    private func code(_ bench: Bench, _ user: String) -> String {
        UserCode.code(of: user, secret: bench.hub.project.secret)
    }

    private func settled(_ user: User) async throws -> Bool { try await user.inbox().isSettled }

    // MARK: Export

    private func lines(_ user: User) async throws -> [JSON] {
        var all: [JSON] = []
        for try await line in user.export() { all.append(try JSON(line[...])) }
        return all
    }

    @Test func `an export has everything with its state, offline too`() async throws {
        let bench = try Bench()
        for index in 0..<450 { try await bench.send("item \(index)", to: "mary") }
        var quiet = HubAPI.PublishOptions()
        quiet.isSilent = true
        _ = try await bench.api().publish(HubAPI.Message(), users: ["mary"], quiet)
        let client = try bench.app("a")
        let user = try client.connectUser(externalId: "mary")
        #expect(await eventually { (try? await user.inbox().counts().total) == 450 })
        await bench.stop()
        let store = user.store.build()
        try await store.refresh()
        _ = try await store.archive(store[0])
        _ = try await store.markAsRead(store[0])
        let all = try await lines(user)
        let items = all.filter { $0["kind"] == .string("item") }
        #expect(all.first?["kind"] == .string("export") && all.last?["items"]?.intValue == 451)
        #expect(all.first?["identity"]?["externalId"] == .string("mary"))
        #expect(items.count == 451 && items.first?["silent"]?.boolValue == true)
        #expect(items[1]["archived"]?.boolValue == true && items[2]["read"]?.boolValue == true)
        #expect(items.last?["body"]?["title"] == .string("item 0"))
        #expect(all.filter { $0["kind"] == .string("act") && $0["waits"]?.boolValue == true }.count == 2)
        let file = URL(fileURLWithPath: bench.directory + "/mary.jsonl")
        #expect(try await user.export(to: file) == all.count)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try Data(contentsOf: file).filter { $0 == 0x0A }.count == all.count)
        try await client.disconnect(user)
    }

    @Test func `an export is of the state in which it began, and can be left in the middle`() async throws {
        let bench = try Bench()
        for index in 0..<300 { try await bench.send("item \(index)", to: "mary") }
        let client = try bench.app("a")
        let user = try client.connectUser(externalId: "mary")
        #expect(await eventually { (try? await user.inbox().counts().total) == 300 })
        var export = user.export().makeAsyncIterator()
        _ = try await export.next()
        let store = user.store.build()
        try await store.refresh()
        try await store.markAllRead()
        try await bench.send("later", to: "mary")
        #expect(await eventually { (try? await user.inbox().counts().total) == 301 })
        var items: [JSON] = []
        while let line = try await export.next() {
            let json = try JSON(line[...])
            if json["kind"] == .string("item") { items.append(json) }
        }
        #expect(items.count == 300 && items.allSatisfy { $0["read"]?.boolValue == false })

        let file = bench.directory + "/cut.jsonl"
        let task = Task { try await user.export(to: URL(fileURLWithPath: file)) }
        task.cancel()
        let error = await #expect(throws: PealError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        let left = try FileManager.default.contentsOfDirectory(atPath: bench.directory)
        #expect(!left.contains { $0.hasPrefix("cut.jsonl") })
        try await client.disconnect(user)
        await bench.stop()
    }

    // MARK: Devices

    @Test func `a revoked device is cut, and comes back as another one only`() async throws {
        let bench = try Bench(requiresHMAC: true)
        let hmac = code(bench, "mary")
        let client = try bench.app("a")
        let mine = try client.connectUser(externalId: "mary", hmac: hmac)
        let phone = try bench.app("b")
        let theirs = try phone.connectUser(externalId: "mary", hmac: hmac)
        #expect(await eventually { (try? await mine.devices().count) == 2 })
        try await phone.setDeviceToken(deviceToken: Data("one".utf8), platform: .fcm)
        #expect(await eventually { (try? await mine.devices().count) == 3 })
        let devices = try await mine.devices()
        #expect(devices.map(\.isThisDevice).count { $0 } == 1)
        let push = try #require(devices.first { $0.hasPushToken })
        #expect(push.platform == "fcm" && push.kind == .device)
        try await mine.revoke(device: push.id)
        #expect(try await mine.api().subscriptions().isEmpty)
        let other = try #require(devices.first { $0.kind == .replica && !$0.isThisDevice })
        try await mine.revoke(device: other.id)
        #expect(await eventually { theirs.status.state == .stopped })
        #expect(mine.status.state == .live)
        let again = await #expect(throws: PealError.self) { try await mine.revoke(device: other.id) }
        #expect(again?.status == 404)
        // The same file is not taken any more, whatever proves the user; a new one is.
        try await phone.disconnect(theirs)
        let back = try phone.connectUser(externalId: "mary", hmac: hmac)
        #expect(await eventually { back.status.state == .stopped })
        try await phone.disconnect(back, force: true, eraseReplica: true)
        let fresh = try phone.connectUser(externalId: "mary", hmac: hmac)
        #expect(await eventually { fresh.status.state == .live })
        let now = try await mine.devices()
        #expect(!now.contains { $0.id == other.id || $0.id == push.id })
        #expect(now.count { $0.kind == .replica } == 2)
        try await client.disconnect(mine)
        try await phone.disconnect(fresh)
        await bench.stop()
    }

    @Test func `a name alone neither deletes nor revokes, and nobody revokes a neighbour's device`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let user = try client.connectUser(externalId: "mary")
        #expect(await eventually { (try? await user.devices().count) == 1 })
        let id = try await user.devices()[0].id
        for call in [{ try await user.erase() }, { try await user.revoke(device: id) }] as [() async throws -> Void] {
            let error = await #expect(throws: PealError.self) { try await call() }
            #expect(error?.status == 401)
        }
        let tom = HubAPI(
            hub: try bench.address,
            credentials: .user(key: bench.hub.project.apiKey, externalId: "tom", hmac: code(bench, "tom")))
        let error = await #expect(throws: PealError.self) { try await tom.revokeOwnDevice(id) }
        #expect(error?.status == 404 && user.status.state == .live)
        try await client.disconnect(user)
        await bench.stop()
    }

    // MARK: Erasing

    @Test func `erasing leaves nothing here and nothing on the hub, and with no hub nothing is touched`() async throws {
        let bench = try Bench(requiresHMAC: true)
        let hmac = code(bench, "mary")
        do {
            let offline = try bench.app("a", hub: "http://127.0.0.1:1")
            let user = try offline.connectUser(externalId: "mary", hmac: hmac)
            let error = await #expect(throws: PealError.self) { try await user.erase() }
            #expect(error?.code == .unreachable)
            #expect(FileManager.default.fileExists(atPath: offline.directory + "/id-mary.peal"))
            try await offline.disconnect(user)
        }
        try await bench.send("hers", to: "mary")
        let client = try bench.app("a")
        let user = try client.connectUser(externalId: "mary", hmac: hmac)
        let other = try bench.app("b").connectUser(externalId: "mary", hmac: hmac)
        #expect(await eventually { (try? await user.inbox().counts().total) == 1 })
        #expect(await eventually { other.status.state == .live })
        try await user.erase()
        #expect(await eventually { other.status.state == .stopped })
        #expect(client.users.isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: client.directory)
        #expect(!left.contains { $0.hasPrefix("id-mary") }, "\(left)")
        let gone = await #expect(throws: PealError.self) { try await bench.api().user(.externalId("mary")) }
        #expect(gone?.status == 404)
        await #expect(throws: PealError.self) { try await user.devices() }
        // Once more is right, for who does not know whether it was done.
        let api = HubAPI(
            hub: try bench.address,
            credentials: .user(key: bench.hub.project.apiKey, externalId: "mary", hmac: hmac))
        try await api.eraseOwn()
        await bench.stop()
    }
}
