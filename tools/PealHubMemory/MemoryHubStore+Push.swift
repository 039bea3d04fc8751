package import PealHub
package import PealModel

extension MemoryHubStore {
    package func push(
        _ mutations: [Mutation], from replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> PushResult {
        guard let row = row(replica), state.replicas[row].session == session || planted(.noFencing),
            !state[state.replicas[row].inbox].kind.isDeleted
        else { return PushResult(stop: .fenced) }
        var result = PushResult()
        for mutation in mutations {
            let lastN = state.replicas[row].lastN
            if mutation.n <= lastN, !planted(.noDedupe) {
                guard let settled = settled(mutation, of: state.replicas[row]) else {
                    result.stop = .forked
                    return result
                }
                result.settled.append(settled)
                continue
            }
            guard mutation.n == lastN + 1 || planted(.noDedupe) else {
                result.stop = .gap(expected: lastN + 1)
                return result
            }
            if let catalogue = bringCatalogue(for: mutation.operation, in: state.replicas[row].inbox, now: now) {
                result.appended.append(catalogue)
            }
            guard let appended = try process(mutation, row: row, now: now) else {
                result.stop = .failed(n: mutation.n)
                return result
            }
            result.appended.append(appended)
            if state[state.replicas[row].inbox].kind.isDeleted {
                result.settled.append(Settled(n: mutation.n, uid: mutation.uid, outcome: .applied))
                result.stop = .ended
                return result
            }
        }
        return result
    }

    /// The answer to a resend; nil where another uid had the number.
    private func settled(_ mutation: Mutation, of replica: ReplicaRow) -> Settled? {
        guard let found = state[replica.inbox].outcome(of: .replica(replica.id), n: mutation.n) else {
            if mutation.n == replica.lastN, replica.lastUID != mutation.uid { return nil }
            return Settled(n: mutation.n, uid: mutation.uid, outcome: .duplicate)
        }
        return found.uid == mutation.uid ? Settled(n: mutation.n, uid: found.uid, outcome: found.outcome) : nil
    }

    /// Processes the next mutation; nil where it failed and will be tried again. Nothing is changed before all that can fail.
    private func process(_ mutation: Mutation, row: Int, now: Milliseconds) throws(HubStoreError) -> Appended? {
        let inbox = state.replicas[row].inbox
        let author = Author.replica(state.replicas[row].id)
        let act: Act
        do {
            try fault?(mutation)
            if state[inbox].known(mutation.uid) != nil, !planted(.noUIDDedupe) {
                act = Act(author: author, n: mutation.n, uid: mutation.uid, itime: now, outcome: .duplicate)
            } else {
                act = resolve(mutation, by: author, in: inbox, now: now)
            }
        } catch {
            if error.abortsCommit { throw error }
            state.replicas[row].failures += 1
            guard state.replicas[row].failures >= HubStoreLimits.poisonFrom, !planted(.poisonBlocks) else { return nil }
            act = .poison(mutation, by: author, now: now)
        }
        let appended = try append(act, to: inbox, now: now)
        state.replicas[row].lastN = mutation.n
        state.replicas[row].lastUID = mutation.uid
        state.replicas[row].failures = 0
        return appended
    }
}
