import Foundation
import PealModel
import PealReplica
import PealSQLite

/// The real replica on a file in memory; a copy is a copy of its files, as a crash or a backup leaves them.
final class SQLiteReplica: SimulatedReplica {
    let path: String
    private let identity: InboxIdentity
    private let options: ReplicaOptions
    let replica: Replica

    init(path: String, identity: InboxIdentity, options: ReplicaOptions) throws(ReplicaError) {
        self.path = path
        self.identity = identity
        self.options = options
        replica = try Replica(path: path, identity: identity, project: "key", options: options)
    }

    // MARK: Session

    func hello(proof: Proof, windowEntries: Int64, windowBytes: Int64) throws(ReplicaError) -> Hello {
        try replica.hello(proof: proof, windowEntries: windowEntries, windowBytes: windowBytes)
    }
    func attemptRefused(last: Int64) throws(ReplicaError) { try replica.attemptRefused(last: last) }
    func welcomed(_ welcome: Welcome) throws(ReplicaError) -> WelcomeCheck { try replica.welcomed(welcome) }
    func apply(_ batch: Batch) throws(ReplicaError) -> Applied { try replica.apply(batch) }
    func snapshotRequest() throws(ReplicaError) -> SnapshotRequest { try replica.snapshotRequest() }
    func stage(_ page: Page) throws(ReplicaError) -> Staged { try replica.stage(page) }
    func nextPush(maximumCount: Int, maximumBytes: Int) throws(ReplicaError) -> Push? {
        try replica.nextPush(maximumCount: maximumCount, maximumBytes: maximumBytes)
    }
    func nextDue() throws(ReplicaError) -> Milliseconds? { try replica.nextDue() }
    func resetInFlight(retryAfter: Milliseconds?) throws(ReplicaError) {
        try replica.resetInFlight(retryAfter: retryAfter)
    }
    func settled(_ settled: [Settled], at position: Position) throws(ReplicaError) -> Int64 {
        try replica.settled(settled, at: position)
    }
    func fork(to id: ReplicaID?) throws(ReplicaError) { try replica.fork(to: id) }
    func sessionEnded(code: CloseCode?, reason: String) throws(ReplicaError) {
        try replica.sessionEnded(code: code, reason: reason)
    }

    // MARK: Acts

    func enqueue(
        _ operation: PealModel.Operation, observed: ViewPosition?, hold: Milliseconds
    ) throws(ReplicaError) -> UInt64 { try replica.enqueue(operation, observed: observed, hold: hold) }
    func undo(_ uid: UInt64) throws(ReplicaError) -> Bool { try replica.undo(uid) }
    func discard(_ uid: UInt64) throws(ReplicaError) -> Bool { try replica.discard(uid) }
    func retry(_ uid: UInt64) throws(ReplicaError) -> UInt64? { try replica.retry(uid) }

    // MARK: Looking

    // What cannot be read is a cursor that no check takes for right.
    var cursor: Cursor { (try? replica.cursor()) ?? Cursor(epoch: nil, position: -1, chain: 0) }
    var replicaID: ReplicaID { (try? replica.replicaID()) ?? ReplicaID(high: 0, low: 0) }
    var view: ViewPosition { (try? replica.view()) ?? ViewPosition(position: -1, time: 0) }

    func sight() throws(ReplicaError) -> Sight {
        let page = try replica.page(DeliveredQuery(archived: nil), limit: 1_000)
        var isDevice = false
        if case .device = identity { isDevice = true }
        return Sight(
            view: page.view, items: page.items.reversed().map(\.id), read: Set(page.items.filter(\.read).map(\.id)),
            seen: Set(page.items.filter(\.seen).map(\.id)), archived: Set(page.items.filter(\.archived).map(\.id)),
            interests: isDevice ? Set(try replica.interests()) : nil, isPending: try !waiting().isEmpty)
    }

    func waiting() throws(ReplicaError) -> [UInt64] { try replica.outbox().filter { $0.state != .dead }.map(\.id) }

    func dead() throws(ReplicaError) -> [UInt64] { try replica.outbox().filter { $0.state == .dead }.map(\.id) }

    func settled() throws(ReplicaError) -> [UInt64] {
        do throws(SQLiteError) {
            let connection = try Connection(path: path)
            let query = try connection.prepare("SELECT uid FROM journal ORDER BY seq")
            var uids: [UInt64] = []
            while try query.step() { uids.append(query.bits(0)) }
            return uids
        } catch {
            throw ReplicaError(.database, "the journal cannot be read: \(error)")
        }
    }

    // Files on disks are damaged by `DivergenceTests`.
    func damage(_ bits: UInt32) -> Bool { false }
    var isDamaged: Bool { false }
    var explainsDivergence: Bool { false }

    // MARK: Files

    func reopened() throws(ReplicaError) -> any SimulatedReplica { try another() }

    func another() throws(ReplicaError) -> any SimulatedReplica {
        try SQLiteReplica(path: path, identity: identity, options: options)
    }

    func copied() throws(ReplicaError) -> any SimulatedReplica {
        let target = path + "-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        do {
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
            }
        } catch {
            throw ReplicaError(.ioError, "the file was not copied: \(error)")
        }
        return try SQLiteReplica(path: target, identity: identity, options: options)
    }

    /// With nothing pending, what is shown is the base.
    func difference(from other: InboxState) throws(ReplicaError) -> String? {
        let sight = try sight()
        // What is shown of a first snapshot before its end is of no position.
        guard !sight.isPending, try !replica.counts().isPartial else { return nil }
        let items = other.items.filter { !$0.value.deleted }
        if Set(sight.items) != Set(items.keys) {
            return "\(sight.items.count) items are here, \(items.count) in the log"
        }
        for (id, item) in items {
            let mine = (sight.read.contains(id), sight.seen.contains(id), sight.archived.contains(id))
            let logged = (other.marks.isRead(item), other.marks.isSeen(item), other.marks.isArchived(item))
            if mine != logged { return "item \(item.position) is \(mine), the log says \(logged)" }
        }
        let unread = items.values.filter { !other.marks.isRead($0) && !other.marks.isArchived($0) }.count
        let counted = try replica.counts().unread
        if counted != Int64(unread) { return "\(counted) are counted as unread, the log says \(unread)" }
        if sight.interests != other.interests() { return "interests differ" }
        let sums = (try replica.sum(), try replica.computedSum())
        if sums != (other.sum, other.sum) { return "the sums are \(sums), the log's is \(other.sum)" }
        return nil
    }
}
