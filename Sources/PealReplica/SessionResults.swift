public import PealModel

/// What a welcome means for the replica, once it is durable.
public struct WelcomeCheck: Equatable, Sendable {
    /// Why the replica must take a new identity; nil where it need not. Then call ``Replica/fork(to:)``.
    public var fork: ForkReason?
    /// Where the replica stands: its cursor, or its stage's log where a snapshot is being loaded.
    public var position: Position
    /// Whether acts wait to be sent.
    public var outbox: Bool
    /// A snapshot is wanted although the log could be resumed: this replica has diverged (docs/sync.md section 8).
    public var repair: Bool
    /// The rows are not what was folded, and this is the time to report it.
    public var divergence: Divergence?

    package init(
        fork: ForkReason?, position: Position, outbox: Bool, repair: Bool = false, divergence: Divergence? = nil
    ) {
        self.fork = fork
        self.position = position
        self.outbox = outbox
        self.repair = repair
        self.divergence = divergence
    }

    /// What shows that another copy of this replica lives (docs/sync.md section 7).
    public enum ForkReason: String, Sendable {
        /// The hub judged so.
        case mode
        /// The hub has processed a number that this file has not given out yet.
        case numberAhead
        /// The hub's last number carries an act that this file did not send under it.
        case foreignAct
    }
}

/// What a batch did.
public struct Applied: Equatable, Sendable {
    /// What became of the batch as a whole.
    public enum Verdict: Sendable {
        /// Folded, and the cursor moved.
        case folded
        /// Staged: the snapshot has not been swapped in yet.
        case staged
        /// Nothing new in it.
        case ignored
        /// It begins above the cursor: nothing was folded; close with 4004.
        case gap
        /// Folded; an entry carries this replica's id and an act that it never made: call ``Replica/fork(to:)``.
        case foreign
    }

    /// What became of it.
    public var verdict: Verdict
    /// Where the replica stands now: its cursor, or its stage's log.
    public var position: Position
    /// How many entries were new.
    public var entries: Int
    /// The highest own number that is settled.
    public var settledThrough: Int64
    /// What the swap found, where the staged snapshot took the place of the base with this batch.
    public var swap: SwapReport?
    /// Positions of entries that could not be decoded and were set aside.
    public var quarantined: [Position]
    /// The hub's sum showed that this replica has diverged, and this is the time to report it.
    public var divergence: Divergence?
    /// Somebody marked an item unread that this device has let go (``KeepLimits``): only a snapshot has its body. Durable; end the session with
    /// 4102, and the next one loads it.
    public var wantsSnapshot = false

    package init(
        verdict: Verdict, position: Position, entries: Int, settledThrough: Int64, swap: SwapReport?,
        quarantined: [Position], divergence: Divergence? = nil
    ) {
        self.verdict = verdict
        self.position = position
        self.entries = entries
        self.settledThrough = settledThrough
        self.swap = swap
        self.quarantined = quarantined
        self.divergence = divergence
    }
}

/// What a snapshot page did.
public struct Staged: Equatable, Sendable {
    /// Where the replica stands: the stage's log, or the cursor after a swap.
    public var position: Position
    /// Rows of the whole stage so far.
    public var rows: Int64
    /// Nothing lies below this page.
    public var last: Bool
    /// The highest own number that is settled; a swap can settle some.
    public var settledThrough: Int64
    /// What the swap found, where the stage took the place of the base with this page.
    public var swap: SwapReport?
    /// The hub's sum showed that the new base differs all the same, and this is the time to report it.
    public var divergence: Divergence?

    package init(
        position: Position, rows: Int64, last: Bool, settledThrough: Int64, swap: SwapReport?,
        divergence: Divergence? = nil
    ) {
        self.position = position
        self.rows = rows
        self.last = last
        self.settledThrough = settledThrough
        self.swap = swap
        self.divergence = divergence
    }
}

/// What old and new base differed in when a snapshot was swapped in.
public struct SwapReport: Equatable, Sendable {
    /// Items before.
    public var before: Int64
    /// Items after.
    public var after: Int64
    /// The hub went back in time: what it lost explains every difference.
    public var ahead: Bool
    /// For ``ahead``: the greatest position at which both held the same item.
    public var common: Position?
    /// For ``ahead``: items that the hub no longer has, and that are gone here now.
    public var lost: Int64
    /// For ``ahead``: acts that go to the hub, again or for the first time.
    public var offered: Int64
    /// For ``ahead``: own settled acts that the hub had lost.
    public var lostActs: Int64
    /// For ``ahead``: whether they were offered again; false where the hub's operator wants the state of the backup.
    public var reoffered: Bool
    /// Differences that no entry explains: a fault of the hub or of this library. At most 20 sentences with positions,
    /// without content.
    public var unexplained: [String]
    /// How many there were.
    public var unexplainedCount: Int64

    package init(
        before: Int64, after: Int64, ahead: Bool, common: Position?, lost: Int64 = 0, offered: Int64 = 0,
        lostActs: Int64 = 0, reoffered: Bool = true,
        unexplained: [String], unexplainedCount: Int64
    ) {
        self.before = before
        self.after = after
        self.ahead = ahead
        self.common = common
        self.lost = lost
        self.offered = offered
        self.lostActs = lostActs
        self.reoffered = reoffered
        self.unexplained = unexplained
        self.unexplainedCount = unexplainedCount
    }
}

/// Mutations to send in one frame.
public struct Push: Equatable, Sendable {
    /// In the order of the acts; their numbers are durable.
    public var mutations: [Mutation]
    /// The one mutation was in flight at three cuts: it goes alone, so that the hub can find out (docs/sync.md section 8).
    public var suspect: Bool
    /// The highest number.
    public var last: Int64

    package init(mutations: [Mutation], suspect: Bool, last: Int64) {
        self.mutations = mutations
        self.suspect = suspect
        self.last = last
    }
}

/// What a commit changed; delivered after it, on the replica's executor.
public struct Change: Equatable, Sendable {
    /// Positions of new items, ascending.
    public var inserted: [Position] = []
    /// Positions of items whose shown state may be different, ascending.
    public var changed: [Position] = []
    /// Positions of items that are gone, ascending.
    public var deleted: [Position] = []
    /// The lists above are not complete (a mark moved, a snapshot was swapped in, or more than
    /// ``Change/maximumPositions``): look at everything.
    public var everything = false
    /// An outbox row came, went or changed its state.
    public var outbox = false
    /// The shown interests may be different.
    public var interests = false
    /// The shown preferences may be different.
    public var preferences = false
    /// The cursor after the commit.
    public var position: Position = 0

    /// Positions that one change lists at most.
    public static let maximumPositions = 4_096

    /// Whether an item may look different.
    public var items: Bool { everything || !inserted.isEmpty || !changed.isEmpty || !deleted.isEmpty }

    /// No change.
    public init() {}
}
