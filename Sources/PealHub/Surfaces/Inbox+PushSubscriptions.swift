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

    /// Registers a token for a user; the same user again is no change. A token belongs to an installation, so it goes to who names it last:
    /// that user gets a device of its own for it, and whatever else the device before has stays with it and its user.
    private func subscribe(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let (token, platform) = try Self.subscription(request)
            let key = try RepeatKey(request, caller: Self.caller(identity))
            core.perform(project, as: .inbox, key: key, respond) { (store, now) throws(HubStoreError) in
                let user = try store.upsertUser(identity, profile: UserProfile(), in: project.key, now: now).user
                var device = try store.registerDevice(
                    platform: platform, token: token, metadata: nil, in: project.key, now: now
                ).device
                if let owner = device.user, owner != user.key {
                    device.token = nil
                    try store.updateDevice(device)
                    device = try store.registerDevice(
                        platform: platform, token: token, metadata: nil, in: project.key, now: now
                    ).device
                }
                if device.user != user.key {
                    guard try store.devices(of: user.key).count < Limits.devicesPerUser else {
                        throw HubStoreError(.invalid, "a user has at most \(Limits.devicesPerUser) devices")
                    }
                    device.user = user.key
                    try store.updateDevice(device)
                }
                return Work(response: .json(201, Self.body(device)))
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
                let devices = try user.map { (user) throws(HubStoreError) in try store.devices(of: user.key) } ?? []
                return Work(response: .json(200, Self.body(devices.filter { $0.token != nil })))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    /// The token goes; the device, its interests and its replicas stay.
    private func unsubscribe(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let token = request.parameter("token")
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                let user = try store.user(identity, in: project.key)
                let devices = try user.map { (user) throws(HubStoreError) in try store.devices(of: user.key) } ?? []
                let named = devices.filter { $0.token?.utf8.elementsEqual(token.utf8) ?? false }
                guard !named.isEmpty else {
                    return Work(
                        response: HTTPSurface.inbox.response(
                            to: HTTPFailure(
                                status: 404, code: "not_found", message: "This user has no such push subscription.")))
                }
                for var device in named {
                    device.token = nil
                    try store.updateDevice(device)
                }
                return Work(response: .empty(204))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    // MARK: Bodies

    private static func body(_ device: DeviceRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("push_subscription")
        write(device, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func body(_ devices: [DeviceRecord]) -> [UInt8] {
        var writer = JSONWriter()
        // All of them fit on one page: a user has at most 100 devices.
        writer.beginObject()
        writer.member("total", Int64(devices.count))
        writer.member("per_page", Int64(Limits.devicesPerUser))
        writer.member("total_pages", 1 as Int64)
        writer.member("current_page", 1 as Int64)
        writer.key("push_subscriptions")
        writer.beginArray()
        for device in devices { write(device, to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ device: DeviceRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", device.id)
        writer.member("device_token", device.token ?? "")
        writer.member("platform", device.platform.flatMap { names[$0] } ?? "")
        writer.endObject()
    }
}
