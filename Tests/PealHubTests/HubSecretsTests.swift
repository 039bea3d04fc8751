import Foundation
import PealModel
import PealWebSocket
import Testing

@testable import PealHub

/// Nothing that the hub says about itself holds what opens anything.
@Suite struct HubSecretsTests {
    /// What the hub said, and what must not be in it.
    private struct Run {
        let hub: TestHub
        var said: [String] = []
        var hidden: [String: String]

        init() throws {
            hub = try TestHub(requiresHMAC: true) { $0.logLevel = .debug }
            hidden = [
                "secret": hub.project.secret, "key": hub.project.apiKey, "hmac": hub.hmac("mary"),
                "push token": "push-token-5e1f", "wrong secret": "wrong-secret-77aa",
                "wrong hmac": "d3JvbmcgaG1hYyB5ZXM=",
                "title": "Title-of-mary-31337", "idempotency key": "idempotency-91c2",
            ]
            hidden["operator's token"] = hub.project.operatorToken
            hidden["token"] = Self.token("mary", hub.project.secret, hub.project.instance)
            hidden["wrong token"] = Self.token("mary", "another secret", hub.project.instance)
        }

        static func token(_ user: String, _ secret: String, _ instance: String) -> String {
            let claims = #"{"iss":"\#(instance)","sub":"\#(user)","exp":\#(Date().timeIntervalSince1970 + 900)}"#
            let signed = [#"{"alg":"HS256","typ":"JWT"}"#, claims].map { Base64.url.encode(Array($0.utf8)) }
                .joined(separator: ".")
            return signed + "." + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: Array(secret.utf8)))
        }

