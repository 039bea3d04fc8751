public import PealModel
internal import PealSQLite

/// Replica and hub stand at one position and hold different things: a fault of either, or of this device's disk
/// (docs/sync.md section 8). Positions, sums and numbers of rows; no content.
public struct Divergence: Equatable, Sendable, CustomStringConvertible {
    /// The position of both.
    public var position: Position
    /// The hub's sum; nil where the rows alone show it, because they are not what was folded.
    public var theirs: UInt64?
    /// The sum that this replica kept while it folded.
    public var kept: UInt64
    /// The sum that its rows have.
    public var computed: UInt64
    /// Items that it holds.
    public var items: Int64
    /// Registers of items.
    public var registers: Int64
    /// Marks of all frontiers.
    public var marks: Int64
    /// Interests of a device.
    public var interests: Int64

    /// A divergence of its parts.
    package init(
        position: Position, theirs: UInt64?, kept: UInt64, computed: UInt64, items: Int64, registers: Int64,
        marks: Int64,
        interests: Int64
    ) {
        self.position = position
        self.theirs = theirs
        self.kept = kept
        self.computed = computed
        self.items = items
        self.registers = registers
        self.marks = marks
        self.interests = interests
    }

    /// The rows are the hub's and only the kept sum was wrong; it is mended, and no snapshot is wanted. Otherwise a snapshot
    /// is: end the session with 4102, and the next one loads it.
    public var isMended: Bool { computed == theirs ?? kept }

    /// A sentence for whoever looks after the app.
    public var description: String {
        let rows = "\(items) items, \(registers) registers, \(marks) marks, \(interests) interests"
        let hub = theirs.map { "the hub's sum \(Hex64.text($0)), " } ?? ""
        let sums = "\(hub)kept here \(Hex64.text(kept)), of the rows \(Hex64.text(computed))"
        let consequence = isMended ? "the rows agree; the kept sum was mended" : "a snapshot repairs it"
        let what =
            theirs == nil ? "the rows of this replica are not what it folded" : "this replica differs from the hub"
        return "\(what) at \(position): \(sums), of \(rows); \(consequence)"
    }
}

/// What the file remembers of divergences, so that one cause is reported and repaired once a day.
package struct DivergenceState: Equatable {
    /// When the sum was last computed from the rows, by this device's clock.
    package var computed: Milliseconds
    /// When a divergence was last reported, by this device's clock.
    package var reported: Milliseconds?
    /// The hub's sum less the kept one. Sums are additive: while both fold the same entries, one cause keeps its difference.
    package var by: UInt64?
    /// A snapshot is wanted and has not been swapped in.
    package var repair: Bool

    /// Milliseconds in which one cause is not reported again, and after which the rows are summed anew.
    package static let day: Milliseconds = 86_400_000
    /// Milliseconds in which another cause is not reported either: a rule that goes wrong with every entry would load one
    /// snapshot after the other.
    package static let pause: Milliseconds = 3_600_000

    /// A file that has found none, and whose rows were summed at a time.
    package init(computed: Milliseconds) {
        self.computed = computed
        repair = false
    }

    init(_ row: borrowing Statement, at column: Int32) {
        computed = row.int64(column)
        reported = row.optionalInt64(column + 1)
        by = row.isNull(column + 2) ? nil : row.bits(column + 2)
        repair = row.bool(column + 3)
    }

    /// Whether a difference is to be looked into now. A clock that was set back is no reason to wait.
    package func isNews(_ difference: UInt64, now: Milliseconds) -> Bool {
        guard let reported, now >= reported else { return true }
        // Subtracted from the clock, not from what a damaged file may hold.
        return now - (difference == by ? Self.day : Self.pause) >= reported
    }

    /// Whether the rows are to be summed although the kept sum agrees.
    package func isDue(now: Milliseconds) -> Bool { now < computed || now - Self.day >= computed }

    func save(_ connection: Connection) throws(SQLiteError) {
        try connection.statement(
            "UPDATE replica SET sum_computed = ?1, diverged = ?2, diverged_by = ?3, repair = ?4"
        ) { (update) throws(SQLiteError) in
            update.bind(1, computed)
            update.bind(2, reported)
            if let by { update.bind(3, bits: by) } else { update.bindNull(3) }
            update.bind(4, repair)
            try update.run()
        }
    }
}

extension Replica {
    /// Compares the hub's sum at the cursor with the base's, in the open transaction. What is found is durable with it. Nil for
    /// a hub that has not told: then the rows are compared with the kept sum, where that is due.
    ///
    /// The kept sum is compared with each batch; the rows are summed where it differs, and once a day, because the kept one
    /// does not see what a disk or another program does to them. A replica that has set entries aside knows that it lacks
    /// something, and one that waits for a repair that everything will be replaced: they compare nothing.
    ///
    /// - Returns: what is to be reported now; nil where all is well, or this cause is known.
    func compare(_ theirs: UInt64?, _ state: inout ReplicaState) throws(SQLiteError) -> Divergence? {
        let now = options.clock.wall()
        let wanted = theirs ?? state.sum
        let agrees = wanted == state.sum
        guard !state.divergence.repair,
            agrees ? state.divergence.isDue(now: now) : state.divergence.isNews(wanted &- state.sum, now: now),
            try !hasSetAside()
        else { return nil }
        let rows = try BaseSum(connection)
        let found = Divergence(
            position: state.cursor.position, theirs: theirs, kept: state.sum, computed: rows.sum, items: rows.items,
            registers: rows.registers, marks: rows.marks, interests: rows.interests)
        state.sum = rows.sum
        state.divergence.computed = now
        let difference = wanted &- rows.sum
        let isNews = !(agrees && found.isMended) && state.divergence.isNews(difference, now: now)
        if isNews {
            state.divergence.reported = now
            state.divergence.by = difference
            state.divergence.repair = !found.isMended
        }
        try state.divergence.save(connection)
        if found.kept != rows.sum { try state.saveProgress(connection) }
        return isNews ? found : nil
    }

    /// The additive sum of the base at the cursor, as folding keeps it (docs/sync.md section 8). Blocking.
    public func sum() throws(ReplicaError) -> UInt64 { try read(loadState).sum }

    /// The same, computed from the rows: reads all of them. Blocking.
    public func computedSum() throws(ReplicaError) -> UInt64 {
        try read { () throws(SQLiteError) in try BaseSum(connection).sum }
    }

    private func hasSetAside() throws(SQLiteError) -> Bool {
        try connection.statement("SELECT 1 FROM raw LIMIT 1") { (query) throws(SQLiteError) in try query.step() }
    }
}
