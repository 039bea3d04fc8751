public import PealModel
internal import PealSQLite

/// How two files of one inbox differ: what each shows, and why. No content.
public struct FileComparison: Sendable {
    /// The first file.
    public var a: Side
    /// The second one.
    public var b: Side
    /// What differs, the newest item first; not more than were asked for.
    public var differences: [Difference]
    /// Preferences, interests and marks that differ, all of them.
    public var rest: [RestDifference] = []
    /// How many items differ in all, by why.
    public var totals: [Cause: Int]
    /// Why the comparison stopped before its end; nil where it did not.
    public var failure: ReplicaError?

    /// One of them, or the hub, is wrong: they have folded the same entries and hold different things.
    public var isFaulty: Bool {
        let (left, right) = (a.file.cursor, b.file.cursor)
        let isSame = left.epoch == right.epoch && left.position == right.position
        return totals[.diverged] != nil || rest.contains { $0.cause == .diverged }
            || isSame && (left.chain != right.chain || !hasRedacted && a.sum != b.sum)
    }

    /// One of them is a redacted copy, whose bodies and sum are its own: they are not compared.
    public var hasRedacted: Bool { [a, b].contains { $0.file.project == Redaction.word } }

    /// Both show the same.
    public var isEqual: Bool { totals.isEmpty && rest.isEmpty && failure == nil }

    /// One of the two files.
    public struct Side: Sendable {
        /// What the file holds.
        public var file: Inspection
        /// The additive sum that it keeps of its base.
        public var sum: UInt64
    }

    /// Why an item differs.
    public enum Cause: String, Sendable, CaseIterable {
        /// One file has not folded an entry that the other one has.
        case behind
        /// Acts that wait in an outbox shape what is shown; the bases agree.
        case pending
        /// The item is beyond what a device keeps.
        case letGo
        /// Both have folded the same entries, and hold different things: a fault.
        case diverged
    }

    /// An item that differs.
    public struct Difference: Sendable {
        /// Its number.
        public var number: Position
        /// It; nil where the files have two under one number.
        public var id: ItemID?
        /// What differs: `read`, `seen`, `archived`, `deleted`, `here`, `body`, `registers`.
        public var fields: [String]
        /// Why.
        public var cause: Cause
        /// What the first file has of it; nil where it has none.
        public var a: InspectedItem?
        /// What the second file has of it.
        public var b: InspectedItem?
    }
}

extension ReplicaReader {
    /// Compares this file with another device's of the same inbox, item by item. Blocking; reads both, a thousand items at a time.
    ///
    /// - Parameters:
    ///   - other: the other file.
    ///   - limit: differences that are listed; all are counted.
    /// - Throws: ``ReplicaError``: `otherInbox` where they are of two inboxes, or one is of none yet.
    public func compare(to other: ReplicaReader, limit: Int = 50) throws(ReplicaError) -> FileComparison {
        let (mine, theirs) = (try inspect(), try other.inspect())
        guard let inbox = mine.inbox, inbox == theirs.inbox else {
            throw ReplicaError(
                .otherInbox,
                "\(mine.path) is of inbox \(mine.inbox ?? "none yet") and \(theirs.path) of \(theirs.inbox ?? "none yet")"
            )
        }
        var found = FileComparison(
            a: FileComparison.Side(file: mine, sum: try queries.keptSum()),
            b: FileComparison.Side(file: theirs, sum: try other.queries.keptSum()), differences: [], totals: [:])
        var (left, right) = (ItemStream(self), ItemStream(other))
        while true {
            let (a, b) = (left.peek, right.peek)
            guard a != nil || b != nil else { break }
            let number = max(a?.base.position ?? .min, b?.base.position ?? .min)
            let pair = (
                a?.base.position == number ? left.next() : nil, b?.base.position == number ? right.next() : nil
            )
            guard let difference = found.difference(at: number, pair.0, pair.1) else { continue }
            found.totals[difference.cause, default: 0] += 1
            if found.differences.count < limit { found.differences.append(difference) }
        }
        found.failure = left.failure ?? right.failure
        do throws(ReplicaError) {
            found.rest = try FileComparison.rest((queries, mine), (other.queries, theirs))
        } catch {
            found.failure = found.failure ?? error
        }
        return found
    }
}

