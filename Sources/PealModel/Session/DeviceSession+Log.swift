/// What a live session folds, credits and pushes.
extension DeviceSession {
    // MARK: Log

    mutating func batchCame(_ batch: Batch, bytes: Int, _ live: inout Live) -> [Action] {
        guard batch.session == live.session || planted(.noSessionCheck) else { return [] }
        live.head = max(live.head, batch.to)
        live.unacknowledged += batch.entries.count
        live.unacknowledgedBytes += bytes
        live.received = max(live.received, batch.to)
        state = .live(live)
        if batch.from > live.position, !planted(.gapAccepted) { return close(.gap, "a gap in the log") }
        if batch.to > live.position { return [.apply(batch)] }
        // Folded already (a staged snapshot that goes on). It must be credited, or a hub that repeats more than a window
        // would wait for ever.
        return [stall(live)] + returnCredit(&live)
    }

    /// While a snapshot loads something is always due: a page, or the log up to the newest page.
    private func stall(_ live: Live) -> Action {
        live.position < live.head || live.snapshot ? .schedule(.stall, Self.stallDelay) : .cancel(.stall)
    }

    /// A batch is folded and durable.
    ///
    /// - Parameters:
    ///   - position: where the replica stands now.
    ///   - settledThrough: the highest own number that is settled.
    ///   - swapped: a staged snapshot took the place of the base with it.
    public mutating func applied(to position: Position, settledThrough: Int64, swapped: Bool) -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.position = position
        let isWhole = swapped && live.snapshot
        if isWhole {
            live.snapshot = false
            resetting = false
        }
        var actions = [stall(live)] + settle(&live, through: settledThrough)
        // Outcomes come in the order of the log: behind what was there before, an answer may take its time.
        if live.inFlight != nil, live.inFlight != .max, position < live.head {
            actions.append(.schedule(.push, Self.pushDelay))
        }
        if isWhole {
            // The swap may have offered the journal again (docs/sync.md section 7, ahead).
            live.outboxWaits = live.outboxWaits || !planted(.journalWaitsAfterSwap)
            actions.append(.status(.live))
        }
        return actions + returnCredit(&live) + push(&live)
    }

    /// The next page is asked for before this one is staged: the hub reads it meanwhile.
    func pageCame(_ page: Page) -> [Action] {
        guard !page.last else { return [.stage(page)] }
        let next = SnapshotRequest(id: page.id, after: page.after, at: page.at, chain: page.chain)
        return [.send(.snapshot(next)), .stage(page)]
    }

    /// A page is staged and durable.
    ///
    /// - Parameters:
    ///   - position: where the stage stands, or the cursor after a swap.
    ///   - last: no page lies below.
    ///   - swapped: the stage took the place of the base, because nothing had happened since its first page.
    public mutating func staged(to position: Position, last: Bool, swapped: Bool) -> [Action] {
        guard case .live(var live) = state, live.snapshot else { return [] }
        live.position = position
        if !last {
            state = .live(live)
            return [.schedule(.stall, Self.stallDelay)]
        }
        live.snapshot = !swapped
        resetting = !swapped
        guard swapped else {
            state = .live(live)
            return [.schedule(.stall, Self.stallDelay)]
        }
        live.outboxWaits = live.outboxWaits || !planted(.journalWaitsAfterSwap)
        return [stall(live), .status(.live)] + push(&live)
    }

    /// At half the window at once, before that after a delay.
    private mutating func returnCredit(_ live: inout Live) -> [Action] {
        let halfWindow =
            live.unacknowledged * 2 >= windowEntries || live.unacknowledgedBytes * 2 >= windowBytes
        if halfWindow { return credit(&live) }
        defer { state = .live(live) }
        if live.gotScheduled { return [] }
        live.gotScheduled = true
        return [.schedule(.got, Self.gotDelay)]
    }

    mutating func credit(_ live: inout Live) -> [Action] {
        live.unacknowledged = 0
        live.unacknowledgedBytes = 0
        live.gotScheduled = false
        state = .live(live)
        return [.cancel(.got), .send(.got(to: min(live.position, live.received)))]
    }

    // MARK: Outbox

    /// Acts were queued.
    public mutating func outboxChanged() -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.outboxWaits = true
        return push(&live)
    }

    mutating func push(_ live: inout Live) -> [Action] {
        defer { state = .live(live) }
        guard live.outboxWaits, live.inFlight == nil, !live.snapshot || planted(.pushWhileLoading), !live.busy else {
            return []
        }
        live.outboxWaits = false
        live.inFlight = .max
        return [.push]
    }

    /// A push was sent whose highest number is `last`; nil where nothing waited.
    public mutating func pushed(last: Int64?) -> [Action] {
        guard case .live(var live) = state else { return [] }
        live.inFlight = last
        // What did not fit waits for the outcomes of this push; what was queued meanwhile is not forgotten.
        if last != nil { live.outboxWaits = true }
        return (last == nil ? [] : [.schedule(.push, Self.pushDelay)]) + push(&live)
    }

    /// Outbox rows are settled through a number.
    public mutating func settled(through n: Int64) -> [Action] {
        guard case .live(var live) = state else { return [] }
        return settle(&live, through: n) + push(&live)
    }

    /// Ends the push in flight where all of it is settled.
    private func settle(_ live: inout Live, through n: Int64) -> [Action] {
        guard let last = live.inFlight, n >= last else { return [] }
        live.inFlight = nil
        return [.cancel(.push)]
    }
}