        /// Sends a request; what is answered to a wrong one is kept.
        mutating func request(_ method: String, _ target: String, _ headers: String = "", _ body: String? = nil) throws
        {
            let answer = try hub.client().request(method, target, headers: headers, body: body.map { Array($0.utf8) })
            guard answer.status >= 400 else { return }
            said.append(answer.text + answer.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))
        }

        /// Says something on a socket, and keeps why it was closed.
        mutating func socket(_ frames: [[UInt8]]) throws {
            let device = try TestDevice(hub)
            for frame in frames { device.send(frame) }
            while true {
                if case .closed(let code, let reason) = try device.next() {
                    said.append("\(code) \(reason)")
                    return
                }
            }
        }

        func check() {
            #expect(said.count > 20)
            for (name, word) in hidden {
                for text in said where text.contains(word) { Issue.record("the \(name) is in: \(text.prefix(200))") }
            }
        }
    }

    private func requests(_ run: inout Run) throws {
        let hub = run.hub
        let hidden = run.hidden
        let publish = hub.publishPath("users")
        let body = #"{"users":["mary"],"apns":{"aps":{"alert":"\#(hidden["title"]!)"}}}"#
        let json = "Content-Type: application/json\r\n"
        try run.request("POST", publish, hub.bearer + "Idempotency-Key: \(hidden["idempotency key"]!)\r\n", body)
        try run.request("POST", publish, hub.bearer + "Idempotency-Key: \(hidden["idempotency key"]!)\r\n", body + " ")
        try run.request("POST", publish, json + "Authorization: Bearer \(hidden["wrong secret"]!)\r\n", body)
        try run.request("POST", publish, hub.bearer, "{\"secret\":\"\(hub.project.secret)\"")
        try run.request("POST", publish, hub.bearer, "{\"\(hub.project.secret)\":1}")
        try run.request("GET", "/notifications/%zz\(hub.project.secret)?token=\(hidden["token"]!)")
        try run.request("GET", "/v1/\(hub.project.secret)/\(hidden["token"]!)")
        try run.request("BREW", "/notifications?api_key=\(hub.project.apiKey)")
        let user = hub.user("mary")
        for proof in [hidden["hmac"]!, hidden["wrong hmac"]!, hidden["wrong secret"]!, ""] {
            let headers = user + json + (proof.isEmpty ? "" : "X-MAGICBELL-USER-HMAC: \(proof)\r\n")
            try run.request("GET", "/notifications?token=\(hidden["token"]!)", headers)
            let subscription = #"{"push_subscription":{"device_token":"\#(hidden["push token"]!)","platform":"ios"}}"#
            try run.request("POST", "/push_subscriptions", headers, subscription)
            try run.request("POST", "/push_subscriptions", headers, subscription.replacing("ios", with: "pager"))
            try run.request("DELETE", "/push_subscriptions/\(hidden["push token"]!)", headers)
            try run.request("DELETE", "/push_subscriptions/\(hidden["push token"]!)", headers)
        }
        let devices = "/device_api/v1/instances/\(hub.project.instance)/devices/apns"
        let made = try hub.client().post(devices, #"{"token":"\#(hidden["push token"]!)"}"#, headers: json)
        let device = try #require(made.json["id"]?.stringValue)
        for token in [hidden["wrong token"]!, hidden["wrong secret"]!, hidden["token"]!] {
            try run.request("PUT", "\(devices)/\(device)/user", json + "Authorization: Bearer \(token)\r\n")
        }
        try run.request("PUT", "\(devices)/\(device)/user", json + "Authorization: Basic \(hub.project.secret)\r\n")
    }

    private func sockets(_ run: inout Run) throws {
        let hub = run.hub
        var hello = hub.hello("mary", hmac: hub.hmac("mary"))
        let welcome = try TestDevice(hub).welcome(hello)
        let issued: String = try #require(welcome.secret)
        run.hidden["device secret"] = issued
        for proof in [
            Proof(hmac: run.hidden["wrong hmac"]), Proof(token: run.hidden["wrong token"]),
            Proof(hmac: hub.hmac("mary"), secret: run.hidden["wrong secret"]),
        ] {
            hello.proof = proof
            hello.attempt += 1
            let text = UpFrame.hello(hello).bytes
            try run.socket([text, Array("{\"t\":\"token\",\"token\":\"\(run.hidden["token"]!)\"".utf8)])
        }
        try run.socket([Array("{\"t\":\"\(hub.project.secret)\"}".utf8)])
        try run.socket([Array("{\"t\":\"hello\",\"proof\":{\"secret\":\"\(welcome.secret ?? "")\"}}".utf8)])
        hello.proof = Proof(token: run.hidden["token"])
        hello.attempt += 1
        hello.replica = ReplicaID(high: .random(in: 1 ... .max), low: 1)
        try run.socket([UpFrame.hello(hello).bytes, UpFrame.token(run.hidden["wrong token"]!).bytes])
        try describe(hello, welcome, into: &run)
    }

    /// What a person prints who looks for a mistake.
    private func describe(_ hello: Hello, _ welcome: Welcome, into run: inout Run) throws {
        let hub = run.hub
        let head = HTTPRequestHead(
            method: .get, target: try HTTPTarget(Array("/a/\(hub.project.secret)?b=\(run.hidden["token"]!)".utf8)),
            headers: ["Authorization": "Bearer \(hub.project.secret)"], peer: HTTPPeer(address: "127.0.0.1", port: 1))
        let project = try #require(hub.server.core.projects.find(hub.project.instance, at: hub.server.core.clock()))
        let shown: [Any] = [
            hub.project, project, hello, hello.proof, welcome, DownFrame.welcome(welcome), UpFrame.hello(hello),
            UpFrame.token(run.hidden["token"]!), Operation.token(run.hidden["push token"]!, platform: "apns"),
            Operation.user(id: "mary", proof: run.hidden["token"]),
            HubSession.Action.admit(hello), HubSession.Action.checkToken(run.hidden["token"]!), head,
            HTTPRequest(head: head, body: Array(hub.project.secret.utf8)), hub.server, hub.server.core,
            hub.server.core.projects,
        ]
        for value in shown {
            var text = ""
            dump(value, to: &text, maxDepth: 8, maxItems: 2_000)
            run.said += [String(describing: value), String(reflecting: value), text]
        }
    }

    @Test func `no log line, metric, error or description holds a key, a secret, a proof or a token`() throws {
        var run = try Run()
        try requests(&run)
        try sockets(&run)
        run.said.append(try run.hub.client().get("/metrics").text)
        let lines = run.hub.log.lines
        #expect(
            lines.contains { $0.contains("status=401") }
                && lines.contains { $0.contains("route=/push_subscriptions/{token") })
        run.said += lines
        run.check()
    }
}
