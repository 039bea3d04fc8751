package import PealModel

/// One publish.
package struct PublishRequest: Sendable {
    /// Whose.
    package var project: ProjectKey
    /// `pubid-<uuid>`; a second publish of the same name appends nothing.
    package var name: String
    /// The item, `sent` included.
    package var body: ItemBody
    /// Device inboxes by interest; a device that matches several gets one item.
    package var interests: [String]
    /// User inboxes; users that are not there are created, profiles are merged in.
    package var recipients: [Recipient]
    /// What the item replaces, in each inbox: the newest one that was published under the same key. Nil for nothing.
    package var collapse: String?

    /// What an entry adds to the bytes of its item's body: id, publish, time and names.
    package static let overhead = 200

    /// A user that is meant.
    package struct Recipient: Equatable, Sendable {
        /// Who.
        package var identity: UserIdentity
        /// What the publish says about it.
        package var profile: UserProfile

        /// A recipient of its parts.
        package init(identity: UserIdentity, profile: UserProfile = UserProfile()) {
            self.identity = identity
            self.profile = profile
        }
    }

    /// A publish of its parts.
    package init(
        project: ProjectKey, name: String, body: ItemBody, interests: [String] = [], recipients: [Recipient] = [],
        collapse: String? = nil
    ) {
        self.project = project
        self.name = name
        self.body = body
        self.interests = interests
        self.recipients = recipients
        self.collapse = collapse
    }
}

/// What became of a publish.
package struct PublishResult: Equatable, Sendable {
    /// The items, one for each matching inbox; empty for a wide publish, whose items come from ``HubStore/fanOut(limit:now:)``.
    package var appended: [Appended]
    /// How many inboxes matched.
    package var matched: Int
    /// The publish was frozen as a durable job: call ``HubStore/fanOut(limit:now:)`` until it answers nil.
    package var isWide: Bool
    /// A publish of this name was there already; nothing was done.
    package var isReplay: Bool

    /// A result of its parts.
    package init(appended: [Appended], matched: Int, isWide: Bool = false, isReplay: Bool = false) {
        self.appended = appended
        self.matched = matched
        self.isWide = isWide
        self.isReplay = isReplay
    }
}
