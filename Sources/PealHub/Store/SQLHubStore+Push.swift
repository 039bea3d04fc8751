package import PealModel

/// A replica's row.
struct ReplicaRow {
    var key: ReplicaKey
    var id: ReplicaID
    var inbox: InboxKey
    var attempt: Int64
    var nonceCurrent: String
    var nonceIssued: String
    var lastN: Int64
    var lastUID: UInt64?
    var session: UInt64?
    var failures: Int64
    var suspect: UInt64?
    var isRevoked = false
}

extension SQLHubStore {
    package func push(
        _ mutations: [Mutation], from replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> PushResult {
        guard var row = try sessionQueries.replica(replica), row.session == session else {
            return PushResult(stop: .fenced)
        }
        let inbox = try inboxes.inbox(row.inbox)
        guard inbox.kind != .deleted else { return PushResult(stop: .fenced) }
        var view = try StoreInboxView(inbox, in: self)
        try prepare(mutations, in: view)
        var result = PushResult()
        for mutation in mutations {
            if mutation.n <= row.lastN {
                guard let settled = try settled(mutation, of: row) else {
                    result.stop = .forked
                    return result
                }
                result.settled.append(settled)
                continue
            }
            guard mutation.n == row.lastN + 1 else {
                result.stop = .gap(expected: row.lastN + 1)
                return result
            }
            if let catalogue = try bringCatalogue(for: mutation.operation, in: view, now: now) {
                result.appended.append(catalogue)
            }
            let before = try outcomes(before: mutation, in: mutations, of: row)
            guard let (appended, outcome) = try process(mutation, of: &row, in: &view, now: now) else {
                result.stop = .failed(n: mutation.n)
                return result
            }
            result.appended.append(appended)
            result.outcomes.append(outcome)
            if view.inbox.kind == .deleted {
                // The log goes with the device, so the outcomes of its last push go by themselves.
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
        guard let row = try sessionQueries.replica(replica), row.session == session, mutation.n == row.lastN + 1 else {
            return try push([mutation], from: replica, session: session, now: now)
        }
        guard let noted = row.suspect, noted != run else {
            try sessionQueries.suspect.run(row.key.row, run)
            return nil
        }
        let inbox = try inboxes.inbox(row.inbox)
        guard inbox.kind != .deleted else { return PushResult(stop: .fenced) }
        let act = Act.fatal(mutation, by: .replica(row.id), now: now)
        let appended = try settle(act, of: row, in: try StoreInboxView(inbox, in: self), now: now)
        return PushResult(appended: [appended], outcomes: [act.outcome.code])
    }

    /// The answer to a resend; nil where another uid had the number: the replica was restored or cloned.
    private func settled(_ mutation: Mutation, of row: ReplicaRow) throws(HubStoreError) -> Settled? {
        let author = Author.replica(row.id).bytes
        let found = try actQueries.byNumber.first(row.inbox.row, author, mutation.n) {
            (row) throws(HubStoreError) -> (UInt64, Outcome) in (row.bits(0), try Outcome(stored: row.text(1)))
        }
        guard let (uid, outcome) = found else {
            // Forgotten after 40 days. Its number is taken all the same (dedupe has no window), so it is never processed again.
            if mutation.n == row.lastN, row.lastUID != mutation.uid { return nil }
            return Settled(n: mutation.n, uid: mutation.uid, outcome: .duplicate)
        }
        return uid == mutation.uid ? Settled(n: mutation.n, uid: uid, outcome: outcome) : nil
    }

    /// The outcomes of what comes before an `end` in its push: their entries go with the log.
    private func outcomes(
        before end: Mutation, in mutations: [Mutation], of row: ReplicaRow
    ) throws(HubStoreError) -> [Settled] {
        guard end.operation == .end else { return [] }
        var outcomes: [Settled] = []
        for mutation in mutations {
            if mutation.n == end.n { break }
            if let settled = try settled(mutation, of: row) { outcomes.append(settled) }
        }
        return outcomes
    }

    /// Processes the next mutation in a savepoint of its own; nil where it failed and will be tried again.
    private func process(
        _ mutation: Mutation, of row: inout ReplicaRow, in view: inout StoreInboxView, now: Milliseconds
    ) throws(HubStoreError) -> (Appended, Outcome.Code)? {
        let author = Author.replica(row.id)
        do {
            let current = view
            let done = try savepoint { () throws(HubStoreError) in
                try fault?(mutation)
                let act = try decide(mutation, by: author, in: current, now: now)
                return (try settle(act, of: row, in: current, now: now), act.outcome.code)
            }
            row.lastN = mutation.n
            row.lastUID = mutation.uid
            row.failures = 0
            return done
        } catch {
            if error.abortsCommit { throw error }
            row.failures += 1
            try sessionQueries.fail.run(row.key.row, row.failures)
            // What the view had cached was undone with the savepoint.
            view = try StoreInboxView(try inboxes.inbox(row.inbox), in: self)
            guard row.failures >= HubStoreLimits.poisonFrom else { return nil }
        }
        let appended = try settle(.poison(mutation, by: author, now: now), of: row, in: view, now: now)
        row.lastN = mutation.n
        row.lastUID = mutation.uid
        row.failures = 0
        return (appended, .poison)
    }

    private func decide(
        _ mutation: Mutation, by author: Author, in view: StoreInboxView, now: Milliseconds
    ) throws(HubStoreError) -> Act {
        guard try known(mutation.uid, in: view.inbox.key) == nil else {
            return Act(author: author, n: mutation.n, uid: mutation.uid, itime: now, outcome: .duplicate)
        }
        return try resolve(mutation, by: author, in: view, now: now)
    }

    /// Appends an act of a replica and moves its lastN.
    private func settle(
        _ act: Act, of row: ReplicaRow, in view: StoreInboxView, now: Milliseconds
    ) throws(HubStoreError) -> Appended {
        let appended = try append(act, in: view, now: now)
        try sessionQueries.advance.run(row.key.row, act.n, act.uid)
        return appended
    }
}
