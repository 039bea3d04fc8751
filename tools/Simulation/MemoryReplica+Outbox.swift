import PealModel
import PealReplica

extension MemoryReplica {
    // MARK: Acts

    func enqueue(
        _ operation: Operation, observed: ViewPosition?, hold: Milliseconds
    ) throws(ReplicaError) -> UInt64 {
        let view = observed ?? self.view
        let position = max(0, min(view.position, state.cursor.position))
        var operation = operation
        if case .mark(let kind, let upTo) = operation { operation = .mark(kind, upTo: min(upTo, position)) }
        return insert(operation, position, view.time, hold: hold)
    }

    private func insert(
        _ operation: Operation, _ observed: Position, _ time: Milliseconds, hold: Milliseconds
    ) -> UInt64 {
        if !planted(.heldActOvertaken) {
            for index in state.outbox.indices where state.outbox[index].state == .held {
                state.outbox[index].state = .queued
                state.outbox[index].holdUntil = nil
            }
        }
        let wall = options.clock.wall()
        let act = OutboxAct(
            seq: state.nextSeq, uid: options.random(), state: hold > 0 ? .held : .queued, operation: operation,
            observed: observed, observedTime: time, boot: options.clock.bootID(), bootTime: options.clock.boot(),
            wall: wall, holdUntil: hold > 0 ? wall + min(hold, Self.maximumWait) : nil)
        state.nextSeq += 1
        state.outbox.append(act)
        return act.uid
    }

    func undo(_ uid: UInt64) throws(ReplicaError) -> Bool {
        guard let index = state.outbox.firstIndex(where: { $0.uid == uid && $0.state == .held }) else { return false }
        state.outbox.remove(at: index)
        return true
    }

    func discard(_ uid: UInt64) throws(ReplicaError) -> Bool {
        guard let index = state.outbox.firstIndex(where: { $0.uid == uid }) else { return false }
        let act = state.outbox[index]
        guard act.state == .dead || act.state == .held || act.n == nil else { return false }
        if act.state == .dead, act.n != nil {
            moveToJournal(index, n: act.n, Outcome(.void, reason: "discarded"))
        } else {
            state.outbox.remove(at: index)
        }
        return true
    }

    func retry(_ uid: UInt64) throws(ReplicaError) -> UInt64? {
        guard let index = state.outbox.firstIndex(where: { $0.uid == uid && $0.state == .dead }) else { return nil }
        let act = state.outbox[index]
        let new = insert(act.operation, act.observed, act.observedTime, hold: 0)
        moveToJournal(index, n: act.n, Outcome(.void, reason: "discarded"))
        return new
    }

    static let maximumWait: Milliseconds = 600_000

    func wait(until due: Milliseconds) -> Milliseconds {
        let left = due - options.clock.wall()
        return left <= 0 || left > Self.maximumWait ? 0 : left
    }

    func nextDue() throws(ReplicaError) -> Milliseconds? {
        let waiting = state.outbox.filter { $0.state == .held || $0.state == .queued }
        return waiting.compactMap { $0.holdUntil ?? $0.retryAt }.min().map(wait)
    }

    // MARK: Sending

    var hasUnsent: Bool { state.outbox.contains { $0.state == .held || $0.state == .queued } }

    func nextPush(maximumCount: Int, maximumBytes: Int) throws(ReplicaError) -> Push? {
        guard !session.awaitsSnapshot || planted(.pushWhileLoading) else { return nil }
        var push = Push(mutations: [], suspect: false, last: 0)
        let known = Set(session.settled.map(\.settled.uid))
        for index in state.outbox.indices {
            let row = state.outbox[index]
            guard row.state == .held || row.state == .queued, !known.contains(row.uid) else { continue }
            if planted(.heldActOvertaken), row.state == .held, let until = row.holdUntil, wait(until: until) > 0 {
                continue
            }
            guard isDue(row), push.mutations.count < maximumCount else { break }
            let alone = row.attempts >= 3
            if alone, !push.mutations.isEmpty { break }
            let n = row.n ?? state.nextN
            state.nextN = max(state.nextN, n + 1)
            state.outbox[index].state = .sent
            state.outbox[index].n = n
            state.outbox[index].holdUntil = nil
            state.outbox[index].retryAt = nil
            push.mutations.append(mutation(row, n: n))
            push.last = n
            if alone {
                push.suspect = true
                break
            }
        }
        if planted(.removedAtSend) { state.outbox.removeAll { $0.state == .sent } }
        return push.mutations.isEmpty ? nil : push
    }

