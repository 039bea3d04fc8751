/// One decision of the hub, as the log holds it (docs/sync.md section 1). Its position is its place in the log, not in its bytes.
public struct Entry: Equatable, Sendable {
    /// When the hub appended it.
    public var time: Milliseconds
    /// What it decides.
    public var kind: Kind

    /// What an entry decides.
    public enum Kind: Equatable, Sendable {
        /// A publisher's item. `publish` names the publish that it came from.
        case item(id: ItemID, publish: String, body: RawJSON)
        /// A processed mutation: its outcome and its effects on every item.
        case act(Act)
        /// Items that a publisher took back (`retract`) or whose time is over (`expired`).
        case removed(items: [ItemID], why: String)
        /// The project's categories and channels, in place of those before.
        case catalogue(Catalogue)
        /// A kind, or an act with an effect, that this version does not know: stored raw, folded after an upgrade.
        case unknown(String)
    }

    /// An entry of its parts.
    public init(time: Milliseconds, kind: Kind) {
        self.time = time
        self.kind = kind
    }

    /// Decodes the bytes of an entry.
    ///
    /// - Throws: ``JSONError`` where a known kind has a wrong shape: the entry is then quarantined (docs/sync.md section 6).
    public init(_ bytes: RawJSON) throws(JSONError) {
        let object = try JSONObject(bytes)
        time = try object.required("time", object.int("time"))
        switch try object.required("kind", object.string("kind")) {
        case "item":
            let item = try object.item("id")
            kind = .item(
                id: item, publish: try object.string("publish") ?? "",
                body: try object.required("body", object.raw("body")))
        case "act": kind = try Act.Effect.isKnown(object.object("effect")) ? .act(Act(object)) : .unknown("act")
        case let word where word == "retract" || word == "expired":
            kind = .removed(items: try object.required("items", object.items("items")), why: word)
        case "catalogue": kind = .catalogue(try Catalogue(object))
        case let word: kind = .unknown(word)
        }
    }

    /// The encoded bytes, which the log stores and every frame copies.
    public var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 384)
        writer.beginObject()
        switch kind {
        case .item(let id, let publish, let body):
            writer.member("kind", "item")
            writer.member("time", time)
            writer.member("id", id.description)
            writer.member("publish", publish)
            writer.member("body", raw: body)
        case .act(let act):
            writer.member("kind", "act")
            writer.member("time", time)
            act.write(to: &writer)
        case .removed(let items, let why):
            writer.member("kind", why)
            writer.member("time", time)
            writer.member("items", items)
        case .catalogue(let catalogue):
            writer.member("kind", "catalogue")
            writer.member("time", time)
            catalogue.writeMembers(to: &writer)
        case .unknown(let word):
            writer.member("kind", word)
            writer.member("time", time)
        }
        writer.endObject()
        return writer.bytes
    }
}

/// A processed mutation: who, what became of it, and the whole of its effects (docs/sync.md section 1, sentence 5).
public struct Act: Equatable, Sendable {
    /// Who acted.
    public var author: Author
    /// The replica's number of the mutation; nil for an act through HTTP.
    public var n: Int64?
    /// The act.
    public var uid: UInt64
    /// When the person acted, bounded (docs/sync.md section 5).
    public var itime: Milliseconds
    /// What became of the mutation.
    public var outcome: Outcome
    /// What became of single items where that differs.
    public var results: [ItemOutcome]
    /// What changes in the inbox.
    public var effect: Effect

    /// What an act changes in the inbox. Items that it does not name are not touched.
    public enum Effect: Equatable, Sendable {
        /// Nothing.
        case none
        /// Sets the `read` registers; the items in `unseen` have not been seen after it, all others have. So have those of
        /// `alsoSeen`, whose registers somebody else's choice keeps.
        case read(items: [ItemID], on: Bool, passive: Bool, unseen: [ItemID], alsoSeen: [ItemID] = [])
        /// Raises `seen`.
        case seen(items: [ItemID])
        /// Sets the `archived` registers.
        case archive(items: [ItemID], on: Bool)
        /// Deletes.
        case delete(items: [ItemID])
        /// Adds a mark and raises the rank of the excepted registers.
        case mark(MarkKind, upTo: Position, except: [ItemID])
        /// Adds or removes one interest of the device.
        case interest(name: String, on: Bool)
        /// Replaces the device's interests.
        case interests([String])
        /// Sets a preference cell.
        case preference(PreferenceKey, enabled: Bool)
        /// Adds the first fact of its kind about an item.
        case fact(item: ItemID, event: String, data: RawJSON?)
        /// Sets the device's push token; nothing that a replica folds. An empty one takes it away.
        case token(String, platform: String?)
        /// Binds the device to a user, or frees it; nothing that a replica folds.
        case user(id: String?)
        /// The device is no more.
        case end
    }

    /// An act of its parts.
    public init(
        author: Author, n: Int64?, uid: UInt64, itime: Milliseconds, outcome: Outcome, results: [ItemOutcome] = [],
        effect: Effect = .none
    ) {
        self.author = author
        self.n = n
        self.uid = uid
        self.itime = itime
        self.outcome = outcome
        self.results = results
        self.effect = effect
    }

    init(_ object: JSONObject) throws(JSONError) {
        guard let author = Author(try object.required("by", object.string("by"))) else {
            throw JSONError("'by' is no author")
        }
        var results: [ItemOutcome] = []
        for raw in try object.array("results") ?? [] {
            let result = try JSONObject(raw)
            results.append(
                ItemOutcome(
                    items: try result.required("items", result.items("items")),
                    outcome: try Outcome(result.required("outcome", result.object("outcome")))))
        }
        self.init(
            author: author, n: try object.int("n"), uid: try object.hex("uid"),
            itime: try object.required("itime", object.int("itime")),
            outcome: try Outcome(object.required("outcome", object.object("outcome"))), results: results,
            effect: try Effect(object.object("effect")))
    }

