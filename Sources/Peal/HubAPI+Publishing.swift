public import Foundation
public import PealModel

/// Publishing, and what became of it.
extension HubAPI {
    /// What is published; its limits are the hub's (`GET /config`), which refuses what is beyond.
    public struct Message: Sendable, Equatable {
        /// The title; only a silent publish goes without.
        public var title: String?
        /// The text.
        public var content: String?
        /// `message`, which is the default, `survey`, `video`, `image`, `audio`, or the app's own.
        public var type: String?
        /// Where a tap leads.
        public var actionURL: String?
        /// The slug of a category.
        public var category: String?
        /// A topic, such as `order:42`.
        public var topic: String?
        /// One JSON object.
        public var customAttributes: JSON?

        /// A message of its parts.
        public init(
            title: String? = nil, content: String? = nil, type: String? = nil, actionURL: String? = nil,
            category: String? = nil, topic: String? = nil, customAttributes: JSON? = nil
        ) {
            self.title = title
            self.content = content
            self.type = type
            self.actionURL = actionURL
            self.category = category
            self.topic = topic
            self.customAttributes = customAttributes
        }

        func members(attributes: String) -> [(String, JSON?)] {
            [
                ("title", .text(title)), ("content", .text(content)), ("type", .text(type)),
                ("action_url", .text(actionURL)), ("category", .text(category)), ("topic", .text(topic)),
                (attributes, customAttributes),
            ]
        }
    }

    /// What only ``publish(_:interests:users:_:)`` can do with a message.
    public struct PublishOptions: Sendable, Equatable {
        /// The URL of a picture, film or sound.
        public var mediaURL: String?
        /// One JSON object with any of `apns`, `fcm` and `web`, which the app gets whole.
        public var platforms: JSON?
        /// Neither listed nor counted; the app gets it.
        public var isSilent = false
        /// In each inbox the item takes the place of the newest one that was published under the same key.
        public var collapseKey: String?
        /// When, at most a year ahead; nil for now.
        public var deliveryDate: Date?
        /// When the item goes by itself; nil for never.
        public var expiryDate: Date?

        /// Nothing special.
        public init() {}
    }

