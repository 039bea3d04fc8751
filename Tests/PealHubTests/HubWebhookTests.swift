import Foundation
import PealModel
import PealSQLite
import Synchronization
import Testing

@testable import PealHub

/// Webhooks over a whole hub, and their queue.
@Suite struct HubWebhookTests {
    /// An end that takes calls and answers as it is told.
    private final class Hook: Sendable {
        struct Call: Sendable {
            var path: String
            var headers: HTTPHeaders
            var body: [UInt8]
        }

        private struct Taking: HTTPHandler {
            let calls: Mutexed
            func bodyLimit(for head: HTTPRequestHead) -> Int? { nil }
            func handle(_ request: HTTPRequest, respond: HTTPResponder) {
                calls.add(Call(path: request.target.raw, headers: request.headers, body: request.body))
                switch request.target.raw {
                case "/moved": respond.send(.empty(302, headers: ["Location": "/landed"]))
                case "/broken": respond.send(.empty(500))
                case "/silent": calls.hold(respond)
                default: respond.send(.empty(200))
                }
            }
            func response(to failure: HTTPFailure, target: String) -> HTTPResponse { .empty(failure.status) }
        }

        final class Mutexed: Sendable {
            private let all = Mutex<[Call]>([])
            private let came = DispatchSemaphore(value: 0)
            func add(_ call: Call) {
                all.withLock { $0.append(call) }
                came.signal()
            }
            func next() throws -> Call {
                guard came.wait(timeout: .now() + 10) == .success else { throw RawHTTPError(what: "no call came") }
                return all.withLock { $0.removeFirst() }
            }
            private let held = Mutex<[HTTPResponder]>([])
            func hold(_ responder: HTTPResponder) { held.withLock { $0.append(responder) } }
            func release() {
                let responders = held.withLock { held in
                    defer { held = [] }
                    return held
                }
                for responder in responders { responder.send(.empty(200)) }
            }
            var count: Int { all.withLock { $0.count } }
        }

        let calls = Mutexed()
        let server: HTTPServer

        init() throws {
            server = try HTTPServer(configuration: HTTPServerConfiguration(), handler: Taking(calls: calls))
        }

        func url(_ path: String) -> String { "http://127.0.0.1:\(server.boundPort)\(path)" }
    }

