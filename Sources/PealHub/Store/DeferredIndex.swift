import PealModel
import Synchronization

/// The rows of `log` that are not written yet, the items of wide fan-outs, and so where the logs stand whose inbox rows are behind.
///
/// Each inbox of a fan-out would dirty a page of `log` and one of `inbox`; written later, sorted, many rows share one. `entry` is
/// the durable truth, so nothing is lost with this memory: at open, what lies above `meta.indexed_seq` is indexed. Shared by the
/// store and its readers; a commit and the start of a reader's transaction exclude each other, so a reader sees an entry either in
/// `log` or here.
final class DeferredIndex: Sendable {
    /// One entry of an inbox that `log` lacks.
    struct Row: Equatable, Sendable {
        var position: Position
        var seq: Int64
        var publish: Int64
        /// The chain at `position`.
        var chain: UInt64
        /// The additive sum of the inbox at `position` (docs/sync.md section 8).
        var sum: UInt64

        /// Where its log stands with it.
        var head: LogHead { LogHead(position: position, chain: chain, sum: sum) }
    }

    private struct State {
        /// In order of arrival, each with the place of its inbox's row before; negative where there is none. One array for all:
        /// one for each inbox would be made and grown anew after each settling.
        var rows: [(row: Row, before: Int)] = []
        /// The place of each inbox's last row.
        var last: [InboxKey: Int] = [:]

        mutating func append(_ row: Row, of inbox: InboxKey) {
            rows.append((row, last.updateValue(rows.count, forKey: inbox) ?? -1))
        }

        /// An inbox's rows, by ascending position.
        func rows(of inbox: InboxKey) -> [Row] {
            var found: [Row] = []
            var place = last[inbox] ?? -1
            while place >= 0 {
                found.append(rows[place].row)
                place = rows[place].before
            }
            found.reverse()
            return found
        }

        mutating func removeAll() {
            rows.removeAll(keepingCapacity: rows.capacity < 65_536)
            last.removeAll(keepingCapacity: last.capacity < 65_536)
        }
    }

    private let state = Mutex(State())

    /// How many rows wait.
    var count: Int { state.withLock { $0.rows.count } }

    /// Commits, and makes what was staged visible to readers in the same moment.
    ///
    /// - Parameters:
    ///   - staged: the new rows, in order of arrival.
    ///   - settled: `log` now holds everything that waited before.
    ///   - commit: the COMMIT itself; where it throws, nothing changes here.
    func commit(
        _ staged: [(inbox: InboxKey, row: Row)], settled: Bool, by commit: () throws(HubStoreError) -> Void
    ) throws(HubStoreError) {
        try state.withLock { (state) throws(HubStoreError) in
            try commit()
            if settled { state.removeAll() }
            for (inbox, row) in staged { state.append(row, of: inbox) }
        }
    }

    /// Starts a reader's transaction and returns what waits for an inbox at that moment, by ascending position.
    func begin(
        for inbox: InboxKey, by begin: () throws(HubStoreError) -> Void
    ) throws(HubStoreError) -> [Row] {
        try state.withLock { (state) throws(HubStoreError) in
            try begin()
            return state.rows(of: inbox)
        }
    }

    /// What waits for an inbox, by ascending position.
    func rows(of inbox: InboxKey) -> [Row] { state.withLock { $0.rows(of: inbox) } }

    /// The last row that waits of every inbox that has one.
    func heads() -> [InboxKey: LogHead] {
        state.withLock { state in
            state.last.mapValues { state.rows[$0].row.head }
        }
    }

    /// Everything that waits, by inbox and position: the order in which `log` takes it cheapest.
    func sorted() -> [(inbox: InboxKey, row: Row)] {
        state.withLock { state in
            var all: [(inbox: InboxKey, row: Row)] = []
            all.reserveCapacity(state.rows.count)
            for inbox in state.last.keys.sorted() {
                for row in state.rows(of: inbox) { all.append((inbox, row)) }
            }
            return all
        }
    }
}
