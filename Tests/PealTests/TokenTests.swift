import Foundation
import PealHub
import PealModel
import Synchronization
import Testing

@testable import Peal

/// A client whose app gets user tokens from its own server.
@Suite(.timeLimit(.minutes(2)))
struct TokenTests {
    private final class Server: Sendable {
        let project: HubProject
        let lives: Mutex<[Double]>
        let given = Mutex(0)

        /// Gives tokens that live so many seconds, one after the other; the last for ever.
        init(_ project: HubProject, lives: [Double]) {
            self.project = project
            self.lives = Mutex(lives)
        }

        func token() -> String {
            given.withLock { $0 += 1 }
            let seconds = lives.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            let claims =
                #"{"iss":"\#(project.instance)","sub":"Mary","exp":\#(Date().timeIntervalSince1970 + seconds)}"#
            let signed = [#"{"alg":"HS256"}"#, claims].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
            return signed + "."
                + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: Array(project.secret.utf8)))
        }
    }

    @Test func `the first token is fetched before the first hello, and a fresh one before the reconnect that needs it`()
        async throws
    {
        let bench = try Bench(requiresHMAC: true)
        let server = Server(bench.hub.project, lives: [-1, 900])
        let inbox = try await bench.client("a").user(externalID: "Mary") { server.token() }
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        #expect(server.given.withLock { $0 } == 2)
        await inbox.close()
        await bench.stop()
    }

    @Test func `a token is renewed on the live socket`() async throws {
        let bench = try Bench(requiresHMAC: true)
        let server = Server(bench.hub.project, lives: [30, 900])
        let inbox = try await bench.client("a").user(externalID: "Mary") { server.token() }
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        #expect(await eventually { server.given.withLock { $0 } == 2 })
        #expect(await inbox.status.state == .live)
        await inbox.close()
        await bench.stop()
    }

    @Test func `where there is no token the inbox stays offline and says so`() async throws {
        let bench = try Bench(requiresHMAC: true)
        let inbox = try await bench.client("a").user(externalID: "Mary") { nil }
        await inbox.connect()
        // Read once: between two tries, which say so as well, it is offline.
        #expect(
            await eventually {
                let status = await inbox.status
                return status.message == "there is no user token" && status.state == .offline
            })
        await inbox.close()
        await bench.stop()
    }
}
