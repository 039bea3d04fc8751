import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// Whose device it is, and each way in which it cannot be found out.
@Suite(.timeLimit(.minutes(2)))
struct PushUserTests {
    private struct Broken: Error, Equatable {}

    private func error(_ client: PushNotifications, _ user: String, _ provider: any TokenProvider) async -> (any Error)?
    {
        await withCheckedContinuation { done in
            client.setUserId(user, tokenProvider: provider) { done.resume(returning: $0) }
        }
    }

    @Test func `each failure of a provider is the caller's error, and nothing is kept`() async throws {
        let bench = try Bench()
        let client = bench.push(tokenTimeout: .milliseconds(150))
        try client.start(hub: bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/a")
        client.registerDeviceToken(Data([1]))
        #expect(await client.settled())
        func code(_ provider: ScriptedProvider, of user: String = "Mary") async -> PealError.Code? {
            (await error(client, user, provider) as? PealError)?.code
        }
        #expect(await error(client, "Mary", ScriptedProvider { _, _ in throw Broken() }) is Broken)
        #expect(await error(client, "Mary", ScriptedProvider { $1("", Broken()) }) is Broken)
        #expect(
            await error(client, "Mary", ScriptedProvider { user, done in done(bench.token(user), Broken()) }) is Broken)
        #expect(await code(ScriptedProvider { $1("", nil) }) == .noToken)
        #expect(await code(ScriptedProvider { $1("no token at all", nil) }) == .noToken)
        #expect(await code(ScriptedProvider { $1("a.e30.c", nil) }) == .noToken, "it names nobody")
        #expect(await code(ScriptedProvider { $1(bench.token("Paul"), nil) }) == .invalid)
        #expect(await code(ScriptedProvider { _, _ in }) == .timeout)
        #expect(await code(ScriptedProvider { _, _ in Thread.sleep(forTimeInterval: 0.4) }) == .timeout, "it blocks")
        #expect(await code(ScriptedProvider { $1(bench.token("Mary", seconds: -5), nil) }) == .refused)
        let forged = bench.token("Mary").dropLast(4) + "AAAA"
        #expect(await code(ScriptedProvider { $1(String(forged), nil) }) == .refused)
        #expect(await code(bench.provider, of: "") == .invalid)
        #expect(await code(bench.provider, of: String(repeating: "ä", count: 83)) == .invalid, "166 bytes")

        let device = try #require(try await client.device())
        #expect(try await bench.user(of: device) == nil)
        #expect(try await client.deviceInbox?.outbox().isEmpty == true)
        #expect(client.userInbox == nil)
        // Nothing was kept, so anybody can sign in.
        let longest = String(repeating: "x", count: 164)
        try await client.setUserId(longest, tokenProvider: bench.provider)
        #expect(try await bench.user(of: device) == longest)
    }

    @Test func `an answer that comes twice counts once, and one that comes late not at all`() async throws {
        let bench = try Bench()
        let client = bench.push(tokenTimeout: .milliseconds(100))
        try client.start(hub: bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/a")
        let late = Mutex<(@Sendable (String, (any Error)?) -> Void)?>(nil)
        let slow = ScriptedProvider { _, done in late.withLock { $0 = done } }
        #expect((await error(client, "Mary", slow) as? PealError)?.code == .timeout)
        late.withLock { $0 }?(bench.token("Mary"), nil)
        let twice = ScriptedProvider { user, done in
            done(bench.token(user), nil)
            done("", Broken())
        }
        #expect(await error(client, "Paul", twice) == nil)
    }

    @Test func `a device is one user's until the state is cleared, over a restart and offline`() async throws {
        let bench = try Bench()
        let client = try bench.started("a")
        client.registerDeviceToken(Data([1]))
        let provider = bench.provider
        try await client.setUserId("Mary", tokenProvider: provider)
        #expect((await error(client, "Paul", provider) as? PealError)?.code == .otherUser)
        try await client.setUserId("Mary", tokenProvider: provider)
        client.close()
        let again = try bench.started("a", hub: "http://127.0.0.1:1")
        let asked = provider.asked.value
        #expect((await error(again, "Paul", provider) as? PealError)?.code == .otherUser)
        #expect(await error(again, "Mary", provider) == nil, "it is theirs already")
        #expect(provider.asked.value <= asked + 1, "a token is wanted for the user's own inbox alone")
        try await again.clearAllState()
        #expect(await error(again, "Paul", provider) == nil, "offline, to be told later")
        #expect((await error(again, "Mary", provider) as? PealError)?.code == .otherUser)
        again.close()
        let online = try bench.started("a")
        #expect(await online.settled())
        #expect(try await bench.user(of: try #require(try await online.device())) == "Paul")
    }

    @Test func `a token that ended before the hub was there is replaced by a fresh one`() async throws {
        let bench = try Bench()
        let client = try bench.started("a", hub: "http://127.0.0.1:1")
        client.registerDeviceToken(Data([1]))
        let old = ScriptedProvider { user, done in done(bench.token(user, seconds: -1), nil) }
        #expect(await error(client, "Mary", old) == nil, "no hub says no")
        client.close()
        let online = try bench.started("a")
        #expect(await online.settled())
        let device = try #require(try await online.device())
        #expect(try await eventually { try await online.deviceInbox?.outbox().isEmpty == true })
        #expect(try await bench.user(of: device) == nil)
        try await online.setUserId("Mary", tokenProvider: bench.provider)
        #expect(try await bench.user(of: device) == "Mary")
    }

    @Test func `a clear while a provider works wins`() async throws {
        let bench = try Bench()
        let client = try bench.started("a")
        let waiting = Mutex<(@Sendable (String, (any Error)?) -> Void)?>(nil)
        let provider = ScriptedProvider { _, done in waiting.withLock { $0 = done } }
        let answer = Mutex<PealError.Code?>(nil)
        client.setUserId("Mary", tokenProvider: provider) { error in
            answer.withLock { $0 = (error as? PealError)?.code }
        }
        #expect(await eventually { provider.asked.value == 1 })
        try await client.clearAllState()
        waiting.withLock { $0 }?(bench.token("Mary"), nil)
        #expect(await eventually { answer.withLock { $0 } == .cancelled })
        #expect(client.userInbox == nil)
        try await client.setUserId("Paul", tokenProvider: bench.provider)
    }
}