    func write(to writer: inout JSONWriter) {
        writer.member("by", author.description)
        writer.member("n", n)
        writer.member("uid", Hex64.text(uid))
        writer.member("itime", itime)
        writer.key("outcome")
        outcome.write(to: &writer)
        if !results.isEmpty {
            writer.key("results")
            writer.beginArray()
            for result in results {
                writer.beginObject()
                writer.member("items", result.items)
                writer.key("outcome")
                result.outcome.write(to: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
        effect.write(to: &writer)
    }
}

extension Act.Effect {
    /// Whether this version knows the effect; one of a later version must not be quarantined and reported.
    static func isKnown(_ object: JSONObject?) throws(JSONError) -> Bool {
        guard let word = try object?.string("set") else { return true }
        return [
            "read", "seen", "archive", "delete", "mark", "interest", "interests", "preference", "fact", "token", "user",
            "end",
        ].contains(word)
    }

    init(_ object: JSONObject?) throws(JSONError) {
        guard let object else {
            self = .none
            return
        }
        switch try object.required("set", object.string("set")) {
        case "read":
            self = .read(
                items: try object.required("items", object.items("items")),
                on: try object.required("on", object.bool("on")), passive: try object.bool("passive") ?? false,
                unseen: try object.items("unseen") ?? [], alsoSeen: try object.items("alsoSeen") ?? [])
        case "seen": self = .seen(items: try object.required("items", object.items("items")))
        case "archive":
            self = .archive(
                items: try object.required("items", object.items("items")),
                on: try object.required("on", object.bool("on")))
        case "delete": self = .delete(items: try object.required("items", object.items("items")))
        case "mark":
            guard let kind = MarkKind(rawValue: try object.required("kind", object.string("kind"))) else {
                throw JSONError("'kind' is none of read, seen, archive")
            }
            self = .mark(
                kind, upTo: try object.required("upTo", object.int("upTo")), except: try object.items("except") ?? [])
        case "preference":
            self = .preference(
                PreferenceKey(
                    category: try object.required("category", object.string("category")),
                    channel: try object.required("channel", object.string("channel"))),
                enabled: try object.required("enabled", object.bool("enabled")))
        case "fact":
            self = .fact(
                item: try object.item("item"), event: try object.required("event", object.string("event")),
                data: object.raw("data"))
        default: self = try Self.device(object)
        }
    }

    /// The effects that only a device's inbox has.
    private static func device(_ object: JSONObject) throws(JSONError) -> Act.Effect {
        switch try object.required("set", object.string("set")) {
        case "interest":
            return .interest(
                name: try object.required("name", object.string("name")),
                on: try object.required("on", object.bool("on")))
        case "interests": return .interests(try object.strings("names"))
        case "token":
            return .token(
                try object.required("token", object.string("token")), platform: try object.string("platform"))
        case "user": return .user(id: try object.string("id"))
        case "end": return .end
        default: throw JSONError("'set' is no effect that this version knows")
        }
    }

    func write(to writer: inout JSONWriter) {
        if self == .none { return }
        writer.key("effect")
        writer.beginObject()
        switch self {
        case .none: break
        case .read(let items, let on, let passive, let unseen, let alsoSeen):
            writer.member("set", "read")
            writer.member("items", items)
            writer.member("on", on)
            if passive { writer.member("passive", true) }
            if !unseen.isEmpty { writer.member("unseen", unseen) }
            if !alsoSeen.isEmpty { writer.member("alsoSeen", alsoSeen) }
        case .seen(let items):
            writer.member("set", "seen")
            writer.member("items", items)
        case .archive(let items, let on):
            writer.member("set", "archive")
            writer.member("items", items)
            writer.member("on", on)
        case .delete(let items):
            writer.member("set", "delete")
            writer.member("items", items)
        case .mark(let kind, let upTo, let except):
            writer.member("set", "mark")
            writer.member("kind", kind.rawValue)
            writer.member("upTo", upTo)
            if !except.isEmpty { writer.member("except", except) }
        case .preference(let key, let enabled):
            writer.member("set", "preference")
            writer.member("category", key.category)
            writer.member("channel", key.channel)
            writer.member("enabled", enabled)
        case .fact(let item, let event, let data):
            writer.member("set", "fact")
            writer.member("item", item.description)
            writer.member("event", event)
            writer.member("data", raw: data)
        case .interest, .interests, .token, .user, .end: writeDevice(to: &writer)
        }
        writer.endObject()
    }

    private func writeDevice(to writer: inout JSONWriter) {
        switch self {
        case .interest(let name, let on):
            writer.member("set", "interest")
            writer.member("name", name)
            writer.member("on", on)
        case .interests(let names):
            writer.member("set", "interests")
            writer.member("names", names)
        case .token(let token, let platform):
            writer.member("set", "token")
            writer.member("token", token)
            writer.member("platform", platform)
        case .user(let id):
            writer.member("set", "user")
            writer.member("id", id)
        case .end: writer.member("set", "end")
        default: preconditionFailure("written above")
        }
    }
}

extension JSONObject {
    /// One item id that must be there.
    func item(_ key: StaticString) throws(JSONError) -> ItemID {
        guard let value = raw(key), value.first == UInt8(ascii: "\""),
            let id = ItemID(utf8: value.dropFirst().dropLast())
        else { throw JSONError("'\(key)' is no item id") }
        return id
    }
}
