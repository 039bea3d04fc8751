import PealModel

/// Publishing with everything that an item can have, at once or later, and looking at what became of it.
extension NativeSurface {
    /// Bytes of a publish.
    static let publishBody = 200 * 1024

    var publishRoutes: [HTTPRoute] {
        let one = "/v1/publishes/{publish}"
        return [
            HTTPRoute(.post, "/v1/publishes", bodyLimit: Self.publishBody) { publish($0, $1) },
            HTTPRoute(.get, one) { showPublish($0, $1) },
            HTTPRoute(.delete, one) { takeBack($0, $1) },
        ]
    }

    private func publish(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try project(request)
            let now = core.clock()
            let asked = try NativePublish(JSONBody(request), now: now)
            let publish = asked.request(project.key)
            guard let time = asked.time, time > now else {
                return try core.publish(publish, request, of: project, as: .native, respond) { (_, result, now) in
                    .json(
                        201,
                        Self.body(
                            PublishRecord(
                                name: publish.name, status: result.isWide ? .publishing : .published, time: now,
                                matched: result.matched, expires: publish.body.expires)))
                }
            }
            core.perform(project, as: .native, key: try RepeatKey(request, caller: "admin"), respond) {
                (store, _) throws(HubStoreError) in
                try store.schedule(publish, at: time)
                let record = PublishRecord(
                    name: publish.name, status: .scheduled, time: time, matched: 0, expires: publish.body.expires)
                return Work(response: .json(202, Self.body(record)), isDue: true)
            }
        }
    }

    private func showPublish(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try project(request)
            let name = request.parameter("publish")
            let (after, limit) = try NativePage(request.query).numbers()
            let now = core.clock()
            core.read(as: .native, respond) { (reader) throws(HubStoreError) in
                guard let found = try reader.publish(name, of: project.key) else { return Self.missing("publish") }
                let page = try reader.deliveries(of: name, in: project.key, after: after, limit: limit, now: now)
                return .json(200, Self.body(found, page))
            }
        }
    }

    /// Cancels a publish that waits, or takes the items of one that does not.
    private func takeBack(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try project(request)
            let name = request.parameter("publish")
            core.perform(project, as: .native, key: nil, respond) { (store, now) throws(HubStoreError) in
                let isCancelled = try store.cancel(name, of: project.key)
                if !isCancelled {
                    let isRetracted = try store.retract(name, of: project.key, now: now)
                    guard isRetracted else { return Work(response: Self.missing("publish")) }
                }
                return Work(response: .empty(204), isDue: true)
            }
        }
    }

    // MARK: Bodies

    private static func body(_ publish: PublishRecord, _ page: DeliveryPage? = nil) -> [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        writer.beginObject()
        writer.key("publish")
        writer.beginObject()
        writer.member("id", publish.name)
        writer.member("status", publish.status.rawValue)
        writer.time("time", publish.time)
        writer.member("matched", Int64(publish.matched))
        writer.time("expires_at", publish.expires)
        writer.endObject()
        if let page {
            writer.key("deliveries")
            writer.beginArray()
            for delivery in page.deliveries { write(delivery, to: &writer) }
            writer.endArray()
            writer.key("after")
            if let next = page.next { writer.string(String(next)) } else { writer.null() }
        }
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ delivery: Delivery, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("inbox", delivery.inbox)
        writer.member("kind", delivery.user == nil ? "device" : "user")
        writer.member("external_id", delivery.user?.externalID)
        writer.member("email", delivery.user?.email)
        writer.member("item", delivery.item.description)
        writer.member("number", delivery.number)
        writer.member("delivered", delivery.isDelivered)
        writer.time("reported_at", delivery.reported)
        writer.time("seen_at", delivery.seenAt)
        writer.time("read_at", delivery.readAt)
        writer.time("archived_at", delivery.archivedAt)
        writer.member("gone", delivery.isGone)
        writer.key("facts")
        writer.beginArray()
        for fact in delivery.facts {
            writer.beginObject()
            writer.member("event", fact.event)
            writer.time("time", fact.time)
            writer.member("data", raw: fact.data)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

extension JSONWriter {
    /// A time in whole seconds since 1970, or null.
    mutating func time(_ key: StaticString, _ value: Milliseconds?) {
        self.key(key)
        if let value { int(value / 1_000) } else { null() }
    }
}

/// The body of `POST /v1/publishes`, checked member by member.
struct NativePublish {
    /// How far ahead a publish may be: a year.
    static let horizon: Milliseconds = 366 * 86_400_000

    private let item: ItemBody
    private let interests: [String]
    private let users: [String]
    private let collapse: String?
    /// When it is to be published; nil for now.
    let time: Milliseconds?

    /// - Throws: ``HTTPFailure`` 422 that names the member and the limit.
    init(_ body: JSONBody, now: Milliseconds) throws(HTTPFailure) {
        interests = try body.strings("interests", .max) ?? []
        users = try body.strings("users", Limits.identity) ?? []
        try Self.check(interests: interests, users: users)
        collapse = try body.string("collapse_key", Limits.interest).flatMap { $0.isEmpty ? nil : $0 }
        let seconds = 0...(now + Self.horizon) / 1_000
        time = try body.int("deliver_at", seconds).map { $0 * 1_000 }
        let expires = try body.int("expires_at", 0...(now + 10 * Self.horizon) / 1_000).map { $0 * 1_000 }
        if let expires, expires <= max(now, time ?? now) {
            throw JSONBody.invalid("'expires_at' is not after the time of the publish.")
        }
        let payload = try Self.payload(body)
        let isSilent = try body.bool("silent") ?? false
        let title = try body.string("title", Limits.title)
        guard isSilent || !(title?.isEmpty ?? true) else {
            throw JSONBody.invalid("'title' is missing; only a silent item has none.")
        }
        let item = ItemBody(
            title: title, content: try body.string("content", Limits.item),
            type: try Self.type(body), media: try body.string("media", Limits.url),
            category: try body.string("category", Limits.category), topic: try body.string("topic", Limits.category),
            actionURL: try body.string("action_url", Limits.url),
            attributes: try body.raw("attributes", Limits.attributes)?[...],
            payload: payload.isEmpty ? nil : JSON.object(payload).bytes[...], sent: now, expires: expires,
            silent: isSilent)
        try PlatformPayload.check(item)
        self.item = item
    }

    private static func type(_ body: JSONBody) throws(HTTPFailure) -> String {
        let type = try body.string("type", Limits.category) ?? "message"
        guard !type.isEmpty else { throw JSONBody.invalid("'type' is empty.") }
        return type
    }

    private static func payload(_ body: JSONBody) throws(HTTPFailure) -> [(key: String, value: JSON)] {
        var payload: [(key: String, value: JSON)] = []
        for key in ["apns", "fcm", "web"] {
            guard let bytes = try body.raw(key, Limits.item), let value = try? JSON(bytes[...]) else { continue }
            payload.append((key: key, value: value))
        }
        return payload
    }

    private static func check(interests: [String], users: [String]) throws(HTTPFailure) {
        guard !interests.isEmpty || !users.isEmpty else {
            throw JSONBody.invalid("One of 'interests' and 'users' must name somebody.")
        }
        guard interests.count <= Limits.interestsPerPublish, users.count <= Limits.usersPerPublish else {
            throw JSONBody.invalid(
                "At most \(Limits.interestsPerPublish) 'interests' and \(Limits.usersPerPublish) 'users' are allowed.")
        }
        guard interests.allSatisfy(Limits.isInterest) else {
            throw JSONBody.invalid(
                "An interest in 'interests' is not allowed: 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;")
        }
        guard users.allSatisfy({ !$0.isEmpty }) else { throw JSONBody.invalid("A user in 'users' is empty.") }
    }

    /// The publish that is asked for, under a new name.
    func request(_ project: ProjectKey) -> PublishRequest {
        PublishRequest(
            project: project, name: HubCore.publishName(), body: item, interests: interests,
            recipients: users.map { PublishRequest.Recipient(identity: UserIdentity(externalID: $0)) },
            collapse: collapse)
    }
}

/// The query of a list of this surface: `after`, which the page before gave, and `per_page`.
struct NativePage {
    private let query: HTTPQuery

    init(_ query: HTTPQuery) { self.query = query }

    /// How many: 1 to 100, 50 where nothing is said.
    func limit() throws(HTTPFailure) -> Int {
        guard let text = query["per_page"] else { return 50 }
        guard let limit = Int(text), (1...100).contains(limit) else {
            throw JSONBody.invalid("'per_page' is a whole number from 1 to 100.")
        }
        return limit
    }

    /// A number to go on after, 0 for the beginning, and how many.
    func numbers() throws(HTTPFailure) -> (after: Int64, limit: Int) {
        guard let text = query["after"] else { return (0, try limit()) }
        guard let after = Int64(text), after >= 0 else {
            throw JSONBody.invalid("'after' is not a cursor that a page gave.")
        }
        return (after, try limit())
    }
}
