import Foundation
import PealHub
import PealModel
import PealReplica
import Testing

@testable import Peal

/// The life of a push token, on a real hub.
@Suite(.timeLimit(.minutes(4))) struct DeviceTokenTests {
    private func hubTokens(_ bench: Bench, _ user: String, hmac: String? = nil) async throws -> [String] {
        var headers = ["X-MAGICBELL-API-KEY": bench.hub.project.apiKey, "X-MAGICBELL-USER-EXTERNAL-ID": user]
        headers["X-MAGICBELL-USER-HMAC"] = hmac
        let (_, answer) = try await HubAddress("http://127.0.0.1:\(bench.hub.httpPort)").request(
            "GET", ["push_subscriptions"], headers: headers, body: nil, seconds: 20)
        let all = try JSON(answer[...])["push_subscriptions"]?.arrayValue ?? []
        return all.compactMap { $0["device_token"]?.stringValue }
    }

    private func has(_ bench: Bench, _ user: String, _ tokens: [String], hmac: String? = nil) async -> Bool {
        await eventually { (try? await hubTokens(bench, user, hmac: hmac)) == tokens }
    }

    private func kept(_ client: PealClient) -> DeviceTokenState? {
        (try? Data(contentsOf: URL(fileURLWithPath: client.directory + "/device-token.json")))
            .flatMap { try? JSONDecoder().decode(DeviceTokenState.self, from: $0) }
    }

    @Test func `a token is sent for present and future users, once each, and goes with the user`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let helper = DefaultNotificationHelper(pushHandler: NoHandler(), richPushHandler: NoHandler())
        helper.client = client
        helper.sendDeviceTokenToServerIfNeeded(Data([0x0A, 0xFF]))
        let mode =
            try FileManager.default.attributesOfItem(atPath: client.directory + "/device-token.json")[.posixPermissions]
            as? Int
        #expect(mode == 0o600)
        try client.connectUser(externalId: "mary")
        #expect(await has(bench, "mary", ["0aff"]))
        #expect(await eventually { kept(client)?.people["id-mary.peal"]?.sent.first?.stage == .confirmed })
        // It is sent no more: what somebody else took away does not come back by the same token, nor by a launch.
        try await bench.post("/push_subscriptions/0aff", method: "DELETE", "", as: "mary")
        helper.sendDeviceTokenToServerIfNeeded(Data([0x0A, 0xFF]))
        // Another user of the same app, at the same time.
        try client.connectUser(externalId: "anna")
        #expect(await has(bench, "anna", ["0aff"]))
        let again = try bench.app("a")
        try again.connectUser(externalId: "mary")
        try await again.setDeviceToken(deviceToken: Data([0x0A, 0xFF]))
        // A later user's is behind it in the worker's order of names.
        try again.connectUser(externalId: "paul")
        #expect(await has(bench, "paul", ["0aff"]))
        #expect(try await hubTokens(bench, "mary") == [])
        #expect(try await hubTokens(bench, "anna") == ["0aff"], "each user keeps it")
        _ = try await again.disconnect(again.connectUser(externalId: "paul"))
        #expect(await has(bench, "paul", []))
        #expect(await eventually { kept(client)?.people["id-paul.peal"] == nil })
    }

    @Test func `a token that was rotated and a user who left while the hub was away are caught up with`() async throws {
        let bench = try Bench(requiresHMAC: true)
        let secret = bench.hub.project.secret
        func code(_ user: String) -> String { UserCode.code(of: user, secret: secret) }
        do {
            let client = try bench.app("a")
            try client.connectUser(externalId: "mary", hmac: code("mary"))
            try await client.setDeviceToken(deviceToken: Data("one".utf8), platform: .fcm)
            #expect(await has(bench, "mary", ["one"], hmac: code("mary")))
            #expect(await eventually { kept(client)?.people["id-mary.peal"]?.sent.first?.stage == .confirmed })
        }
        do {
            let offline = try bench.app("a", hub: "http://127.0.0.1:1")
            try offline.connectUser(externalId: "mary", hmac: code("mary"))
            for token in ["two", "three"] {
                try await offline.setDeviceToken(deviceToken: Data(token.utf8), platform: .fcm)
            }
        }
        do {
            let client = try bench.app("a")
            try client.connectUser(externalId: "mary", hmac: "wrong")
            #expect(await eventually { client.status.state == .stopped })
            #expect(try await hubTokens(bench, "mary", hmac: code("mary")) == ["one"])
            try client.connectUser(externalId: "mary", hmac: code("mary"))
            #expect(await has(bench, "mary", ["three"], hmac: code("mary")))
        }
        do {
            let offline = try bench.app("a", hub: "http://127.0.0.1:1")
            try offline.connectUser(externalId: "mary", hmac: code("mary"))
            _ = try await offline.disconnect(offline.connectUser(externalId: "mary"))
            #expect(kept(offline)?.people["id-mary.peal"]?.hmac == code("mary"))
        }
        // Nobody is connected now: the kept proof does it, and is forgotten then.
        let client = try bench.app("a")
        #expect(await has(bench, "mary", [], hmac: code("mary")))
        #expect(await eventually { kept(client)?.people.isEmpty == true })
    }

    @Test func `a token that is none is refused here, and one that the hub does not take is not sent again`()
        async throws
    {
        let bench = try Bench()
        let client = try bench.app("a")
        for (token, platform) in [(Data(), PushPlatform.apns), (Data(count: 128), .apns), (Data([0xFF]), .fcm)] {
            let error = await #expect(throws: PealError.self) {
                try await client.setDeviceToken(deviceToken: token, platform: platform)
            }
            #expect(error?.code == .invalid)
        }
        #expect(kept(client) == nil)
    }

    @Test func `what the hub may have is taken away before another is sent, whenever the process ended`() {
        let (one, two) = (
            DeviceTokenState.Token(value: "one", platform: "apns"),
            DeviceTokenState.Token(value: "two", platform: "apns")
        )
        var state = DeviceTokenState(token: one, people: ["mary": DeviceTokenState.Person()])
        #expect(state.step(for: "mary") == .add(one) && state.step(for: "paul") == nil)
        state.set(.sent, of: one, for: "mary")
        #expect(state.step(for: "mary") == .add(one))
        state.token = two
        #expect(state.step(for: "mary") == .remove(one))
        state.set(nil, of: one, for: "mary")
        #expect(state.step(for: "mary") == .add(two))
        state.set(.refused, of: two, for: "mary")
        #expect(state.step(for: "mary") == nil)
        state.set(.confirmed, of: two, for: "mary")
        state.people["mary"]?.isWanted = false
        #expect(state.step(for: "mary") == .remove(two))
        state.set(nil, of: two, for: "mary")
        #expect(state.people.isEmpty)
    }
}

/// Handlers that do nothing.
private struct NoHandler: PushHandler, RichPushHandler {
    func handleNotificationWithoutType(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) {}
    func handlePush(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) {}
    func handleRichPushResponse(_ response: NotificationResponse, completion: @escaping @Sendable () -> Void) {}
}

extension Bench {
    /// A call as a user, proven by the project's secret.
    fileprivate func post(_ path: String, method: String, _ body: String, as user: String) async throws {
        let (status, _) = try await HubAddress("http://127.0.0.1:\(hub.httpPort)").request(
            method, path.split(separator: "/").map(String.init),
            headers: [
                "X-MAGICBELL-API-KEY": hub.project.apiKey, "X-MAGICBELL-API-SECRET": hub.project.secret,
                "X-MAGICBELL-USER-EXTERNAL-ID": user,
            ], body: body.isEmpty ? nil : Array(body.utf8), seconds: 20)
        guard (200..<300).contains(status) else { throw PealError(.refused, "\(status)", status: status) }
    }
}
