import PealModel

/// The inbox surface (MagicBell v1 shape): sending, and a user's list.
struct InboxSurface: Sendable {
    let core: HubCore

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/notifications") { send($0, $1) },
            HTTPRoute(.get, "/notifications") { list($0, $1) },
            HTTPRoute(.get, "/standing") { standing($0, $1) },
        ] + itemRoutes + preferenceRoutes + userRoutes + pushSubscriptionRoutes + broadcastRoutes
            + ownRoutes
    }

    // MARK: Who asks

    private func project(_ request: HTTPRequest) throws(HTTPFailure) -> Project {
        guard let key = request.headers["X-MAGICBELL-API-KEY"], !key.isEmpty else {
            throw Self.refusal("api_key_not_provided", "The header X-MAGICBELL-API-KEY is missing.")
        }
        guard let project = core.project(key), project.hasKey(key, at: core.clock()) else {
            throw Self.refusal("incorrect_api_key", "The header X-MAGICBELL-API-KEY holds no project's key.")
        }
        return project
    }

    func admin(_ request: HTTPRequest) throws(HTTPFailure) -> Project {
        let project = try project(request)
        guard let secret = request.headers["X-MAGICBELL-API-SECRET"], !secret.isEmpty else {
            throw Self.refusal("api_secret_not_provided", "The header X-MAGICBELL-API-SECRET is missing.")
        }
        guard project.hasSecret(secret, at: core.clock()) else {
            throw Self.refusal("api_secret_is_incorrect", "The header X-MAGICBELL-API-SECRET holds another secret.")
        }
        return project
    }

    /// The user that a request names and proves, by the project's secret, a user token in `Authorization: Bearer`, or an HMAC. One that is
    /// sent is checked also where none is required.
    func user(
        _ request: HTTPRequest, needsProof: Bool = false
    ) throws(HTTPFailure) -> (Project, UserIdentity) {
        let project = try project(request)
        let externalID = request.headers["X-MAGICBELL-USER-EXTERNAL-ID"].flatMap { $0.isEmpty ? nil : $0 }
        let email = request.headers["X-MAGICBELL-USER-EMAIL"].flatMap { $0.isEmpty ? nil : $0 }
        for value in [externalID, email] where value?.unicodeScalars.count ?? 0 > Limits.identity {
            throw Self.invalid("An external id and an email have at most \(Limits.identity) characters.")
        }
        if let token = try Self.token(request) {
            return (project, try tokenUser(token, named: externalID, in: project))
        }
        for (header, name) in [("EXTERNAL-ID", externalID), ("EMAIL", email)]
        where name?.unicodeScalars.count ?? 0 > Limits.identity {
            throw Self.invalid("The header X-MAGICBELL-USER-\(header) has more than \(Limits.identity) characters.")
        }
        guard externalID != nil || email != nil else {
            throw Self.refusal(
                "user_email_not_provided",
                "The header X-MAGICBELL-USER-EXTERNAL-ID or X-MAGICBELL-USER-EMAIL is missing.")
        }
        let now = core.clock()
        if let secret = request.headers["X-MAGICBELL-API-SECRET"], !secret.isEmpty {
            guard project.hasSecret(secret, at: now) else {
                throw Self.refusal("api_secret_is_incorrect", "The header X-MAGICBELL-API-SECRET holds another secret.")
            }
        } else if let hmac = request.headers["X-MAGICBELL-USER-HMAC"], !hmac.isEmpty {
            let isProven = UserProof.code(hmac, externalID: externalID, email: email, in: project, now: now) != nil
            guard isProven else {
                throw Self.refusal("forbidden", "The header X-MAGICBELL-USER-HMAC is not this user's.")
            }
        } else if project.requiresHMAC || needsProof {
            throw Self.refusal(
                "neither_user_hmac_nor_api_secret_provided",
                (needsProof ? "This route" : "This project") + " wants X-MAGICBELL-USER-HMAC for a user.")
        }
        // The external id wins where both are given; the other one is not used to find the user.
        return (project, externalID.map { UserIdentity(externalID: $0) } ?? UserIdentity(email: email))
    }

    /// A user token that a request carries; nil for a request without one.
    private static func token(_ request: HTTPRequest) throws(HTTPFailure) -> String? {
        guard let header = request.headers["Authorization"], !header.isEmpty else { return nil }
        guard let token = HTTPCredentials(request.headers).bearer else {
            throw refusal("forbidden", "The header Authorization holds no Bearer token.")
        }
        return token
    }

    private func tokenUser(
        _ token: String, named externalID: String?, in project: Project
    ) throws(HTTPFailure) -> UserIdentity {
        let proven: UserProof.Proven
        do throws(UserToken.Refusal) {
            proven = try UserProof.token(token, in: project, now: core.clock())
        } catch {
            throw Self.refusal("forbidden", error.message)
        }
        guard externalID.map({ $0.utf8.elementsEqual(proven.subject.utf8) }) ?? true else {
            throw Self.refusal("forbidden", "The token is another user's.")
        }
        guard proven.subject.unicodeScalars.count <= Limits.identity else {
            throw Self.refusal("forbidden", "The token names a user of more than \(Limits.identity) characters.")
        }
        return UserIdentity(externalID: proven.subject)
    }

    private static func refusal(_ code: String, _ message: String) -> HTTPFailure {
        HTTPFailure(status: 401, code: code, message: message)
    }

    static func invalid(_ message: String) -> HTTPFailure { JSONBody.invalid(message) }

    // MARK: POST /notifications

    private func send(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let publish = try SendRequest(request, now: core.clock()).publish(project.key)
            try core.publish(publish, request, of: project, as: .inbox, respond) { (_, _, _) in
                .json(201, Self.sent(publish))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func sent(_ publish: PublishRequest) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("notification")
        writer.beginObject()
        writer.member("id", publish.name)
        write(publish.body, to: &writer)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ body: ItemBody, to writer: inout JSONWriter) {
        writer.member("title", body.title ?? "")
        writer.key("content")
        if let content = body.content { writer.string(content) } else { writer.null() }
        writer.key("action_url")
        if let url = body.actionURL { writer.string(url) } else { writer.null() }
        writer.key("category")
        if let category = body.category { writer.string(category) } else { writer.null() }
        writer.key("topic")
        if let topic = body.topic { writer.string(topic) } else { writer.null() }
        writer.key("custom_attributes")
        writer.raw(body.attributes ?? Array("{}".utf8)[...])
        writer.member("sent_at", body.sent / 1_000)
    }

    // MARK: GET /notifications

    private func list(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let query = try ListParameters(request.query).query(now: core.clock())
            core.reader.read(
                { (reader) throws(HubStoreError) -> (UserRecord, ListPage)? in
                    guard let user = try reader.user(identity, in: project.key) else { return nil }
                    return (user, try reader.list(query, of: user.inbox))
                },
                completion: { result in respond.send(answer(result, query)) })
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func answer(
        _ result: Result<(UserRecord, ListPage)?, HubStoreError>, _ query: ListQuery
    ) -> HTTPResponse {
        switch result {
        case .success(let found?): return .json(200, Self.page(found.1, found.0, query))
        case .success(nil):
            return HTTPSurface.inbox.response(
                to: HTTPFailure(
                    status: 404, code: "no_user_with_provided_email", message: "There is no such user in this project.")
            )
        case .failure(let error): return HTTPSurface.inbox.response(to: core.failure(error))
        }
    }

    private static func page(_ page: ListPage, _ user: UserRecord, _ query: ListQuery) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.beginObject()
        writer.member("total", Int64(page.total))
        writer.member("per_page", Int64(query.perPage))
        writer.member("total_pages", Int64(max(1, (page.total + query.perPage - 1) / query.perPage)))
        if case .page(let number) = query.start {
            writer.member("current_page", Int64(number))
        } else {
            writer.member("current_page", 1 as Int64)
        }
        writer.member("unread_count", Int64(page.unread))
        writer.member("unseen_count", Int64(page.unseen))
        writer.member("position", page.head)
        writer.key("after")
        if let next = page.next { writer.string(String(next)) } else { writer.null() }
        writer.key("notifications")
        writer.beginArray()
        for item in page.items { write(item, user, to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    static func write(_ item: ListedItem, _ user: UserRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", item.id.description)
        writer.member("number", item.position)
        write(item.body, to: &writer)
        writer.member("type", item.body.type)
        writer.key("recipient")
        writer.beginObject()
        writer.member("id", user.inboxID)
        writer.member("external_id", user.identity.externalID)
        writer.member("email", user.identity.email)
        writer.member("first_name", user.profile.firstName)
        writer.member("last_name", user.profile.lastName)
        writer.endObject()
        for (key, time) in [("seen_at", item.seenAt), ("read_at", item.readAt), ("archived_at", item.archivedAt)] {
            writer.key(key)
            if let time { writer.int(time / 1_000) } else { writer.null() }
        }
        writer.endObject()
    }
}
