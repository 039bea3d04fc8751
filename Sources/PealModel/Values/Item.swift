/// What a publisher said: the part of an item that never changes (docs/sync.md section 3).
public struct ItemBody: Equatable, Sendable {
    /// At most ``Limits/title`` characters; nil for a platform payload without one.
    public var title: String?
    /// The text; the whole item is at most ``Limits/item`` bytes.
    public var content: String?
    /// `message`, `survey`, `video`, `image`, `audio` or the app's own word.
    public var type: String
    /// A URL of the picture, film or sound.
    public var media: String?
    /// The slug of a category, or nil.
    public var category: String?
    /// A topic such as `order:42`, or nil.
    public var topic: String?
    /// Which of the device's interests it was published to, sorted byte by byte; none in a user's inbox.
    public var interests: [String]
    /// Where a tap leads.
    public var actionURL: String?
    /// Custom attributes, one JSON object.
    public var attributes: RawJSON?
    /// The platform objects of the publish (`apns`, `fcm`, `web`), one JSON object, whole.
    public var payload: RawJSON?
    /// When it was sent, in milliseconds since 1970 by the hub's clock.
    public var sent: Milliseconds
    /// When the hub appends `expired` for it; nil for never.
    public var expires: Milliseconds?
    /// A silent item is delivered to the app, listed nowhere and counted nowhere.
    public var silent: Bool

    /// A body of its parts.
    public init(
        title: String?, content: String? = nil, type: String = "message", media: String? = nil,
        category: String? = nil, topic: String? = nil, interests: [String] = [], actionURL: String? = nil,
        attributes: RawJSON? = nil, payload: RawJSON? = nil, sent: Milliseconds, expires: Milliseconds? = nil,
        silent: Bool = false
    ) {
        self.title = title
        self.content = content
        self.type = type
        self.media = media
        self.category = category
        self.topic = topic
        self.interests = interests
        self.actionURL = actionURL
        self.attributes = attributes
        self.payload = payload
        self.sent = sent
        self.expires = expires
        self.silent = silent
    }

    /// Decodes the body of an item entry or a snapshot row.
    ///
    /// - Throws: ``JSONError`` where a member has the wrong type or `sent` is missing.
    public init(_ object: JSONObject) throws(JSONError) {
        self.init(
            title: try object.string("title"), content: try object.string("content"),
            type: try object.string("type") ?? "message", media: try object.string("media"),
            category: try object.string("category"), topic: try object.string("topic"),
            interests: try object.strings("interests") ?? [], actionURL: try object.string("actionURL"),
            attributes: object.raw("attributes"),
            payload: object.raw("payload"), sent: try object.required("sent", object.int("sent")),
            expires: try object.int("expires"), silent: try object.bool("silent") ?? false)
    }

    /// Interests as one JSON array, the way a body has them.
    package static func text(_ interests: [String]) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginArray()
        for name in interests { writer.string(name) }
        writer.endArray()
        return writer.bytes
    }

    /// ``interests`` as one JSON array; nil for none.
    public var interestsText: String? {
        interests.isEmpty ? nil : String(decoding: Self.text(interests), as: UTF8.self)
    }

    /// The encoded object; absent members are left out, so that a new member changes no old bytes.
    public var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 384)
        writer.beginObject()
        writer.member("title", title)
        writer.member("content", content)
        if type != "message" { writer.member("type", type) }
        writer.member("media", media)
        writer.member("category", category)
        writer.member("topic", topic)
        if !interests.isEmpty { writer.member("interests", raw: Self.text(interests)[...]) }
        writer.member("actionURL", actionURL)
        writer.member("attributes", raw: attributes)
        writer.member("payload", raw: payload)
        writer.member("sent", sent)
        writer.member("expires", expires)
        if silent { writer.member("silent", true) }
        writer.endObject()
        return writer.bytes
    }
}
