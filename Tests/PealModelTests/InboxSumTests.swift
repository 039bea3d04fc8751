import PealModel
import Testing

private func random(_ seed: UInt64, steps: Int = 80) -> RandomActs {
    var acts = RandomActs(seed: seed)
    for _ in 0..<steps { _ = acts.step() }
    return acts
}

@Test func `the sum of a state is the sum of its rows in any order`() {
    for seed in 0..<60 as Range<UInt64> {
        var acts = random(seed)
        let state = acts.inbox.state
        var rows = state.items.map { InboxSum.of($0.key, $0.value) }
        for kind in MarkKind.allCases { rows += state.marks[kind].marks.map { InboxSum.mark(kind, $0) } }
        rows += state.cells.map { InboxSum.preference($0.key, $0.value) }
        rows += state.facts.flatMap { id, facts in
            facts.map { InboxSum.fact($0, at: state.items[id]?.position ?? 0) }
        }
        for _ in 0..<3 {
            rows.shuffle(using: &acts.random)
            #expect(rows.reduce(0, &+) == state.sum, "seed \(seed)")
        }
    }
}

@Test func `a sum that each entry takes along is the sum computed anew`() {
    for seed in 0..<60 as Range<UInt64> {
        var acts = RandomActs(seed: seed)
        var kept = acts.inbox.state.sum
        for _ in 0..<80 {
            let before = acts.inbox.state
            _ = acts.step()
            let after = acts.inbox.state
            for (id, item) in after.items where before.items[id] != item {
                kept = kept &- (before.items[id].map { InboxSum.of(id, $0) } ?? 0) &+ InboxSum.of(id, item)
            }
            for kind in MarkKind.allCases {
                let (old, new) = (Set(before.marks[kind].marks), Set(after.marks[kind].marks))
                for mark in old.subtracting(new) { kept &-= InboxSum.mark(kind, mark) }
                for mark in new.subtracting(old) { kept &+= InboxSum.mark(kind, mark) }
            }
            for (key, cell) in after.cells where before.cells[key] != cell {
                kept =
                    kept &- (before.cells[key].map { InboxSum.preference(key, $0) } ?? 0)
                    &+ InboxSum.preference(key, cell)
            }
            for (id, item) in after.items {
                let (old, new) = (before.facts[id] ?? [], after.facts[id] ?? [])
                for fact in old where !new.contains(fact) { kept &-= InboxSum.fact(fact, at: item.position) }
                for fact in new where !old.contains(fact) { kept &+= InboxSum.fact(fact, at: item.position) }
            }
            #expect(kept == after.sum, "seed \(seed), head \(after.head)")
        }
    }
}

@Test func `two states have one sum only where they hold the same`() {
    for seed in 0..<60 as Range<UInt64> {
        var acts = RandomActs(seed: seed)
        for _ in 0..<80 {
            let before = acts.inbox.state
            _ = acts.step()
            let after = acts.inbox.state
            func alive(_ state: InboxState) -> [ItemID: ItemState] { state.items.filter { !$0.value.deleted } }
            let same =
                alive(before) == alive(after) && before.marks == after.marks && before.cells == after.cells
                && before.facts == after.facts && before.interests() == after.interests()
            #expect((before.sum == after.sum) == same, "seed \(seed), head \(after.head)")
        }
    }
}

@Test func `each part of a row is in its hash`() {
    let id = ItemID(high: 1, low: 2)
    let register = Register(
        value: true, passive: false, since: 3, rank: 4, itime: 5, author: .replica(ReplicaID(high: 6, low: 7)), uid: 8)
    var hashes: [UInt64] = [
        InboxSum.item(id, at: 1), InboxSum.item(id, at: 2), InboxSum.item(ItemID(high: 2, low: 2), at: 1),
        InboxSum.item(ItemID(high: 1, low: 3), at: 1), InboxSum.seen(at: 1), InboxSum.seen(at: 2),
        InboxSum.interest("a"), InboxSum.interest("b"), InboxSum.interest(""),
        InboxSum.archived(register, at: 1),
    ]
    for kind in MarkKind.allCases {
        hashes += [
            InboxSum.mark(kind, Mark(upTo: 1, version: 2)), InboxSum.mark(kind, Mark(upTo: 2, version: 2)),
            InboxSum.mark(kind, Mark(upTo: 1, version: 3)),
        ]
    }
    func changed(_ change: (inout Register) -> Void) -> UInt64 {
        var register = register
        change(&register)
        return InboxSum.read(register, at: 1)
    }
    hashes += [
        InboxSum.read(register, at: 1), InboxSum.read(register, at: 2), changed { $0.value = false },
        changed { $0.passive = true }, changed { $0.since = 4 }, changed { $0.rank = 5 }, changed { $0.itime = 6 },
        changed { $0.author = .api }, changed { $0.author = .replica(ReplicaID(high: 6, low: 8)) },
        changed { $0.author = .replica(ReplicaID(high: 7, low: 7)) },
        changed { $0.author = .replica(ReplicaID(high: 0, low: 0)) }, changed { $0.uid = 9 },
    ]
    hashes += factAndCellHashes(register)
    #expect(Set(hashes).count == hashes.count)
    #expect(!hashes.contains(0))
}

