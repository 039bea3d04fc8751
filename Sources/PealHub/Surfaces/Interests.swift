import PealModel

/// The interests surface (Pusher Beams shape): publishing to interests and to users. Success is exactly
/// 200; errors are `{"error", "description"}`.
struct InterestsSurface: Sendable {
    /// Bytes of a publish to interests.
    static let interestsBody = HubLimits.interestsBody
    /// Bytes of a publish to users.
    static let usersBody = HubLimits.usersBody

    let core: HubCore

    var routes: [HTTPRoute] {
        let base = "/publish_api/v1/instances/{instance}/publishes"
        return [
            HTTPRoute(.post, base, bodyLimit: Self.interestsBody) { publish($0, $1, to: .interests) },
            HTTPRoute(.post, base + "/interests", bodyLimit: Self.interestsBody) { publish($0, $1, to: .interests) },
            HTTPRoute(.post, base + "/users", bodyLimit: Self.usersBody) { publish($0, $1, to: .users) },
        ] + deviceRoutes + userRoutes + reportRoutes
    }

    private enum Target: String {
        case interests
        case users
    }

    private func publish(_ request: HTTPRequest, _ respond: HTTPResponder, to target: Target) {
        do throws(HTTPFailure) {
            let project = try authorize(request)
            let body = try Self.object(request)
            let publish = try read(body, target, project)
            let urls = try webhooks(body, of: project)
            let calls: @Sendable (any HubStore, Milliseconds) throws(HubStoreError) -> [WebhookCall] = {
                (store, now) throws(HubStoreError) in
                guard target == .users, !urls.isEmpty else { return [] }
                return try Self.attempt(publish, of: project, urls, store, now)
            }
            try core.publish(publish, request, of: project, as: .interests, respond, calls: calls) { (_, _, _) in
                .json(200, JSON.object([("publishId", .string(publish.name))]).bytes)
            }
        } catch {
            respond.send(HTTPSurface.interests.response(to: error))
        }
    }

    /// The instance that the path names.
    func instance(_ request: HTTPRequest) throws(HTTPFailure) -> Project {
        let instance = request.parameter("instance").lowercased()
        // The table also knows API keys, which name no instance.
        guard let project = core.project(instance), project.instance.utf8.elementsEqual(instance.utf8) else {
            throw HTTPFailure(status: 404, code: "not_found", message: "There is no instance of this id.")
        }
        return project
    }

    /// The instance, for who has its secret.
    func authorize(_ request: HTTPRequest) throws(HTTPFailure) -> Project {
        let project = try instance(request)
        guard project.hasSecret(try bearer(request), at: core.clock()) else { throw Self.unauthorized }
        return project
    }

    /// What `Authorization: Bearer` holds.
    func bearer(_ request: HTTPRequest) throws(HTTPFailure) -> String {
        guard let token = HTTPCredentials(request.headers).bearer else { throw Self.unauthorized }
        return token
    }

    private static let unauthorized = HTTPFailure(
        status: 401, code: "unauthorized",
        message: "The header 'Authorization: Bearer …' is missing or holds another secret.")

    private static func object(_ request: HTTPRequest) throws(HTTPFailure) -> JSON {
        guard request.hasContentType("application/json") else {
            throw .badRequest("bad_content_type", "The Content-Type of a publish is application/json.")
        }
        let body: JSON
        do throws(JSONError) {
            body = try JSON(request.body[...])
        } catch {
            throw .badRequest("bad_json", "The body is not JSON: \(error.reason) at byte \(error.offset).")
        }
        guard case .object = body else { throw .badRequest("bad_json", "The body is not a JSON object.") }
        return body
    }

    private func read(_ body: JSON, _ target: Target, _ project: Project) throws(HTTPFailure) -> PublishRequest {
        let names = try Self.names(body, target)
        let payload = ["apns", "fcm", "web"].compactMap { key in body[key].map { (key: key, value: $0) } }
        guard !payload.isEmpty else {
            throw Self.invalid("At least one of 'apns', 'fcm' and 'web' must be given.")
        }
        for (key, value) in payload where value.objectValue == nil {
            throw Self.invalid("'\(key)' must be an object.")
        }
        let platforms = PlatformPayload(payload)
        let item = try platforms.body(now: core.clock())
        return PublishRequest(
            project: project.key, name: HubCore.publishName(), body: item,
            interests: target == .interests ? names : [],
            recipients: target == .users
                ? names.map { PublishRequest.Recipient(identity: UserIdentity(externalID: $0)) } : [],
            collapse: platforms.collapse)
    }

    private static func names(_ body: JSON, _ target: Target) throws(HTTPFailure) -> [String] {
        let limit = target == .interests ? Limits.interestsPerPublish : Limits.usersPerPublish
        guard let values = body[target.rawValue]?.arrayValue else {
            throw invalid("'\(target.rawValue)' must be an array of strings.")
        }
        guard (1...limit).contains(values.count) else {
            throw invalid("'\(target.rawValue)' has \(values.count) elements; 1 to \(limit) are allowed.")
        }
        var names: [String] = []
        for value in values {
            guard let name = value.stringValue else {
                throw invalid("'\(target.rawValue)' must be an array of strings.")
            }
            if target == .interests, !Limits.isInterest(name) {
                throw invalid(
                    "An interest in 'interests' is not allowed: 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;")
            }
            if target == .users, !(1...Limits.interest).contains(name.unicodeScalars.count) {
                throw invalid("A user id in 'users' must have 1 to \(Limits.interest) characters.")
            }
            names.append(name)
        }
        return names
    }

    private static func invalid(_ message: String) -> HTTPFailure {
        HTTPFailure(status: 422, code: "unprocessable_entity", message: message)
    }
}

extension HubCore {
    /// The HTTP form of what a store refused. What is our fault is logged, and says nothing to the client.
    func failure(_ error: HubStoreError) -> HTTPFailure {
        switch error.code {
        case .denied: return HTTPFailure(status: 403, code: "denied", message: error.message)
        case .conflict: return HTTPFailure(status: 409, code: "conflict", message: error.message)
        case .tooLarge, .invalid:
            return HTTPFailure(status: 422, code: "unprocessable_entity", message: error.message)
        case .notFound: return HTTPFailure(status: 404, code: "not_found", message: error.message)
        default:
            log("a request was not carried out: \(error)")
            return HTTPFailure(
                status: 503, code: "unavailable", message: "The hub cannot do this now. Try again.",
                headers: ["Retry-After": "1"])
        }
    }
}
