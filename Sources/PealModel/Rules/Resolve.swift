/// What `resolve` must know of an inbox: a window into a store, or a value in a test. Every answer is of one moment.
public protocol InboxView {
    /// What reading a store can throw; `Never` in memory.
    associatedtype Failure: Error

    /// The position of the last entry.
    var head: Position { get }
    /// The marks of the inbox.
    var marks: Marks { get }
    /// The state of an item, deleted ones included; nil where the inbox never held it.
    func item(_ id: ItemID) throws(Failure) -> ItemState?
    /// Whether an author has sent this uid, duplicates included.
    func sent(_ uid: UInt64, by author: Author) throws(Failure) -> Bool
    /// The items at or below `upTo` whose register of the kind says the opposite of the mark and has `since > observed`;
    /// deleted ones left out. For `seen` there are none.
    func opposed(to kind: MarkKind, upTo: Position, since observed: Position) throws(Failure)
        -> [(id: ItemID, register: Register)]
    /// A device's inbox, as opposed to a user's.
    var isDevice: Bool { get }
    /// The interests of a device's inbox; nil for a user's.
    func interests() throws(Failure) -> Set<String>?
    /// A preference cell; nil while nobody has chosen.
    func cell(_ key: PreferenceKey) throws(Failure) -> PreferenceCell?
    /// How many preference cells there are.
    func cellCount() throws(Failure) -> Int
    /// The project's categories and channels; nil where there are none.
    func catalogue() throws(Failure) -> Catalogue?
    /// Whether a fact about an item is there already.
    func hasFact(_ event: String, of item: ItemID) throws(Failure) -> Bool
}

/// The one rule of who wins (docs/sync.md section 5), pure: the hub runs it at the append, the simulator everywhere.
public struct Resolver<View: InboxView> {
    let view: View
    let author: Author
    let now: Milliseconds
    let mutation: Mutation
    let isProven: Bool

    /// Decides a mutation that is new here: neither a resend nor a known uid.
    ///
    /// - Parameters:
    ///   - mutation: what the person did.
    ///   - author: whose act it is.
    ///   - view: the inbox before it.
    ///   - now: the hub's time of the entry.
    ///   - isProven: for a `user` act, whether the shell has found that its proof is the user's. Without it such an act is
    ///     `denied`.
    /// - Returns: the act, ready to be appended at `view.head + 1`.
    /// - Throws: what the view throws.
    public static func resolve(
        _ mutation: Mutation, by author: Author, in view: View, now: Milliseconds, isProven: Bool = false
    ) throws(View.Failure) -> Act {
        try Resolver(view: view, author: author, now: now, mutation: mutation, isProven: isProven).act()
    }

    /// The position that the person had seen; nobody has seen more than there is.
    var observed: Position { min(mutation.observed, view.head) }

    /// Bounded intent time: `clamp(estimate, observedTime … now)`.
    var itime: Milliseconds {
        let estimate =
            switch mutation.moment {
            case .age(let age): now.subtractingReportingOverflow(max(age, 0)).partialValue
            case .wall(let wall): wall
            }
        return min(max(estimate, min(mutation.observedTime, now)), now)
    }

    func act(
        _ outcome: Outcome, results: [ItemOutcome] = [], effect: Act.Effect = .none
    ) -> Act {
        Act(
            author: author, n: author == .api ? nil : mutation.n, uid: mutation.uid, itime: itime, outcome: outcome,
            results: results, effect: effect)
    }

    private func act() throws(View.Failure) -> Act {
        switch mutation.operation {
        case .read(let items, let on, let passive):
            return try register(items, on: on, passive: passive, kind: .read)
        case .archive(let items, let on):
            return try register(items, on: on, passive: false, kind: .archive)
        case .seen(let items): return try seen(items)
        case .delete(let items): return try delete(items)
        case .mark(let kind, let upTo): return try mark(kind, upTo: upTo)
        case .void(let reason): return act(Outcome(.void, reason: reason))
        case .malformed(let reason) where reason == Operation.unknownReason:
            return act(Outcome(.unknownOp, reason: "This hub does not know what was done."))
        case .malformed(let reason) where reason == Operation.tooManyReason:
            return act(Outcome(.tooLarge, reason: "At most \(Limits.itemsPerMutation) items go in one act."))
        case .malformed(let reason): return act(Outcome(.invalid, reason: reason))
        case .interest(let name, let on): return try interest(name, on: on)
        case .interests(let names): return try interests(names)
        case .preference(let category, let channel, let enabled):
            return try preference(PreferenceKey(category: category, channel: channel), enabled: enabled)
        case .track(let item, let event, let data): return try track(item, event, data)
        case .token(let token, let platform): return self.token(token, platform)
        case .user(let id, _): return user(id)
        case .end: return end()
        }
    }

    // MARK: Registers

    /// How one register takes an act.
    private enum Verdict {
        case accept(changes: Bool)
        case keep(Outcome)
    }

    /// Whether the author's own act stands in a register: one replica's own order decides between its own acts.
    func isOwn(_ actor: Author, _ uid: UInt64) throws(View.Failure) -> Bool {
        if actor == author { return true }
        return try view.sent(uid, by: author)
    }

