import Foundation
import PealHub
import PealModel
import PealReplica
import Testing

@testable import Peal

/// A hub in this process, and devices on it.
final class Bench: Sendable {
    let hub: HubServer
    let directory: String

    init(
        requiresHMAC: Bool = false, publicWebSocketURL: String? = nil, log: (@Sendable (String) -> Void)? = nil
    ) throws {
        directory = NSTemporaryDirectory() + "/peal-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var configuration = HubConfiguration(databasePath: directory + "/hub.sqlite")
        configuration.httpPort = 0
        configuration.webSocketPort = 0
        configuration.requiresHMAC = requiresHMAC
        configuration.publicWebSocketURL = publicWebSocketURL
        if let log { configuration.log = { log("\($0)") } }
        hub = try HubServer(configuration)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func client(_ name: String) throws -> PealClient {
        try PealClient(
            hub: "http://127.0.0.1:\(hub.httpPort)", apiKey: hub.project.apiKey, directory: directory + "/" + name)
    }

    func publish(_ title: String, users: [String]) async throws {
        let aps = JSON.object([("aps", .object([("alert", .string(title))]))])
        _ = try await api().publish(platforms: .object([("apns", aps)]), to: .users(users))
    }

    var address: HubAddress {
        get throws { try HubAddress("http://127.0.0.1:\(hub.httpPort)") }
    }

    /// The calls of the project's back end.
    func api() throws -> HubAPI {
        let project = hub.project
        return HubAPI(
            hub: try address,
            credentials: .project(instance: project.instance, key: project.apiKey, secret: project.secret))
    }

    /// Stops the hub, on a thread that may block.
    func stop() async {
        let hub = hub
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                hub.stop()
                done.resume()
            }
        }
    }
}

/// Waits for a condition with a deadline; false where it did not come true.
func eventually(
    seconds: Double = 15, _ condition: @Sendable () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(3))
    }
    return try await condition()
}

@Suite(.timeLimit(.minutes(2)))
struct InboxTests {
    @Test func `what is published comes to a connected inbox, and the change stream tells`() async throws {
        let bench = try Bench()
        let inbox = try await bench.client("a").user(externalID: "Mary")
        let changes = inbox.changes
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        try await bench.publish("hello", users: ["Mary"])
        var inserted: [Position] = []
        for await change in changes where !change.inserted.isEmpty {
            inserted = change.inserted
            break
        }
        #expect(inserted == [1])
        let page = try await inbox.page(DeliveredQuery())
        #expect(try page.items.map { try $0.decodeBody().title } == ["hello"])
        #expect(try await inbox.counts() == Counts(total: 1, unread: 1, unseen: 1))
        await inbox.close()
        await bench.stop()
    }

    @Test func `an act shows at once on its device and soon on the other`() async throws {
        let bench = try Bench()
        try await bench.publish("hello", users: ["Mary"])
        let one = try await bench.client("a").user(externalID: "Mary")
        let two = try await bench.client("b").user(externalID: "Mary")
        await one.connect()
        await two.connect()
        #expect(try await eventually { try await one.counts().total == 1 })
        #expect(try await eventually { try await two.counts().total == 1 })
        let item = try #require(try await one.page(DeliveredQuery()).items.first)
        try await one.perform(.read(items: [item.id], on: true, passive: false))
        #expect(try await one.counts().unread == 0)
        #expect(try await eventually { try await two.counts().unread == 0 })
        #expect(try await eventually { try await one.outbox().isEmpty })
        await one.close()
        await two.close()
        await bench.stop()
    }

    @Test func `a project that wants an HMAC takes the right one and refuses the wrong one for good`() async throws {
        let bench = try Bench(requiresHMAC: true)
        let wrong = try await bench.client("a").user(externalID: "Mary", hmac: "bm90IGl0")
        await wrong.connect()
        #expect(await eventually { await wrong.status.state == .stopped })
        #expect(await wrong.status.code == CloseCode.revoked.rawValue)
        let none = try await bench.client("b").user(externalID: "Mary")
        await none.connect()
        #expect(await eventually { await none.status.state == .stopped })
        await wrong.close()
        await none.close()
        await bench.stop()
    }

    @Test func `a hub that cannot be reached leaves the inbox offline and working`() async throws {
        let directory = NSTemporaryDirectory() + "/peal-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let client = try PealClient(hub: "http://127.0.0.1:1", apiKey: "k", directory: directory)
        let inbox = try await client.device()
        await inbox.connect()
        #expect(
            await eventually {
                let status = await inbox.status; return status.state == .offline && status.message != nil
            })
        try await inbox.perform(.interest(name: "apple", on: true))
        #expect(try await inbox.interests() == ["apple"])
        #expect(try await inbox.outbox().count == 1)
        await inbox.close()
    }

    @Test func `a file of another user is refused with a sentence`() async throws {
        let bench = try Bench()
        let client = try bench.client("a")
        let mary = try await client.user(externalID: "mary")
        await mary.close()
        let from = client.path(of: .user(externalID: "mary", email: nil))
        let to = client.path(of: .user(externalID: "bob", email: nil))
        // With the write-ahead log: until a checkpoint it holds everything.
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: from + suffix) {
            try FileManager.default.copyItem(atPath: from + suffix, toPath: to + suffix)
        }
        let error = await #expect(throws: PealError.self) { _ = try await client.user(externalID: "bob") }
        #expect(error?.file == .otherIdentity)
        await bench.stop()
    }
}
