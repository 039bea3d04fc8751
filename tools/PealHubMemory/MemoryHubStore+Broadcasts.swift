package import PealHub
import PealModel

extension MemoryHubStore {
    package func keep(_ broadcast: BroadcastRecord, in project: ProjectKey) throws(HubStoreError) {
        state.broadcasts.append(BroadcastRow(project: project, record: broadcast))
    }

    package func broadcast(_ name: String, in project: ProjectKey) throws(HubStoreError) -> BroadcastRecord? {
        state.broadcasts.first { $0.project == project && $0.record.name == name }?.record
    }

    package func broadcasts(
        in project: ProjectKey, after skipped: Int, limit: Int
    ) throws(HubStoreError) -> (page: [BroadcastRecord], total: Int) {
        let all = state.broadcasts.filter { $0.project == project }
        return (all.reversed().dropFirst(skipped).prefix(limit).map(\.record), all.count)
    }

    /// Forgets those of before a time, at most so many; answers how many went.
    func forgetBroadcasts(before time: Milliseconds, limit: Int) -> Int {
        let old = state.broadcasts.prefix { $0.record.time < time }.prefix(limit).count
        state.broadcasts.removeFirst(old)
        return old
    }
}

/// A broadcast of a project.
struct BroadcastRow: Sendable {
    var project: ProjectKey
    var record: BroadcastRecord
}
