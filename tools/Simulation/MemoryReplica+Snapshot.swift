import PealModel
import PealReplica

extension MemoryReplica {
    // MARK: Snapshots

    func snapshotRequest() throws(ReplicaError) -> SnapshotRequest {
        guard let stage = state.stage else { return SnapshotRequest() }
        return SnapshotRequest(id: stage.id, after: stage.after, at: stage.newestAt, chain: stage.newestChain)
    }

    func stage(_ page: Page) throws(ReplicaError) -> Staged {
        var stage: MemoryStage
        if let current = state.stage, current.id == page.id, page.rest == nil {
            stage = current
        } else {
            stage = MemoryStage(page, epoch: session.epoch ?? state.cursor.epoch ?? 0, device: state.base.isDevice)
        }
        stage.add(page)
        state.stage = stage
        if planted(.partialShownAsWhole), !page.last { state.base = stage.base }
        guard stage.isReady else {
            return Staged(
                position: stage.logPosition, rows: Int64(stage.base.items.count), last: page.last,
                settledThrough: state.settledN, swap: nil)
        }
        let swap = swapIn(stage)
        return Staged(
            position: state.cursor.position, rows: Int64(state.base.items.count), last: page.last,
            settledThrough: state.settledN, swap: swap.report,
            divergence: page.at == state.cursor.position ? compare(page.sum) : nil)
    }

    func swapIn(_ stage: MemoryStage) -> (report: SwapReport, foreign: Bool) {
        var report = SwapReport(
            before: Int64(state.base.items.count), after: 0, ahead: state.ahead, common: nil, unexplained: [],
            unexplainedCount: 0)
        if state.ahead { goBack(stage, &report) }
        state.base = stage.base
        var found = Found()
        fold(stage.log[...], first: stage.firstAt + 1, &found)
        state.cursor = Cursor(epoch: stage.epoch, position: stage.logPosition, chain: stage.logChain)
        // The pages' rows are as of different positions: only the whole has a sum.
        state.base.sum = state.base.computedSum
        state.divergence.computed = options.clock.wall()
        state.divergence.repair = false
        state.damage = nil
        state.time = max(state.base.newestTime, found.time)
        found.time = 0
        state.ahead = false
        // In a session that resumed only a divergence asks for one.
        if !session.awaitsSnapshot { state.repairCount += 1 }
        session.awaitsSnapshot = false
        state.stage = nil
        let foreign = finish(found)
        report.after = Int64(state.base.items.count)
        return (report, foreign)
    }

    /// Offers again what the hub lost, as of what both still have in common.
    private func goBack(_ stage: MemoryStage, _ report: inout SwapReport) {
        let common = state.base.common(with: stage.base)
        let time = state.base.time(at: common)
        let lastN = session.offersAll ? 0 : state.aheadLastN
        report.common = common
        report.lost = Int64(
            state.base.items.count { stage.base.items[$0.key]?.state.position != $0.value.state.position })
        report.reoffered = session.reoffers
        report.lostActs = Int64(state.journal.count { ($0.n ?? 0) > lastN && $0.outcome?.code != .void })
        if !session.reoffers {
            state.journal.removeAll { ($0.n ?? 0) > lastN && $0.outcome?.code != .void }
        } else if !planted(.journalPruned) {
            offerJournal(above: lastN, quiet: false)
        }
        for index in state.outbox.indices {
            if let n = state.outbox[index].n, n > lastN {
                if state.outbox[index].void != nil, state.outbox[index].state != .dead {
                    state.outbox[index].state = .dead
                    state.outbox[index].outcome = Outcome(.void)
                }
                state.outbox[index].n = nil
                if state.outbox[index].state == .sent { state.outbox[index].state = .queued }
            }
            if !planted(.lostTimelineKept) { Self.lower(&state.outbox[index], to: common, time: time) }
        }
        for index in state.journal.indices {
            if let n = state.journal[index].n, n > lastN { state.journal[index].n = nil }
            Self.lower(&state.journal[index], to: common, time: time)
        }
        state.nextN = state.aheadLastN + 1
        state.settledN = min(state.settledN, state.aheadLastN)
        report.offered = Int64(state.outbox.count { $0.state != .dead })
    }

    private static func lower(_ act: inout OutboxAct, to common: Position, time: Milliseconds) {
        if act.observed > common {
            act.observed = common
            act.observedTime = min(act.observedTime, time)
        }
        if case .mark(let kind, let upTo) = act.operation, upTo > common {
            act.operation = .mark(kind, upTo: common)
        }
    }
}
