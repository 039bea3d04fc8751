import PealModel

/// A user's inboxes and devices, and what could not be done in an inbox.
extension NativeSurface {
    var inboxRoutes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/v1/users/{user}/inboxes") { inboxes($0, $1) },
            HTTPRoute(.get, "/v1/users/{user}/devices") { devices($0, $1) },
            HTTPRoute(.get, "/v1/inboxes/{inbox}/dead_letters") { deadLetters($0, $1) },
        ]
    }

    private func withUser(
        _ request: HTTPRequest, _ respond: HTTPResponder,
        _ body: @escaping @Sendable (any HubReader, UserRecord) throws(HubStoreError) -> [UInt8]
    ) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try project(request)
            let name = UserName(request)
            core.read(as: .native, respond) { (reader) throws(HubStoreError) in
                guard let user = try name.find(reader, project) else { return Self.missing("user") }
                return .json(200, try body(reader, user))
            }
        }
    }

    /// The user's own, then those of its devices.
    private func inboxes(_ request: HTTPRequest, _ respond: HTTPResponder) {
        let now = core.clock()
        withUser(request, respond) { (reader, user) throws(HubStoreError) in
            var writer = JSONWriter(capacity: 1_024)
            writer.beginObject()
            writer.key("inboxes")
            writer.beginArray()
            try Self.write(user.inbox, user.inboxID, "user", reader, now: now, to: &writer)
            for device in try reader.devices(of: user.key) {
                try Self.write(device.inbox, device.id, "device", reader, now: now, to: &writer)
            }
            writer.endArray()
            writer.endObject()
            return writer.bytes
        }
    }

    private static func write(
        _ inbox: InboxKey, _ id: String, _ kind: String, _ reader: any HubReader, now: Milliseconds,
        to writer: inout JSONWriter
    ) throws(HubStoreError) {
        let page = try reader.list(ListQuery(archived: false, perPage: 1, now: now), of: inbox)
        writer.beginObject()
        writer.member("id", id)
        writer.member("kind", kind)
        writer.member("position", page.head)
        writer.member("total", Int64(page.total))
        writer.member("unread_count", Int64(page.unread))
        writer.member("unseen_count", Int64(page.unseen))
        writer.key("replicas")
        writer.beginArray()
        for replica in try reader.replicas(of: inbox) {
            writer.beginObject()
            writer.member("id", replica.id.description)
            writer.member("position", replica.got)
            writer.member("acts", replica.lastN)
            writer.time("last_seen_at", replica.seenAt)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    private func devices(_ request: HTTPRequest, _ respond: HTTPResponder) {
        withUser(request, respond) { (reader, user) throws(HubStoreError) in
            var writer = JSONWriter(capacity: 1_024)
            writer.beginObject()
            writer.key("devices")
            writer.beginArray()
            for device in try reader.devices(of: user.key) {
                writer.beginObject()
                writer.member("id", device.id)
                writer.member("platform", device.platform)
                writer.member("token", device.token)
                writer.key("metadata")
                writer.raw((device.metadata ?? Array("{}".utf8))[...])
                writer.time("created_at", device.created)
                writer.endObject()
            }
            for subscription in try reader.subscriptions(of: user.key) {
                writer.beginObject()
                writer.member("id", subscription.deviceID)
                writer.member("platform", subscription.platform)
                writer.member("token", subscription.token)
                writer.key("metadata")
                writer.raw(Array("{}".utf8)[...])
                writer.time("created_at", subscription.created)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
            return writer.bytes
        }
    }

    private func deadLetters(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try project(request)
            let id = request.parameter("inbox")
            let limit = try NativePage(request.query).limit()
            let before = try Self.place(request)
            core.read(as: .native, respond) { (reader) throws(HubStoreError) in
                guard let inbox = try reader.inbox(id, in: project.key) else { return Self.missing("inbox") }
                // One more than is wanted shows whether there is a next page.
                let letters = try reader.deadLetters(of: inbox, before: before, limit: limit + 1)
                return .json(200, Self.body(letters, limit))
            }
        }
    }

    private static func place(_ request: HTTPRequest) throws(HTTPFailure) -> DeadLetter.Place? {
        guard let text = request.query["before"] else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = Milliseconds(parts[0]), let uid = Hex64.parse(parts[1]) else {
            throw JSONBody.invalid("'before' is not a cursor that a page gave.")
        }
        return DeadLetter.Place(time: time, uid: uid)
    }

    private static func body(_ letters: [DeadLetter], _ limit: Int) -> [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        writer.beginObject()
        writer.key("dead_letters")
        writer.beginArray()
        for letter in letters.prefix(limit) {
            writer.beginObject()
            writer.time("time", letter.place.time)
            writer.member("uid", Hex64.text(letter.place.uid))
            writer.member("author", letter.author.description)
            writer.member("n", letter.n)
            writer.key("outcome")
            letter.outcome.write(to: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.key("before")
        if letters.count > limit {
            let place = letters[limit - 1].place
            writer.string("\(place.time).\(Hex64.text(place.uid))")
        } else {
            writer.null()
        }
        writer.endObject()
        return writer.bytes
    }
}
