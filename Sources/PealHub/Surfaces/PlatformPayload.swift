import PealModel

/// The platform objects of a publish (`apns`, `fcm`, `web`) as an item.
struct PlatformPayload {
    private let members: [(key: String, value: JSON)]

    init(_ members: [(key: String, value: JSON)]) { self.members = members }

    private func platform(_ key: String) -> JSON? { members.first { $0.key == key }?.value }

    /// The item's body. The whole platform payload stays available to the app, where it fits.
    ///
    /// A title over its limit is an alert without a title: it becomes the content. Publishers may send more than an item can hold (200 KiB to
    /// users); then the payload is left out, and the content is cut and ends with an ellipsis.
    ///
    /// - Throws: ``HTTPFailure`` 422 that names the member and the limit.
    func body(now: Milliseconds) throws(HTTPFailure) -> ItemBody {
        var text = notice
        if let title = text.title, title.unicodeScalars.count > Limits.title {
            text = (Self.cut(title, to: Limits.title), text.body ?? title)
        }
        let data = platform("fcm")?["data"] ?? platform("apns")?["data"] ?? platform("web")?["data"]
        let item = ItemBody(
            title: text.title, content: text.body, type: data?["type"]?.stringValue ?? "message",
            category: data?["category"]?.stringValue, topic: data?["topic"]?.stringValue,
            actionURL: platform("web")?["notification"]?["deep_link"]?.stringValue
                ?? data?["deep_link"]?.stringValue ?? data?["action_url"]?.stringValue,
            payload: JSON.object(members).bytes[...], sent: now, expires: expiry(now),
            silent: text.title == nil && text.body == nil)
        return try Self.fitted(item)
    }

    /// Bytes of an item that its members beside the content may take, escapes included, when it is cut.
    private static let beside = 8 * 1024

    private static func fitted(_ item: ItemBody) throws(HTTPFailure) -> ItemBody {
        var item = item
        if item.bytes.count + PublishRequest.overhead > Limits.item {
            item.payload = nil
            // An escape takes at most six bytes for one.
            if let content = item.content, item.bytes.count + PublishRequest.overhead > Limits.item {
                item.content = cut(content, to: (Limits.item - beside) / 6)
            }
        }
        try check(item)
        return item
    }

    private static func cut(_ text: String, to characters: Int) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text.unicodeScalars.prefix(characters - 1))
        return String(scalars) + "…"
    }

    /// Title and body from `apns.aps.alert` (string or object), else `web.notification`, else `fcm.notification`.
    private var notice: (title: String?, body: String?) {
        switch platform("apns")?["aps"]?["alert"] {
        case .string(let text)?: return (text, nil)
        case .null?, nil: break
        case let alert?:
            return (alert["title"]?.stringValue, alert["body"]?.stringValue)
        }
        for key in ["web", "fcm"] {
            guard let notification = platform(key)?["notification"] else { continue }
            return (notification["title"]?.stringValue, notification["body"]?.stringValue)
        }
        return (nil, nil)
    }

    /// What the item replaces: the key under which the platforms replace a notification that is shown.
    var collapse: String? {
        let (apns, fcm, web) = (platform("apns"), platform("fcm"), platform("web"))
        let key =
            apns?["collapse_id"]?.stringValue ?? apns?["headers"]?["apns-collapse-id"]?.stringValue
            ?? fcm?["collapse_key"]?.stringValue ?? fcm?["notification"]?["tag"]?.stringValue
            ?? web?["notification"]?["tag"]?.stringValue
        return key.flatMap { $0.isEmpty || $0.unicodeScalars.count > Limits.interest ? nil : $0 }
    }

    private func expiry(_ now: Milliseconds) -> Milliseconds? {
        let end = platform("apns")?["expiration"] ?? platform("apns")?["headers"]?["apns-expiration"]
        if let end = end?.intValue ?? end?.stringValue.flatMap({ Int64($0) }), end > 0, end < 100_000_000_000 {
            return end * 1_000
        }
        let seconds = platform("web")?["time_to_live"]?.intValue ?? platform("fcm")?["time_to_live"]?.intValue
        guard let seconds, seconds > 0, seconds < 10 * 365 * 86_400 else { return nil }
        return now + seconds * 1_000
    }

    static func check(_ item: ItemBody) throws(HTTPFailure) {
        try limit("title", item.title, Limits.title)
        try limit("type", item.type, Limits.category)
        try limit("category", item.category, Limits.category)
        try limit("topic", item.topic, Limits.category)
        try limit("action_url", item.actionURL, Limits.url)
        let bytes = item.bytes.count
        guard bytes <= Limits.item else {
            throw HTTPFailure(
                status: 422, code: "too_large",
                message: "The notification has \(bytes) bytes as an item; at most \(Limits.item) can be delivered.")
        }
    }

    private static func limit(_ name: String, _ value: String?, _ most: Int) throws(HTTPFailure) {
        guard let value, value.unicodeScalars.count > most else { return }
        throw HTTPFailure(
            status: 422, code: "too_long",
            message: "'\(name)' has \(value.unicodeScalars.count) characters; at most \(most) are allowed.")
    }
}
