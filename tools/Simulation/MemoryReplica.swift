import PealModel
import PealReplica

/// A replica in memory: what ``Replica`` keeps in SQLite, as a value that can be copied, so that crashes, backups and clones cost
/// nothing. A differential test ties the two (docs/sync.md section 10).
final class MemoryReplica: SimulatedReplica {
    /// What is durable.
    struct State {
        var identity: InboxIdentity
        var project: String
        var inbox: String?
        var replica: ReplicaID
        var secret: String?
        var previousReplica: ReplicaID?
        var previousSecret: String?
        var attempt: Int64 = 0
        var nonce = ""
        var nextN: Int64 = 1
        var settledN: Int64 = 0
        var cursor = Cursor.start
        var time: Milliseconds = 0
        var clockOffset: Milliseconds?
        var synced: Milliseconds = 0
        var ahead = false
        var aheadLastN: Int64 = 0
        var base: MemoryBase
        var outbox: [OutboxAct] = []
        var journal: [OutboxAct] = []
        var nextSeq: Int64 = 1
        var stage: MemoryStage?
        var divergence = DivergenceState(computed: 0)
        /// Entries that were set aside.
        var asideCount = 0
        /// What the simulator did to this file behind the replica's back, for as long as no snapshot has repaired it.
        var damage: Damage?
        /// How often it did so, how often a divergence was reported, and how often a snapshot repaired one.
        var damageCount = 0
        var reportCount = 0
        var repairCount = 0
    }

    /// A row of the outbox or the journal.
    struct OutboxAct {
        enum State: Int { case held, queued, sent, dead }
        var seq: Int64
        var uid: UInt64
        var n: Int64?
        var state = State.queued
        var operation: Operation
        var observed: Position
        var observedTime: Milliseconds
        var boot: String
        var bootTime: Milliseconds
        var wall: Milliseconds
        var holdUntil: Milliseconds?
        var retryAt: Milliseconds?
        var attempts = 0
        var void: String?
        var quiet = false
        var outcome: Outcome?
        /// When it was settled, by the hub's clock; in the journal.
        var settled: Milliseconds = 0
    }

    struct SessionMemory {
        var epoch: UInt64?
        var awaitsSnapshot = false
        /// The hub's last number is of another copy's act: numbers tell nothing of what it has.
        var offersAll = false
        var reoffers = true
        var settled: [(settled: Settled, at: Position)] = []
    }

    /// The file: what several processes share.
    final class File {
        var state: State
        /// A planted fault: the data that a crash leaves under a cursor that has moved.
        var baseOnCrash: MemoryBase?

        init(_ state: State) { self.state = state }
    }

    let file: File
    var state: State {
        get { file.state }
        _modify { yield &file.state }
    }
    let options: ReplicaOptions
    var session = SessionMemory()

    /// A new replica.
    init(identity: InboxIdentity, project: String, options: ReplicaOptions) {
        self.options = options
        var isDevice = false
        if case .device = identity { isDevice = true }
        var state = State(
            identity: identity, project: project,
            replica: ReplicaID(high: options.random(), low: options.random()), base: MemoryBase(device: isDevice))
        state.divergence.computed = options.clock.wall()
        file = File(state)
    }

    /// A process opens the file: another one, or the same again.
    init(file: File, options: ReplicaOptions) {
        self.file = file
        self.options = options
    }

    var author: Author { .replica(state.replica) }

    // MARK: Session

    func hello(proof: Proof, windowEntries: Int64, windowBytes: Int64) throws(ReplicaError) -> Hello {
        if !planted(.attemptNotDurable) { state.attempt += 1 }
        session = SessionMemory()
        resetRows(retryAt: nil)
        let oldest = state.synced - Limits.journalAge
        state.journal.removeAll { $0.settled < oldest }
        var proof = proof
        proof.secret = state.secret ?? state.previousSecret
        proof.replica = state.secret == nil ? state.previousReplica : nil
        var identity = state.identity
        if case .device(let id) = identity { identity = .device(id: state.inbox ?? id) }
        let sent = state.outbox.filter { $0.state != .dead }.compactMap(\.n)
        return Hello(
            project: state.project, inbox: identity, replica: state.replica, proof: proof, attempt: state.attempt,
            nonce: state.nonce, cursor: state.cursor, outbox: (sent.min() ?? 0)...(sent.max() ?? 0),
            windowEntries: windowEntries, windowBytes: windowBytes)
    }

