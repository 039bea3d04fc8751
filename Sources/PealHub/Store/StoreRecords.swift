package import PealModel

/// Who a user is. At least one of the two; the store lower-cases the email.
package struct UserIdentity: Hashable, Sendable {
    /// The app's own id of the user.
    package var externalID: String?
    /// The address.
    package var email: String?

    /// An identity of its parts.
    package init(externalID: String? = nil, email: String? = nil) {
        self.externalID = externalID
        self.email = email
    }
}

/// What a project says about a user. Nil members leave what is stored as it is.
package struct UserProfile: Equatable, Sendable {
    /// First name.
    package var firstName: String?
    /// Last name.
    package var lastName: String?
    /// One JSON object.
    package var attributes: [UInt8]?
    /// One JSON array of strings.
    package var phoneNumbers: [UInt8]?

    /// A profile of its parts.
    package init(
        firstName: String? = nil, lastName: String? = nil, attributes: [UInt8]? = nil, phoneNumbers: [UInt8]? = nil
    ) {
        self.firstName = firstName
        self.lastName = lastName
        self.attributes = attributes
        self.phoneNumbers = phoneNumbers
    }
}

/// A stored user.
package struct UserRecord: Equatable, Sendable {
    /// Its row.
    package var key: UserKey
    /// Its inbox.
    package var inbox: InboxKey
    /// The inbox's public id.
    package var inboxID: String
    /// External id and lower-case email.
    package var identity: UserIdentity
    /// What the project says about it.
    package var profile: UserProfile
    /// When it was made.
    package var created: Milliseconds

    /// A user of its parts.
    package init(
        key: UserKey, inbox: InboxKey, inboxID: String, identity: UserIdentity, profile: UserProfile,
        created: Milliseconds
    ) {
        self.key = key
        self.inbox = inbox
        self.inboxID = inboxID
        self.identity = identity
        self.profile = profile
        self.created = created
    }
}

/// A push token that was registered for a user.
package struct PushSubscription: Equatable, Sendable {
    /// Its row; a number that no other gets, also once it is gone.
    package var id: Int64
    /// `apns`, `fcm` or `web`.
    package var platform: String
    /// The push token.
    package var token: String
    /// When it was registered first.
    package var created: Milliseconds

    /// A subscription of its parts.
    package init(id: Int64, platform: String, token: String, created: Milliseconds) {
        self.id = id
        self.platform = platform
        self.token = token
        self.created = created
    }

    /// Its name among the devices of its user.
    package var deviceID: String { "push-\(id)" }
}

/// A device: an inbox of its own with interests. Its id is the public id of that inbox.
package struct DeviceRecord: Equatable, Sendable {
    /// The public id, 32 hexadecimal digits; also what `Welcome.inbox` carries.
    package var id: String
    /// Its inbox.
    package var inbox: InboxKey
    /// `apns`, `fcm`, `web`, or nil for a device that only has a replica.
    package var platform: String?
    /// The push token.
    package var token: String?
    /// One JSON object that the device's SDK gave about itself.
    package var metadata: [UInt8]?
    /// Whose it is.
    package var user: UserKey?
    /// The external id of that user.
    package var userID: String?
    /// When it was made.
    package var created: Milliseconds

    /// A device of its parts.
    package init(
        id: String, inbox: InboxKey, platform: String? = nil, token: String? = nil, metadata: [UInt8]? = nil,
        user: UserKey? = nil, userID: String? = nil, created: Milliseconds
    ) {
        self.id = id
        self.inbox = inbox
        self.platform = platform
        self.token = token
        self.metadata = metadata
        self.user = user
        self.userID = userID
        self.created = created
    }
}

/// What was found for an idempotency key.
package enum Replay: Equatable, Sendable {
    /// The key is new.
    case new
    /// The same request was answered so.
    case answered(status: Int, body: [UInt8])
    /// The key was used for another request.
    case different
}

/// Where an inbox stands, and the additive sum of what it holds there (docs/sync.md section 8).
package struct InboxAtHead: Equatable, Sendable {
    /// The log's epoch.
    package var epoch: UInt64
    /// The last position.
    package var head: Position
    /// The chain there.
    package var chain: UInt64
    /// The sum of the state there.
    package var sum: UInt64

    /// A standing of its parts.
    package init(epoch: UInt64, head: Position, chain: UInt64, sum: UInt64) {
        self.epoch = epoch
        self.head = head
        self.chain = chain
        self.sum = sum
    }
}

extension PushSubscription {
    /// Byte by byte.
    package func hasToken(_ token: String) -> Bool { self.token.utf8.elementsEqual(token.utf8) }
}

extension HubStoreError {
    /// The user's room for devices is used up.
    package static var tooManyDevices: HubStoreError {
        HubStoreError(.invalid, "a user has at most \(Limits.devicesPerUser) devices")
    }
}
