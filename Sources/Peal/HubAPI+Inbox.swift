public import Foundation
public import PealModel
public import PealReplica

/// A user's inbox as the hub has it: the list, acts on it, preferences.
extension HubAPI {
    /// An item of a user's list.
    public struct Notification: Sendable, Equatable, Identifiable {
        /// The item's id.
        public let id: String
        /// Its position in the inbox.
        public let number: Int
        /// What was published.
        public let message: Message
        /// When it was sent.
        public let sentDate: Date
        /// When it was seen, first; nil for not yet.
        public let seenDate: Date?
        /// When it was read; nil for not read.
        public let readDate: Date?
        /// When it was archived; nil for not archived.
        public let archivedDate: Date?

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            number = try json.whole("number")
            message = Message(
                title: try json.text("title"), content: json["content"]?.stringValue, type: try json.text("type"),
                actionURL: json["action_url"]?.stringValue, category: json["category"]?.stringValue,
                topic: json["topic"]?.stringValue, customAttributes: try json.member("custom_attributes"))
            sentDate = try json.date("sent_at")
            seenDate = json.anyDate("seen_at")
            readDate = json.anyDate("read_at")
            archivedDate = json.anyDate("archived_at")
        }
    }

    /// A page of a user's list. The counts follow the filter.
    public struct NotificationPage: Sendable, Equatable {
        /// The items, newest first.
        public let notifications: [Notification]
        /// How many the filter lists.
        public let total: Int
        /// How many of them are unread.
        public let unreadCount: Int
        /// How many of them are unseen.
        public let unseenCount: Int
        /// How far the inbox's log had come: pass it with an act on what this page shows.
        public let position: Position
        /// The cursor of the next page; nil where none is left.
        public let after: String?
    }

    /// Which items a page lists; nil and empty mean any.
    public struct NotificationFilter: Sendable, Equatable {
        /// Only read, or only unread ones.
        public var read: Bool?
        /// Only seen, or only unseen ones.
        public var seen: Bool?
        /// Only archived ones, or only others.
        public var archived: Bool?
        /// Any of these categories; the hub takes a comma for the end of a name.
        public var categories: [String] = []
        /// Any of these topics; likewise.
        public var topics: [String] = []

        /// A filter of its parts.
        public init(
            read: Bool? = nil, seen: Bool? = nil, archived: Bool? = nil, categories: [String] = [],
            topics: [String] = []
        ) {
            self.read = read
            self.seen = seen
            self.archived = archived
            self.categories = categories
            self.topics = topics
        }
    }

    /// A page of a user's list, newest first. For a user.
    ///
    /// - Parameters:
    ///   - filter: which items.
    ///   - after: the cursor that the page before gave; nil for the first.
    ///   - limit: items of a page, 1 to 100.
    public func notifications(
        _ filter: NotificationFilter = NotificationFilter(), after: String? = nil, limit: Int = 15
    ) async throws(PealError) -> NotificationPage {
        func flag(_ value: Bool?) -> String? { value.map { $0 ? "true" : "false" } }
        var query: [(String, String?)] = [
            ("per_page", String(limit)), ("after", after), ("read", flag(filter.read)), ("seen", flag(filter.seen)),
            ("archived", flag(filter.archived)),
        ]
        query += filter.categories.map { ("categories[]", $0) } + filter.topics.map { ("topics[]", $0) }
        return try await call(.listNotifications, Request(query: query)) { (json) throws(ShapeError) in
            NotificationPage(
                notifications: try json.list("notifications") { (one) throws(ShapeError) in try Notification(one) },
                total: try json.whole("total"), unreadCount: try json.whole("unread_count"),
                unseenCount: try json.whole("unseen_count"), position: Position(try json.whole("position")),
                after: json["after"]?.stringValue)
        }
    }

    /// One item. For a user.
    public func notification(_ id: String) async throws(PealError) -> Notification {
        try await call(.showNotification, Request(parameters: [id])) { (json) throws(ShapeError) in
            try Notification(json.member("notification"))
        }
    }

    /// What can be done with an item.
    public enum ItemAct: Sendable, CaseIterable {
        /// Marks it read, and so seen; reading twice keeps the first time.
        case read
        /// Marks it unread.
        case unread
        /// Marks it seen.
        case see
        /// Archives it.
        case archive
        /// Takes it out of the archive.
        case unarchive
        /// Deletes it for good.
        case delete

        var operation: HubOperation {
            switch self {
            case .read: .readNotification
            case .unread: .unreadNotification
            case .see: .seeNotification
            case .archive: .archiveNotification
            case .unarchive: .unarchiveNotification
            case .delete: .deleteNotification
            }
        }
    }

    /// Does something with an item; durable when it returns. For a user.
    ///
    /// - Parameters:
    ///   - act: what.
    ///   - id: the item's id.
    ///   - position: ``NotificationPage/position`` of the list that the person acted on, which decides against concurrent acts (docs/sync.md section 5);
    ///     nil for the inbox as it is.
    public func perform(_ act: ItemAct, on id: String, position: Position? = nil) async throws(PealError) {
        try await call(act.operation, Request(parameters: [id], query: [("position", position.map { String($0) })]))
    }

    /// Marks every item read, or those of categories or topics. For a user.
    ///
    /// - Parameters:
    ///   - categories: only these; none of them may hold a comma.
    ///   - topics: only these; none of them may hold a comma.
    ///   - position: as for ``perform(_:on:position:)``; nothing above it is touched.
    public func markAllRead(
        categories: [String] = [], topics: [String] = [], position: Position? = nil
    ) async throws(PealError) {
        try await call(.readAll, Self.marking(categories, topics, position))
    }

    /// Marks every item seen, as ``markAllRead(categories:topics:position:)`` does read.
    public func markAllSeen(
        categories: [String] = [], topics: [String] = [], position: Position? = nil
    ) async throws(PealError) {
        try await call(.seeAll, Self.marking(categories, topics, position))
    }

    private static func marking(_ categories: [String], _ topics: [String], _ position: Position?) -> Request {
        func list(_ names: [String]) -> String? { names.isEmpty ? nil : names.joined(separator: ",") }
        return Request(query: [
            ("category", list(categories)), ("topic", list(topics)), ("position", position.map { String($0) }),
        ])
    }

    // MARK: Preferences

    /// A user's preferences: what was chosen, else the project's defaults. For a user.
    public func preferences() async throws(PealError) -> NotificationPreferences {
        try await call(.preferences) { (json) throws(ShapeError) in try Self.preferences(json) }
    }

    /// Chooses; what is not named stays. All choices take effect or none does. For a user.
    ///
    /// - Returns: all of them, after the change.
    public func setPreferences(
        _ preferences: NotificationPreferences
    ) async throws(PealError) -> NotificationPreferences {
        let categories = preferences.categories.map { category in
            let channels = category.channels.map { channel in
                JSON.members([("slug", .string(channel.slug)), ("enabled", .bool(channel.enabled))])
            }
            return JSON.members([("slug", .string(category.slug)), ("channels", .array(channels))])
        }
        let body = JSON.members([("notification_preferences", .members([("categories", .array(categories))]))])
        return try await call(.setPreferences, Request(body: body)) { (json) throws(ShapeError) in
            try Self.preferences(json)
        }
    }

    private static func preferences(_ json: JSON) throws(ShapeError) -> NotificationPreferences {
        NotificationPreferences(
            categories: try json.member("notification_preferences").list("categories") { (one) throws(ShapeError) in
                let channels = try one.list("channels") { (channel) throws(ShapeError) in
                    NotificationPreferences.Channel(
                        slug: try channel.text("slug"), label: try channel.text("label"),
                        enabled: try channel.flag("enabled"))
                }
                return NotificationPreferences.Category(
                    slug: try one.text("slug"), label: try one.text("label"), channels: channels)
            })
    }

    /// The project's categories and channels; version 0 where none were set. For a project's back end.
    public func categories() async throws(PealError) -> Catalogue {
        try await call(.categories) { (json) throws(ShapeError) in try Self.catalogue(json) }
    }

    /// Replaces the project's categories and channels; connected devices get them at once. For a project's back end.
    public func setCategories(_ categories: [Catalogue.Category]) async throws(PealError) -> Catalogue {
        let all = Catalogue(version: 0, categories: categories)
        let body = (try? JSON(all.bytes[...]))?["categories"] ?? .array([])
        return try await call(.setCategories, Request(body: .members([("categories", body)]))) {
            (json) throws(ShapeError) in try Self.catalogue(json)
        }
    }

    private static func catalogue(_ json: JSON) throws(ShapeError) -> Catalogue {
        do {
            return try Catalogue(JSONObject(json.bytes[...]))
        } catch {
            throw ShapeError(member: "categories")
        }
    }

    // MARK: Standing

    /// Where an inbox stands, for ``PealReplica/ReplicaReader/verify(hub:items:)``. For a user, or for a project's back end with `inbox`.
    ///
    /// - Parameters:
    ///   - inbox: the inbox's id; nil for that of the user.
    ///   - position: where the file stands: the answer tells the chain there too.
    public func standing(inbox: String? = nil, position: Position? = nil) async throws(PealError) -> HubStanding {
        let request = Request(query: [("inbox", inbox), ("position", position.map { String($0) })])
        return try await call(.inboxStanding, request) { (json) throws(ShapeError) in
            func hex(_ key: String) throws(ShapeError) -> UInt64 {
                guard let value = Hex64.parse(try json.text(key)) else { throw ShapeError(member: key) }
                return value
            }
            return HubStanding(
                inbox: try json.text("inbox"), epoch: try hex("epoch"), position: Position(try json.whole("position")),
                chain: try hex("chain"), sum: try hex("sum"),
                chainAsked: json["chain_asked"]?.stringValue.flatMap { Hex64.parse($0) },
                counts: Counts(
                    total: Int64(try json.whole("total")), unread: Int64(try json.whole("unread_count")),
                    unseen: Int64(try json.whole("unseen_count"))), time: Milliseconds(try json.whole("time")))
        }
    }
}