    /// A publish, as the hub keeps it.
    public struct Publish: Sendable, Equatable {
        /// Its id.
        public let id: String
        /// `scheduled`, `cancelled`, `refused`, `publishing`, `published` or `retracted`; an open set.
        public let status: String
        /// When it was published or is to be.
        public let date: Date
        /// Inboxes that it matched; 0 before its time.
        public let matched: Int
        /// When its items go; nil for never.
        public let expiryDate: Date?

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            status = try json.text("status")
            date = try json.date("time")
            matched = try json.whole("matched")
            expiryDate = json.anyDate("expires_at")
        }
    }

    /// What became of a publish in one inbox.
    public struct Delivery: Sendable, Equatable {
        /// Something that happened to the item there.
        public struct Event: Sendable, Equatable {
            /// `opened`, `clicked`, `dismissed` or `answered`; an open set.
            public let event: String
            /// When.
            public let date: Date
            /// What the app added.
            public let data: JSON?
        }

        /// The inbox's id.
        public let inbox: String
        /// Whether it is a device's, and not a user's.
        public let isDevice: Bool
        /// The user's external id, where it has one.
        public let externalId: String?
        /// The user's address, where it has one.
        public let email: String?
        /// The item's id and its number there.
        public let item: String
        /// The item's number in that inbox.
        public let number: Int
        /// Whether a device of the inbox has it.
        public let isDelivered: Bool
        /// When a platform's SDK reported the delivery.
        public let reportDate: Date?
        /// When it was seen, first.
        public let seenDate: Date?
        /// When it was read.
        public let readDate: Date?
        /// When it was archived.
        public let archivedDate: Date?
        /// Deleted, taken back, or its time is over.
        public let isGone: Bool
        /// What happened to it.
        public let events: [Event]

        init(_ json: JSON) throws(ShapeError) {
            inbox = try json.text("inbox")
            isDevice = try json.text("kind") == "device"
            externalId = json["external_id"]?.stringValue
            email = json["email"]?.stringValue
            item = try json.text("item")
            number = try json.whole("number")
            isDelivered = try json.flag("delivered")
            reportDate = json.anyDate("reported_at")
            seenDate = json.anyDate("seen_at")
            readDate = json.anyDate("read_at")
            archivedDate = json.anyDate("archived_at")
            isGone = try json.flag("gone")
            events = try json.list("facts") { (fact) throws(ShapeError) in
                Event(event: try fact.text("event"), date: try fact.date("time"), data: fact["data"])
            }
        }
    }

    /// A broadcast, as it was asked for.
    public struct Broadcast: Sendable, Equatable {
        /// Its id.
        public let id: String
        /// What was sent.
        public let message: Message
        /// To whom, as it was asked for.
        public let recipients: [JSON]
        /// When it was taken, ISO 8601 in UTC.
        public let createdAt: String
        /// Users that it matched.
        public let matched: Int

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            message = Message(
                title: try json.text("title"), content: json["content"]?.stringValue,
                actionURL: json["action_url"]?.stringValue, category: json["category"]?.stringValue,
                topic: json["topic"]?.stringValue, customAttributes: try json.member("custom_attributes"))
            recipients = try json.list("recipients") { $0 }
            createdAt = try json.text("created_at")
            matched = try json.member("status").member("summary").whole("total")
        }
    }

    /// Whom the interests surface publishes to.
    public enum Target: Sendable, Equatable {
        /// Devices that have one of 1 to 100 interests.
        case interests([String])
        /// 1 to 1,000 users, by external id.
        case users([String])
    }

    // MARK: Native

    /// Publishes to interests and users, at once or later. Each matching inbox gets one item. For a project's back end.
    ///
    /// - Returns: the publish; ``publish(_:after:limit:)`` tells what becomes of it.
    public func publish(
        _ message: Message, interests: [String] = [], users: [String] = [], _ options: PublishOptions = PublishOptions()
    ) async throws(PealError) -> Publish {
        var members = message.members(attributes: "attributes")
        if !interests.isEmpty { members.append(("interests", .texts(interests))) }
        if !users.isEmpty { members.append(("users", .texts(users))) }
        members += [
            ("media", .text(options.mediaURL)), ("silent", options.isSilent ? .bool(true) : nil),
            ("collapse_key", .text(options.collapseKey)), ("deliver_at", .seconds(options.deliveryDate)),
            ("expires_at", .seconds(options.expiryDate)),
        ]
        members += (options.platforms?.objectValue ?? []).map { ($0.key, $0.value) }
        return try await call(.publish, Request(body: .members(members))) { (json) throws(ShapeError) in
            try Publish(json.member("publish"))
        }
    }

    /// As ``publish(_:interests:users:_:)``, of a body that somebody else wrote, as `NewPublish` of schema/rest/openapi.yaml has it; the hub
    /// refuses what is wrong in it.
    package func publish(body: JSON) async throws(PealError) -> Publish {
        try await call(.publish, Request(body: body)) { (json) throws(ShapeError) in
            try Publish(json.member("publish"))
        }
    }

    /// A publish, and a page of what became of its items, in the order in which the inboxes got it. For a project's back end.
    ///
    /// - Parameters:
    ///   - id: the publish's id.
    ///   - after: the cursor that the page before gave; nil for the first.
    ///   - limit: deliveries of a page, 1 to 100.
    /// - Returns: also the next page's cursor; nil after the last.
    public func publish(
        _ id: String, after: String? = nil, limit: Int = 50
    ) async throws(PealError) -> (publish: Publish, deliveries: [Delivery], after: String?) {
        try await call(
            .showPublish, Request(parameters: [id], query: [("after", after), ("per_page", String(limit))])
        ) { (json) throws(ShapeError) in
            let deliveries = try json.list("deliveries") { (one) throws(ShapeError) in try Delivery(one) }
            return (try Publish(json.member("publish")), deliveries, json["after"]?.stringValue)
        }
    }

    /// Cancels a publish that waits, or takes the items of another one back. For a project's back end.
    public func takeBack(publish id: String) async throws(PealError) {
        try await call(.takeBack, Request(parameters: [id]))
    }

    // MARK: Interests surface

    /// Publishes platform objects, as the interests surface has them. For a project's back end.
    ///
    /// - Parameters:
    ///   - platforms: one JSON object with at least one of `apns`, `fcm` and `web`.
    ///   - target: to whom.
    ///   - isOldPath: takes the older path, which knows interests only.
    /// - Returns: the publish id.
    public func publish(
        platforms: JSON, to target: Target, isOldPath: Bool = false
    ) async throws(PealError) -> String {
        let names: (key: String, value: JSON)
        let operation: HubOperation
        switch target {
        case .interests(let all):
            names = ("interests", .texts(all))
            operation = isOldPath ? .publishToInterestsOld : .publishToInterests
        case .users(let all):
            guard !isOldPath else { throw PealError(.invalid, "the older path knows interests only") }
            (names, operation) = (("users", .texts(all)), .publishToUsers)
        }
        let request = Request(parameters: [try instance()], body: .object([names] + (platforms.objectValue ?? [])))
        return try await call(operation, request) { (json) throws(ShapeError) in try json.text("publishId") }
    }

    /// Reports, as a device's SDK does, that a notification arrived or was opened.
    ///
    /// - Parameters:
    ///   - event: `Delivery` or `Open`.
    ///   - publish: the publish id.
    ///   - device: the device's id.
    ///   - date: when; nil for now.
    public func report(
        _ event: String, publish: String, device: String, date: Date? = nil
    ) async throws(PealError) {
        let body = JSON.members([
            ("event", .string(event)), ("publishId", .string(publish)), ("deviceId", .string(device)),
            ("timestampSecs", .seconds(date)),
        ])
        try await call(.report, Request(parameters: [try instance()], body: body))
    }

    // MARK: Inbox surface

    /// Sends a message to 1 to 1,000 users, who are made where they are not known. For a project's back end.
    ///
    /// - Returns: the publish id.
    public func send(_ message: Message, to recipients: [User]) async throws(PealError) -> String {
        try await call(.sendNotification, Self.sending("notification", message, recipients)) {
            (json) throws(ShapeError) in
            try json.member("notification").text("id")
        }
    }

    /// As ``send(_:to:)``; the hub keeps what was asked for 90 days. For a project's back end.
    public func broadcast(_ message: Message, to recipients: [User]) async throws(PealError) -> Broadcast {
        try await call(.broadcast, Self.sending("broadcast", message, recipients)) { (json) throws(ShapeError) in
            try Broadcast(json.member("broadcast"))
        }
    }

    /// What was broadcast, newest first. For a project's back end.
    ///
    /// - Parameters:
    ///   - page: from 1.
    ///   - limit: broadcasts of a page, 1 to 100.
    /// - Returns: a page, and how many there are.
    public func broadcasts(
        page: Int = 1, limit: Int = 15
    ) async throws(PealError) -> (broadcasts: [Broadcast], total: Int) {
        let request = Request(query: [("page", String(page)), ("per_page", String(limit))])
        return try await call(.broadcasts, request) { (json) throws(ShapeError) in
            let all = try json.list("broadcasts") { (one) throws(ShapeError) in try Broadcast(one) }
            return (all, try json.whole("total"))
        }
    }

    /// A broadcast. For a project's back end.
    public func broadcast(_ id: String) async throws(PealError) -> Broadcast {
        try await call(.showBroadcast, Request(parameters: [id])) { (json) throws(ShapeError) in
            try Broadcast(json.member("broadcast"))
        }
    }

    private static func sending(_ key: String, _ message: Message, _ recipients: [User]) -> Request {
        let members = message.members(attributes: "custom_attributes")
        let all = JSON.array(recipients.map { .members($0.members(isRecipient: true)) })
        return Request(body: .members([(key, .members(members + [("recipients", all)]))]))
    }
}