    private func publish(_ hub: TestHub, _ url: String) throws -> String {
        let answer = try hub.client().post(
            hub.publishPath("users"),
            #"{"users":["mary","tom"],"webhookUrl":"\#(url)","apns":{"aps":{"alert":"a"}}}"#, headers: hub.bearer)
        return try #require(answer.json["publishId"]?.stringValue)
    }

    private func rows(_ hub: TestHub) throws -> [(failures: Int64, due: Int64)] {
        let database = try StoreDatabase(path: hub.path, options: .init())
        return try database.query("SELECT failures, due FROM webhook ORDER BY id").all { ($0.int64(0), $0.int64(1)) }
    }

    /// Waits until the queue is as wanted.
    private func wait(_ hub: TestHub, until isSo: ([(failures: Int64, due: Int64)]) -> Bool) throws {
        let deadline = Date() + 10
        while try !isSo(rows(hub)) {
            guard Date() < deadline else { throw RawHTTPError(what: "the queue stays: \(try rows(hub))") }
            usleep(20_000)
        }
    }

    @Test func `a publish to users is told, signed, once`() throws {
        let hook = try Hook()
        let hub = try TestHub(adjust: { $0.webhookHosts = ["127.0.0.1"] })
        let id = try publish(hub, hook.url("/hook?a=b"))
        let call = try hook.calls.next()
        #expect(call.path == "/hook?a=b" && call.headers["Webhook-Event-Type"] == "v1.PublishToUsersAttempt")
        let key = Array(hub.project.secret.utf8)
        #expect(call.headers["Webhook-Signature"] == Hexadecimal.encode(HMACSHA1.code(call.body, key: key)))
        let body = try JSON(call.body[...])
        #expect(body["payload"]?["publish_id"]?.stringValue == id)
        #expect(body["payload"]?["users_no_devices"]?.arrayValue?.count == 2)
        #expect(body["metadata"]?["event_type"]?.stringValue == "v1.PublishToUsersAttempt")
        try wait(hub) { $0.isEmpty }
        #expect(hook.calls.count == 0)
    }

    @Test func `a project's own webhooks hear of opens`() throws {
        let hook = try Hook()
        let hub = try TestHub(adjust: { $0.webhookHosts = ["127.0.0.1:\(hook.server.boundPort)", "127.0.0.1"] })
        let token = try #require(hub.project.operatorToken)
        let changed = try hub.client().request(
            "PUT", "/v1/projects/\(hub.project.instance)", headers: "Authorization: Bearer \(token)\r\n",
            body: Array(#"{"project":{"webhooks":["\#(hook.url("/own"))"]}}"#.utf8))
        #expect(changed.status == 200)
        let base = "/device_api/v1/instances/\(hub.project.instance)/devices/web"
        let device = try #require(try hub.client().post(base, #"{"token":"t"}"#, headers: "").json["id"]?.stringValue)
        let proof = Proofs.token(
            "mary", instance: hub.project.instance, secret: hub.project.secret, expires: 4_000_000_000)
        _ = try hub.client().request("PUT", base + "/\(device)/user", headers: "Authorization: Bearer \(proof)\r\n")
        let answer = try hub.client().post(
            hub.publishPath("users"), #"{"users":["mary"],"web":{"notification":{"title":"a"}}}"#, headers: hub.bearer)
        let id = try #require(answer.json["publishId"]?.stringValue)
        let attempt = try JSON(hook.calls.next().body[...])
        #expect(attempt["payload"]?["users_delivered_to_gateway"]?.arrayValue?.count == 1)
        _ = try hub.client().post(
            "/reporting_api/v2/instances/\(hub.project.instance)/events",
            #"{"event":"Open","publishId":"\#(id)","deviceId":"\#(device)"}"#, headers: "")
        let open = try hook.calls.next()
        #expect(open.headers["Webhook-Event-Type"] == "v1.UserNotificationOpen")
        #expect(try JSON(open.body[...])["payload"]?["user_id"]?.stringValue == "mary")
    }

    @Test func `a failure waits for its next try, and no redirect is followed`() throws {
        let hook = try Hook()
        let hub = try TestHub(adjust: { $0.webhookHosts = ["127.0.0.1"] })
        let before = Int64(Date().timeIntervalSince1970 * 1_000)
        for path in ["/broken", "/moved"] {
            _ = try publish(hub, hook.url(path))
            #expect(try hook.calls.next().path == path)
        }
        try wait(hub) { rows in
            rows.count == 2
                && rows.allSatisfy { $0.failures == 1 && ($0.due - before) >= 10_000 && ($0.due - before) < 25_000 }
        }
        #expect(hook.calls.count == 0)
        try hub.restart()
        #expect(try rows(hub).count == 2)
    }

    @Test func `an end that does not answer holds up no stop, and is called again`() throws {
        let hook = try Hook()
        let hub = try TestHub(adjust: { $0.webhookHosts = ["127.0.0.1"] })
        _ = try publish(hub, hook.url("/silent"))
        _ = try hook.calls.next()
        let started = ContinuousClock.now
        try hub.restart()
        #expect(ContinuousClock.now - started < .seconds(6))
        #expect(try rows(hub).count == 1)
        hook.calls.release()
    }

    @Test func `what is not listed is not called, and hinders no publish`() throws {
        let hook = try Hook()
        for hosts in [[], ["hooks.example.org"], ["127.0.0.1:1"]] {
            let hub = try TestHub(adjust: { $0.webhookHosts = hosts })
            _ = try publish(hub, hook.url("/hook"))
            #expect(try rows(hub).isEmpty)
        }
        // A listed name that points inwards.
        let hub = try TestHub(adjust: { $0.webhookHosts = ["localhost"] })
        _ = try publish(hub, "http://localhost:\(hook.server.boundPort)/hook")
        try wait(hub) { $0.first?.failures == 1 }
        #expect(hook.calls.count == 0)
    }

    @Test(arguments: StoreKind.all)
    func `a call that is taken is nobody else's until its lease is over`(_ kind: StoreKind) throws {
        let hub = try StoreFixture(kind)
        let call = WebhookCall(project: hub.project.key, url: "http://a/", event: "e", body: [1])
        func take(_ now: Milliseconds) throws -> [WebhookCall] {
            try hub.commit { (store) throws(HubStoreError) in try store.takeWebhooks(limit: 1, now: now) }
        }
        try hub.commit { (store) throws(HubStoreError) in try store.enqueue([call, call], now: 100) }
        #expect(try take(99).isEmpty)
        let first = try #require(try take(100).first)
        let second = try #require(try take(100).first)
        #expect(first.id != second.id && first.body == [1])
        #expect(try take(101).isEmpty)
        #expect(try take(100 + WebhookCall.lease).first?.id == first.id)
        try hub.commit { (store) throws(HubStoreError) in
            try store.webhook(first, retryAt: 1_000_000)
            try store.webhook(second, retryAt: nil)
        }
        let next = try hub.commit { (store) throws(HubStoreError) in try store.nextWebhook() }
        #expect(next == 1_000_000)
        #expect(try take(1_000_000).first?.failures == 1)
    }
}
