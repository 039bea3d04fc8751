import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// Projects that are made, rotated, revoked and closed while the hub runs.
@Suite struct HubRotationTests {
    private func operate(_ hub: TestHub, _ method: String, _ path: String, _ body: String = "{}") throws -> JSON {
        let token = try #require(hub.project.operatorToken)
        let answer = try hub.client().request(
            method, "/v1/projects" + path, headers: "Authorization: Bearer \(token)\r\n", body: Array(body.utf8))
        guard answer.status < 300 else {
            throw RawHTTPError(what: "\(method) \(path): \(answer.status) \(answer.text)")
        }
        return answer.json["project"] ?? .null
    }

    private func later(_ seconds: Double) -> Int64 { Int64(Date().timeIntervalSince1970 + seconds) }

    private func publishes(_ hub: TestHub, _ secret: String) throws -> Int {
        try hub.client().post(
            hub.publishPath("users"), #"{"users":["mary"],"apns":{"aps":{"alert":"a"}}}"#,
            headers: "Authorization: Bearer \(secret)\r\nContent-Type: application/json\r\n"
        ).status
    }

    /// The statuses of the four ways in which a secret is used: publisher, admin, HMAC, user token.
    private func statuses(_ hub: TestHub, _ secret: String, key: String? = nil) throws -> [Int] {
        let key = "X-MAGICBELL-API-KEY: \(key ?? hub.project.apiKey)\r\n"
        let mary = key + "X-MAGICBELL-USER-EXTERNAL-ID: mary\r\n"
        let token = Proofs.token("mary", instance: hub.project.instance, secret: secret, expires: later(60))
        let client = try hub.client()
        return [
            try publishes(hub, secret),
            try client.get("/users/external_id:mary", headers: key + "X-MAGICBELL-API-SECRET: \(secret)\r\n").status,
            try client.get(
                "/notifications", headers: mary + "X-MAGICBELL-USER-HMAC: \(Proofs.hmac("mary", secret))\r\n"
            ).status,
            try client.get("/notifications", headers: key + "Authorization: Bearer \(token)\r\n").status,
        ]
    }

    private func session(_ hub: TestHub, _ proof: Proof, key: String? = nil) throws -> TestDevice {
        var hello = hub.hello("mary")
        hello.proof = proof
        if let key { hello.project = key }
        let device = try TestDevice(hub)
        _ = try device.welcome(hello)
        return device
    }

