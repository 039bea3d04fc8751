public import Foundation
internal import PealModel
internal import PealReplica

/// Which delivered notifications are wanted. Lists are OR inside, everything is AND across; nil means any.
public struct NotificationQuery: Hashable, Sendable {
    /// ``NotificationType`` or a publisher's own word.
    public var type: String?
    /// Slugs of categories; a notification without one matches none.
    public var categories: [String]?
    /// Topics; a notification without one matches none.
    public var topics: [String]?
    /// Interests of this device: what was published to one of them while the device had it. What came to a user has none.
    public var interests: [String]?
    /// Whether read.
    public var read: Bool?
    /// Whether seen.
    public var seen: Bool?
    /// Whether archived; by default those that are not.
    public var archived: Bool?
    /// Delivered then or later.
    public var since: Date?
    /// Delivered before then.
    public var until: Date?
    /// What somebody searches for: see ``PealReplica/DeliveredQuery/text``.
    public var text: String?

    /// A query of its parts; by default everything that is not archived.
    public init(
        type: String? = nil, categories: [String]? = nil, topics: [String]? = nil, interests: [String]? = nil,
        read: Bool? = nil, seen: Bool? = nil, archived: Bool? = false, since: Date? = nil, until: Date? = nil,
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

    /// The same for one inbox.
    var delivered: DeliveredQuery {
        DeliveredQuery(
            type: type, categories: categories, topics: topics, interests: interests, read: read, seen: seen,
            archived: archived, since: since.map(Self.milliseconds), until: until.map(Self.milliseconds), text: text)
    }

    /// The first whole millisecond that is not before a time; the farthest one for a time that no hub has.
    private static func milliseconds(_ date: Date) -> Milliseconds {
        let time = (date.timeIntervalSince1970 * 1_000).rounded(.up)
        return Milliseconds(min(max(time, -9e15), 9e15))
    }
}

/// Where a page of ``PealClient/deliveredNotifications(_:after:limit:)`` ended, and so where the next begins. It stays good while notifications
/// come and go, users come and go, and over launches: keep its text where you like. What is inside it is nobody's business.
public struct NotificationCursor: Hashable, Sendable, Codable, LosslessStringConvertible {
    /// The delivery of the last one on the page.
    let time: Milliseconds
    /// By the checksum of an inbox's name: the number of its last one that was on a page.
    let places: [UInt64: Position]

    init(time: Milliseconds, places: [UInt64: Position]) {
        self.time = time
        self.places = places
    }

    /// The cursor of a text that ``description`` gave; nil for any other.
    public init?(_ description: String) {
        let parts = description.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0] == "1", let time = Milliseconds(parts[1]) else { return nil }
        var places: [UInt64: Position] = [:]
        for part in parts.dropFirst(2) {
            let pair = part.split(separator: "-", omittingEmptySubsequences: false)
            guard pair.count == 2, let name = Hex64.parse(String(pair[0])), let place = Position(pair[1]), place > 0,
                places.updateValue(place, forKey: name) == nil
            else { return nil }
        }
        self.init(time: time, places: places)
    }

    /// A text of digits, letters, dots and dashes.
    public var description: String {
        let places = places.sorted { $0.key < $1.key }.map { ".\(Hex64.text($0.key))-\($0.value)" }
        return "1.\(time)" + places.joined()
    }

    /// Decodes the text.
    ///
    /// - Throws: `DecodingError` for a text that is no cursor.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let cursor = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is no cursor")
        }
        self = cursor
    }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A page of delivered notifications of all inboxes of this device.
public struct NotificationPage: Equatable, Sendable {
    /// Newest delivery first.
    public let notifications: [DeliveredNotification]
    /// Where to go on; nil at the end.
    public let next: NotificationCursor?
    /// An inbox is being loaded for the first time: older ones are still to come.
    public let isPartial: Bool
}