    private func judge(
        _ current: Register?, value: Bool, passive: Bool, effective: Bool, mark: Mark?
    ) throws(View.Failure) -> Verdict {
        let same = effective == value
        // A passive repeat rewrites nothing: somebody's deliberate act must not be weakened by a mere showing.
        if same, passive || planted(.sameValueIgnored) { return .keep(.noop) }
        guard let current else { return .accept(changes: !same) }
        if current.since <= observed || planted(.laterAlwaysWins) { return .accept(changes: !same) }
        if try isOwn(current.author, current.uid) { return .accept(changes: !same) }
        let wins = current.passive == passive ? itime > current.itime : current.passive
        if wins { return .accept(changes: !same) }
        if same { return .keep(.noop) }
        // Where a mark of somebody else covers the register, it is the mark that stands.
        if let mark, mark.version > current.rank, mark.author != author {
            return .keep(Outcome(.superseded, author: mark.author, position: mark.version))
        }
        return .keep(Outcome(.superseded, author: current.author, position: current.since))
    }

    private func register(
        _ items: [ItemID], on: Bool, passive: Bool, kind: MarkKind
    ) throws(View.Failure) -> Act {
        var tally = Tally()
        var written: [ItemID] = []
        var unseen: [ItemID] = []
        var shown: [ItemID] = []
        for id in unique(items) {
            guard let state = try view.item(id), !state.deleted || planted(.deletedRevived) else {
                tally.add(id, .gone)
                continue
            }
            let current = kind == .read ? state.read : state.archived
            let effective = view.marks.value(kind, current, at: state.position)
            let mark = view.marks[kind].newestMark(covering: state.position)
            switch try judge(current, value: on, passive: passive, effective: effective, mark: mark) {
            case .accept(let changes):
                tally.add(id, changes ? .applied : .noop)
                written.append(id)
                if kind == .read, !on, !view.marks.isSeen(state) { unseen.append(id) }
            case .keep(let outcome):
                tally.add(id, outcome)
                // Who has read it has seen it, whoever's choice stands.
                if kind == .read, on, !view.marks.isSeen(state) { shown.append(id) }
            }
        }
        let effect: Act.Effect
        if written.isEmpty {
            effect = shown.isEmpty ? .none : .seen(items: shown)
        } else if kind == .read {
            effect = .read(items: written, on: on, passive: passive, unseen: unseen, alsoSeen: shown)
        } else {
            effect = .archive(items: written, on: on)
        }
        return act(tally.outcome, results: tally.results, effect: effect)
    }

    private func seen(_ items: [ItemID]) throws(View.Failure) -> Act {
        var tally = Tally()
        var written: [ItemID] = []
        for id in unique(items) {
            guard let state = try view.item(id), !state.deleted else {
                tally.add(id, .gone)
                continue
            }
            let already = view.marks.isSeen(state)
            tally.add(id, already ? .noop : .applied)
            if !already { written.append(id) }
        }
        return act(
            tally.outcome, results: tally.results, effect: written.isEmpty ? .none : .seen(items: written))
    }

    private func delete(_ items: [ItemID]) throws(View.Failure) -> Act {
        var tally = Tally()
        var written: [ItemID] = []
        for id in unique(items) {
            if let state = try view.item(id), !state.deleted {
                tally.add(id, .applied)
                written.append(id)
            } else {
                tally.add(id, .gone)
            }
        }
        return act(
            tally.outcome, results: tally.results, effect: written.isEmpty ? .none : .delete(items: written))
    }

    /// A bulk act never overrides a single choice that its user had not seen, nor reaches above what the user had seen.
    private func mark(_ kind: MarkKind, upTo: Position) throws(View.Failure) -> Act {
        let upTo = planted(.markToHead) ? view.head : min(upTo, observed)
        guard upTo > 0 else { return act(.noop) }
        var except: [ItemID] = []
        for (id, register) in try view.opposed(to: kind, upTo: upTo, since: observed)
        where try !isOwn(register.author, register.uid) {
            // A choice that another mark, whose user had seen it, has overridden stands no more: nothing to spare.
            guard let state = try view.item(id),
                !view.marks.value(kind, register, at: state.position) || planted(.exceptIgnoresStanding)
            else { continue }
            if !planted(.noExcept) { except.append(id) }
        }
        return act(.applied, effect: .mark(kind, upTo: upTo, except: except.sorted()))
    }

    var notHere: Act {
        act(Outcome(.unknownOp, reason: "This inbox does not take '\(mutation.operation.name)'."))
    }

    private func unique(_ items: [ItemID]) -> [ItemID] {
        var known = Set<ItemID>()
        return items.filter { known.insert($0).inserted }
    }
}

/// Gathers the outcomes of single items into one for the whole and a list of those that differ.
private struct Tally {
    private var order: [Outcome] = []
    private var groups: [Outcome: [ItemID]] = [:]

    mutating func add(_ item: ItemID, _ outcome: Outcome) {
        if groups[outcome] == nil { order.append(outcome) }
        groups[outcome, default: []].append(item)
    }

    /// The strongest outcome: applied, else noop, else superseded, else gone.
    var outcome: Outcome {
        for code in [Outcome.Code.applied, .noop, .superseded] {
            if let found = order.first(where: { $0.code == code }) { return found }
        }
        return order.first ?? .noop
    }

    var results: [ItemOutcome] {
        let whole = outcome
        return order.filter { $0 != whole }.map { ItemOutcome(items: groups[$0] ?? [], outcome: $0) }
    }
}
