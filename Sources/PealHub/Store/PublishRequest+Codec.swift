package import PealModel

extension PublishRequest {
    /// The request as it waits for its time, one JSON object. The project and the name are columns of their own, and profiles are left out.
    package var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("body")
        writer.raw(body.bytes[...])
        writer.key("interests")
        writer.beginArray()
        for name in interests { writer.string(name) }
        writer.endArray()
        writer.key("recipients")
        writer.beginArray()
        for recipient in recipients {
            writer.beginObject()
            writer.member("id", recipient.identity.externalID)
            writer.member("email", recipient.identity.email)
            writer.endObject()
        }
        writer.endArray()
        writer.member("collapse", collapse)
        writer.endObject()
        return writer.bytes
    }

    /// A request that was ``encoded``, sent now.
    ///
    /// - Throws: ``HubStoreError``: `corrupt`.
    package init(
        _ bytes: [UInt8], project: ProjectKey, name: String, now: Milliseconds
    ) throws(HubStoreError) {
        let json: JSON
        var body: ItemBody
        do throws(JSONError) {
            json = try JSON(bytes[...])
            body = try ItemBody(JSONObject((json["body"]?.bytes ?? [])[...]))
        } catch {
            throw HubStoreError(.corrupt, "a scheduled publish cannot be read: \(error.reason)", underlying: error)
        }
        body.sent = now
        self.init(
            project: project, name: name, body: body,
            interests: (json["interests"]?.arrayValue ?? []).compactMap(\.stringValue),
            recipients: (json["recipients"]?.arrayValue ?? []).map { recipient in
                Recipient(
                    identity: UserIdentity(
                        externalID: recipient["id"]?.stringValue, email: recipient["email"]?.stringValue))
            },
            collapse: json["collapse"]?.stringValue)
    }

    /// Throws `tooLarge` where the item could not be delivered.
    package func checkSize(now: Milliseconds) throws(HubStoreError) {
        try Self.check(ItemTemplate(time: now, publish: name, body: body.bytes).count)
    }

    static func check(_ count: Int) throws(HubStoreError) {
        guard count <= Limits.item else {
            throw HubStoreError(.tooLarge, "the item has \(count) bytes; at most \(Limits.item) can be delivered")
        }
    }
}
