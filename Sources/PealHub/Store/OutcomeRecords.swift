package import PealModel

/// A publish, looked at from outside.
package struct PublishRecord: Equatable, Sendable {
    /// How far it has come.
    package enum Status: String, Sendable {
        /// Its time has not come.
        case scheduled
        /// It was cancelled before its time.
        case cancelled
        /// It was refused when its time came.
        case refused
        /// It is being brought to many inboxes.
        case publishing
        /// It is in every inbox that matched.
        case published
        /// It was taken back.
        case retracted
    }

    /// Its name.
    package var name: String
    /// How far it has come.
    package var status: Status
    /// When it was published, or is to be.
    package var time: Milliseconds
    /// Inboxes that it matched; 0 before its time.
    package var matched: Int
    /// When its items end.
    package var expires: Milliseconds?

    /// A record of its parts.
    package init(name: String, status: Status, time: Milliseconds, matched: Int, expires: Milliseconds?) {
        self.name = name
        self.status = status
        self.time = time
        self.matched = matched
        self.expires = expires
    }
}

/// What became of a publish's item in an inbox.
package struct Delivery: Equatable, Sendable {
    /// The public id of the inbox; a device's id, where it is a device's.
    package var inbox: String
    /// Whose inbox it is; nil for a device's.
    package var user: UserIdentity?
    /// The item.
    package var item: ItemID
    /// Its number in the inbox.
    package var number: Position
    /// Whether a device of the inbox has it: a replica's durable cursor has passed it, or a platform's SDK reported it.
    package var isDelivered: Bool
    /// When an SDK reported it.
    package var reported: Milliseconds?
    /// When it was seen, read, archived; nil for not, and for one that is gone.
    package var seenAt, readAt, archivedAt: Milliseconds?
    /// It was deleted, taken back, or its time is over.
    package var isGone: Bool
    /// What happened to it.
    package var facts: [Fact]

    /// A delivery of its parts; what happens later is set afterwards.
    package init(
        inbox: String, user: UserIdentity?, item: ItemID, number: Position, isDelivered: Bool, reported: Milliseconds?
    ) {
        self.inbox = inbox
        self.user = user
        self.item = item
        self.number = number
        self.isDelivered = isDelivered
        self.reported = reported
        isGone = true
        facts = []
    }
}

/// Some deliveries of a publish.
package struct DeliveryPage: Equatable, Sendable {
    /// Possibly fewer than were asked for, although there are more.
    package var deliveries: [Delivery]
    /// Where the next page begins; nil after the last.
    package var next: Int64?

    /// Numbers of entries that a page looks at, at most.
    package static let looks = 2_000

    /// A page of its parts.
    package init(deliveries: [Delivery], next: Int64?) {
        self.deliveries = deliveries
        self.next = next
    }
}

/// A replica of an inbox, looked at from outside.
package struct ReplicaRecord: Equatable, Sendable {
    /// Its own id.
    package var id: ReplicaID
    /// How far it has the log, durably.
    package var got: Position
    /// The number of its last act here.
    package var lastN: Int64
    /// When it was last heard of.
    package var seenAt: Milliseconds

    /// A record of its parts.
    package init(id: ReplicaID, got: Position, lastN: Int64, seenAt: Milliseconds) {
        self.id = id
        self.got = got
        self.lastN = lastN
        self.seenAt = seenAt
    }
}

/// An act that nobody could take, kept for a person: as long as acts are, 40 days.
package struct DeadLetter: Equatable, Sendable {
    /// Where it stands among the others.
    package struct Place: Equatable, Sendable {
        /// When it was settled.
        package var time: Milliseconds
        /// The act.
        package var uid: UInt64

        /// A place of its parts.
        package init(time: Milliseconds, uid: UInt64) {
            self.time = time
            self.uid = uid
        }
    }

    /// When, and which act.
    package var place: Place
    /// Who acted.
    package var author: Author
    /// The number that the replica gave it; 0 for one through HTTP.
    package var n: Int64
    /// Why it could not be taken.
    package var outcome: Outcome

    /// A letter of its parts.
    package init(place: Place, author: Author, n: Int64, outcome: Outcome) {
        self.place = place
        self.author = author
        self.n = n
        self.outcome = outcome
    }
}
