/// One register of an item (`read`, `archived`): its value and what a later act is judged against (docs/sync.md section 5).
public struct Register: Equatable, Sendable {
    /// The value that the last accepted act set.
    public var value: Bool
    /// Whether that act was a mere "was shown".
    public var passive: Bool
    /// The position of the person's act.
    public var since: Position
    /// Where it last stood: `since`, or the version of a mark that spared it.
    public var rank: Position
    /// When the person acted, bounded by what the hub knows (docs/sync.md section 5, bounded intent time).
    public var itime: Milliseconds
    /// Who acted.
    public var author: Author
    /// The act.
    public var uid: UInt64

    /// A register of its parts.
    public init(
        value: Bool, passive: Bool, since: Position, rank: Position, itime: Milliseconds, author: Author, uid: UInt64
    ) {
        self.value = value
        self.passive = passive
        self.since = since
        self.rank = rank
        self.itime = itime
        self.author = author
        self.uid = uid
    }

    /// Decodes a register of a snapshot row.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public init(_ object: JSONObject) throws(JSONError) {
        guard let author = Author(try object.required("by", object.string("by"))) else {
            throw JSONError("'by' is no author")
        }
        let since = try object.required("since", object.int("since"))
        self.init(
            value: try object.required("value", object.bool("value")), passive: try object.bool("passive") ?? false,
            since: since, rank: try object.int("rank") ?? since,
            itime: try object.required("itime", object.int("itime")), author: author,
            uid: try object.hex("uid"))
    }

    /// Writes the register as an object.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    /// Writes the register's members into an object that is open.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("value", value)
        if passive { writer.member("passive", true) }
        writer.member("since", since)
        if rank != since { writer.member("rank", rank) }
        writer.member("itime", itime)
        writer.member("by", author.description)
        writer.member("uid", Hex64.text(uid))
    }
}

/// What bulk acts there are. The raw value stands on the wire and in the files.
public enum MarkKind: String, Sendable, CaseIterable {
    /// Everything up to a position is read, and seen.
    case read
    /// Everything up to a position is seen.
    case seen
    /// Everything up to a position is archived.
    case archive
}

/// One bulk act: everything at or below `upTo`, as of the log position `version`.
public struct Mark: Hashable, Sendable {
    /// The last covered position.
    public var upTo: Position
    /// The position of the mark's entry.
    public var version: Position
    /// Whose act it was, where it is known: the hub names it when the mark wins. Not in snapshots, nor on a device.
    public var author: Author?

    /// A mark of its parts.
    public init(upTo: Position, version: Position, author: Author? = nil) {
        self.upTo = upTo
        self.version = version
        self.author = author
    }
}

/// The marks of one kind that still matter; only dominated pairs are dropped (docs/sync.md section 3).
public struct Frontier: Equatable, Sendable {
    /// By falling `upTo`, and so by rising `version`.
    public private(set) var marks: [Mark] = []

    /// The frontier of some marks.
    public init(_ marks: [Mark] = []) {
        for mark in marks { add(mark) }
    }

    /// Adds a mark unless another covers as much as lately, and drops those that it dominates. Order-free and idempotent.
    public mutating func add(_ mark: Mark) {
        guard !marks.contains(where: { $0.upTo >= mark.upTo && $0.version >= mark.version }) else { return }
        marks.removeAll { $0.upTo <= mark.upTo && $0.version <= mark.version }
        let index = marks.firstIndex { $0.upTo < mark.upTo } ?? marks.endIndex
        marks.insert(mark, at: index)
    }

    /// The version of the newest mark that covers a position; 0 where none does.
    public func newest(covering position: Position) -> Position {
        newestMark(covering: position)?.version ?? 0
    }

    /// The newest mark that covers a position; nil where none does.
    public func newestMark(covering position: Position) -> Mark? {
        marks.last { $0.upTo >= position }
    }
}

extension JSONObject {
    /// A member of 16 hexadecimal digits that must be there.
    func hex(_ key: StaticString) throws(JSONError) -> UInt64 {
        guard let value = try optionalHex(key) else { throw JSONError("'\(key)' is missing") }
        return value
    }

    /// A member of 16 hexadecimal digits, or nil where it is absent.
    func optionalHex(_ key: StaticString) throws(JSONError) -> UInt64? {
        guard let value = raw(key) else { return nil }
        guard value.first == UInt8(ascii: "\""), let hex = Hex64.parse(value.dropFirst().dropLast()) else {
            throw JSONError("'\(key)' is not 16 hexadecimal digits")
        }
        return hex
    }

    /// An array of item ids, or nil where it is absent.
    func items(_ key: StaticString) throws(JSONError) -> [ItemID]? {
        guard let elements = try array(key) else { return nil }
        var items: [ItemID] = []
        items.reserveCapacity(elements.count)
        for element in elements {
            guard element.first == UInt8(ascii: "\""), let id = ItemID(utf8: element.dropFirst().dropLast()) else {
                throw JSONError("'\(key)' holds something that is no item id")
            }
            items.append(id)
        }
        return items
    }
}

extension JSONWriter {
    /// Writes a member that is an array of item ids.
    mutating func member(_ key: StaticString, _ items: [ItemID]) {
        self.key(key)
        beginArray()
        for item in items { string(item.description) }
        endArray()
    }
}
