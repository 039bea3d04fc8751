import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// Lines that somebody logged.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    func count(_ part: String) -> Int { all.count { $0.contains(part) } }
}

/// A hub that can be stopped, and started on another file at the same ports.
private final class RestorableHub {
    let directory: String
    let lines = Lines()
    private(set) var server: HubServer
    private var configuration: HubConfiguration

    init() throws {
        directory = NSTemporaryDirectory() + "/peal-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        configuration = HubConfiguration(databasePath: directory + "/hub.sqlite")
        configuration.httpPort = 0
        configuration.webSocketPort = 0
        let lines = lines
        configuration.log = { lines.add("\($0)") }
        server = try HubServer(configuration)
        configuration.httpPort = server.httpPort
        configuration.webSocketPort = server.webSocketPort
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func stop() async {
        let server = server
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                server.stop()
                done.resume()
            }
        }
    }

    func start() throws { server = try HubServer(configuration) }

    /// As docs/operations.md says: with the hub stopped, all files of the directory.
    func backup() throws -> String {
        let target = directory + "/backup-\(UUID().uuidString)"
        try FileManager.default.copyItem(atPath: configuration.databasePath, toPath: target)
        return target
    }

    /// Puts the copy in place, with no `-wal` and `-shm` beside it.
    func restore(_ backup: String) throws {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: configuration.databasePath + suffix)
        }
        try FileManager.default.copyItem(atPath: backup, toPath: configuration.databasePath)
    }

    func client(_ name: String) throws -> PealClient {
        try PealClient(
            hub: "http://127.0.0.1:\(server.httpPort)", apiKey: server.project.apiKey,
            directory: directory + "/" + name)
    }

    func publish(_ title: String) async throws {
        let project = server.project
        let api = HubAPI(
            hub: try HubAddress("http://127.0.0.1:\(server.httpPort)"),
            credentials: .project(instance: project.instance, key: project.apiKey, secret: project.secret))
        let aps = JSON.object([("aps", .object([("alert", .string(title))]))])
        _ = try await api.publish(platforms: .object([("apns", aps)]), to: .users(["Mary"]))
    }
}

