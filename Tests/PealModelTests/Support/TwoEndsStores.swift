import PealModel
import Testing

/// What the hub of ``TwoEnds`` holds.
struct HubSide {
    let epoch: UInt64 = 7
    var session: HubSession?
    var known: Admission.Known?
    var lastN: Int64 = 0
    var settled: [Int64: Settled] = [:]
    /// The state at each position.
    var history = [InboxState()]
    var log: [[UInt8]] = []
    var floor: Position = 0
    var published: [UInt64] = []
    var sessions: UInt64 = 0
    var busyPercent = 0

    var head: Position { Position(log.count) }

    func chain(_ position: Position) -> UInt64? {
        position <= head ? UInt64(position) &* 0x9E37_79B9 : nil
    }

    mutating func append(_ kind: Entry.Kind, now: Milliseconds) {
        let entry = Entry(time: now, kind: kind)
        log.append(entry.bytes)
        var state = history[history.count - 1]
        state.fold(entry)
        history.append(state)
    }

    mutating func publish(now: Milliseconds) {
        published.append(UInt64(published.count + 1))
        append(.item(id: item(published.last!), publish: "p", body: raw(#"{"sent":1}"#)), now: now)
    }

    mutating func admit(_ hello: Hello, now: Milliseconds) -> [HubSession.Action] {
        if let known, hello.attempt <= known.attempt { return session?.refused(last: known.attempt) ?? [] }
        let mode = Admission.judge(
            cursor: hello.cursor, nonce: hello.nonce, log: Admission.Log(epoch: epoch, head: head, floor: floor),
            known: known, chain: chain(hello.cursor.position))
        sessions += 1
        // Who presents the nonce that was issued last has its welcome: the hello is the first frame after it. Without this, two
        // welcomes that are lost one after the other look like a copy.
        let current = hello.nonce == known?.issued ? hello.nonce : known?.current ?? ""
        known = Admission.Known(current: current, issued: "n\(sessions)", attempt: hello.attempt)
        let welcome = Welcome(
            session: sessions, mode: mode, epoch: epoch, inbox: "i", head: head, lastN: lastN, attempt: hello.attempt,
            nonce: "n\(sessions)", time: now)
        return session?.admitted(welcome, at: hello.cursor.position, now: now) ?? []
    }

    mutating func commit(_ mutations: [Mutation], now: Milliseconds) -> [Settled] {
        var resent: [Settled] = []
        for mutation in mutations {
            if let known = settled[mutation.n] {
                if known.uid != mutation.uid { Issue.record("number \(mutation.n) has two acts") }
                resent.append(known)
                continue
            }
            if mutation.n != lastN + 1 { Issue.record("number \(mutation.n) after \(lastN)") }
            let act = Resolver.resolve(mutation, by: phone, in: history[history.count - 1], now: now)
            append(.act(act), now: now)
            lastN = mutation.n
            settled[mutation.n] = Settled(n: mutation.n, uid: mutation.uid, outcome: act.outcome)
        }
        return resent
    }

    func batch(after: Position, count: Int, bytes: Int) -> (to: Position, bytes: [UInt8]) {
        var entries: [RawJSON] = []
        var size = 0
        for entry in log[Int(after)...].prefix(count) {
            if !entries.isEmpty, size + entry.count > bytes { break }
            entries.append(entry[...])
            size += entry.count
        }
        let to = after + Position(entries.count)
        let batch = Batch(
            session: session?.session ?? 0, from: after, to: to, chain: chain(to) ?? 0, entries: entries,
            sum: to == head ? history[Int(to)].sum : nil)
        return (to, DownFrame.batch(batch).bytes)
    }

    /// Three pages to each snapshot; `after` counts those that are left.
    func page(_ request: SnapshotRequest) -> Page {
        var (id, left) = (head, Position(2))
        if let asked = request.id, let at = request.at, at <= head, chain(at) == request.chain, Position(asked) >= floor
        {
            (id, left) = (Position(asked), max((request.after ?? 1) - 1, 0))
        }
        return Page(
            id: UInt64(id), at: head, chain: chain(head) ?? 0, rows: [], after: left, last: left == 0,
            rest: left == 2 ? Page.Rest() : nil)
    }
}

/// What the replica of ``TwoEnds`` holds.
struct DeviceSide {
    struct Stage {
        var request: SnapshotRequest
        var position: Position
        var chain: UInt64
        var state: InboxState
        var complete: Bool
    }

    var session: DeviceSession
    var cursor = Cursor.start
    var base = InboxState()
    var stage: Stage?
    var attempt: Int64 = 0
    var nonce = ""
    /// Acts that are not settled; their numbers are dense.
    var outbox: [Mutation] = []
    /// How many of them have been sent in this session.
    var sent = 0
    var settled: Int64 = 0
    var uids: UInt64 = 0
    /// A snapshot is wanted because a sum differed.
    var repair = false
    var repairs = 0
    var timers: [DeviceSession.Timer: Milliseconds] = [:]

    init(seed: UInt64) { session = DeviceSession(seed: seed) }

    var hello: Hello {
        Hello(
            project: "key", inbox: .user(externalID: "u", email: nil), replica: ReplicaID(high: 0xA, low: 1),
            proof: Proof(), attempt: attempt, nonce: nonce, cursor: cursor, windowEntries: 20, windowBytes: 4_000)
    }

    mutating func nextPush() -> [Mutation] {
        let push = Array(outbox.dropFirst(sent).prefix(3))
        sent += push.count
        return push
    }

    mutating func settle(_ uid: UInt64, n: Int64) {
        guard let index = outbox.firstIndex(where: { $0.uid == uid }) else { return }
        if index != 0 { Issue.record("act \(uid) was settled before an older one") }
        outbox.remove(at: index)
        sent = max(sent - 1, 0)
        settled = max(settled, n)
    }

    /// Folds what lies above the position; says whether the stage was swapped in.
    mutating func fold(_ batch: Batch) -> Bool {
        var position = stage?.position ?? cursor.position
        if batch.from > position { Issue.record("a gap at \(position)") }
        var state = stage?.state ?? base
        for bytes in batch.entries.dropFirst(Int(position - batch.from)) {
            guard let entry = try? Entry(bytes) else {
                Issue.record("an entry that cannot be read")
                continue
            }
            state.fold(entry)
            position += 1
            if case .act(let act) = entry.kind, let n = act.n { settle(act.uid, n: n) }
        }
        guard stage != nil else {
            (base, cursor) = (state, Cursor(epoch: 7, position: position, chain: batch.chain))
            return false
        }
        stage?.state = state
        stage?.position = position
        stage?.chain = batch.chain
        return swapIfComplete()
    }

    mutating func take(_ page: Page, state: InboxState) -> Bool {
        if page.rest != nil || stage == nil {
            stage = Stage(
                request: SnapshotRequest(), position: Position(page.id), chain: page.chain, state: state,
                complete: false)
        }
        stage?.request = SnapshotRequest(id: page.id, after: page.after, at: page.at, chain: page.chain)
        stage?.complete = page.last
        return swapIfComplete()
    }

    /// Whether the hub's sum shows now that the base is not what was folded.
    mutating func compare(_ sum: UInt64?) -> Bool {
        guard let sum, stage == nil, !repair, base.sum != sum else { return false }
        repair = true
        return true
    }

    private mutating func swapIfComplete() -> Bool {
        guard let stage, stage.complete, stage.position >= stage.request.at ?? 0 else { return false }
        base = stage.state
        if repair { repairs += 1 }
        repair = false
        // At the id of a snapshot during which nothing happened, the page's chain is the cursor's.
        cursor = Cursor(epoch: 7, position: stage.position, chain: stage.chain)
        self.stage = nil
        return true
    }
}