    private func isDue(_ row: OutboxAct) -> Bool {
        if row.state == .held, let until = row.holdUntil, wait(until: until) > 0 { return false }
        if let retryAt = row.retryAt, wait(until: retryAt) > 0 { return false }
        return true
    }

    private func mutation(_ row: OutboxAct, n: Int64) -> Mutation {
        let moment: Mutation.Moment =
            row.boot == options.clock.bootID()
            ? .age(max(options.clock.boot() - row.bootTime, 0)) : .wall(row.wall + (state.clockOffset ?? 0))
        return Mutation(
            n: n, uid: row.uid, observed: row.observed, observedTime: row.observedTime, moment: moment,
            operation: row.void.map { .void(reason: $0) } ?? row.operation)
    }

    func resetInFlight(retryAfter: Milliseconds?) throws(ReplicaError) {
        resetRows(retryAt: retryAfter.map { options.clock.wall() + min($0, Self.maximumWait) })
    }

    func resetRows(retryAt: Milliseconds?) {
        guard let head = state.outbox.firstIndex(where: { $0.state == .sent }) else { return }
        if let retryAt {
            state.outbox[head].retryAt = retryAt
        } else {
            state.outbox[head].attempts += 1
        }
        for index in state.outbox.indices where state.outbox[index].state == .sent {
            state.outbox[index].state = .queued
        }
    }

    // MARK: Settling

    func settled(_ settled: [Settled], at position: Position) throws(ReplicaError) -> Int64 {
        session.settled += settled.map { ($0, position) }
        settleWaiting()
        return max(state.settledN, settled.map(\.n).max() ?? 0)
    }

    func settleWaiting() {
        guard !session.awaitsSnapshot else { return }
        let position = planted(.settledAtOnce) ? .max : state.cursor.position
        let due = session.settled.filter { $0.at <= position }
        session.settled.removeAll { $0.at <= position }
        for (settled, _) in due { settle(settled) }
    }

    func settle(_ settled: Settled) {
        state.settledN = max(state.settledN, settled.n)
        guard let index = state.outbox.firstIndex(where: { $0.uid == settled.uid && $0.state != .dead }) else { return }
        let row = state.outbox[index]
        var outcome = settled.outcome
        let discarded = row.void == "discarded"
        if outcome.code == .void, !discarded { outcome.reason = row.void ?? outcome.reason }
        if outcome.isDead || outcome.code == .void && !discarded {
            state.outbox[index].state = .dead
            state.outbox[index].n = settled.n
            state.outbox[index].outcome = outcome
        } else {
            moveToJournal(index, n: settled.n, outcome)
        }
    }

    private func moveToJournal(_ index: Int, n: Int64?, _ outcome: Outcome) {
        var act = state.outbox.remove(at: index)
        act.n = n
        act.outcome = outcome
        act.settled = state.synced
        state.journal.removeAll { $0.seq == act.seq }
        let place = state.journal.firstIndex { $0.seq > act.seq } ?? state.journal.endIndex
        state.journal.insert(act, at: place)
    }

    func sentUID(of n: Int64) -> UInt64? {
        state.outbox.first { $0.n == n }?.uid ?? state.journal.first { $0.n == n }?.uid
    }

    // MARK: What is shown

    /// Base and, over it, what pending acts make of it: each resolved with the hub's own rule.
    func shown() -> ShownInbox {
        let pending = state.outbox.filter { $0.state != .dead && !$0.quiet && $0.void == nil }
        let sent = Set(state.outbox.map(\.uid)).union(state.journal.map(\.uid))
        var overlay = ShownInbox(base: state.base, head: state.cursor.position, author: author, sent: sent)
        let now = max(options.clock.wall() + (state.clockOffset ?? 0), state.time, state.synced)
        for row in pending {
            let act = Resolver.resolve(mutation(row, n: row.n ?? 0), by: author, in: overlay, now: now)
            overlay.fold(act, now: now)
        }
        return overlay
    }
}
