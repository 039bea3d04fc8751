import PealModel
import PealReplica

extension MemoryReplica {
    func sight() throws(ReplicaError) -> Sight {
        let shown = shown()
        var sight = Sight(
            view: view, items: shown.ids, read: [], seen: [], archived: [], interests: shown.interests(),
            isPending: state.outbox.contains { $0.state != .dead })
        for (id, row) in shown.base.items {
            if shown.marks.isRead(row.state) { sight.read.insert(id) }
            if shown.marks.isSeen(row.state) { sight.seen.insert(id) }
            if shown.marks.isArchived(row.state) { sight.archived.insert(id) }
        }
        return sight
    }

    func waiting() throws(ReplicaError) -> [UInt64] { state.outbox.filter { $0.state != .dead }.map(\.uid) }

    func settled() throws(ReplicaError) -> [UInt64] { state.journal.map(\.uid) }

    func dead() throws(ReplicaError) -> [UInt64] { state.outbox.filter { $0.state == .dead }.map(\.uid) }

    func reopened() throws(ReplicaError) -> any SimulatedReplica {
        if let base = file.baseOnCrash { state.base = base }
        file.baseOnCrash = nil
        return MemoryReplica(file: file, options: options)
    }

    func another() throws(ReplicaError) -> any SimulatedReplica { MemoryReplica(file: file, options: options) }

    func copied() throws(ReplicaError) -> any SimulatedReplica {
        MemoryReplica(file: File(state), options: options)
    }

    func difference(from other: InboxState) throws(ReplicaError) -> String? {
        let theirs = other.items.filter { !$0.value.deleted }
        for (id, row) in state.base.items {
            guard let item = theirs[id] else { return "item \(row.state.position) is here and not in the log" }
            if item != row.state { return "item \(row.state.position) is \(row.state), the log says \(item)" }
            if other.bodies[id] != row.body { return "item \(row.state.position) has another body" }
        }
        if theirs.count != state.base.items.count {
            return "\(state.base.items.count) items are here, \(theirs.count) in the log"
        }
        // Whose a mark was does not come with a snapshot.
        for kind in MarkKind.allCases {
            let mine = state.base.marks[kind].marks.map { [$0.upTo, $0.version] }
            let logged = other.marks[kind].marks.map { [$0.upTo, $0.version] }
            if mine != logged { return "\(kind) marks are \(mine), the log says \(logged)" }
        }
        if state.base.interests != other.interests() { return "interests differ" }
        if state.base.cells != other.cells { return "preferences are \(state.base.cells), the log says \(other.cells)" }
        if state.base.catalogue != other.currentCatalogue { return "the catalogue differs" }
        for id in theirs.keys {
            let mine = (state.base.facts[id] ?? []).map { "\($0.event) \($0.time)" }.sorted()
            let logged = (other.facts[id] ?? []).map { "\($0.event) \($0.time)" }.sorted()
            if mine != logged { return "facts of \(id) are \(mine), the log says \(logged)" }
        }
        if state.damageCount == 0, state.base.sum != other.sum {
            return "the sum is \(state.base.sum), the log's is \(other.sum)"
        }
        return nil
    }
}
