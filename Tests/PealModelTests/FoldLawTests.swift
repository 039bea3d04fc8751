import PealModel
import Testing

private let seeds: Range<UInt64> = 0..<150
private let steps = 80

/// Runs random logs and shows each act with the inbox before and after it.
private func forEachAct(
    _ body: (_ before: InboxState, _ act: Act, _ observed: Position, _ after: InboxState, _ seed: UInt64) -> Void
) {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps {
            let before = acts.inbox.state
            if let (observed, act) = acts.step() { body(before, act, observed, acts.inbox.state, seed) }
        }
    }
}

private func effective(_ kind: MarkKind, _ id: ItemID, _ state: InboxState) -> Bool? {
    guard let item = state.items[id], !item.deleted else { return nil }
    switch kind {
    case .read: return state.marks.isRead(item)
    case .seen: return state.marks.isSeen(item)
    case .archive: return state.marks.isArchived(item)
    }
}

private func outcomes(_ act: Act, of items: [ItemID]) -> [ItemID: Outcome] {
    var outcomes = Dictionary(items.map { ($0, act.outcome) }, uniquingKeysWith: { first, _ in first })
    for result in act.results { for id in result.items { outcomes[id] = result.outcome } }
    return outcomes
}

@Test func `what an act's effect names has the value that its outcome claims`() {
    forEachAct { before, act, _, after, seed in
        let (kind, items, on): (MarkKind, [ItemID], Bool)
        switch act.effect {
        case .read(let ids, let value, _, _, _): (kind, items, on) = (.read, ids, value)
        case .archive(let ids, let value): (kind, items, on) = (.archive, ids, value)
        case .seen(let ids): (kind, items, on) = (.seen, ids, true)
        default: return
        }
        for (id, outcome) in outcomes(act, of: items) where items.contains(id) {
            #expect(effective(kind, id, after) == on, "seed \(seed), head \(after.head)")
            // A read that loses still says that the item was seen; its outcome is the register's.
            if kind == .seen, outcome.code == .superseded { continue }
            #expect(
                (outcome == .noop) == (effective(kind, id, before) == on), "seed \(seed), head \(after.head)")
            #expect(outcome == .noop || outcome == .applied, "seed \(seed), head \(after.head)")
        }
    }
}

@Test func `an item that an act's effect does not name is as it was`() {
    forEachAct { before, act, _, after, seed in
        let touched: Set<ItemID>
        switch act.effect {
        case .read(let ids, _, _, _, let alsoSeen): touched = Set(ids + alsoSeen)
        case .archive(let ids, _), .seen(let ids), .delete(let ids): touched = Set(ids)
        case .mark: return
        default: touched = []
        }
        for (id, state) in before.items where !touched.contains(id) {
            #expect(after.items[id] == state, "seed \(seed), head \(after.head)")
        }
        #expect(after.marks == before.marks, "seed \(seed), head \(after.head)")
    }
}

@Test func `superseded names an act of another author that the mutation had not seen`() {
    forEachAct { before, act, observed, after, seed in
        for outcome in [act.outcome] + act.results.map(\.outcome) where outcome.code == .superseded {
            #expect(outcome.author != nil && outcome.author != act.author, "seed \(seed), head \(after.head)")
            #expect((outcome.position ?? 0) > observed, "seed \(seed), head \(after.head)")
            #expect((outcome.position ?? 0) <= before.head, "seed \(seed), head \(after.head)")
        }
    }
}

@Test func `deleted stays deleted, seen stays seen, and a deleted item has no body`() {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps {
            let before = acts.inbox.state
            _ = acts.step()
            let after = acts.inbox.state
            for (id, item) in before.items {
                #expect(!item.deleted || after.items[id]?.deleted == true, "seed \(seed), head \(after.head)")
                #expect(
                    !before.marks.isSeen(item) || after.marks.isSeen(after.items[id]!),
                    "seed \(seed), head \(after.head)")
                #expect((after.bodies[id] == nil) == after.items[id]!.deleted, "seed \(seed), head \(after.head)")
            }
        }
    }
}

@Test func `read implies seen`() {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps {
            _ = acts.step()
            let state = acts.inbox.state
            for (id, item) in state.items where !item.deleted && state.marks.isRead(item) {
                #expect(state.marks.isSeen(item), "seed \(seed), head \(state.head), item \(id)")
            }
        }
    }
}

