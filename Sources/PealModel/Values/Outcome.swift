/// What became of a mutation, or of one item of it (docs/sync.md section 5).
public struct Outcome: Hashable, Sendable {
    /// What became of it; open, so that a newer hub's word is kept.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String
        /// A code of its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It took effect.
        public static let applied = Code(rawValue: "applied")
        /// It was so already.
        public static let noop = Code(rawValue: "noop")
        /// A concurrent act of somebody else stands; a success that can be explained.
        public static let superseded = Code(rawValue: "superseded")
        /// The item was deleted before.
        public static let gone = Code(rawValue: "gone")
        /// The same act had arrived by another way.
        public static let duplicate = Code(rawValue: "duplicate")
        /// Not allowed.
        public static let denied = Code(rawValue: "denied")
        /// Understood and wrong.
        public static let invalid = Code(rawValue: "invalid")
        /// Over a limit.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// This hub does not know the operation.
        public static let unknownOp = Code(rawValue: "unknownOp")
        /// It made the hub fail three times.
        public static let poison = Code(rawValue: "poison")
        /// A `void` took its number.
        public static let void = Code(rawValue: "void")
    }

    /// What became of it.
    public var code: Code
    /// For `superseded`: whose act stands.
    public var author: Author?
    /// For `superseded`: the position of the act that stands.
    public var position: Position?
    /// For a dead letter: a sentence for a person.
    public var reason: String?

    /// An outcome of its parts.
    public init(_ code: Code, author: Author? = nil, position: Position? = nil, reason: String? = nil) {
        self.code = code
        self.author = author
        self.position = position
        self.reason = reason
    }

    /// It took effect.
    public static let applied = Outcome(.applied)
    /// It was so already.
    public static let noop = Outcome(.noop)
    /// The item was deleted before.
    public static let gone = Outcome(.gone)
    /// The same act had arrived by another way.
    public static let duplicate = Outcome(.duplicate)

    /// Whether it makes the mutation a dead letter, which a person can retry or discard.
    public var isDead: Bool {
        switch code {
        case .denied, .invalid, .tooLarge, .unknownOp, .poison: true
        default: false
        }
    }

    /// Decodes an outcome.
    ///
    /// - Throws: ``JSONError`` that names the member.
    public init(_ object: JSONObject) throws(JSONError) {
        var author: Author?
        if let text = try object.string("author") {
            author = Author(text)
            if author == nil { throw JSONError("'author' is no author") }
        }
        self.init(
            Code(rawValue: try object.required("code", object.string("code"))), author: author,
            position: try object.int("position"), reason: try object.string("reason"))
    }

    /// Writes the outcome as an object.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("code", code.rawValue)
        writer.member("author", author?.description)
        writer.member("position", position)
        writer.member("reason", reason)
        writer.endObject()
    }
}

/// The outcome of some items of a mutation that differs from the outcome of the whole.
public struct ItemOutcome: Equatable, Sendable {
    /// The items.
    public var items: [ItemID]
    /// What became of them.
    public var outcome: Outcome

    /// An outcome for some items.
    public init(items: [ItemID], outcome: Outcome) {
        self.items = items
        self.outcome = outcome
    }
}
