import PealHub
import PealModel

/// A name within a project: an external id, an email, an interest, a key.
struct ScopedName: Hashable, Sendable {
    var project: ProjectKey
    var name: String
}

/// A push token of a platform within a project.
struct TokenName: Hashable, Sendable {
    var project: ProjectKey
    var platform: String
    var token: String
}

/// A tenant with the bits that its replicas' secrets come from.
struct ProjectRow: Sendable {
    var project: Project
    var seed: [UInt8]
    var catalogue: Catalogue?
}

/// A replica, as the hub knows it (docs/sync.md section 7).
struct ReplicaRow: Sendable {
    var id: ReplicaID
    var inbox: InboxKey
    var attempt: Int64 = 0
    var nonceCurrent = ""
    var nonceIssued = ""
    var lastN: Int64 = 0
    var lastUID: UInt64?
    var session: UInt64?
    var failures: Int64 = 0
    var suspect: UInt64?
    var got: Position = 0
    var seenAt: Milliseconds
    var isRevoked = false
}

/// One publish.
struct PublishRow: Sendable {
    var name: String
    var project: ProjectKey
    var category: String?
    var topic: String?
    var silent: Bool
    var expires: Milliseconds?
    /// The numbers of its entries lie within; 0 and 0 before the first.
    var firstSeq: Int64
    var lastSeq: Int64
    var matched: Int
    /// The body of a wide publish that is not all appended.
    var pending: [UInt8]?
    /// Where `expired` has been appended up to; nil once it is for all of it, or where nothing expires.
    var expiring: Int64?
    var collapse: String?
    var retracted: Milliseconds?
    var time: Milliseconds
    /// The frozen targets that have no item yet, in key order.
    var targets: ArraySlice<PublishTarget> = []
}

/// Where the entry of a number is.
struct EntryPlace: Sendable {
    var inbox: InboxKey
    var position: Position
    var publish: Int64
    var item: ItemID
}

/// An answer that is kept for its idempotency key.
struct AnswerRow: Sendable {
    var digest: [UInt8]
    var status: Int
    var body: [UInt8]
    var time: Milliseconds
}

/// A processed act, kept for dedupe.
struct ActRow: Sendable {
    var author: Author
    var n: Int64
    var uid: UInt64
    var time: Milliseconds
    var outcome: Outcome
    /// The next act of the same uid, in the order of authors; -1 for none.
    var next = -1
}

/// An inbox that gets an item, and which interests of the publish its device has.
struct PublishTarget: Sendable {
    var inbox: InboxKey
    var matched: MatchedInterests

    /// Those of the same interests together, then in key order.
    static func sorted(_ targets: ArraySlice<PublishTarget>) -> [PublishTarget] {
        targets.sorted { ($0.matched, $0.inbox) < ($1.matched, $1.inbox) }
    }
}