    @Test func `a new secret is good at once, and the old one until the overlap is over`() throws {
        let hub = try TestHub(requiresHMAC: true)
        try hub.publish("one", users: ["mary"])
        let old = hub.project.secret
        let rotated = try operate(
            hub, "POST", "/\(hub.project.instance)/rotate", #"{"secret":true,"key":true,"overlap_seconds":60}"#)
        let new = try #require(rotated["secret"]?.stringValue)
        let newKey = try #require(rotated["key"]?.stringValue)
        for key in [hub.project.apiKey, newKey] {
            #expect(try statuses(hub, new, key: key) == [200, 200, 200, 200])
            #expect(try statuses(hub, old, key: key) == [200, 200, 200, 200])
        }
        _ = try operate(hub, "POST", "/\(hub.project.instance)/revoke")
        #expect(try statuses(hub, new, key: newKey) == [200, 200, 200, 200])
        #expect(try statuses(hub, old, key: newKey) == [401, 401, 401, 401])
        #expect(try statuses(hub, new) == [200, 401, 401, 401])
        try hub.restart()
        #expect(try statuses(hub, new, key: newKey) == [200, 200, 200, 200])
        #expect(try statuses(hub, old, key: newKey) == [401, 401, 401, 401])
    }

    @Test func `a revoked secret cuts the sessions that rest on it, at once and no others`() throws {
        let hub = try TestHub(requiresHMAC: true)
        let old = hub.project.secret
        let byCode = try session(hub, Proof(hmac: Proofs.hmac("mary", old)))
        let byToken = try session(
            hub, Proof(token: Proofs.token("mary", instance: hub.project.instance, secret: old, expires: later(900))))
        let rotated = try operate(hub, "POST", "/\(hub.project.instance)/rotate", #"{"secret":true}"#)
        let new = try #require(rotated["secret"]?.stringValue)
        let byNew = try session(hub, Proof(hmac: Proofs.hmac("mary", new)))
        _ = try operate(hub, "POST", "/\(hub.project.instance)/revoke")
        #expect(try byCode.closeCode() == CloseCode.revoked.rawValue)
        #expect(try byToken.closeCode() == CloseCode.revoked.rawValue)
        byNew.send(.ping)
        #expect(try byNew.frame() == .pong)
    }

    @Test func `a revoked key cuts the sessions that named it, and a closed project all of its own`() throws {
        let hub = try TestHub()
        let byKey = try session(hub, Proof())
        let rotated = try operate(
            hub, "POST", "/\(hub.project.instance)/rotate", #"{"key":true,"overlap_seconds":0}"#)
        #expect(try byKey.closeCode() == CloseCode.revoked.rawValue)
        let refused = try TestDevice(hub)
        refused.send(.hello(hub.hello("mary")))
        #expect(try refused.closeCode() == CloseCode.unknown.rawValue)
        let other = try operate(hub, "POST", "", #"{"project":{"name":"other","hmac_required":false}}"#)
        let stays = try session(hub, Proof(), key: try #require(other["key"]?.stringValue))
        let byNew = try session(hub, Proof(), key: try #require(rotated["key"]?.stringValue))
        _ = try operate(hub, "DELETE", "/\(hub.project.instance)")
        #expect(try byNew.closeCode() == CloseCode.revoked.rawValue)
        #expect(try publishes(hub, hub.project.secret) == 404)
        stays.send(.ping)
        #expect(try stays.frame() == .pong)
    }

    @Test func `a deleted user's and a deleted device's sessions end at once`() throws {
        let hub = try TestHub()
        let mary = try session(hub, Proof())
        let admin = try hub.client().request("DELETE", "/users/external_id:mary", headers: hub.admin)
        #expect(admin.status == 204)
        #expect(try mary.closeCode() == CloseCode.revoked.rawValue)
        let device = try TestDevice(hub)
        var hello = hub.hello("mary")
        hello.inbox = .device(id: nil)
        let id = try device.welcome(hello).inbox
        device.send(
            .push([
                Mutation(
                    n: 1, uid: 1, observed: 0, observedTime: 0, moment: .age(0),
                    operation: .token("t1", platform: "apns"))
            ]))
        _ = try device.entries(through: 1)
        let path = "/device_api/v1/instances/\(hub.project.instance)/devices/apns/\(id)"
        #expect(try hub.client().request("DELETE", path).status == 200)
        #expect(try device.closeCode() == CloseCode.revoked.rawValue)
    }

    @Test func `another process rotates, and the hub notices`() throws {
        let hub = try TestHub(requiresHMAC: true)
        let live = try session(hub, Proof(hmac: Proofs.hmac("mary", hub.project.secret)))
        let file = try ProjectFile(databasePath: hub.path)
        let rotated = try file.rotate(hub.project.instance, key: false, secret: true, overlapSeconds: 0)
        #expect(try live.closeCode() == CloseCode.revoked.rawValue)
        #expect(try publishes(hub, rotated.secret) == 200 && publishes(hub, hub.project.secret) == 401)
        let made = try file.create(name: "another", requiresHMAC: false)
        #expect(try file.list().map(\.instance) == [hub.project.instance, made.instance])
        #expect(throws: HubError.self) { try file.close("00000000-0000-4000-8000-000000000000") }
    }

    @Test func `the operator's paths want the operator's token`() throws {
        let hub = try TestHub()
        for header in [
            "", "Authorization: Bearer \(hub.project.secret)\r\n",
            "Authorization: \(Proofs.basic(hub.project.apiKey, hub.project.secret))\r\n",
        ] {
            #expect(try hub.client().get("/v1/projects", headers: header).status == 401)
        }
        let old = try #require(hub.project.operatorToken)
        try hub.restart()
        #expect(hub.project.operatorToken == nil && !hub.project.isNew)
        #expect(try hub.client().get("/v1/projects", headers: "Authorization: Bearer \(old)\r\n").status == 200)
    }
}
