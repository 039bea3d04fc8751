package import PealHub
package import PealModel

extension MemoryHubStore {
    package func replay(
        _ key: String, digest: [UInt8], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Replay {
        guard let row = state.answers[ScopedName(project: project, name: key)],
            row.time > now - HubStoreLimits.answerAge
        else { return .new }
        return row.digest == digest ? .answered(status: row.status, body: row.body) : .different
    }

    package func remember(
        _ key: String, digest: [UInt8], status: Int, body: [UInt8], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) {
        state.answers[ScopedName(project: project, name: key)] = AnswerRow(
            digest: digest, status: status, body: body, time: now)
        state.oldest = min(state.oldest, now)
    }

    package func probe() throws(HubStoreError) {}

    package func upkeep(limit: Int, now: Milliseconds) throws(HubStoreError) -> Bool {
        precondition(limit > 0, "upkeep takes steps")
        var forgotten = (answers: 0, acts: 0)
        if state.oldest < now - HubStoreLimits.answerAge {
            forgotten = (forgetAnswers(limit: limit, now: now), forgetActs(limit: limit, now: now))
            noteOldest()
        }
        let broadcasts = forgetBroadcasts(before: now - HubStoreLimits.broadcastAge, limit: limit)
        let purging = purge(limit: limit)
        let trimming = trim(limit: limit, now: now)
        return forgotten.answers == limit || forgotten.acts == limit || broadcasts == limit || purging || trimming
    }

    private func forgetAnswers(limit: Int, now: Milliseconds) -> Int {
        let old = state.answers.filter { $0.value.time < now - HubStoreLimits.answerAge }.sorted { left, right in
            (left.value.time, left.key.project.row, left.key.name)
                < (right.value.time, right.key.project.row, right.key.name)
        }.prefix(limit)
        for (key, _) in old { state.answers[key] = nil }
        return old.count
    }

    private func forgetActs(limit: Int, now: Milliseconds) -> Int {
        var old: [(inbox: InboxKey, row: ActRow)] = []
        for box in state.inboxes {
            let acts = box.value.acts
            for index in 0..<acts.count where acts[index].time < now - Limits.uidAge {
                old.append((box.value.key, acts[index]))
            }
        }
        old.sort { left, right in
            let (one, other) = (left.row, right.row)
            let before = (one.time, left.inbox.row, Int64(bitPattern: one.uid))
            let after = (other.time, right.inbox.row, Int64(bitPattern: other.uid))
            if before != after { return before < after }
            return one.author == other.author ? one.n < other.n : one.author.precedes(other.author)
        }
        let chosen = old.prefix(limit)
        for inbox in Set(chosen.map(\.inbox)).sorted() {
            state[inbox].forget(chosen.filter { $0.inbox == inbox }.map(\.row))
        }
        return chosen.count
    }

    private func noteOldest() {
        var oldest = state.answers.values.map(\.time).min() ?? .max
        for box in state.inboxes {
            let acts = box.value.acts
            for index in 0..<acts.count { oldest = min(oldest, acts[index].time) }
        }
        state.oldest = oldest
    }

    /// Takes some entries of an inbox that was deleted; the last step leaves a tombstone, so that its replicas are refused.
    private func purge(limit: Int) -> Bool {
        guard state.purging > 0, let index = state.inboxes.firstIndex(where: { $0.value.kind == .deleted }) else {
            return false
        }
        let inbox = state.inboxes[index].value
        let count = min(limit, inbox.log.count - inbox.purged)
        state.inboxes[index].value.purged += count
        guard count < limit else { return true }
        var tombstone = MemoryInbox(
            key: inbox.key, project: inbox.project, publicID: inbox.publicID, isDevice: false, epoch: inbox.epoch)
        tombstone.kind = .purged
        state.inboxes[index].value = tombstone
        state.deliveries = state.deliveries.filter { $0.key.inbox != inbox.key }
        state.purging -= 1
        return true
    }
}
