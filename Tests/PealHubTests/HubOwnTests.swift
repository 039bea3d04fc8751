import PealModel
import Testing

@testable import PealHub

/// What a user may do about their own data, on the hub's side.
@Suite struct HubOwnTests {
    private func proven(_ hub: TestHub, _ user: String) -> String {
        hub.user(user) + "X-MAGICBELL-USER-HMAC: \(hub.hmac(user))\r\n"
    }

    private func devices(_ hub: TestHub, _ user: String) throws -> [JSON] {
        try hub.client().get("/me/devices", headers: hub.user(user)).json["devices"]?.arrayValue ?? []
    }

    @Test func `a revoked replica's session ends, and no hello of it is taken, also after a restart`() throws {
        let hub = try TestHub()
        let hello = hub.hello("mary")
        let device = try TestDevice(hub)
        let welcome = try device.welcome(hello)
        let other = try TestDevice(hub)
        _ = try other.welcome(hub.hello("mary"))
        #expect(try devices(hub, "mary").count == 2)
        let path = "/me/devices/\(hello.replica)"
        #expect(try hub.client().request("DELETE", path, headers: hub.user("mary")).status == 401)
        #expect(try hub.client().request("DELETE", path, headers: proven(hub, "tom")).status == 404)
        #expect(try hub.client().request("DELETE", path, headers: proven(hub, "mary")).status == 204)
        #expect(try hub.client().request("DELETE", path, headers: proven(hub, "mary")).status == 404)
        #expect(try device.closeCode() == CloseCode.revoked.rawValue)
        #expect(try devices(hub, "mary").count == 1)
        try hub.restart()
        var again = hello
        again.attempt += 1
        again.nonce = welcome.nonce
        for proof in [Proof(), Proof(hmac: hub.hmac("mary")), Proof(secret: welcome.secret)] {
            again.proof = proof
            again.attempt += 1
            let back = try TestDevice(hub)
            back.send(.hello(again))
            #expect(try back.closeCode() == CloseCode.revoked.rawValue)
        }
        _ = try TestDevice(hub).welcome(hub.hello("mary"))
        #expect(try devices(hub, "mary").count == 2)
    }

    @Test func `a user is deleted by a proof alone, once or twice`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        try hub.publish("hers", users: ["mary", "tom"])
        #expect(try hub.client().request("DELETE", "/me", headers: hub.user("mary")).status == 401)
        #expect(try hub.client().request("DELETE", "/me", headers: proven(hub, "mary")).status == 204)
        #expect(try hub.client().get("/users/external_id:mary", headers: hub.admin).status == 404)
        #expect(try hub.client().request("DELETE", "/me", headers: proven(hub, "mary")).status == 204)
        #expect(try hub.client().get("/notifications", headers: hub.user("tom")).json["total"]?.intValue == 1)
        #expect(try devices(hub, "mary").isEmpty)
    }
}
