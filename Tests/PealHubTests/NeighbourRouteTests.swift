import PealModel
import Testing

@testable import PealHub

/// Nobody reads, changes or learns of another user's or another project's data: each route, with a neighbour's credentials and the victim's
/// ids, answers as it does for ids that name nothing, and leaves what the victim sees as it was.
@Suite struct NeighbourRouteTests {
    /// Who may call a route, and so who the neighbours are.
    enum Caller {
        /// Anybody: it tells nothing of anybody.
        case anybody
        /// A user: another user of the project, one of another project, and one who claims to be the victim.
        case user
        /// A project's back end, by the headers of the inbox surface.
        case admin
        /// A project's back end, by its secret as a bearer.
        case publisher
        /// Who knows a device's id, which is all that stock devices show.
        case device
        /// A project's back end, by HTTP Basic.
        case project
        /// Who runs the hub: every project's back end is a neighbour.
        case operation
    }

    /// Each route of openapi.yaml, with a body that it would take; `{…}` stands for an id of the victim's.
    static let routes: [String: (Caller, String)] = [
        "GET /healthz": (.anybody, ""), "GET /config": (.anybody, ""), "GET /readyz": (.anybody, ""),
        "GET /metrics": (.anybody, ""),
        "POST /notifications": (
            .admin, #"{"notification":{"title":"x","recipients":[{"external_id":"{external}"}]}}"#
        ),
        "GET /notifications": (.user, ""), "GET /notifications/{id}": (.user, ""),
        "DELETE /notifications/{id}": (.user, ""), "POST /notifications/{id}/read": (.user, ""),
        "POST /notifications/{id}/unread": (.user, ""), "POST /notifications/{id}/seen": (.user, ""),
        "POST /notifications/{id}/archive": (.user, ""), "DELETE /notifications/{id}/archive": (.user, ""),
        "POST /notifications/read": (.user, ""), "POST /notifications/seen": (.user, ""),
        "GET /standing": (.user, ""), "GET /notification_preferences": (.user, ""),
        "PUT /notification_preferences": (
            .user,
            #"{"notification_preferences":{"categories":[{"slug":"c","channels":[{"slug":"d","enabled":false}]}]}}"#
        ),
        "GET /categories": (.admin, ""), "PUT /categories": (.admin, #"{"categories":[]}"#),
        "POST /users": (.admin, #"{"user":{"external_id":"{external}","first_name":"Eve"}}"#),
        "GET /users/{user}": (.admin, ""), "PUT /users/{user}": (.admin, #"{"user":{"first_name":"Eve"}}"#),
        "DELETE /users/{user}": (.admin, ""),
        "POST /push_subscriptions": (.user, #"{"push_subscription":{"device_token":"new","platform":"ios"}}"#),
        "GET /push_subscriptions": (.user, ""), "DELETE /push_subscriptions/{token}": (.user, ""),
        "DELETE /me": (.user, ""), "GET /me/devices": (.user, ""), "DELETE /me/devices/{device}": (.user, ""),
        "POST /broadcasts": (.admin, #"{"broadcast":{"title":"x","recipients":[{"external_id":"{external}"}]}}"#),
        "GET /broadcasts": (.admin, ""), "GET /broadcasts/{id}": (.admin, ""),
        "POST /publish_api/v1/instances/{instance}/publishes": (
            .publisher, #"{"interests":["hers"],"apns":{"aps":{"alert":"x"}}}"#
        ),
        "POST /publish_api/v1/instances/{instance}/publishes/interests": (
            .publisher, #"{"interests":["hers"],"apns":{"aps":{"alert":"x"}}}"#
        ),
        "POST /publish_api/v1/instances/{instance}/publishes/users": (
            .publisher, #"{"users":["{external}"],"apns":{"aps":{"alert":"x"}}}"#
        ),
        "DELETE /customer_api/v1/instances/{instance}/users/{user}": (.publisher, ""),
        "DELETE /user_api/v1/instances/{instance}/users/{user}": (.publisher, ""),
        "POST /device_api/v1/instances/{instance}/devices/{platform}": (.device, #"{"token":"her other token"}"#),
        "GET /device_api/v1/instances/{instance}/devices/{platform}/{device}": (.device, ""),
        "DELETE /device_api/v1/instances/{instance}/devices/{platform}/{device}": (.device, ""),
        "PUT /device_api/v1/instances/{instance}/devices/{platform}/{device}/metadata": (.device, #"{"a":1}"#),
        "PUT /device_api/v1/instances/{instance}/devices/{platform}/{device}/token": (.device, #"{"token":"n"}"#),
        "PUT /device_api/v1/instances/{instance}/devices/{platform}/{device}/user": (.device, ""),
        "GET /device_api/v1/instances/{instance}/devices/{platform}/{device}/interests": (.device, ""),
        "PUT /device_api/v1/instances/{instance}/devices/{platform}/{device}/interests": (
            .device, #"{"interests":[]}"#
        ),
        "POST /device_api/v1/instances/{instance}/devices/{platform}/{device}/interests/{interest}": (.device, ""),
        "DELETE /device_api/v1/instances/{instance}/devices/{platform}/{device}/interests/{interest}": (.device, ""),
        "POST /reporting_api/v2/instances/{instance}/events": (
            .device, #"{"event":"Open","publishId":"{broadcast}","deviceId":"{device}"}"#
        ),
        "POST /v1/publishes": (.project, #"{"users":["{external}"],"interests":["hers"],"title":"x"}"#),
        "GET /v1/publishes/{publish}": (.project, ""), "DELETE /v1/publishes/{publish}": (.project, ""),
        "GET /v1/users/{user}/inboxes": (.project, ""), "GET /v1/users/{user}/devices": (.project, ""),
        "GET /v1/inboxes/{inbox}/dead_letters": (.project, ""), "GET /v1/log": (.project, ""),
        "GET /v1/projects": (.operation, ""), "POST /v1/projects": (.operation, #"{"project":{}}"#),
        "GET /v1/projects/{instance}": (.operation, ""),
        "PUT /v1/projects/{instance}": (.operation, #"{"project":{"hmac_required":false}}"#),
        "DELETE /v1/projects/{instance}": (.operation, ""),
        "POST /v1/projects/{instance}/rotate": (.operation, #"{"secret":true}"#),
        "POST /v1/projects/{instance}/revoke": (.operation, ""),
    ]

    @Test func `no route is forgotten`() throws {
        #expect(try OpenAPIFile.operations() == Set(Self.routes.keys))
    }

    @Test(arguments: StoreKind.all)
    func `a neighbour learns and changes nothing on any route`(_ kind: StoreKind) throws {
        let hood = try Neighbourhood(kind)
        let before = try hood.seen()
        #expect(before.contains("Hers") && before.contains("her token") && !before.contains(" 40"))
        for (operation, (caller, body)) in Self.routes.sorted(by: { $0.key < $1.key }) {
            let (method, path) = Self.parts(operation)
            for (who, headers, instance) in Self.neighbours(caller, path, hood) {
                for (realPath, fakePath) in Self.paths(path, instance, hood) {
                    let real = try hood.call(method, realPath, headers(hood.real), Self.filled(body, hood.real))
                    let fake = try hood.call(method, fakePath, headers(hood.fake), Self.filled(body, hood.fake))
                    #expect(
                        Self.text(real, hood.real, hood) == Self.text(fake, hood.fake, hood),
                        "\(who): \(method) \(realPath)")
                }
            }
            #expect(try hood.seen() == before, "\(operation) changed something")
        }
    }

    @Test(arguments: StoreKind.all)
    func `a push token goes to who names it last, and nothing else of its device does`(_ kind: StoreKind) throws {
        let hood = try Neighbourhood(kind)
        let mary = hood.user("the-victim", provenBy: "the-victim", of: hood.ours)
        let tom = hood.user("tom", provenBy: "tom", of: hood.ours)
        func tokens(_ user: HTTPHeaders) throws -> [String] {
            let body = try hood.call("GET", "/push_subscriptions", user).body
            let all = try JSON(body[...])["push_subscriptions"]?.arrayValue ?? []
            return all.compactMap { $0["device_token"]?.stringValue }.sorted()
        }
        let answer = try hood.call(
            "POST", "/push_subscriptions", tom,
            #"{"push_subscription":{"device_token":"her other token","platform":"apns"}}"#)
        let made = try JSON(answer.body[...])["push_subscription"]?["id"]?.stringValue
        #expect(answer.status == 201 && made != hood.real["device"])
        #expect(try tokens(mary) == ["her token"] && tokens(tom) == ["her other token"])
        let device = "/device_api/v1/instances/\(hood.ours.instance)/devices/apns/\(hood.real["device"] ?? "")"
        #expect(try hood.call("GET", device, [:]).body.contains(Array("the-victim".utf8)))
        #expect(try hood.call("GET", device + "/interests", [:]).body.contains(Array("hers".utf8)))
    }

    // MARK: How a route is called

    private static func parts(_ operation: String) -> (method: String, path: String) {
        let words = operation.split(separator: " ")
        return (String(words[0]), String(words[1]))
    }

    /// Each neighbour, the headers by the ids that are named, and whose instance stands in the path.
    private static func neighbours(
        _ caller: Caller, _ path: String, _ hood: Neighbourhood
    ) -> [(String, ([String: String]) -> HTTPHeaders, String)] {
        let (ours, theirs) = (hood.ours, hood.theirs)
        switch caller {
        case .anybody: return []
        case .user:
            let token = Proofs.token(
                "tom", instance: ours.instance, secret: ours.secret, expires: hood.now / 1_000 + 60)
            return [
                ("another user", { _ in hood.user("tom", provenBy: "tom", of: ours) }, ""),
                ("another project's user", { _ in hood.user("eve", provenBy: "eve", of: theirs) }, ""),
                ("a namesake", { hood.user($0["external"] ?? "", provenBy: "tom", of: ours) }, ""),
                ("a namesake elsewhere", { hood.user($0["external"] ?? "", provenBy: "eve", of: theirs) }, ""),
                (
                    "a namesake with a token",
                    { ids in
                        [
                            "X-MAGICBELL-API-KEY": ours.apiKey, "Authorization": "Bearer " + token,
                            "X-MAGICBELL-USER-EXTERNAL-ID": ids["external"] ?? "",
                        ]
                    }, ""
                ),
                ("a user who is no admin", { _ in hood.user("tom", provenBy: "tom", of: ours) }, "?inbox"),
                ("another project", { _ in hood.admin(theirs) }, "?inbox"),
            ].filter { $0.2.isEmpty || path == "/standing" }
        case .admin: return [("another project", { _ in hood.admin(theirs) }, "")]
        case .publisher:
            return [
                ("another project", { _ in hood.bearer(theirs.secret) }, theirs.instance),
                ("another project here", { _ in hood.bearer(theirs.secret) }, ours.instance),
            ]
        case .device: return [("another instance", { _ in hood.bearer("x") }, theirs.instance)]
        case .project: return [("another project", { _ in hood.basic(theirs) }, "")]
        case .operation:
            return [
                ("a project", { _ in hood.bearer(ours.secret) }, "both"),
                ("a project by its key", { _ in hood.basic(ours) }, "both"),
                ("another project", { _ in hood.bearer(theirs.secret) }, "both"),
            ]
        }
    }

    /// The path with the victim's ids, and with ids that name nothing.
    private static func paths(_ path: String, _ instance: String, _ hood: Neighbourhood) -> [(String, String)] {
        func with(_ ids: [String: String], user: String, instance: String) -> String {
            var path = path.replacing("{user}", with: user).replacing("{platform}", with: "apns")
                .replacing("{device}", with: ids["device"] ?? "").replacing("{interest}", with: "hers")
                .replacing("{token}", with: ids["token"] ?? "").replacing("{publish}", with: ids["broadcast"] ?? "")
                .replacing("{inbox}", with: ids["inbox"] ?? "").replacing("{instance}", with: instance)
            let id = path.hasPrefix("/broadcasts") ? "broadcast" : "notification"
            path = path.replacing("{id}", with: ids[id] ?? "")
            return instance == "?inbox" || path == "/v1/log" ? path + "?inbox=" + (ids["inbox"] ?? "") : path
        }
        func users(_ ids: [String: String]) -> [String] {
            guard path.contains("{user}") else { return [""] }
            guard path.hasPrefix("/users") || path.hasPrefix("/v1/users") else { return [ids["external"] ?? ""] }
            return [ids["user"] ?? "", "external_id:" + (ids["external"] ?? ""), "email:" + (ids["email"] ?? "")]
        }
        let isBoth = instance == "both"
        return zip(users(hood.real), users(hood.fake)).map { real, fake in
            (
                with(hood.real, user: real, instance: isBoth ? hood.ours.instance : instance),
                with(hood.fake, user: fake, instance: isBoth ? "00000000-0000-4000-8000-000000000000" : instance)
            )
        }
    }

    private static func filled(_ body: String, _ ids: [String: String]) -> String {
        ids.reduce(body) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    /// An answer as a text in which ids, ours and random ones, do not differ.
    private static func text(_ answer: HTTPResponse, _ ids: [String: String], _ hood: Neighbourhood) -> String {
        var text = "\(answer.status) \(answer.headers.fields) " + String(decoding: answer.body, as: UTF8.self)
        for id in ids.values { text = text.replacing(id, with: "ID") }
        return text.replacing(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,64}/, with: "ID")
    }
}
