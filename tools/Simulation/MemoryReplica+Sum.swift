import PealModel
import PealReplica

/// The sum of the base against the hub's (docs/sync.md section 8), as ``Replica`` compares it.
extension MemoryReplica {
    /// What happens to a file behind the replica's back: a disk, another program, a fault of the fold.
    enum Damage: CaseIterable {
        /// A row is gone; the kept sum does not see it.
        case lostRow
        /// A row was never folded, and the kept sum with it.
        case missedRow
        /// Only the kept sum is wrong.
        case wrongSum
        /// A row has another value; the kept sum does not see it.
        case wrongRow
    }

    func compare(_ theirs: UInt64?) -> Divergence? {
        let now = options.clock.wall()
        let kept = state.base.sum
        let wanted = theirs ?? kept
        let agrees = wanted == kept
        guard !state.divergence.repair || planted(.repairForEver),
            agrees ? state.divergence.isDue(now: now) : isNews(wanted &- kept, now), state.asideCount == 0
        else { return nil }
        let base = state.base
        let computed = base.computedSum
        let found = Divergence(
            position: state.cursor.position, theirs: theirs, kept: kept, computed: computed,
            items: Int64(base.items.count),
            registers: base.items.values.reduce(0) {
                $0 + ($1.state.read == nil ? 0 : 1) + ($1.state.archived == nil ? 0 : 1)
            }, marks: MarkKind.allCases.reduce(0) { $0 + Int64(base.marks[$1].marks.count) },
            interests: Int64(base.interests?.count ?? 0))
        state.base.sum = computed
        state.divergence.computed = now
        if computed == theirs { state.damage = nil }
        let difference = wanted &- computed
        guard !(agrees && found.isMended), isNews(difference, now) else { return nil }
        // After a day one cause is reported again.
        let isOld = state.divergence.by == difference && now - (state.divergence.reported ?? now) >= DivergenceState.day
        state.divergence.reported = now
        state.divergence.by = difference
        state.divergence.repair = !found.isMended && !planted(.repairForgotten)
        if !isOld { state.reportCount += 1 }
        return found
    }

    private func isNews(_ difference: UInt64, _ now: Milliseconds) -> Bool {
        planted(.repairForEver) || state.divergence.isNews(difference, now: now)
    }

    var isDamaged: Bool { state.damage != nil }

    var explainsDivergence: Bool { max(state.reportCount, state.repairCount) <= state.damageCount }

    /// Damages what is durable.
    ///
    /// - Returns: whether there was something to damage.
    func damage(_ bits: UInt32) -> Bool {
        guard state.damage == nil, state.cursor.position > 0 else { return false }
        let damage = Damage.allCases[Int(bits) % Damage.allCases.count]
        if damage == .wrongSum {
            state.base.sum &+= 1 + UInt64(bits)
            state.damage = damage
            state.damageCount += 1
            return true
        }
        let rows = state.base.items.sorted { $0.value.state.position < $1.value.state.position }
        guard !rows.isEmpty else { return false }
        let (id, row) = rows[Int(bits >> 8) % rows.count]
        if damage == .wrongRow {
            if let read = row.state.read {
                state.base.items[id]?.state.read?.value = !read.value
            } else {
                state.base.items[id]?.state.seen.toggle()
            }
        } else {
            let facts = state.base.facts.removeValue(forKey: id) ?? []
            state.base.items[id] = nil
            if damage == .missedRow {
                state.base.sum &-= InboxSum.of(id, row.state)
                for fact in facts { state.base.sum &-= InboxSum.fact(fact, at: row.state.position) }
            }
        }
        state.damage = damage
        state.damageCount += 1
        return true
    }
}
