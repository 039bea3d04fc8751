package import PealHub
package import PealModel

extension MemoryHubStore {
    package func schedule(_ request: PublishRequest, at time: Milliseconds) throws(HubStoreError) {
        try request.checkSize(now: time)
        guard !state.scheduled.contains(where: { $0.request.name == request.name }) else {
            throw HubStoreError(.failed, "a publish of this name waits")
        }
        // What is not kept there is not kept here either.
        let kept = try PublishRequest(request.encoded, project: request.project, name: request.name, now: time)
        state.scheduled.append(ScheduledRow(request: kept, time: time))
    }

    package func cancel(_ name: String, of project: ProjectKey) throws(HubStoreError) -> Bool {
        let index = state.scheduled.firstIndex { row in
            row.request.name == name && row.request.project == project && row.status == .scheduled
        }
        guard let index else { return false }
        state.scheduled[index].status = .cancelled
        return true
    }

    package func publishDue(now: Milliseconds) throws(HubStoreError) -> PublishResult? {
        guard let index = nextIndex, state.scheduled[index].time <= now else { return nil }
        var request = state.scheduled[index].request
        request.body.sent = now
        do {
            let due = request
            let result = try savepoint { () throws(HubStoreError) in try publish(due, now: now) }
            state.scheduled.remove(at: index)
            return result
        } catch {
            if error.abortsCommit { throw error }
            state.scheduled[index].status = .refused
            return PublishResult(appended: [], matched: 0)
        }
    }

    package func nextDue() throws(HubStoreError) -> Milliseconds? { nextIndex.map { state.scheduled[$0].time } }

    private var nextIndex: Int? {
        let waiting = state.scheduled.indices.filter { state.scheduled[$0].status == .scheduled }
        return waiting.min { state.scheduled[$0].time < state.scheduled[$1].time }
    }

    /// Forgets those that are over since before a time; answers how many went.
    func forgetScheduled(before time: Milliseconds, limit: Int) -> Int {
        let old = state.scheduled.indices.filter { state.scheduled[$0].isOver(before: time) }.prefix(limit)
        for index in old.reversed() { state.scheduled.remove(at: index) }
        return old.count
    }
}

/// A publish that is to come, or was to.
struct ScheduledRow: Sendable {
    var request: PublishRequest
    var time: Milliseconds
    var status = PublishRecord.Status.scheduled

    func isOver(before time: Milliseconds) -> Bool { status != .scheduled && self.time < time }
}

/// A collapse key of an inbox.
struct CollapseName: Hashable, Sendable {
    var inbox: InboxKey
    var key: String
}
