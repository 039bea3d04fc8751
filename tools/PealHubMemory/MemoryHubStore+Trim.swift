import PealHub
import PealModel

extension MemoryHubStore {
    /// Goes on with the round that raises the floors, as the other store does.
    func trim(limit: Int, now: Milliseconds) -> Bool {
        guard trimRound.begin(retention, now: now) else { return false }
        var left = limit
        while left > 0, let after = trimRound.after {
            guard after < state.inboxes.count else {
                trimRound.end()
                return false
            }
            let count = isTrimmable(Int(after)) ? trim(Int(after), limit: left, now: now) : 0
            if count < left { trimRound.pass(after + 1) }
            left -= count + 1
        }
        return true
    }

    private func isTrimmable(_ index: Int) -> Bool {
        let inbox = state.inboxes[index].value
        return !inbox.kind.isDeleted && inbox.head > inbox.floor
    }

    private func trim(_ index: Int, limit: Int, now: Milliseconds) -> Int {
        let inbox = state.inboxes[index]
        let held = state.replicas.filter { row in
            row.inbox == inbox.value.key && retention.holds(seenAt: row.seenAt, now: now)
        }.map(\.got).min()
        let floor = inbox.value.floor
        var gone = 0
        while gone < limit, floor + Position(gone) < inbox.head {
            let position = floor + Position(gone) + 1
            let row = inbox.value.log[Int(position) - 1]
            guard retention.trims(position, time: row.time, head: inbox.head, held: held, now: now) else { break }
            let isThere = row.publish > 0 && inbox.item(row.item)?.deleted == false
            if !isThere { state.inboxes[index].value.log[Int(position) - 1].bytes = nil }
            gone += 1
        }
        if gone > 0 { state.inboxes[index].value.floor = floor + Position(gone) }
        return gone
    }
}