/// Of a cell and of a fact, with one part changed each.
private func factAndCellHashes(_ register: Register) -> [UInt64] {
    let key = PreferenceKey(category: "a", channel: "b")
    let off = OptOut(since: 1, author: .api, uid: 2)
    func cell(
        _ key: PreferenceKey = PreferenceKey(category: "a", channel: "b"), off: OptOut? = nil, other: OptOut? = nil,
        _ change: (inout Register) -> Void = { _ in }
    ) -> UInt64 {
        var register = register
        change(&register)
        return InboxSum.preference(key, PreferenceCell(register, off: off, otherOff: other))
    }
    func changed(_ change: (inout OptOut) -> Void) -> OptOut {
        var off = off
        change(&off)
        return off
    }
    var hashes = [
        cell(key), cell(PreferenceKey(category: "b", channel: "a")), cell(PreferenceKey(category: "ab", channel: "")),
        cell { $0.value = false }, cell { $0.since = 4 }, cell { $0.itime = 6 }, cell { $0.author = .api },
        cell { $0.author = .replica(ReplicaID(high: 6, low: 8)) }, cell { $0.uid = 9 },
    ]
    let offs = [
        off, changed { $0.since = 2 }, changed { $0.uid = 3 },
        changed { $0.author = .replica(ReplicaID(high: 0, low: 0)) },
    ]
    hashes += offs.map { cell(off: $0) } + offs.map { cell(other: $0) } + [cell(off: off, other: off)]
    let fact = Fact(event: "opened", time: 1)
    hashes += [
        InboxSum.fact(fact, at: 1), InboxSum.fact(fact, at: 2), InboxSum.fact(Fact(event: "clicked", time: 1), at: 1),
        InboxSum.fact(Fact(event: "opened", time: 2), at: 1),
    ]
    return hashes
}

@Test func `what is not there has no row`() {
    let id = ItemID(high: 1, low: 2)
    #expect(InboxState(device: true).sum == 0)
    #expect(InboxSum.read(nil, at: 1) == 0 && InboxSum.archived(nil, at: 1) == 0)
    #expect(InboxSum.of(id, ItemState(position: 1)) == InboxSum.item(id, at: 1))
    #expect(InboxSum.of(id, ItemState(position: 1, seen: true, deleted: true)) == 0)
}

@Test func `the sums of a row never change: files and hubs of other versions hold them`() {
    let id = ItemID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
    let register = Register(
        value: true, passive: true, since: 3, rank: 4, itime: 5, author: .replica(ReplicaID(high: 6, low: 7)), uid: 8)
    let sums = [
        InboxSum.item(id, at: 42), InboxSum.seen(at: 42), InboxSum.read(register, at: 42),
        InboxSum.archived(register, at: 42), InboxSum.mark(.read, Mark(upTo: 1, version: 2)),
        InboxSum.mark(.seen, Mark(upTo: 1, version: 2)), InboxSum.mark(.archive, Mark(upTo: 1, version: 2)),
        InboxSum.interest("apple"),
    ]
    // Computed once with another program from the table of `InboxSum`.
    #expect(
        sums.map(Hex64.text) == [
            "8fcd9c0d2f40723d", "7a605788b1602ed6", "c6a0e0ee27900c44", "5741008b2881416a", "c23a1de83682b059",
            "f2ac6d017bbeedc0", "34a3eca0693354d1", "b0d89e033bd30cb2",
        ])
}
