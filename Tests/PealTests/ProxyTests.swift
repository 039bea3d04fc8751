import Foundation
import PealHub
import Synchronization
import Testing

@testable import Peal

/// A hub behind an HTTP proxy.
@Suite(.timeLimit(.minutes(4))) struct ProxyTests {
    private func client(
        _ bench: Bench, _ proxy: String, hub: String? = nil, log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> PealClient {
        try PealClient(
            hub: hub ?? bench.address.url.absoluteString, apiKey: bench.hub.project.apiKey, logLevel: .debug,
            directory: bench.directory + "/a", proxy: HubProxy(proxy), log: log)
    }

    @Test(arguments: [nil, "mary:p4ss:word"])
    func `http calls and the web socket go through the proxy, with its credentials`(_ credentials: String?) async throws
    {
        let bench = try Bench()
        let proxy = try TunnelProxy(credentials: credentials)
        let lines = Mutex("")
        let before = credentials.map { $0.replacing("4", with: "%34") + "@" } ?? ""
        let client = try client(bench, "http://\(before)127.0.0.1:\(proxy.port)") { line in
            lines.withLock { $0 += line }
        }
        let user = try client.connectUser(externalId: "mary")
        let store = user.store.build()
        try await store.refresh()
        try await bench.send("through the tunnel", to: "mary")
        #expect(await eventually { (try? await store.refresh().map(\.title)) == ["through the tunnel"] })
        #expect(
            Set(proxy.asked) == ["127.0.0.1:\(bench.hub.httpPort)", "127.0.0.1:\(bench.hub.webSocketPort)"],
            "\(proxy.asked)")
        try await user.api().health()
        #expect(!"\(client.hub) \(lines.withLock(\.self))".contains("p4ss"))
        try await client.disconnect(user)
        await bench.stop()
    }

    @Test func `a device with interests goes through the proxy, and so does its token provider`() async throws {
        let bench = try Bench()
        let proxy = try TunnelProxy(credentials: nil)
        let through = try HubProxy("127.0.0.1:\(proxy.port)")
        let device = PushNotifications(proxy: through)
        try device.start(
            hub: bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/device")
        try device.addDeviceInterest(interest: "dogs")
        #expect(await eventually { device.status.state == .live && device.status.outboxDepth == 0 })
        #expect(proxy.asked.contains("127.0.0.1:\(bench.hub.webSocketPort)"), "\(proxy.asked)")
        let provider = BeamsTokenProvider(authURL: "http://127.0.0.1:9/auth", proxy: through)
        let error = await withCheckedContinuation { (done: CheckedContinuation<(any Error)?, Never>) in
            do { try provider.fetchToken(userId: "mary") { done.resume(returning: $1) } } catch {
                done.resume(returning: error)
            }
        }
        #expect((error as? PealError)?.code == .unreachable)
        #expect(proxy.asked.contains("127.0.0.1:9"), "\(proxy.asked)")
        device.close()
        await bench.stop()
    }

    @Test func `wrong credentials, and a proxy that is away, are an unreachable hub, and no text holds the password`()
        async throws
    {
        let bench = try Bench()
        let proxy = try TunnelProxy(credentials: "mary:right")
        for address in ["mary:hidden@127.0.0.1:\(proxy.port)", "mary:hidden@127.0.0.1:1"] {
            let hub = try HubAddress(bench.address.url.absoluteString, proxy: HubProxy(address))
            var text = ""
            dump(hub, to: &text)
            let error = await #expect(throws: PealError.self) { try await HubAPI(hub: hub).health() }
            #expect(error?.code == .unreachable)
            text += error.map { "\($0) \(String(reflecting: $0))" } ?? ""
            #expect(!text.contains("hidden"), "\(text)")
        }
        #expect(proxy.asked == ["-"])
        await bench.stop()
    }

    @Test func `the environment names the proxy as other programs have it`() throws {
        let both = ["http_proxy": "http://plain:1", "HTTPS_PROXY": "secure:2", "HTTP_PROXY": "http://never:3"]
        func found(_ hub: String, _ more: [String: String] = [:]) throws -> String? {
            try HubProxy.environment(for: hub, both.merging(more) { $1 })?.description
        }
        #expect(try found("http://hub.example.org") == "plain:1")
        #expect(try found("https://hub.example.org:8080") == "secure:2")
        #expect(try HubProxy.environment(for: "http://hub", ["HTTP_PROXY": "http://never:3"]) == nil)
        for (entry, isLeftOut) in [
            ("*", true), ("example.org", true), (".example.org", true), ("a, HUB.example.org ", true),
            ("ple.org", false),
            ("", false), ("hub", false),
        ] {
            #expect(try (found("http://hub.example.org", ["no_proxy": entry]) == nil) == isLeftOut, "\(entry)")
        }
        for text in ["", "https://a:1", "http://a:1/path", "http://", "http://u:p q@a", "socks5://a:1"] {
            let error = #expect(throws: PealError.self) { try HubProxy(text) }
            #expect(error?.code == .badURL)
        }
    }
}
