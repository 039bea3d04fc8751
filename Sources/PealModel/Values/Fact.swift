/// Something that happened to an item on a device; of each kind the first counts (docs/sync.md section 3).
public struct Fact: Equatable, Sendable {
    /// `opened`, `clicked`, `dismissed`, `answered`; open, so that a later hub's word is kept.
    public var event: String
    /// The hub's time of the first one.
    public var time: Milliseconds
    /// What came with it, such as the answer to a survey.
    public var data: RawJSON?

    /// The events that a hub of this version takes.
    public static let events: Set<String> = ["opened", "clicked", "dismissed", "answered"]

    /// A fact of its parts.
    public init(event: String, time: Milliseconds, data: RawJSON? = nil) {
        self.event = event
        self.time = time
        self.data = data
    }

    /// Decodes a fact of a snapshot row.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public init(_ object: JSONObject) throws(JSONError) {
        self.init(
            event: try object.required("event", object.string("event")),
            time: try object.required("time", object.int("time")), data: object.raw("data"))
    }

    /// Writes the fact as an object.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("event", event)
        writer.member("time", time)
        writer.member("data", raw: data)
        writer.endObject()
    }
}
