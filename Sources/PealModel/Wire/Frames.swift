/// The WebSocket subprotocol whose frames these are (docs/sync.md section 6).
public let wireSubprotocol = "peal.v1.json"

/// The version that a hello carries.
public let wireVersion: Int64 = 1

/// Whose inbox a replica asks for.
public enum InboxIdentity: Hashable, Sendable {
    /// A user's inbox, by external id, email or both; an email and an external id of different users are an error.
    case user(externalID: String?, email: String?)
    /// The inbox of a device. `id` is nil until the first welcome gave one.
    case device(id: String?)
}

/// What proves that a replica may have the inbox. Members that a hub does not know are ignored.
public struct Proof: Hashable, Sendable {
    /// base64(HMAC-SHA256(project secret, external id, else the lower-case email)).
    public var hmac: String?
    /// A user token (JWT).
    public var token: String?
    /// The replica's own secret, issued at its first welcome.
    public var secret: String?
    /// After a fork: the replica whose secret this is.
    public var replica: ReplicaID?

    /// A proof of its parts.
    public init(hmac: String? = nil, token: String? = nil, secret: String? = nil, replica: ReplicaID? = nil) {
        self.hmac = hmac
        self.token = token
        self.secret = secret
        self.replica = replica
    }
}

/// The first frame of a session.
public struct Hello: Equatable, Sendable {
    /// The wire version.
    public var version: Int64
    /// The project's API key, or its instance id.
    public var project: String
    /// Whose inbox.
    public var inbox: InboxIdentity
    /// Which replica.
    public var replica: ReplicaID
    /// What proves it.
    public var proof: Proof
    /// A durable counter; one that is not higher than the last is refused.
    public var attempt: Int64
    /// The last nonce that a welcome gave; empty before the first.
    public var nonce: String
    /// How far the replica has folded.
    public var cursor: Cursor
    /// The lowest number in the outbox that was sent, and the highest; 0 and 0 where none was.
    public var outbox: ClosedRange<Int64>
    /// Entries that may be unacknowledged.
    public var windowEntries: Int64
    /// Bytes that may be unacknowledged.
    public var windowBytes: Int64

    /// A hello of its parts.
    public init(
        version: Int64 = wireVersion, project: String, inbox: InboxIdentity, replica: ReplicaID, proof: Proof,
        attempt: Int64, nonce: String, cursor: Cursor, outbox: ClosedRange<Int64> = 0...0,
        windowEntries: Int64 = Int64(Limits.windowEntries), windowBytes: Int64 = Int64(Limits.windowBytes)
    ) {
        self.version = version
        self.project = project
        self.inbox = inbox
        self.replica = replica
        self.proof = proof
        self.attempt = attempt
        self.nonce = nonce
        self.cursor = cursor
        self.outbox = outbox
        self.windowEntries = windowEntries
        self.windowBytes = windowBytes
    }
}

/// One settled mutation, by number and act.
public struct Settled: Equatable, Sendable {
    /// The replica's number.
    public var n: Int64
    /// The act.
    public var uid: UInt64
    /// What became of it.
    public var outcome: Outcome

    /// A settled mutation of its parts.
    public init(n: Int64, uid: UInt64, outcome: Outcome) {
        self.n = n
        self.uid = uid
        self.outcome = outcome
    }
}

/// The answer to a hello.
public struct Welcome: Equatable, Sendable {
    /// The session, which every batch names.
    public var session: UInt64
    /// How it goes on.
    public var mode: Admission.Mode
    /// Which creation of the log.
    public var epoch: UInt64
    /// The inbox's id, which binds the file at the first welcome.
    public var inbox: String
    /// The last position.
    public var head: Position
    /// The replica's last processed number; 0 for none.
    public var lastN: Int64
    /// The act that had that number.
    public var lastUID: UInt64?
    /// Outcomes of sent mutations that the hub had processed.
    public var settled: [Settled]
    /// The hello's attempt, so that a late welcome is not taken for a new one.
    public var attempt: Int64
    /// The nonce of the next hello.
    public var nonce: String
    /// The replica's secret; at its first welcome only.
    public var secret: String?
    /// The hub's clock.
    public var time: Milliseconds
    /// Seconds between pings.
    public var heartbeat: Int64
    /// With ``Admission/Mode/ahead``: whether the replica offers the settled acts that the hub lost again, which is the rule; false
    /// where the operator wants the state of the backup (docs/sync.md section 7).
    public var reoffer: Bool

    /// A welcome of its parts.
    public init(
        session: UInt64, mode: Admission.Mode, epoch: UInt64, inbox: String, head: Position, lastN: Int64 = 0,
        lastUID: UInt64? = nil, settled: [Settled] = [], attempt: Int64, nonce: String, secret: String? = nil,
        time: Milliseconds, heartbeat: Int64 = Limits.heartbeatSeconds, reoffer: Bool = true
    ) {
        self.session = session
        self.mode = mode
        self.epoch = epoch
        self.inbox = inbox
        self.head = head
        self.lastN = lastN
        self.lastUID = lastUID
        self.settled = settled
        self.attempt = attempt
        self.nonce = nonce
        self.secret = secret
        self.time = time
        self.heartbeat = heartbeat
        self.reoffer = reoffer
    }
}

/// Entries of the log: exactly those of (from, to].
public struct Batch: Equatable, Sendable {
    /// The session that it belongs to.
    public var session: UInt64
    /// The position before the first entry.
    public var from: Position
    /// The position of the last entry.
    public var to: Position
    /// The chain at `to`.
    public var chain: UInt64
    /// The bytes of each entry, as the log holds them.
    public var entries: [RawJSON]
    /// The additive sum of the inbox at `to`; with the last entry of a burst (docs/sync.md section 8).
    public var sum: UInt64?