@Test func `an unseen single choice survives a mark, a seen one does not, and nothing above it changes`() {
    forEachAct { before, act, observed, after, seed in
        guard case .mark(let kind, let upTo, let except) = act.effect else { return }
        #expect(upTo <= observed, "seed \(seed), head \(after.head)")
        for (id, item) in before.items where !item.deleted {
            let old = effective(kind, id, before)
            guard item.position <= upTo else {
                #expect(effective(kind, id, after) == old, "seed \(seed), head \(after.head)")
                continue
            }
            let register = kind == .read ? item.read : kind == .archive ? item.archived : nil
            let spared =
                if let register, old == false, register.since > observed {
                    register.author != act.author && !before.sent(register.uid, by: act.author)
                } else {
                    false
                }
            #expect(effective(kind, id, after) == !spared, "seed \(seed), head \(after.head)")
            #expect(except.contains(id) == spared, "seed \(seed), head \(after.head)")
        }
    }
}

@Test func `a mark never takes back what was read, seen or archived`() {
    forEachAct { before, act, _, after, seed in
        guard case .mark = act.effect else { return }
        for id in before.items.keys {
            for kind in MarkKind.allCases where effective(kind, id, before) == true {
                #expect(effective(kind, id, after) == true, "seed \(seed), head \(after.head)")
            }
        }
    }
}

@Test
func `an opt-out is only undone by an author that had seen it, and a preference that nobody acted on is as it was`() {
    forEachAct { before, act, observed, after, seed in
        for (key, cell) in before.cells {
            guard case .preference(key, let enabled) = act.effect else {
                #expect(after.cells[key] == cell, "seed \(seed), head \(after.head)")
                continue
            }
            #expect(after.cells[key]?.register.value == enabled, "seed \(seed), head \(after.head)")
            guard enabled,
                let off = [cell.off, cell.otherOff].compactMap({ $0 }).first(where: { $0.author != act.author })
            else { continue }
            #expect(off.since <= observed, "seed \(seed), head \(after.head)")
        }
    }
}

@Test func `a cell remembers the newest off, and the newest off of another author than that one's`() {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        var offs: [PreferenceKey: [OptOut]] = [:]
        for _ in 0..<steps {
            guard let (_, act) = acts.step(), case .preference(let key, let enabled) = act.effect else { continue }
            let head = acts.inbox.head
            if !enabled { offs[key, default: []].append(OptOut(since: head, author: act.author, uid: act.uid)) }
            let cell = acts.inbox.state.cells[key]
            let newest = offs[key]?.last
            #expect(cell?.off == newest, "seed \(seed), head \(head)")
            #expect(
                cell?.otherOff == offs[key]?.last { $0.author != newest?.author }, "seed \(seed), head \(head)")
        }
    }
}

@Test func `of each kind the first fact about an item stays`() {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps {
            let before = acts.inbox.state
            _ = acts.step()
            let after = acts.inbox.state
            for (id, facts) in before.facts where !after.items[id]!.deleted {
                #expect(after.facts[id]?.prefix(facts.count) == facts[...], "seed \(seed), head \(after.head)")
            }
            for (id, facts) in after.facts {
                #expect(Set(facts.map(\.event)).count == facts.count, "seed \(seed), head \(after.head)")
                #expect(!after.items[id]!.deleted, "seed \(seed), head \(after.head)")
            }
        }
    }
}

@Test func `two devices that fold the bytes of one log agree with the hub`() throws {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps { _ = acts.step() }
        var one = InboxState()
        var other = InboxState()
        let bytes = acts.inbox.log.map(\.bytes)
        for entry in bytes {
            one.fold(try Entry(entry[...]))
            // The other device had the entry in the middle of a frame.
            let frame = [0x20] + entry + [0x20]
            other.fold(try Entry(frame[1..<(frame.count - 1)]))
        }
        #expect(one == other, "seed \(seed)")
        #expect(one == acts.inbox.state, "seed \(seed)")
    }
}

@Test func `a log has one encoding`() throws {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps { _ = acts.step() }
        for entry in acts.inbox.log {
            let decoded = try Entry(entry.bytes[...])
            #expect(decoded == entry, "seed \(seed)")
            #expect(decoded.bytes == entry.bytes, "seed \(seed)")
        }
    }
}

@Test func `intent times in a log never exceed the time of their entry`() {
    for seed in seeds {
        var acts = RandomActs(seed: seed)
        for _ in 0..<steps { _ = acts.step() }
        for entry in acts.inbox.log {
            if case .act(let act) = entry.kind { #expect(act.itime <= entry.time, "seed \(seed)") }
        }
    }
}
