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
    }

    private struct State {
        var rows: [InboxKey: [Row]] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    /// How many rows wait.
    var count: Int { state.withLock { $0.count } }

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
            if settled { state = State() }
            for (inbox, row) in staged { state.rows[inbox, default: []].append(row) }
            state.count += staged.count
        }
    }

    /// Starts a reader's transaction and returns what waits for an inbox at that moment, by ascending position.
    func begin(
        for inbox: InboxKey, by begin: () throws(HubStoreError) -> Void
    ) throws(HubStoreError) -> [Row] {
        try state.withLock { (state) throws(HubStoreError) in
            try begin()
            return state.rows[inbox] ?? []
        }
    }

    /// What waits for an inbox, by ascending position.
    func rows(of inbox: InboxKey) -> [Row] { state.withLock { $0.rows[inbox] ?? [] } }

    /// The last row that waits of every inbox that has one.
    func heads() -> [InboxKey: LogHead] {
        state.withLock { state in
            state.rows.compactMapValues { $0.last.map { LogHead(position: $0.position, chain: $0.chain) } }
        }
    }

    /// Everything that waits, by inbox and position: the order in which `log` takes it cheapest.
    func sorted() -> [(inbox: InboxKey, row: Row)] {
        state.withLock { state in
            var all: [(inbox: InboxKey, row: Row)] = []
            all.reserveCapacity(state.count)
            for inbox in state.rows.keys.sorted() {
                for row in state.rows[inbox] ?? [] { all.append((inbox, row)) }
            }
            return all
        }
    }
}