/// What an operator and a person are told when a file was restored or copied (docs/sync.md section 7).
@Suite(.timeLimit(.minutes(2)))
struct RestoreNoticeTests {
    private func copy(_ path: String, to target: String) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: target + suffix) }
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
        }
    }

    @Test func `a hub that was restored from a backup says so in its log, and each device in a notice and in its file`()
        async throws
    {
        let hub = try RestorableHub()
        try await hub.publish("kept")
        await hub.stop()
        let backup = try hub.backup()
        try hub.start()
        try await hub.publish("lost")
        let one = try await hub.client("a").user(externalID: "Mary")
        let two = try await hub.client("b").user(externalID: "Mary")
        for inbox in [one, two] {
            await inbox.connect()
            #expect(try await eventually { try await inbox.counts().total == 2 })
        }
        let item = try #require(try await one.item(number: 1))
        try await one.perform(.read(items: [item.id], on: true, passive: false))
        #expect(try await eventually { try await two.counts().unread == 1 })
        #expect(await eventually { await one.isSettled })
        #expect(await one.recentNotices.isEmpty)
        #expect(try await one.inspect().wentBack == nil)
        await hub.stop()
        try hub.restore(backup)
        let notices = one.notices
        try hub.start()
        for await notice in notices {
            #expect(notice.code == .hubWentBack)
            #expect(
                notice.message
                    == "the hub went back in time, as one that was restored from a backup does: 1 notification that it "
                    + "no longer has is gone here too, and 1 act of this device is sent again")
            break
        }
        // What it did is there again, on the other device too.
        #expect(try await eventually { try await two.counts() == Counts(total: 1, unread: 0, unseen: 0) })
        #expect(await eventually { await one.isSettled })
        #expect(await two.recentNotices.map(\.code) == [.hubWentBack])
        let found = try await one.inspect()
        #expect(found.wentBack != nil && found.wentBackLost == 1 && found.forked == nil)
        #expect(hub.lines.count("1 device so far had seen more than this hub holds") == 1, "\(hub.lines.all)")
        #expect(hub.lines.count("restored or copied") == 0)
        #expect(!hub.lines.all.contains { $0.contains("Mary") || $0.contains(hub.server.project.secret) })
        await one.close()
        await two.close()
        await hub.stop()
    }

    @Test func `a device whose file was restored is told so, and the hub's operator too`() async throws {
        let hub = try RestorableHub()
        for title in ["one", "two", "three"] { try await hub.publish(title) }
        let client = try hub.client("a")
        let path = client.path(of: .user(externalID: "Mary", email: nil))
        let first = try await client.user(externalID: "Mary")
        await first.connect()
        #expect(try await eventually { try await first.counts().total == 3 })
        try copy(path, to: path + ".backup")
        let items = try await first.page(DeliveredQuery()).items
        try await first.perform(.read(items: [items[0].id], on: true, passive: false))
        #expect(await eventually { await first.isSettled })
        await first.close()
        try copy(path + ".backup", to: path)
        let second = try await client.user(externalID: "Mary")
        try await second.perform(.read(items: [items[1].id], on: true, passive: false))
        let notices = second.notices
        await second.connect()
        for await notice in notices {
            #expect(notice.code == .forked && notice.message.contains("restored from a backup or copied"))
            break
        }
        #expect(try await eventually { try await second.counts().unread == 1 })
        #expect(await eventually { await second.isSettled })
        #expect(try await second.outbox().isEmpty)
        #expect(await second.recentNotices.count == 1)
        #expect(try await second.inspect().forked != nil)
        let lines = hub.lines
        #expect(await eventually { lines.count("1 device so far had a file that was restored or copied") == 1 })
        #expect(hub.lines.count("had seen more") == 0)
        await second.close()
        await hub.stop()
    }

    @Test func `of two devices on one copied file one is told, once, and the hub counts one`() async throws {
        let hub = try RestorableHub()
        try await hub.publish("one")
        let client = try hub.client("a")
        let one = try await client.user(externalID: "Mary")
        await one.connect()
        #expect(try await eventually { try await one.counts().total == 1 })
        #expect(await eventually { await one.isSettled })
        let copyClient = try hub.client("b")
        let identity = InboxIdentity.user(externalID: "Mary", email: nil)
        try copy(client.path(of: identity), to: copyClient.path(of: identity))
        // The original goes on, so that the copy's nonce is old.
        await one.disconnect()
        await one.connect()
        try await one.perform(.mark(.seen, upTo: 1))
        #expect(try await eventually { try await one.outbox().isEmpty })
        let two = try await copyClient.user(externalID: "Mary")
        await two.connect()
        #expect(await eventually { await two.isSettled })
        let all = await one.recentNotices + two.recentNotices
        #expect(all.map(\.code) == [.forked])
        let lines = hub.lines
        #expect(await eventually { lines.count("1 device so far had a file") == 1 })
        await one.close()
        await two.close()
        await hub.stop()
    }

    @Test func `reconnects, restarts of the hub and a new device are nothing to be told of`() async throws {
        let hub = try RestorableHub()
        try await hub.publish("one")
        let inbox = try await hub.client("a").user(externalID: "Mary")
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        await inbox.disconnect()
        await hub.stop()
        try hub.start()
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        let other = try await hub.client("b").user(externalID: "Mary")
        await other.connect()
        #expect(await eventually { await other.isSettled })
        let told = await inbox.recentNotices + other.recentNotices
        #expect(told.isEmpty)
        #expect(hub.lines.all.isEmpty, "\(hub.lines.all)")
        await inbox.close()
        await other.close()
        await hub.stop()
    }
}
