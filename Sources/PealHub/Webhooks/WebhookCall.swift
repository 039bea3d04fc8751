package import PealModel

/// A call that waits in the durable queue.
package struct WebhookCall: Equatable, Sendable {
    /// Seconds after which a call that failed is made again; then it is given up.
    package static let retries: [Milliseconds] = [10_000, 30_000, 120_000, 300_000]
    /// Milliseconds for which a call that is being made is nobody else's; it is made again where the process ended over it.
    package static let lease: Milliseconds = 60_000
    /// Calls that wait for a project at most: more are dropped.
    package static let waiting = 10_000

    /// Its row; 0 before it has one.
    package var id: Int64
    /// Whose.
    package var project: ProjectKey
    /// Where to.
    package var url: String
    /// `v1.PublishToUsersAttempt` and others.
    package var event: String
    /// One JSON object.
    package var body: [UInt8]
    /// How often it has failed.
    package var failures: Int

    /// A call of its parts.
    package init(id: Int64 = 0, project: ProjectKey, url: String, event: String, body: [UInt8], failures: Int = 0) {
        self.id = id
        self.project = project
        self.url = url
        self.event = event
        self.body = body
        self.failures = failures
    }
}

extension WebhookCall {
    /// What is told, in the shape of Beams' webhooks.
    static func body(
        _ event: String, _ payload: (inout JSONWriter) -> Void, now: Milliseconds
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.key("payload")
        writer.beginObject()
        payload(&writer)
        writer.endObject()
        writer.key("metadata")
        writer.beginObject()
        writer.member("created_at", ISOTime.text(now))
        writer.member("event_type", event)
        writer.member("event_id", Project.makeInstance())
        writer.member("product", "beams")
        writer.endObject()
        writer.key("custom_data")
        writer.beginObject()
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    /// HMAC-SHA1 of the body with the project's secret, in hexadecimal.
    static func signature(_ body: [UInt8], secret: String) -> String {
        Hexadecimal.encode(HMACSHA1.code(body, key: Array(secret.utf8)))
    }
}
