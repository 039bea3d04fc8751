import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// User tokens on the device side (docs/sync.md section 6).
@Suite struct HubTokenTests {
    private func token(_ hub: TestHub, _ user: String, seconds: Double, secret: String? = nil) -> String {
        let expires = Date().timeIntervalSince1970 + seconds
        let claims = #"{"iss":"\#(hub.project.instance)","sub":"\#(user)","exp":\#(expires)}"#
        let signed = [#"{"alg":"HS256","typ":"JWT"}"#, claims].map { Base64.url.encode(Array($0.utf8)) }
            .joined(separator: ".")
        let key = Array((secret ?? hub.project.secret).utf8)
        return signed + "." + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: key))
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    private func hello(_ hub: TestHub, _ user: String, _ token: String) -> Hello {
        var hello = hub.hello(user)
        hello.proof.token = token
        return hello
    }

    @Test func `a token opens the inbox of its user, and of no other`() throws {
        let hub = try TestHub(requiresHMAC: true)
        _ = try TestDevice(hub).welcome(hello(hub, "mary", token(hub, "mary", seconds: 900)))
        for (user, token) in [
            ("tom", token(hub, "mary", seconds: 900)), ("mary", token(hub, "mary", seconds: 900, secret: "guess")),
            ("mary", "nonsense"),
        ] {
            let device = try TestDevice(hub)
            device.send(.hello(hello(hub, user, token)))
            #expect(try device.closeCode() == CloseCode.revoked.rawValue)
        }
    }

    @Test func `a token that has ended asks for a fresh one`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        device.send(.hello(hello(hub, "mary", token(hub, "mary", seconds: -1))))
        #expect(try device.closeCode() == CloseCode.newToken.rawValue)
    }

    @Test func `a fresh token is asked for on the live socket, and keeps the session`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hello(hub, "mary", token(hub, "mary", seconds: 30)))
        guard case .renew(let seconds) = try device.frame() else { throw RawHTTPError(what: "no renew") }
        #expect((1...30).contains(seconds))
        device.send(.token(token(hub, "mary", seconds: 900)))
        guard case .renewed(let expires) = try device.frame() else { throw RawHTTPError(what: "not renewed") }
        #expect(expires > Self.now() * 1_000 + 600_000)
        device.send(.token(token(hub, "tom", seconds: 900)))
        #expect(try device.closeCode() == CloseCode.revoked.rawValue)
    }

    @Test func `a token that ends closes 4101 and leaves a push unprocessed`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        var hello = hello(hub, "mary", token(hub, "mary", seconds: 1.5))
        let welcome = try device.welcome(hello)
        var code: UInt16?
        var n: Int64 = 0
        while code == nil {
            n += 1
            device.send(
                .push([
                    Mutation(
                        n: n, uid: UInt64(n), observed: 0, observedTime: 0, moment: .age(0),
                        operation: .mark(.read, upTo: 0))
                ]))
            while true {
                let event = try device.next()
                if case .closed(let closed, _) = event {
                    code = closed
                    break
                }
                if case .message(let bytes) = event, case .batch(let batch) = try DownFrame(bytes[...]) {
                    device.send(.got(to: batch.to))
                    break
                }
            }
        }
        #expect(code == CloseCode.newToken.rawValue)
        hello.attempt = 2
        hello.nonce = welcome.nonce
        hello.outbox = 1...n
        hello.proof.token = token(hub, "mary", seconds: 900)
        let again = try TestDevice(hub).welcome(hello)
        #expect(again.lastN == n - 1)
    }

    @Test func `a suspect is processed like any other`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        device.send(
            .suspect(
                Mutation(
                    n: 1, uid: 1, observed: 0, observedTime: 0, moment: .age(0), operation: .mark(.read, upTo: 0))))
        let entries = try device.entries(through: 1)
        guard case .act(let act) = entries[0].kind else { throw RawHTTPError(what: "no act") }
        #expect(act.n == 1 && act.outcome.code == .noop)
    }
}
