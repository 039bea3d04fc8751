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
            var before: [Settled] = []
            if mutation.operation == .end {
                before = mutations.prefix(while: { $0.n != mutation.n }).compactMap {
                    settled($0, of: state.replicas[row])
                }
            }
            guard let (appended, outcome) = try process(mutation, row: row, now: now) else {
                result.stop = .failed(n: mutation.n)
                return result
            }
            result.appended.append(appended)
            result.outcomes.append(outcome)
            if state[state.replicas[row].inbox].kind.isDeleted {
                result.settled = before + [Settled(n: mutation.n, uid: mutation.uid, outcome: .applied)]
                result.stop = .ended
                return result
            }
        }
        return result
    }

    package func suspect(
        _ mutation: Mutation, from replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> PushResult? {
        guard let row = row(replica), state.replicas[row].session == session,
            mutation.n == state.replicas[row].lastN + 1
        else { return try push([mutation], from: replica, session: session, now: now) }
        guard let noted = state.replicas[row].suspect, noted != run else {
            state.replicas[row].suspect = run
            return nil
        }
        let inbox = state.replicas[row].inbox
        guard !state[inbox].kind.isDeleted else { return PushResult(stop: .fenced) }
        let act = Act.fatal(mutation, by: .replica(state.replicas[row].id), now: now)
        return PushResult(
            appended: [try settle(act, mutation, row: row, now: now)], outcomes: [act.outcome.code])
    }

    /// Appends the act of a replica and moves its lastN.
    private func settle(_ act: Act, _ mutation: Mutation, row: Int, now: Milliseconds) throws(HubStoreError) -> Appended
    {
        let appended = try append(act, to: state.replicas[row].inbox, now: now)
        state.replicas[row].lastN = mutation.n
        state.replicas[row].lastUID = mutation.uid
        state.replicas[row].failures = 0
        state.replicas[row].suspect = nil
        return appended
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
    private func process(
        _ mutation: Mutation, row: Int, now: Milliseconds
    ) throws(HubStoreError) -> (Appended, Outcome.Code)? {
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
            state.replicas[row].suspect = nil
            guard state.replicas[row].failures >= HubStoreLimits.poisonFrom, !planted(.poisonBlocks) else { return nil }
            act = .poison(mutation, by: author, now: now)
        }
        return (try settle(act, mutation, row: row, now: now), act.outcome.code)
    }
}
