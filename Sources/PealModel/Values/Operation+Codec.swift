extension Operation {
    /// The reason of ``malformed(reason:)`` for an operation that this version does not know.
    public static let unknownReason = "unknown operation"

    /// The reason of ``malformed(reason:)`` for one with more than ``Limits/itemsPerMutation`` items.
    public static let tooManyReason = "too many items"

    /// Decodes an operation.
    ///
    /// - Throws: ``JSONError`` that names the member; ``unknownReason`` for a word that is not known, ``tooManyReason``.
    public init(_ object: JSONObject) throws(JSONError) {
        switch try object.required("op", object.string("op")) {
        case "read":
            self = .read(
                items: try object.limitedItems(), on: try object.required("on", object.bool("on")),
                passive: try object.bool("passive") ?? false)
        case "seen": self = .seen(items: try object.limitedItems())
        case "archive":
            self = .archive(items: try object.limitedItems(), on: try object.required("on", object.bool("on")))
        case "delete": self = .delete(items: try object.limitedItems())
        case "mark":
            guard let kind = MarkKind(rawValue: try object.required("kind", object.string("kind"))) else {
                throw JSONError("'kind' is none of read, seen, archive")
            }
            self = .mark(kind, upTo: try object.required("upTo", object.int("upTo")))
        case "void": self = .void(reason: try object.string("reason") ?? "")
        case "interest":
            self = .interest(
                name: try object.required("name", object.string("name")),
                on: try object.required("on", object.bool("on")))
        case "interests": self = .interests(replace: try object.strings("replace"))
        default: self = try Self.decodeRest(object)
        }
    }

    private static func decodeRest(_ object: JSONObject) throws(JSONError) -> Operation {
        switch try object.required("op", object.string("op")) {
        case "preference":
            return .preference(
                category: try object.required("category", object.string("category")),
                channel: try object.required("channel", object.string("channel")),
                enabled: try object.required("enabled", object.bool("enabled")))
        case "track":
            guard let item = ItemID(try object.required("item", object.string("item"))) else {
                throw JSONError("'item' is no item id")
            }
            return .track(
                item: item, event: try object.required("event", object.string("event")), data: object.raw("data"))
        case "token":
            return .token(
                try object.required("token", object.string("token")), platform: try object.string("platform"))
        case "user": return .user(id: try object.string("id"), proof: try object.string("proof"))
        case "end": return .end
        default: throw JSONError(unknownReason)
        }
    }

    /// Writes the operation as an object.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("op", name)
        switch self {
        case .read(let items, let on, let passive):
            writer.member("items", items)
            writer.member("on", on)
            if passive { writer.member("passive", true) }
        case .seen(let items), .delete(let items): writer.member("items", items)
        case .archive(let items, let on):
            writer.member("items", items)
            writer.member("on", on)
        case .mark(let kind, let upTo):
            writer.member("kind", kind.rawValue)
            writer.member("upTo", upTo)
        case .preference(let category, let channel, let enabled):
            writer.member("category", category)
            writer.member("channel", channel)
            writer.member("enabled", enabled)
        case .track(let item, let event, let data):
            writer.member("item", item.description)
            writer.member("event", event)
            writer.member("data", raw: data)
        case .interest(let name, let on):
            writer.member("name", name)
            writer.member("on", on)
        case .interests(let names): writer.member("replace", names)
        case .token(let token, let platform):
            writer.member("token", token)
            writer.member("platform", platform)
        case .user(let id, let proof):
            writer.member("id", id)
            writer.member("proof", proof)
        case .void(let reason), .malformed(let reason): writer.member("reason", reason)
        case .end: break
        }
        writer.endObject()
    }
}

extension JSONObject {
    fileprivate func limitedItems() throws(JSONError) -> [ItemID] {
        let items = try required("items", self.items("items"))
        guard items.count <= Limits.itemsPerMutation else {
            throw JSONError(Operation.tooManyReason)
        }
        return items
    }

    /// An array of strings that must be there.
    func strings(_ key: StaticString) throws(JSONError) -> [String] {
        var strings: [String] = []
        for element in try required(key, array(key)) {
            guard let string = JSON.string(of: element) else {
                throw JSONError("'\(key)' holds something that is no string")
            }
            strings.append(string)
        }
        return strings
    }
}

extension JSONWriter {
    /// Writes a member that is an array of strings.
    mutating func member(_ key: StaticString, _ strings: [String]) {
        self.key(key)
        beginArray()
        for value in strings { string(value) }
        endArray()
    }
}