extension FileComparison {
    fileprivate func difference(at number: Position, _ a: InspectedItem?, _ b: InspectedItem?) -> Difference? {
        guard let a, let b else { return missing(number, a, b) }
        var fields: [String] = []
        if a.id != b.id { fields.append("id") }
        if a.shown.read != b.shown.read { fields.append("read") }
        if a.shown.seen != b.shown.seen { fields.append("seen") }
        if a.shown.archived != b.shown.archived { fields.append("archived") }
        if a.shown.deleted != b.shown.deleted { fields.append("deleted") }
        let isLetGo = a.isLetGo != b.isLetGo
        if a.body != b.body, !hasRedacted { fields.append("body") }
        if a.base != b.base, fields.isEmpty, max(a.touched, b.touched) <= low { fields.append("registers") }
        guard !fields.isEmpty else { return nil }
        let id = a.id == b.id ? a.id : nil
        return Difference(
            number: number, id: id, fields: fields, cause: cause(a, b, fields, isLetGo: isLetGo), a: a, b: b)
    }

    /// Both files have folded up to here.
    private var low: Position { min(a.file.cursor.position, b.file.cursor.position) }

    private func cause(
        _ a: InspectedItem, _ b: InspectedItem, _ fields: [String], isLetGo: Bool
    ) -> Cause {
        if a.id != b.id || fields.contains("body") && !isLetGo { return .diverged }
        if a.logged == b.logged, fields != ["registers"] { return isLetGo ? .letGo : .pending }
        guard self.a.file.cursor.position != self.b.file.cursor.position else { return .diverged }
        // A register that both have folded past cannot differ; marks, and `seen`, leave no position in the row.
        let isRegister = a.base.read != b.base.read || a.base.archived != b.base.archived
        return !isRegister || max(a.touched, b.touched) > low ? .behind : .diverged
    }

    private func missing(_ number: Position, _ a: InspectedItem?, _ b: InspectedItem?) -> Difference? {
        let (has, lacks) = a == nil ? (self.b, self.a) : (self.a, self.b)
        let item = a ?? b
        let cause: Cause
        if lacks.file.cursor.position == has.file.cursor.position {
            cause = lacks.file.staged == nil && has.file.staged == nil ? .diverged : .behind
        } else {
            // It has not come to the one, or has been deleted for the other: which of them is ahead tells.
            cause =
                lacks.file.cursor.position > has.file.cursor.position || number > lacks.file.cursor.position
                ? .behind : .diverged
        }
        return Difference(number: number, id: item?.id, fields: ["here"], cause: cause, a: a, b: b)
    }
}

extension InspectedItem {
    /// The last entry that is known to have changed it.
    fileprivate var touched: Position {
        max(version, base.read?.rank ?? 0, base.read?.since ?? 0, base.archived?.rank ?? 0, base.archived?.since ?? 0)
    }
}

/// The items of a file, the newest first, a page at a time.
private struct ItemStream {
    private let reader: ReplicaReader
    private var page: [InspectedItem] = []
    private var index = 0
    private var after: Position?
    private var isOver = false
    private(set) var failure: ReplicaError?

    init(_ reader: ReplicaReader) { self.reader = reader }

    var peek: InspectedItem? {
        mutating get {
            if index == page.count, !isOver {
                let next = reader.inspectItems(after: after, limit: ReplicaReader.maximumInspected)
                (page, index, after, failure) = (next.rows, 0, next.next, next.failure)
                isOver = next.next == nil
            }
            return index < page.count ? page[index] : nil
        }
    }

    mutating func next() -> InspectedItem? {
        let item = peek
        if item != nil { index += 1 }
        return item
    }
}

extension Queries {
    func keptSum() throws(ReplicaError) -> UInt64 {
        try read { () throws(SQLiteError) in try ReplicaState.loadOrFail(connection).sum }
    }
}
