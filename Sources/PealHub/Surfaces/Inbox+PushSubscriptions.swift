import PealModel

/// The push tokens of a user's devices.
extension InboxSurface {
    var pushSubscriptionRoutes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/push_subscriptions") { subscribe($0, $1) },
            HTTPRoute(.get, "/push_subscriptions") { subscriptions($0, $1) },
            HTTPRoute(.delete, "/push_subscriptions/{token}") { unsubscribe($0, $1) },
        ]
    }

    /// The surface's names of a platform, each with the hub's.
    private static let platforms = [
        "ios": "apns", "android": "fcm", "safari": "web", "apns": "apns", "fcm": "fcm", "web": "web",
    ]
    private static let names = ["apns": "ios", "fcm": "android", "web": "safari"]

    /// Registers a token for a user; the same again is no change. Other users keep it: an app can have several at once, and takes its token
    /// away from one who leaves.
    private func subscribe(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let (token, platform) = try Self.subscription(request)
            let key = try RepeatKey(request, caller: Self.caller(identity))
            core.perform(project, as: .inbox, key: key, respond) { (store, now) throws(HubStoreError) in
                let user = try store.upsertUser(identity, profile: UserProfile(), in: project.key, now: now).user
                let subscription = try store.subscribe(user.key, platform: platform, token: token, now: now)
                return Work(response: .json(201, Self.body(subscription)))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func subscription(_ request: HTTPRequest) throws(HTTPFailure) -> (token: String, platform: String) {
        let body = try JSONBody(request).object("push_subscription")
        let token = try body.string("device_token", Limits.subscriptionToken)
        let platform = try body.string("platform", Limits.slug)
        var problems: [String] = []
        if token?.isEmpty ?? true { problems.append("'device_token' is missing.") }
        if platform.flatMap({ platforms[$0] }) == nil {
            problems.append("'platform' is one of \(platforms.keys.sorted().joined(separator: ", ")).")
        }
        guard let token, let platform = platform.flatMap({ platforms[$0] }), problems.isEmpty else {
            throw HTTPFailure(
                status: 422, code: "unprocessable_entity", message: problems[0], more: Array(problems.dropFirst()))
        }
        return (token, platform)
    }

    private func subscriptions(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                let user = try store.user(identity, in: project.key)
                let subscriptions = try user.map { (user) throws(HubStoreError) in
                    try store.subscriptions(of: user.key)
                }
                return Work(response: .json(200, Self.body(subscriptions ?? [])))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func unsubscribe(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let token = request.parameter("token")
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                let user = try store.user(identity, in: project.key)
                let isGone = try user.map { (user) throws(HubStoreError) in
                    try store.unsubscribe(user.key, token: token)
                }
                guard isGone ?? false else {
                    return Work(
                        response: HTTPSurface.inbox.response(
                            to: HTTPFailure(
                                status: 404, code: "not_found", message: "This user has no such push subscription.")))
                }
                return Work(response: .empty(204))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    // MARK: Bodies

    private static func body(_ subscription: PushSubscription) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("push_subscription")
        write(subscription, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func body(_ subscriptions: [PushSubscription]) -> [UInt8] {
        var writer = JSONWriter()
        // All of them fit on one page: a user has at most 100.
        writer.beginObject()
        writer.member("total", Int64(subscriptions.count))
        writer.member("per_page", Int64(Limits.devicesPerUser))
        writer.member("total_pages", 1 as Int64)
        writer.member("current_page", 1 as Int64)
        writer.key("push_subscriptions")
        writer.beginArray()
        for subscription in subscriptions { write(subscription, to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ subscription: PushSubscription, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", String(subscription.id))
        writer.member("device_token", subscription.token)
        writer.member("platform", names[subscription.platform] ?? "")
        writer.endObject()
    }
}