    /// A batch of its parts.
    public init(
        session: UInt64, from: Position, to: Position, chain: UInt64, entries: [RawJSON], sum: UInt64? = nil
    ) {
        self.session = session
        self.from = from
        self.to = to
        self.chain = chain
        self.entries = entries
        self.sum = sum
    }
}

/// One page of a snapshot, by descending position (docs/sync.md section 6).
public struct Page: Equatable, Sendable {
    /// Which snapshot.
    public var id: UInt64
    /// The position of the log at which the rows were read.
    public var at: Position
    /// The chain at `at`.
    public var chain: UInt64
    /// The rows.
    public var rows: [SnapshotRow]
    /// Where the next page goes on: rows with lower positions.
    public var after: Position
    /// The last page: nothing lies below.
    public var last: Bool
    /// With the first page only: what the inbox holds beside items, at the same `at`.
    public var rest: Rest?
    /// The additive sum at `at`; with the last page.
    public var sum: UInt64?

    /// What an inbox holds beside items.
    public struct Rest: Equatable, Sendable {
        /// The marks.
        public var marks: Marks
        /// The interests of a device's inbox; nil for a user's.
        public var interests: [String]?
        /// The preference cells of a user's inbox.
        public var preferences: [PreferenceKey: PreferenceCell]
        /// The project's categories and channels, as the log has them; nil where it has none.
        public var catalogue: Catalogue?

        /// The rest of its parts.
        public init(
            marks: Marks = Marks(), interests: [String]? = nil, preferences: [PreferenceKey: PreferenceCell] = [:],
            catalogue: Catalogue? = nil
        ) {
            self.marks = marks
            self.interests = interests
            self.preferences = preferences
            self.catalogue = catalogue
        }
    }

    /// A page of its parts.
    public init(
        id: UInt64, at: Position, chain: UInt64, rows: [SnapshotRow], after: Position, last: Bool,
        rest: Rest? = nil, sum: UInt64? = nil
    ) {
        self.id = id
        self.at = at
        self.chain = chain
        self.rows = rows
        self.after = after
        self.last = last
        self.rest = rest
        self.sum = sum
    }
}

/// One item in a snapshot, with its registers.
public struct SnapshotRow: Equatable, Sendable {
    /// The item.
    public var id: ItemID
    /// The publish that it came from.
    public var publish: String
    /// When its entry was appended.
    public var time: Milliseconds
    /// The publisher's part.
    public var body: RawJSON
    /// Its position and registers; never a deleted one.
    public var state: ItemState
    /// The facts about it.
    public var facts: [Fact]

    /// A row of its parts.
    public init(
        id: ItemID, publish: String, time: Milliseconds, body: RawJSON, state: ItemState, facts: [Fact] = []
    ) {
        self.id = id
        self.publish = publish
        self.time = time
        self.body = body
        self.state = state
        self.facts = facts
    }
}

/// Where a replica wants a snapshot to go on; all nil for a new one.
public struct SnapshotRequest: Equatable, Sendable {
    /// Which snapshot is being continued.
    public var id: UInt64?
    /// The lowest staged position.
    public var after: Position?
    /// The newest staged page's `at`; a different chain there starts over.
    public var at: Position?
    /// The chain at `at`.
    public var chain: UInt64?

    /// A request of its parts.
    public init(id: UInt64? = nil, after: Position? = nil, at: Position? = nil, chain: UInt64? = nil) {
        self.id = id
        self.after = after
        self.at = at
        self.chain = chain
    }
}

/// A frame from a replica to the hub.
public enum UpFrame: Equatable, Sendable {
    /// Opens a session.
    case hello(Hello)
    /// Returns credit; also the durable cursor.
    case got(to: Position)
    /// Mutations, at most ``Limits/mutationsPerPush`` or ``Limits/frameUp``; one in flight.
    case push([Mutation])
    /// A push of one mutation that was in flight at three cuts: it may be what ends the hub (docs/sync.md section 8).
    case suspect(Mutation)
    /// Asks for the next snapshot page.
    case snapshot(SnapshotRequest)
    /// A fresh token on the live socket.
    case token(String)
    /// A probe after wake or a network change.
    case ping
    /// The answer to the hub's probe.
    case pong
    /// "Do not expect me": the only frame that means it.
    case bye
}

/// A frame from the hub to a replica.
public enum DownFrame: Equatable, Sendable {
    /// Answers a hello.
    case welcome(Welcome)
    /// Entries.
    case batch(Batch)
    /// The answer to a resend, with the hub's head: the entries of these acts are at or below it.
    case settled([Settled], at: Position)
    /// Nothing of the push was processed; again after so many milliseconds.
    case busy(retryAfter: Milliseconds)
    /// A snapshot page.
    case page(Page)
    /// A fresh token is wanted within so many seconds.
    case renew(in: Int64)
    /// The token was taken; it expires at that time.
    case renewed(expires: Milliseconds)
    /// Reconnect at a random moment of the window, in milliseconds from now.
    case drain(low: Milliseconds, high: Milliseconds)
    /// A probe.
    case ping
    /// The answer to a probe.
    case pong
    /// What went wrong; `last` names the last attempt where the hello's was too low.
    case error(code: String, retry: Bool, message: String, last: Int64?)
    /// A type of a later version, which is ignored.
    case unknown(type: String)
}
