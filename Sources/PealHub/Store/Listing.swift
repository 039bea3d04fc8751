package import PealModel

/// Which items of an inbox are wanted. Nil members do not filter.
package struct ListQuery: Equatable, Sendable {
    /// Only read ones, or only unread ones.
    package var read: Bool?
    /// Only seen ones, or only unseen ones.
    package var seen: Bool?
    /// Only archived ones, or only others.
    package var archived: Bool?
    /// Any of these categories.
    package var categories: [String]?
    /// Any of these topics.
    package var topics: [String]?
    /// Items a page, 1 to 100.
    package var perPage: Int
    /// Which page.
    package var start: Start
    /// The moment: what has expired by then is left out.
    package var now: Milliseconds

    /// Where a page begins.
    package enum Start: Equatable, Sendable {
        /// The so-manieth page, from 1.
        case page(Int)
        /// Below a position; new items neither repeat nor hide any.
        case below(Position)
    }

    /// A query; everything by default.
    package init(
        read: Bool? = nil, seen: Bool? = nil, archived: Bool? = nil, categories: [String]? = nil,
        topics: [String]? = nil, perPage: Int = 15, start: Start = .page(1), now: Milliseconds
    ) {
        self.read = read
        self.seen = seen
        self.archived = archived
        self.categories = categories
        self.topics = topics
        self.perPage = perPage
        self.start = start
        self.now = now
    }
}

/// An item with what is true of it now.
package struct ListedItem: Equatable, Sendable {
    /// The item.
    package var id: ItemID
    /// Its place in the log, and its number.
    package var position: Position
    /// The publish that it came from.
    package var publish: String
    /// When it was appended.
    package var time: Milliseconds
    /// The publisher's part.
    package var body: ItemBody
    /// When it was first read, bounded by what the hub knows; nil for unread.
    package var readAt: Milliseconds?
    /// When it was first seen; nil for unseen.
    package var seenAt: Milliseconds?
    /// When it was archived; nil for not archived.
    package var archivedAt: Milliseconds?

    /// An item of its parts.
    package init(
        id: ItemID, position: Position, publish: String, time: Milliseconds, body: ItemBody,
        readAt: Milliseconds? = nil, seenAt: Milliseconds? = nil, archivedAt: Milliseconds? = nil
    ) {
        self.id = id
        self.position = position
        self.publish = publish
        self.time = time
        self.body = body
        self.readAt = readAt
        self.seenAt = seenAt
        self.archivedAt = archivedAt
    }
}

/// One page of a list, newest first, with counts over everything that matches the filter.
package struct ListPage: Equatable, Sendable {
    /// The items.
    package var items: [ListedItem]
    /// How many match.
    package var total: Int
    /// How many of them are unread.
    package var unread: Int
    /// How many of them are unseen.
    package var unseen: Int
    /// Where the next page goes on (``ListQuery/Start/below(_:)``); nil where none is left.
    package var next: Position?
    /// The head of the log that the list is of: what an act on it has `observed`.
    package var head: Position

    /// A page of its parts.
    package init(items: [ListedItem], total: Int, unread: Int, unseen: Int, next: Position?, head: Position) {
        self.items = items
        self.total = total
        self.unread = unread
        self.unseen = unseen
        self.next = next
        self.head = head
    }
}
