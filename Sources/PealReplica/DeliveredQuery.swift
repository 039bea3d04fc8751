public import PealModel

/// Which items are wanted. Lists are OR inside and AND across; nil means any.
public struct DeliveredQuery: Hashable, Sendable {
    /// `message`, `survey`, …
    public var type: String?
    /// Slugs of categories; an item without one matches none.
    public var categories: [String]?
    /// Topics; an item without one matches none.
    public var topics: [String]?
    /// Interests, in a device's inbox: an item has one where it was published to it and the device had it then; an item of a user's inbox
    /// has none.
    public var interests: [String]?
    /// Whether read.
    public var read: Bool?
    /// Whether seen.
    public var seen: Bool?
    /// Whether archived; by default those that are not.
    public var archived: Bool?
    /// Appended at this hub time or later, in milliseconds since 1970.
    public var since: Milliseconds?
    /// Appended before this hub time.
    public var until: Milliseconds?
    /// What somebody searches for: words that stand in title or content, all of them, in any order, the last one as the beginning of a word.
    /// Words are runs of letters and digits; case and diacritics do not matter, and no character means anything else. The first 32 words
    /// count. Blank text asks for nothing and any item has it; text of signs alone finds nothing. Where words are not written apart, as in
    /// Chinese, what stands between two signs is one word.
    public var text: String?

    /// A query of its parts; by default the whole inbox.
    public init(
        type: String? = nil, categories: [String]? = nil, topics: [String]? = nil, interests: [String]? = nil,
        read: Bool? = nil, seen: Bool? = nil, archived: Bool? = false, since: Milliseconds? = nil,
        until: Milliseconds? = nil,
        text: String? = nil
    ) {
        self.type = type
        self.categories = categories
        self.topics = topics
        self.interests = interests
        self.read = read
        self.seen = seen
        self.archived = archived
        self.since = since
        self.until = until
        self.text = text
    }
}

/// One item as it is shown: base and overlay together.
public struct DeliveredItem: Equatable, Sendable, Identifiable {
    /// The hub's id.
    public var id: ItemID
    /// Its place in the inbox, the integer that APIs want.
    public var number: Position
    /// The publish that it came from; the same in every inbox.
    public var publish: String
    /// When the hub delivered it into the inbox, in milliseconds since 1970.
    public var time: Milliseconds
    /// When it was sent.
    public var sent: Milliseconds
    /// `message`, `survey`, `video`, `image`, `audio` or the app's own word.
    public var type: String
    /// The slug of its category.
    public var category: String?
    /// Its topic.
    public var topic: String?
    /// When it expires.
    public var expires: Milliseconds?
    /// Delivered to the app, listed and counted nowhere.
    public var silent: Bool
    /// Whether it is read.
    public var read: Bool
    /// Whether it is seen.
    public var seen: Bool
    /// Whether it is archived.
    public var archived: Bool
    /// The publisher's part, raw JSON.
    public var body: RawJSON

    /// Decodes the publisher's part.
    ///
    /// - Throws: `JSONError` where the hub sent something else.
    public func decodeBody() throws(JSONError) -> ItemBody { try ItemBody(JSONObject(body)) }
}

/// Where a page ended, and so where the next begins; stable while items come and go.
public struct PageCursor: Hashable, Sendable {
    /// The next page holds items below this position.
    public var before: Position

    /// A cursor.
    public init(before: Position) { self.before = before }
}

/// A position of the log that somebody was looking at when they acted, with the hub's time of its entry.
public struct ViewPosition: Hashable, Sendable {
    /// The position; goes into a mutation's `observed`.
    public var position: Position
    /// Its time; goes into `observedTime`.
    public var time: Milliseconds

    /// A view position.
    public init(position: Position, time: Milliseconds) {
        self.position = position
        self.time = time
    }
}

/// A page of items, newest delivery first.
public struct DeliveredPage: Equatable, Sendable {
    /// The items.
    public var items: [DeliveredItem]
    /// Where to go on; nil at the end.
    public var next: PageCursor?
    /// What the page shows the state of: give it to ``Replica/enqueue(_:observed:hold:)``.
    public var view: ViewPosition
    /// A first snapshot is being loaded (docs/sync.md section 7): older items are still to come, and the end is none.
    public var isPartial: Bool
}

/// How many items there are; listed ones only: not silent, expired, archived or deleted.
public struct Counts: Hashable, Sendable {
    /// All of them.
    public var total: Int64
    /// Those that are not read.
    public var unread: Int64
    /// Those that are not seen.
    public var unseen: Int64
    /// A first snapshot is being loaded (docs/sync.md section 7): these are of what is there so far.
    public var isPartial: Bool

    /// Counts of their parts.
    public init(total: Int64 = 0, unread: Int64 = 0, unseen: Int64 = 0, isPartial: Bool = false) {
        self.total = total
        self.unread = unread
        self.unseen = unseen
        self.isPartial = isPartial
    }
}

/// An act that has not been settled, or a dead letter.
public struct OutboxItem: Equatable, Sendable, Identifiable {
    /// Where a mutation stands. The raw value is stored.
    public enum State: Int64, Sendable {
        /// It can still be taken back.
        case held = 0
        /// It waits to be sent.
        case queued = 1
        /// It was sent; the outcome has not come.
        case sent = 2
        /// It failed for good; a person can retry or discard it.
        case dead = 3
    }

    /// The act.
    public var id: UInt64
    /// Its number, once it was sent.
    public var n: Int64?
    /// Where it stands.
    public var state: State
    /// What was done; nil where the row is damaged.
    public var operation: Operation?
    /// When, by this device's clock, in milliseconds since 1970.
    public var acted: Milliseconds
    /// For a held one: until when it can be taken back, by this device's clock.
    public var heldUntil: Milliseconds?
    /// How often it was in flight when a connection was cut, as the first of its push.
    public var attempts: Int64
    /// It goes alone.
    public var suspect: Bool
    /// What became of a dead one; its `reason` is a sentence for a person.
    public var outcome: Outcome?
}