    func attemptRefused(last: Int64) throws(ReplicaError) { state.attempt = max(state.attempt, last) }

    func welcomed(_ welcome: Welcome) throws(ReplicaError) -> WelcomeCheck {
        if let inbox = state.inbox, inbox != welcome.inbox, welcome.mode != .forked {
            throw ReplicaError(.otherInbox, "the hub answers with another inbox")
        }
        if let reason = forkReason(welcome) {
            return WelcomeCheck(fork: reason, position: state.cursor.position, outbox: false)
        }
        state.inbox = welcome.inbox
        if !planted(.nonceNotDurable) { state.nonce = welcome.nonce }
        if let secret = welcome.secret {
            state.secret = secret
            state.previousReplica = nil
            state.previousSecret = nil
        }
        state.clockOffset = welcome.time - options.clock.wall()
        state.synced = max(state.synced, welcome.time)
        state.ahead = welcome.mode == .ahead
        state.aheadLastN = welcome.lastN
        session = SessionMemory()
        session.epoch = welcome.epoch
        session.awaitsSnapshot = welcome.mode != .resume
        session.reoffers = welcome.reoffer
        session.offersAll = isForeign(welcome) || welcome.lastN >= state.nextN
        session.settled = welcome.settled.map { ($0, welcome.head) }
        if welcome.mode == .resume {
            // A repair that was interrupted goes on.
            if !state.divergence.repair { state.stage = nil }
            if state.cursor.epoch == nil { state.cursor.epoch = welcome.epoch }
        }
        resetRows(retryAt: nil)
        if planted(.snapshotAcknowledgesByNumber), welcome.mode != .resume {
            state.outbox.removeAll { ($0.n ?? .max) <= welcome.lastN }
        }
        settleWaiting()
        let isResumed = welcome.mode == .resume
        let divergence = isResumed ? compare(nil) : nil
        return WelcomeCheck(
            fork: nil, position: state.stage?.logPosition ?? state.cursor.position, outbox: hasUnsent,
            repair: isResumed && state.divergence.repair, divergence: divergence)
    }

    private func isForeign(_ welcome: Welcome) -> Bool {
        guard let theirs = welcome.lastUID, let ours = sentUID(of: welcome.lastN) else { return false }
        return ours != theirs
    }

    private func forkReason(_ welcome: Welcome) -> WelcomeCheck.ForkReason? {
        if planted(.noForkCheck) { return nil }
        if welcome.mode == .forked { return .mode }
        guard welcome.mode != .ahead, welcome.lastN > 0 else { return nil }
        if welcome.lastN >= state.nextN { return .numberAhead }
        return isForeign(welcome) ? .foreignAct : nil
    }

    func sessionEnded(code: CloseCode?, reason: String) throws(ReplicaError) {
        session = SessionMemory()
        if planted(.tokenEndForgetsOutbox), code == .newToken { state.outbox.removeAll { $0.state == .sent } }
        resetRows(retryAt: nil)
    }

    func fork(to id: ReplicaID?) throws(ReplicaError) {
        if let secret = state.secret {
            state.previousReplica = state.replica
            state.previousSecret = secret
        }
        state.replica = id ?? ReplicaID(high: options.random(), low: options.random())
        state.secret = nil
        state.nonce = ""
        state.nextN = 1
        state.settledN = 0
        session = SessionMemory()
        for index in state.outbox.indices {
            if state.outbox[index].void != nil, state.outbox[index].state != .dead {
                state.outbox[index].state = .dead
                state.outbox[index].outcome = Outcome(.void)
            }
            if !planted(.forkKeepsNumbers) { state.outbox[index].n = nil }
            state.outbox[index].attempts = 0
            state.outbox[index].retryAt = nil
            if state.outbox[index].state == .sent { state.outbox[index].state = .queued }
        }
        for index in state.journal.indices { state.journal[index].n = nil }
        offerJournal(above: nil, quiet: true)
    }

