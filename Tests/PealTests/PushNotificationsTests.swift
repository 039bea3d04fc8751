import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// A device of the interests surface beyond what the document shows: starts, ends, hubs that forget, and what goes wrong.
@Suite(.timeLimit(.minutes(2)))
struct PushNotificationsTests {
    private static let nowhere = "http://127.0.0.1:1"

    private func files(_ bench: Bench, _ name: String) -> [String] {
        let folder = bench.directory + "/" + name + "/push-" + bench.hub.project.instance
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".peal") }
    }

    // MARK: Start

    @Test func `before a start each call is refused by a typed error, and nothing traps`() async throws {
        let bench = try Bench()
        let client = bench.push()
        #expect(client.getDeviceInterests() == [] && client.deviceInbox == nil && client.userInbox == nil)
        let calls: [@Sendable () async throws -> Void] = [
            { try client.addDeviceInterest(interest: "a") }, { try client.removeDeviceInterest(interest: "a") },
            { try client.setDeviceInterests(interests: ["a"]) }, { try client.clearDeviceInterests() },
            { try await client.setUserId("Mary", tokenProvider: bench.provider) },
            { _ = try await client.deviceToken() },
        ]
        for call in calls {
            let error = await #expect(throws: PealError.self) { try await call() }
            #expect(error?.code == .notStarted)
        }
        // A token that comes early is not lost.
        client.registerDeviceToken(Data([1, 2, 0xAB]))
        client.notificationOpened(userInfo: [:])
        try client.start(hub: bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/a")
        #expect(await client.settled())
        #expect(try await bench.interests(of: try #require(try await client.device())) == [])
    }

    @Test func `a start that cannot be is a typed error, and a later one works`() async throws {
        let bench = try Bench()
        let client = bench.push()
        func code(_ hub: String, _ instance: String, _ folder: String) -> PealError.Code? {
            #expect(throws: PealError.self) { try client.start(hub: hub, instanceId: instance, directory: folder) }?
                .code
        }
        #expect(code("nonsense", "i", bench.directory) == .badURL)
        #expect(code(bench.url, "", bench.directory) == .invalid)
        #expect(code(bench.url, "i", "/dev/null/x") == .file)
        let first = try bench.started("a")
        #expect(code(bench.url, bench.hub.project.instance, bench.directory + "/a") == .inUse)
        first.close()
        try client.start(hub: bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/a")
        #expect(code(bench.url, "another", bench.directory + "/a") == .invalid)
        #expect(await client.settled())
    }

    // MARK: Interests

    @Test func `what is done offline meets what the server did, in the order of arrival`() async throws {
        let bench = try Bench()
        let client = try bench.started("a")
        client.registerDeviceToken(Data([1]))
        try client.setDeviceInterests(interests: ["a", "b"])
        #expect(await client.settled())
        let device = try #require(try await client.device())
        client.close()
        let offline = try bench.started("a", hub: Self.nowhere)
        let app = PushApp(offline)
        try offline.addDeviceInterest(interest: "c")
        try offline.removeDeviceInterest(interest: "a")
        #expect(offline.getDeviceInterests() == ["b", "c"])
        #expect(await eventually { app.interests == [["a", "b", "c"], ["b", "c"]] })
        try await bench.interestsAPI(
            "PUT", "/device_api/v1/instances/ID/devices/apns/\(device)/interests", #"{"interests":["a","x"]}"#)
        offline.close()
        let again = try bench.started("a")
        #expect(again.getDeviceInterests() == ["b", "c"], "as it was left")
        #expect(await again.settled())
        #expect(await eventually { again.getDeviceInterests() == ["c", "x"] })
        #expect(try await bench.interests(of: device) == ["c", "x"])
    }

    @Test func `what a call did is in the files when it returns, so that no kill takes it`() async throws {
        let bench = try Bench()
        let client = try bench.started("a", hub: Self.nowhere)
        client.registerDeviceToken(Data([1]))
        try client.setDeviceInterests(interests: ["apple", "pear"])
        try client.removeDeviceInterest(interest: "pear")
        // What a process that is killed here leaves behind: the same bytes.
        let folder = "/push-" + bench.hub.project.instance
        try FileManager.default.createDirectory(
            atPath: bench.directory + "/killed" + folder, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: bench.directory + "/a" + folder)
        where name == "device.json" || name.hasSuffix(".peal") || name.hasSuffix(".peal-wal") {
            try FileManager.default.copyItem(
                atPath: bench.directory + "/a" + folder + "/" + name,
                toPath: bench.directory + "/killed" + folder + "/" + name)
        }
        let again = try bench.started("killed")
        #expect(again.getDeviceInterests() == ["apple"])
        #expect(await again.settled())
        #expect(try await bench.interests(of: try #require(try await again.device())) == ["apple"])
    }

    @Test func `a process that is killed right after a call has made it`() async throws {
        let bench = try Bench()
        let (folder, instance) = (bench.directory + "/a", bench.hub.project.instance)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [folder = folder as String, instance = instance as String] in
            let client = PushNotifications()
            try client.start(hub: "http://127.0.0.1:1", instanceId: instance, directory: folder)
            client.registerDeviceToken(Data([1]))
            try client.setDeviceInterests(interests: ["apple", "pear"])
            try client.removeDeviceInterest(interest: "pear")
            kill(getpid(), SIGKILL)
        }
        let again = try bench.started("a")
        #expect(again.getDeviceInterests() == ["apple"])
        #expect(await again.settled())
        #expect(try await bench.interests(of: try #require(try await again.device())) == ["apple"])
        #expect(files(bench, "a").count == 1)
    }

    @Test func `a device has 5,000 interests and not one more, and long ones that no single act holds`() async throws {
        let bench = try Bench()
        let client = try bench.started("a", hub: Self.nowhere)
        let names = (1...5_000).map { "i\($0)" }
        try client.setDeviceInterests(interests: names + names)
        #expect(client.getDeviceInterests() == names.sorted())
        #expect(throws: PealError.self) { try client.addDeviceInterest(interest: "more") }
        #expect(throws: PealError.self) { try client.setDeviceInterests(interests: names + ["more"]) }
        try client.addDeviceInterest(interest: names[0])
        #expect(client.getDeviceInterests().count == 5_000)
        let long = (100...499).map { String(repeating: "x", count: 161) + "\($0)" }
        try client.setDeviceInterests(interests: long)
        #expect(client.getDeviceInterests() == long.sorted())
    }

    @Test func `a call is made from any thread, the main one and a callback too`() async throws {
        let bench = try Bench()
        let client = try bench.started("a", hub: Self.nowhere)
        final class Again: InterestsChangedDelegate, Sendable {
            let client: PushNotifications
            let done = Mutex(false)
            init(_ client: PushNotifications) { self.client = client }
            func interestsSetOnDeviceDidChange(interests: [String]) {
                guard interests == ["main"] else { return }
                try? client.addDeviceInterest(interest: "callback")
                done.withLock { $0 = client.getDeviceInterests() == ["callback", "main"] }
            }
        }
        let again = Again(client)
        client.delegate = again
        try await MainActor.run { try client.addDeviceInterest(interest: "main") }
        #expect(await eventually { again.done.withLock { $0 } })
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<16 { group.addTask { try? client.addDeviceInterest(interest: "n\(number)") } }
        }
        #expect(client.getDeviceInterests().count == 18)
    }

    // MARK: The hub forgets

    @Test(arguments: ["device", "user"])
    func `a device that the hub has deleted is made again by itself, with its interests, token and user`(
        _ what: String
    ) async throws {
        let bench = try Bench()
        let client = try bench.started("a")
        let app = PushApp(client)
        client.registerDeviceToken(Data([7]))
        try client.setDeviceInterests(interests: ["apple", "pear"])
        let provider = bench.provider
        try await client.setUserId("Mary", tokenProvider: provider)
        #expect(await client.settled())
        let device = try #require(try await client.device())
        if what == "device" {
            try await bench.interestsAPI("DELETE", "/device_api/v1/instances/ID/devices/apns/\(device)")
        } else {
            try await bench.interestsAPI("DELETE", "/customer_api/v1/instances/ID/users/Mary")
        }
        #expect(
            try await eventually {
                let next = try await client.device()
                guard let next, next != device else { return false }
                return try await bench.user(of: next) == "Mary"
            })
        let next = try #require(try await client.device())
        #expect(try await bench.interests(of: next) == ["apple", "pear"])
        #expect(client.getDeviceInterests() == ["apple", "pear"])
        #expect(app.interests == [["apple", "pear"]], "nothing that an app would see has changed")
        #expect(try await bench.interests(of: device) == nil)
        #expect(provider.asked.value >= 2, "with a token that was asked for anew")
        try await bench.publish("hello", interests: ["apple"])
        #expect(await eventually { app.titles == ["hello"] })
        #expect(files(bench, "a").filter { $0.hasPrefix("device-") }.count == 1)
        // At the next start it is the same.
        client.close()
        let again = try bench.started("a")
        #expect(await again.settled())
        #expect(try await again.device() == next)
    }

    @Test func `a device that the hub forgot while it was away is made again, and its user once there is a token`()
        async throws
    {
        let bench = try Bench()
        let client = try bench.started("a")
        client.registerDeviceToken(Data([7]))
        try client.addDeviceInterest(interest: "apple")
        try await client.setUserId("Mary", tokenProvider: bench.provider)
        #expect(await client.settled())
        let device = try #require(try await client.device())
        client.close()
        try await bench.interestsAPI("DELETE", "/device_api/v1/instances/ID/devices/apns/\(device)")
        let again = try bench.started("a")
        try again.addDeviceInterest(interest: "pear")
        #expect(try await eventually { try await again.device().map { $0 != device } ?? false })
        #expect(await again.settled())
        let next = try #require(try await again.device())
        #expect(try await bench.interests(of: next) == ["apple", "pear"])
        #expect(try await bench.user(of: next) == nil)
        // The app signs its user in at each launch; nobody else can be until the state is cleared.
        let error = await #expect(throws: PealError.self) {
            try await again.setUserId("Paul", tokenProvider: bench.provider)
        }
        #expect(error?.code == .otherUser)
        try await again.setUserId("Mary", tokenProvider: bench.provider)
        #expect(try await bench.user(of: next) == "Mary")
    }

    @Test func `another push token keeps device, interests and user, and the same one is not sent again`() async throws
    {
        let bench = try Bench()
        let client = try bench.started("a")
        client.registerDeviceToken(Data([1]))
        try client.addDeviceInterest(interest: "apple")
        try await client.setUserId("Mary", tokenProvider: bench.provider)
        #expect(await client.settled())
        let device = try #require(try await client.device())
        let inbox = try #require(client.deviceInbox)
        let before = try await inbox.inspect().nextN
        client.registerDeviceToken(Data([1]))
        client.registerDeviceToken(Data([2]))
        #expect(try await eventually { try await inbox.outbox().isEmpty })
        #expect(try await inbox.inspect().nextN == before + 1)
        #expect(try await client.device() == device)
        #expect(try await bench.interests(of: device) == ["apple"])
        #expect(try await bench.user(of: device) == "Mary")
    }

    // MARK: Ends

    @Test func `a stop offline is delivered after a restart, beside a new device`() async throws {
        let bench = try Bench()
        let client = try bench.started("a")
        client.registerDeviceToken(Data([1]))
        try client.addDeviceInterest(interest: "apple")
        #expect(await client.settled())
        let device = try #require(try await client.device())
        client.close()
        let offline = try bench.started("a", hub: Self.nowhere)
        let calls = Mutex(0)
        offline.stop { calls.withLock { $0 += 1 } }
        #expect(await eventually { calls.withLock { $0 } == 1 }, "without a hub")
        #expect(offline.getDeviceInterests() == [])
        #expect(try await bench.interests(of: device) == ["apple"])

        let again = try bench.started("a")
        #expect(again.getDeviceInterests() == [])
        again.registerDeviceToken(Data([1]))
        try again.addDeviceInterest(interest: "pear")
        #expect(await again.settled())
        #expect(try await eventually { try await bench.interests(of: device) == nil })
        let next = try #require(try await again.device())
        #expect(try await bench.interests(of: next) == ["pear"])
        #expect(await eventually { files(bench, "a").count == 1 }, "nothing of the old one stays")
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a clear offline goes on as a new device at once, and both arrive`() async throws {
        let bench = try Bench()
        let client = try bench.started("a")
        let app = PushApp(client)
        client.registerDeviceToken(Data([1]))
        try client.addDeviceInterest(interest: "apple")
        try await client.setUserId("Mary", tokenProvider: bench.provider)
        #expect(await client.settled())
        let device = try #require(try await client.device())
        client.close()
        let offline = try bench.started("a", hub: Self.nowhere)
        offline.delegate = app
        try await offline.clearAllState()
        #expect(await eventually { app.interests == [["apple"], []] })
        try offline.addDeviceInterest(interest: "pear")
        #expect(offline.getDeviceInterests() == ["pear"])
        offline.close()
        #expect(try await bench.user(of: device) == "Mary")
        let again = try bench.started("a")
        #expect(await again.settled())
        let next = try #require(try await again.device())
        #expect(next != device && again.getDeviceInterests() == ["pear"])
        #expect(try await bench.interests(of: next) == ["pear"], "with the token of before, without registering")
        #expect(try await bench.user(of: next) == nil)
        #expect(try await eventually { try await bench.interests(of: device) == nil })
        // Somebody else can sign in now.
        try await again.setUserId("Paul", tokenProvider: bench.provider)
        #expect(try await bench.user(of: next) == "Paul")
    }

    @Test func `ten instances end in a race, each completion comes once, and so where there is nothing to end`()
        async throws
    {
        let bench = try Bench()
        let clients = try (0..<10).map { try bench.started("n\($0)", hub: $0 % 3 == 0 ? Self.nowhere : bench.url) }
        for client in clients { try client.addDeviceInterest(interest: "apple") }
        let calls = Calls()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<10 {
                for round in 0..<4 {
                    let client = clients[number]
                    group.addTask {
                        if (number + round) % 2 == 0 {
                            client.stop { calls.add(number) }
                        } else {
                            client.clearAllState { calls.add(number) }
                        }
                    }
                }
            }
        }
        #expect(await eventually { calls.all.count == 10 && calls.all.values.allSatisfy { $0 == 4 } })
        for client in clients { #expect(client.getDeviceInterests() == []) }
        let nobody = bench.push()
        nobody.stop { calls.add(10) }
        nobody.clearAllState { calls.add(10) }
        try await nobody.stop()
        try await nobody.clearAllState()
        #expect(await eventually { calls.all[10] == 2 })
        #expect(calls.all.values.reduce(0, +) == 42)
        for client in clients { try await client.stop() }
    }

    /// How often each was called.
    private final class Calls: Sendable {
        private let counts = Mutex<[Int: Int]>([:])
        var all: [Int: Int] { counts.withLock { $0 } }
        func add(_ number: Int) { counts.withLock { $0[number, default: 0] += 1 } }
    }
}
