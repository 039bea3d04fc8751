/// Which preference: a category of the project and a channel. Compared by code units, as SQL and JSON do.
public struct PreferenceKey: Hashable, Comparable, Sendable {
    /// The slug of the category.
    public var category: String
    /// The slug of the channel.
    public var channel: String

    /// A key of its parts.
    public init(category: String, channel: String) {
        self.category = category
        self.channel = channel
    }

    /// Whether both parts have the same UTF-8; Swift's own equality of strings is canonical.
    public static func == (left: PreferenceKey, right: PreferenceKey) -> Bool {
        left.category.utf8.elementsEqual(right.category.utf8) && left.channel.utf8.elementsEqual(right.channel.utf8)
    }

    /// By the UTF-8 of both parts.
    public func hash(into hasher: inout Hasher) {
        for byte in category.utf8 { hasher.combine(byte) }
        hasher.combine(0xFF as UInt8)
        for byte in channel.utf8 { hasher.combine(byte) }
    }

    /// By category, then by channel, in the order of their UTF-8.
    public static func < (left: PreferenceKey, right: PreferenceKey) -> Bool {
        if left.category.utf8.elementsEqual(right.category.utf8) {
            return left.channel.utf8.lexicographicallyPrecedes(right.channel.utf8)
        }
        return left.category.utf8.lexicographicallyPrecedes(right.category.utf8)
    }
}

/// An opt-out that a preference cell remembers.
public struct OptOut: Equatable, Sendable {
    /// The position of the act.
    public var since: Position
    /// Who acted.
    public var author: Author
    /// The act.
    public var uid: UInt64

    /// An opt-out of its parts.
    public init(since: Position, author: Author, uid: UInt64) {
        self.since = since
        self.author = author
        self.uid = uid
    }
}

/// What a person chose for a category and a channel: a register with opt-out bias (docs/sync.md section 5).
public struct PreferenceCell: Equatable, Sendable {
    /// The value and the act that set it; never passive, and its rank is its `since`.
    public private(set) var register: Register
    /// The newest off; where the register is off, that very act.
    public private(set) var off: OptOut?
    /// The newest off by another author than that of ``off``.
    public private(set) var otherOff: OptOut?

    /// The cell that its first act makes.
    public init(_ register: Register) {
        self.register = register
        off = register.value ? nil : OptOut(since: register.since, author: register.author, uid: register.uid)
    }

    /// A stored cell. `off` counts only where the register is on: else it is the register's own act.
    public init(_ register: Register, off: OptOut?, otherOff: OptOut?) {
        self.init(register)
        if register.value { self.off = off }
        self.otherOff = otherOff
    }

    /// Folds an accepted act at its position; one that the cell has already is ignored.
    public mutating func fold(_ next: Register) {
        guard next.since > register.since else { return }
        let old = register
        register = next
        guard !next.value else { return }
        // Off on off renews, with the later intent.
        if !old.value { register.itime = max(old.itime, next.itime) }
        if let off, off.author != next.author { otherOff = off }
        off = OptOut(since: next.since, author: next.author, uid: next.uid)
    }

    /// Decodes a cell of a snapshot.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public init(_ object: JSONObject) throws(JSONError) {
        self.init(
            try Register(object), off: try OptOut(object.object("off")), otherOff: try OptOut(object.object("otherOff"))
        )
    }

    /// Writes the cell's members into an object that is open.
    public func writeMembers(to writer: inout JSONWriter) {
        register.writeMembers(to: &writer)
        if register.value { off?.write("off", to: &writer) }
        otherOff?.write("otherOff", to: &writer)
    }
}

extension OptOut {
    fileprivate init?(_ object: JSONObject?) throws(JSONError) {
        guard let object else { return nil }
        guard let author = Author(try object.required("by", object.string("by"))) else {
            throw JSONError("'by' is no author")
        }
        self.init(
            since: try object.required("since", object.int("since")), author: author, uid: try object.hex("uid"))
    }

    fileprivate func write(_ key: StaticString, to writer: inout JSONWriter) {
        writer.key(key)
        writer.beginObject()
        writer.member("since", since)
        writer.member("by", author.description)
        writer.member("uid", Hex64.text(uid))
        writer.endObject()
    }
}

/// A preference as a person is shown it: the choice, else the catalogue's default; a required channel is on.
public struct Preference: Equatable, Sendable {
    /// Which one.
    public var key: PreferenceKey
    /// The category's label; nil where the catalogue does not know the category.
    public var categoryLabel: String?
    /// The channel's label; nil where the catalogue does not know the channel.
    public var channelLabel: String?
    /// Whether notifications of the category may come by the channel.
    public var enabled: Bool
    /// The project does not let anybody switch it off.
    public var required: Bool
    /// Somebody has chosen; else it is the default.
    public var chosen: Bool

    /// A preference of its parts.
    public init(
        key: PreferenceKey, categoryLabel: String? = nil, channelLabel: String? = nil, enabled: Bool,
        required: Bool = false, chosen: Bool = false
    ) {
        self.key = key
        self.categoryLabel = categoryLabel
        self.channelLabel = channelLabel
        self.enabled = enabled
        self.required = required
        self.chosen = chosen
    }

    /// Every preference: those of the catalogue in its order, then choices that it does not know.
    ///
    /// - Parameters:
    ///   - choices: the value of each cell.
    ///   - catalogue: the project's; nil where there is none.
    public static func all(_ choices: [PreferenceKey: Bool], _ catalogue: Catalogue?) -> [Preference] {
        var rest = choices
        var all: [Preference] = []
        for category in catalogue?.categories ?? [] {
            for channel in category.channels {
                let key = PreferenceKey(category: category.slug, channel: channel.slug)
                let choice = rest.removeValue(forKey: key)
                all.append(
                    Preference(
                        key: key, categoryLabel: category.label, channelLabel: channel.label,
                        enabled: channel.required || choice ?? channel.enabled, required: channel.required,
                        chosen: choice != nil))
            }
        }
        for (key, value) in rest.sorted(by: { $0.key < $1.key }) {
            let category = catalogue?.categories.first { $0.slug.utf8.elementsEqual(key.category.utf8) }
            all.append(Preference(key: key, categoryLabel: category?.label, enabled: value, chosen: true))
        }
        return all
    }
}
