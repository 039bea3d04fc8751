/// The categories and channels of a project: labels, defaults and what is required. One versioned entry that every user's log
/// gets (docs/sync.md section 3).
public struct Catalogue: Equatable, Sendable {
    /// Grows with each change; 1 is the first.
    public var version: Int64
    /// In the order in which a person is shown them.
    public var categories: [Category]

    /// A kind of notification.
    public struct Category: Equatable, Sendable {
        /// What items and preferences name.
        public var slug: String
        /// What a person reads.
        public var label: String
        /// The channels by which it can come.
        public var channels: [Channel]

        /// A category of its parts.
        public init(slug: String, label: String, channels: [Channel]) {
            self.slug = slug
            self.label = label
            self.channels = channels
        }
    }

    /// A way by which notifications of a category can come.
    public struct Channel: Equatable, Sendable {
        /// What preferences name.
        public var slug: String
        /// What a person reads.
        public var label: String
        /// The default.
        public var enabled: Bool
        /// Nobody may switch it off.
        public var required: Bool

        /// A channel of its parts.
        public init(slug: String, label: String, enabled: Bool = true, required: Bool = false) {
            self.slug = slug
            self.label = label
            self.enabled = enabled
            self.required = required
        }
    }

    /// A catalogue of its parts.
    public init(version: Int64, categories: [Category]) {
        self.version = version
        self.categories = categories
    }

    /// The channel of a preference; nil where the catalogue does not know it.
    public func channel(_ key: PreferenceKey) -> Channel? {
        categories.first { $0.slug.utf8.elementsEqual(key.category.utf8) }?
            .channels.first { $0.slug.utf8.elementsEqual(key.channel.utf8) }
    }

    /// What is wrong with it, as a sentence; nil where a hub can take it: slugs are slugs and occur once, and the whole is at
    /// most ``Limits/catalogue`` bytes.
    public var problem: String? {
        var known = Set<PreferenceKey>()
        var slugs = Set<[UInt8]>()
        for category in categories {
            guard Limits.isSlug(category.slug) else {
                return "a category's slug is not 1 to \(Limits.slug) bytes of text"
            }
            guard slugs.insert(Array(category.slug.utf8)).inserted else { return "a category occurs twice" }
            for channel in category.channels {
                guard Limits.isSlug(channel.slug) else {
                    return "a channel's slug is not 1 to \(Limits.slug) bytes of text"
                }
                guard known.insert(PreferenceKey(category: category.slug, channel: channel.slug)).inserted else {
                    return "a channel occurs twice in a category"
                }
            }
        }
        let count = bytes.count
        return count > Limits.catalogue ? "it has \(count) bytes, at most \(Limits.catalogue) are replicated" : nil
    }

    /// Decodes a catalogue.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public init(_ object: JSONObject) throws(JSONError) {
        version = try object.required("version", object.int("version"))
        categories = try Self.categories(object)
    }

    /// Decodes the member `categories`, which a person writes too: labels default to the slugs, `enabled` to true, `required`
    /// to false.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public static func categories(_ object: JSONObject) throws(JSONError) -> [Category] {
        var categories: [Category] = []
        for raw in try object.required("categories", object.array("categories")) {
            let category = try JSONObject(raw)
            let slug = try category.required("slug", category.string("slug"))
            var channels: [Channel] = []
            for raw in try category.array("channels") ?? [] {
                let channel = try JSONObject(raw)
                let slug = try channel.required("slug", channel.string("slug"))
                channels.append(
                    Channel(
                        slug: slug, label: try channel.string("label") ?? slug,
                        enabled: try channel.bool("enabled") ?? true, required: try channel.bool("required") ?? false))
            }
            categories.append(
                Category(slug: slug, label: try category.string("label") ?? slug, channels: channels))
        }
        return categories
    }

    /// Writes the catalogue's members into an object that is open.
    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.key("categories")
        writer.beginArray()
        for category in categories {
            writer.beginObject()
            writer.member("slug", category.slug)
            writer.member("label", category.label)
            writer.key("channels")
            writer.beginArray()
            for channel in category.channels {
                writer.beginObject()
                writer.member("slug", channel.slug)
                writer.member("label", channel.label)
                writer.member("enabled", channel.enabled)
                if channel.required { writer.member("required", true) }
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    /// The encoded catalogue, one JSON object.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
        return writer.bytes
    }
}
