public import PealModel

/// What a file holds, for `peal inspect` and for reports. No content, token or secret.
public struct Inspection: Equatable, Sendable {
    /// The path of the file.
    public var path: String
    /// The file's version (`user_version`).
    public var version: Int64
    /// The identity as the file names it, one JSON object.
    public var identity: String
    /// The project.
    public var project: String
    /// The bound inbox.
    public var inbox: String?
    /// This replica's id.
    public var replica: ReplicaID
    /// How far it has folded.
    public var cursor: Cursor
    /// The hub's time of that position.
    public var time: Milliseconds
    /// Hub clock minus wall clock, as last measured.
    public var clockOffset: Milliseconds?
    /// The last attempt.
    public var attempt: Int64
    /// The next number.
    public var nextN: Int64
    /// When a hub that had gone back in time was last followed, by this device's clock; nil for never (docs/sync.md section 7).
    public var wentBack: Milliseconds?
    /// How many items that took away.
    public var wentBackLost: Int64?
    /// When this replica last took a new id because its file was restored or copied, by this device's clock; nil for never.
    public var forked: Milliseconds?
    /// When it last differed from the hub (docs/sync.md section 8), by this device's clock; nil for never.
    public var diverged: Milliseconds?
    /// Rows of the item table.
    public var items: Int64
    /// What the app is shown.
    public var counts: Counts
    /// Marks of all kinds.
    public var marks: Int64
    /// Outbox rows by state.
    public var outbox: [OutboxItem.State: Int64]
    /// Settled mutations that are kept.
    public var journal: Int64
    /// Entries of unknown kinds.
    public var unknown: Int64
    /// Entries that could not be decoded, with the reason.
    public var quarantined: [(position: Position, reason: String)]
    /// Rows of a snapshot that is being loaded; nil where there is none.
    public var staged: Int64?
    /// Bytes of the file.
    public var fileBytes: Int64
    /// Bytes of its write-ahead log.
    public var walBytes: Int64
    /// Bytes of the file that are free for reuse.
    public var freeBytes: Int64
    /// What an integrity check found; nil where none was asked for.
    public var problems: [String]?
    /// The last sessions, newest first.
    public var sessions: [Session]

    /// One session.
    public struct Session: Equatable, Sendable {
        /// Its attempt.
        public var attempt: Int64
        /// When its hello was made, by the wall clock.
        public var started: Milliseconds
        /// When its welcome came.
        public var welcomed: Milliseconds?
        /// How it went on.
        public var mode: String?
        /// When it ended.
        public var ended: Milliseconds?
        /// Its close code.
        public var code: Int64?
        /// Why it ended.
        public var reason: String?
    }

    /// Whether two inspections say the same.
    public static func == (left: Inspection, right: Inspection) -> Bool {
        String(describing: left) == String(describing: right)
    }
}