    /// Moves settled acts back to the outbox, in their old order.
    func offerJournal(above n: Int64?, quiet: Bool) {
        let offered = state.journal.filter { act in
            act.outcome?.code != .void && (n.map { (act.n ?? 0) > $0 } ?? true)
        }
        let uids = Set(offered.map(\.uid))
        state.journal.removeAll { uids.contains($0.uid) }
        let known = Set(state.outbox.map(\.uid))
        for var act in offered where !known.contains(act.uid) {
            act.n = nil
            act.state = .queued
            act.attempts = 0
            act.void = nil
            act.holdUntil = nil
            act.retryAt = nil
            act.outcome = nil
            act.quiet = quiet
            state.outbox.append(act)
        }
        state.outbox.sort { $0.seq < $1.seq }
    }

    // MARK: Batches

    func apply(_ batch: Batch) throws(ReplicaError) -> Applied {
        if state.stage != nil { return applyToStage(batch) }
        let cursor = state.cursor.position
        guard !session.awaitsSnapshot, batch.to > cursor else { return result(.ignored) }
        guard batch.from <= cursor || planted(.gapAccepted) else { return result(.gap) }
        let new = batch.entries.dropFirst(max(Int(cursor - batch.from), 0))
        var found = Found()
        if planted(.cursorBeforeData) { file.baseOnCrash = state.base }
        fold(new, first: batch.to - Position(new.count) + 1, &found)
        state.cursor = Cursor(epoch: session.epoch ?? state.cursor.epoch, position: batch.to, chain: batch.chain)
        var applied = result(finish(found) ? .foreign : .folded)
        if let sum = batch.sum { applied.divergence = compare(sum) }
        applied.entries = new.count
        applied.quarantined = found.quarantined
        return applied
    }

    func result(_ verdict: Applied.Verdict) -> Applied {
        Applied(
            verdict: verdict, position: state.cursor.position, entries: 0, settledThrough: state.settledN, swap: nil,
            quarantined: [])
    }

    /// What folding found of this replica's own acts.
    struct Found {
        var settled: [Settled] = []
        var highestOwn: Int64 = 0
        var quarantined: [Position] = []
        var time: Milliseconds = 0
    }

    func fold(_ entries: ArraySlice<RawJSON>, first: Position, _ found: inout Found) {
        var position = first
        for bytes in entries {
            defer { position += 1 }
            let entry: Entry
            do throws(JSONError) {
                entry = try Entry(bytes)
            } catch {
                found.quarantined.append(position)
                state.asideCount += 1
                continue
            }
            found.time = entry.time
            state.base.fold(entry, at: position)
            guard case .act(let act) = entry.kind, act.author == author, let n = act.n else { continue }
            found.settled.append(Settled(n: n, uid: act.uid, outcome: act.outcome))
            found.highestOwn = max(found.highestOwn, n)
        }
    }

    /// - Returns: whether an entry shows that another copy of this replica acts.
    func finish(_ found: Found) -> Bool {
        if found.time > 0 { state.time = found.time }
        state.synced = max(state.synced, state.time)
        var foreign = found.highestOwn >= state.nextN
        for settled in found.settled {
            if let uid = sentUID(of: settled.n), uid != settled.uid { foreign = true }
        }
        for settled in found.settled { settle(settled) }
        settleWaiting()
        return foreign && !planted(.noForkCheck)
    }

    func applyToStage(_ batch: Batch) -> Applied {
        guard var stage = state.stage else { return result(.ignored) }
        var applied = result(.ignored)
        applied.position = stage.logPosition
        guard batch.to > stage.logPosition else { return applied }
        guard batch.from <= stage.logPosition else {
            applied.verdict = .gap
            return applied
        }
        let new = batch.entries.dropFirst(Int(stage.logPosition - batch.from))
        stage.log += new
        stage.logPosition = batch.to
        stage.logChain = batch.chain
        state.stage = stage
        applied.verdict = .staged
        applied.entries = new.count
        applied.position = stage.logPosition
        guard stage.isReady else { return applied }
        let swap = swapIn(stage)
        applied.swap = swap.report
        if let sum = batch.sum { applied.divergence = compare(sum) }
        applied.verdict = swap.foreign ? .foreign : .folded
        applied.position = state.cursor.position
        applied.settledThrough = state.settledN
        return applied
    }

    // MARK: Views

    var cursor: Cursor { state.cursor }
    var replicaID: ReplicaID { state.replica }
    var view: ViewPosition { ViewPosition(position: state.cursor.position, time: state.time) }
}
