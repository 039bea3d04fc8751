import PealHubMemory
import PealModel

@testable import PealHub

/// Two projects in one hub without sockets: what is the victim's, what a neighbour may show, and what is nobody's.
final class Neighbourhood {
    let hub: HubWithoutListeners
    /// Kept for as long as the hub: with it goes its database, to the next test.
    private let fixture: StoreFixture
    let ours: Project
    let theirs: Project
    let now: Milliseconds = 1_700_000_000_000
    /// Values of the victim's, by the name of a path parameter.
    private(set) var real: [String: String] = [:]
    /// Values of the same shape that name nothing.
    let fake = [
        "notification": "018bcfe5-6800-7000-8000-000000000abc",
        "broadcast": "pubid-00000000-0000-4000-8000-000000000abc",
        "user": String(repeating: "ab", count: 16), "device": String(repeating: "cd", count: 16), "token": "no token",
        "external": "nobody", "email": "nobody@example.org", "inbox": String(repeating: "ef", count: 16),
    ]

    init(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        self.fixture = fixture
        let now = now
        ours = fixture.project
        theirs = try fixture.commit { (store) throws(HubStoreError) in
            var ours = fixture.project
            ours.requiresHMAC = true
            try store.updateProject(ours)
            try store.setOperatorHash(Secret.stored("operator"))
            return try store.createProject(
                instance: "2f0c0000-0000-4000-8000-000000000002", apiKey: "their key", secret: "their secret",
                requiresHMAC: true, now: now)
        }
        hub = try HubWithoutListeners(store: fixture.store, clock: { now }, log: { _ in })
        try furnish()
    }

    deinit { hub.stop() }

    /// Sends a request.
    func call(_ method: String, _ path: String, _ headers: HTTPHeaders, _ body: String = "") throws -> HTTPResponse {
        let target = path.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }
        return try hub.answer(HTTPMethod(rawValue: method), target, headers: headers, body: Array(body.utf8))
    }

    /// What a project's back end shows on each surface.
    func admin(_ project: Project) -> HTTPHeaders {
        ["X-MAGICBELL-API-KEY": project.apiKey, "X-MAGICBELL-API-SECRET": project.secret]
    }

    /// What a user shows: its name, and a proof that may be another's.
    func user(_ name: String, provenBy prover: String, of project: Project) -> HTTPHeaders {
        [
            "X-MAGICBELL-API-KEY": project.apiKey, "X-MAGICBELL-USER-EXTERNAL-ID": name,
            "X-MAGICBELL-USER-HMAC": Proofs.hmac(prover, project.secret),
        ]
    }

    func bearer(_ text: String) -> HTTPHeaders {
        ["Authorization": "Bearer " + text, "Content-Type": "application/json"]
    }

    func basic(_ project: Project) -> HTTPHeaders { ["Authorization": Proofs.basic(project.apiKey, project.secret)] }

    /// Gives the victim one of everything.
    private func furnish() throws {
        func made(_ method: String, _ path: String, _ headers: HTTPHeaders, _ body: String = "") throws -> JSON {
            let answer = try call(method, path, headers, body)
            guard answer.status < 300 else { throw RawHTTPError(what: "\(path): \(answer.status)") }
            return (try? JSON(answer.body[...])) ?? .null
        }
        let mary = user("the-victim", provenBy: "the-victim", of: ours)
        let user = try made(
            "POST", "/users", admin(ours), #"{"user":{"external_id":"the-victim","email":"the-victim@example.org"}}"#)
        _ = try made(
            "POST", "/notifications", admin(ours),
            #"{"notification":{"title":"Hers","recipients":[{"external_id":"the-victim"},{"external_id":"tom"}]}}"#)
        let broadcast = try made(
            "POST", "/broadcasts", admin(ours),
            #"{"broadcast":{"title":"Hers","recipients":[{"external_id":"the-victim"}]}}"#)
        let list = try made("GET", "/notifications", mary)
        _ = try made(
            "POST", "/push_subscriptions", mary, #"{"push_subscription":{"device_token":"her token","platform":"ios"}}"#
        )
        let devices = "/device_api/v1/instances/\(ours.instance)/devices/apns"
        let device = try made("POST", devices, [:], #"{"token":"her other token"}"#)["id"]?.stringValue ?? ""
        let token = Proofs.token("the-victim", instance: ours.instance, secret: ours.secret, expires: now / 1_000 + 600)
        _ = try made("PUT", devices + "/\(device)/user", bearer(token))
        _ = try made("PUT", devices + "/\(device)/interests", [:], #"{"interests":["hers"]}"#)
        _ = try made("GET", "/notifications", self.user("tom", provenBy: "tom", of: ours))
        _ = try made("POST", "/users", admin(theirs), #"{"user":{"external_id":"eve"}}"#)
        real = [
            "notification": list["notifications"]?.arrayValue?.first?["id"]?.stringValue ?? "",
            "broadcast": broadcast["broadcast"]?["id"]?.stringValue ?? "",
            "user": user["user"]?["id"]?.stringValue ?? "", "device": device, "token": "her+token",
            "external": "the-victim", "email": "the-victim@example.org",
            "inbox": user["user"]?["id"]?.stringValue ?? "",
        ]
    }

    /// All that the victim and her project see, as one text.
    func seen() throws -> String {
        let mary = user("the-victim", provenBy: "the-victim", of: ours)
        let device = "/device_api/v1/instances/\(ours.instance)/devices/apns/\(real["device"] ?? "")"
        let nothing: HTTPHeaders = [:]
        let reads: [(String, HTTPHeaders)] = [
            ("/notifications", mary), ("/notification_preferences", mary), ("/push_subscriptions", mary),
            ("/me/devices", mary),
            ("/standing", mary), ("/users/external_id:the-victim", admin(ours)), ("/broadcasts", admin(ours)),
            ("/categories", admin(ours)), (device, nothing), (device + "/interests", nothing),
            ("/standing?inbox=\(real["device"] ?? "")", admin(ours)),
            ("/v1/publishes/\(real["broadcast"] ?? "")", basic(ours)),
            ("/v1/users/external_id:the-victim/inboxes", basic(ours)),
            ("/v1/users/external_id:the-victim/devices", basic(ours)),
            ("/v1/projects/\(ours.instance)", bearer("operator")),
        ]
        var seen = ""
        for (path, headers) in reads {
            let answer = try call("GET", path, headers)
            seen += "\(path) \(answer.status) \(String(decoding: answer.body, as: UTF8.self))\n"
        }
        return seen
    }
}
