public import Foundation
public import PealModel

/// A project's users, for its back end.
extension HubAPI {
    /// A user as a project's back end knows it; also whom a message is sent to. At least one of `externalId` and `email` names it.
    public struct User: Sendable, Equatable {
        /// The hub's id, which is that of the user's inbox; nil for one that is only named.
        public let id: String?
        /// The app's own id.
        public var externalId: String?
        /// The address.
        public var email: String?
        /// The first name; nil leaves what the hub has.
        public var firstName: String?
        /// The last name; nil leaves what the hub has.
        public var lastName: String?
        /// One JSON object; nil leaves what the hub has.
        public var customAttributes: JSON?
        /// Telephone numbers; nil leaves what the hub has.
        public var phoneNumbers: [String]?

        /// A user of its parts.
        public init(
            externalId: String? = nil, email: String? = nil, firstName: String? = nil, lastName: String? = nil,
            customAttributes: JSON? = nil, phoneNumbers: [String]? = nil
        ) {
            id = nil
            self.externalId = externalId
            self.email = email
            self.firstName = firstName
            self.lastName = lastName
            self.customAttributes = customAttributes
            self.phoneNumbers = phoneNumbers
        }

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            externalId = json["external_id"]?.stringValue
            email = json["email"]?.stringValue
            firstName = json["first_name"]?.stringValue
            lastName = json["last_name"]?.stringValue
            customAttributes = try json.member("custom_attributes")
            phoneNumbers = try json.texts("phone_numbers")
        }

        func members(isRecipient: Bool = false) -> [(String, JSON?)] {
            [
                ("external_id", .text(externalId)), ("email", .text(email)), ("first_name", .text(firstName)),
                ("last_name", .text(lastName)), ("custom_attributes", customAttributes),
                ("phone_numbers", isRecipient ? nil : phoneNumbers.map(JSON.texts)),
            ]
        }

        fileprivate var body: JSON { .members([("user", .members(members()))]) }
    }

    /// How a user is named in a call about it.
    public enum UserName: Sendable, Equatable {
        /// By ``User/id``.
        case id(String)
        /// By the app's own id.
        case externalId(String)
        /// By the address.
        case email(String)

        var segment: String {
            switch self {
            case .id(let id): id
            case .externalId(let id): "external_id:" + id
            case .email(let email): "email:" + email
            }
        }
    }

    /// Makes a user, or adds to what is known of one. For a project's back end.
    public func createUser(_ user: User) async throws(PealError) -> User {
        try await call(.createUser, Request(body: user.body)) { (json) throws(ShapeError) in
            try User(json.member("user"))
        }
    }

    /// A user; `refused` (404) where there is none. For a project's back end.
    public func user(_ name: UserName) async throws(PealError) -> User {
        try await call(.showUser, Request(parameters: [name.segment])) { (json) throws(ShapeError) in
            try User(json.member("user"))
        }
    }

    /// Changes a user; nil members stay. An identity can be added, never changed into another. For a project's back end.
    public func changeUser(_ name: UserName, _ user: User) async throws(PealError) -> User {
        try await call(.changeUser, Request(parameters: [name.segment], body: user.body)) { (json) throws(ShapeError) in
            try User(json.member("user"))
        }
    }

    /// Deletes a user with its devices and inboxes; its sessions end. For a project's back end.
    public func deleteUser(_ name: UserName) async throws(PealError) {
        try await call(.deleteUser, Request(parameters: [name.segment]))
    }

    /// Which of the interests surface's two paths deletes a user; they do the same.
    public enum UserDeletion: Sendable {
        /// `/customer_api/…`.
        case customer
        /// `/user_api/…`.
        case user
    }

    /// Deletes a user by external id, as the interests surface has it: also one that is not there. For a project's back end.
    public func deleteUser(externalId: String, by path: UserDeletion = .customer) async throws(PealError) {
        try await call(
            path == .customer ? .deleteUserOfInstance : .deleteUserOfInstanceToo,
            Request(parameters: [try instance(), externalId]))
    }

    // MARK: Inboxes

    /// An inbox, and who has copies of it.
    public struct InboxState: Sendable, Equatable {
        /// A copy on a device.
        public struct Copy: Sendable, Equatable {
            /// The replica's id.
            public let id: String
            /// How far it has the log.
            public let position: Position
            /// The number of its last act.
            public let acts: Int
            /// When the hub last heard of it.
            public let lastSeenDate: Date
        }

        /// Its id.
        public let id: String
        /// Whether it is a device's, and not the user's own.
        public let isDevice: Bool
        /// The head of its log.
        public let position: Position
        /// How many items it lists.
        public let total: Int
        /// How many of them are unread.
        public let unreadCount: Int
        /// How many of them are unseen.
        public let unseenCount: Int
        /// Its copies.
        public let replicas: [Copy]

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            isDevice = try json.text("kind") == "device"
            position = Position(try json.whole("position"))
            total = try json.whole("total")
            unreadCount = try json.whole("unread_count")
            unseenCount = try json.whole("unseen_count")
            replicas = try json.list("replicas") { (one) throws(ShapeError) in
                Copy(
                    id: try one.text("id"), position: Position(try one.whole("position")),
                    acts: try one.whole("acts"), lastSeenDate: try one.date("last_seen_at"))
            }
        }
    }

    /// The inboxes of a user: its own, then those of its devices. For a project's back end.
    public func inboxes(of user: UserName) async throws(PealError) -> [InboxState] {
        try await call(.inboxes, Request(parameters: [user.segment])) { (json) throws(ShapeError) in
            try json.list("inboxes") { (one) throws(ShapeError) in try InboxState(one) }
        }
    }

    /// An act that could not be taken.
    public struct DeadLetter: Sendable, Equatable {
        /// When it came.
        public let date: Date
        /// The act's uid, 16 hexadecimal digits.
        public let uid: String
        /// The replica's id, or `api`.
        public let author: String
        /// The replica's number of it.
        public let number: Int
        /// Why, as a word.
        public let code: Outcome.Code
        /// Why, as a sentence.
        public let reason: String?
    }

    /// Acts of an inbox that could not be taken, newest first; they are kept for 40 days. For a project's back end.
    ///
    /// - Parameters:
    ///   - inbox: the inbox's id; a device's is its own id.
    ///   - before: the cursor that the page before gave; nil for the first.
    ///   - limit: acts of a page, 1 to 100.
    /// - Returns: also the next page's cursor; nil after the last.
    public func deadLetters(
        of inbox: String, before: String? = nil, limit: Int = 50
    ) async throws(PealError) -> (letters: [DeadLetter], before: String?) {
        let request = Request(parameters: [inbox], query: [("before", before), ("per_page", String(limit))])
        return try await call(.deadLetters, request) { (json) throws(ShapeError) in
            let letters = try json.list("dead_letters") { (one) throws(ShapeError) in
                let outcome = try one.member("outcome")
                return DeadLetter(
                    date: try one.date("time"), uid: try one.text("uid"), author: try one.text("author"),
                    number: try one.whole("n"), code: Outcome.Code(rawValue: try outcome.text("code")),
                    reason: outcome["reason"]?.stringValue)
            }
            return (letters, json["before"]?.stringValue)
        }
    }
}
