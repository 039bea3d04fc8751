import PealModel
import PealReplica

extension Ghost {
    /// Whether a person had seen an entry of this timeline.
    private func hadSeen(_ person: Person, _ position: Position, _ key: Int64) -> Bool? {
        if person.device == nil { return true }
        if person.seen == 0 || chain(key, at: person.seen) == person.chain {
            return position <= person.seen ? (person.isLowered ? nil : true) : false
        }
        // A view of a lost timeline: the replica may keep less of it than the two have in common, never more.
        return position <= common(person, key) ? nil : false
    }

    /// An act is about to be appended: does what became of it agree with what its person had seen? (invariants 4 and 5)
    func judge(_ act: Act, _ key: Int64, at position: Position) {
        guard let inbox = inboxes[key], let before = inbox.states.last, let person = persons[act.uid],
            act.outcome.code != .duplicate, act.outcome.code != .poison, act.outcome.code != .void
        else { return }
        if hasTrueTime(person), act.itime < person.time {
            world.fail("act \(Hex64.text(act.uid)) is placed \(person.time - act.itime) ms before it was made")
        }
        switch person.operation {
        case .read(let ids, let on, let passive):
            for id in ids { judge(act, person, id, on, passive, .read, inbox.reads[id], before, key) }
        case .archive(let ids, let on):
            for id in ids { judge(act, person, id, on, false, .archive, inbox.archives[id], before, key) }
        case .mark(let kind, _): judge(mark: act, person, kind, inbox, before, key)
        case .preference: judge(preference: act, person, inbox, key)
        case .delete(let ids), .seen(let ids):
            if ids.contains(where: { before.item($0).map { !$0.deleted } ?? false }), act.outcome.code == .gone {
                world.fail("act \(Hex64.text(act.uid)) is gone although its item is there")
            }
        default: break
        }
    }

    private func judge(
        _ act: Act, _ person: Person, _ id: ItemID, _ on: Bool, _ passive: Bool, _ kind: MarkKind, _ current: Choice?,
        _ before: InboxState, _ key: Int64
    ) {
        var written = false
        switch act.effect {
        case .read(let items, _, _, _, _), .archive(let items, _): written = items.contains(id)
        default: break
        }
        guard let item = before.item(id), !item.deleted else {
            if written { world.fail("act \(Hex64.text(act.uid)) wrote a deleted item") }
            return
        }
        let register = kind == .read ? item.read : item.archived
        let effective = before.marks.value(kind, register, at: item.position)
        if passive, effective == on {
            if written { world.fail("a passive repeat rewrote a choice") }
            return
        }
        guard let current else {
            if !written { world.fail("act \(Hex64.text(act.uid)) met no choice and was not taken") }
            return
        }
        guard let seen = hadSeen(person, current.since, key) else { return }
        if seen, !written {
            world.fail(
                "act \(Hex64.text(act.uid)) was not taken although its person had seen the choice of position \(current.since)"
            )
        }
        guard !seen, isForeign(person, current, act.author, key) else { return }
        guard let other = persons[current.uid], hasTrueTime(person), hasTrueTime(other) else { return }
        if written, passive, !current.passive {
            world.fail("act \(Hex64.text(act.uid)), a mere showing, beat a choice that it had not seen")
        }
        if written, passive == current.passive, act.itime < other.time {
            world.fail("act \(Hex64.text(act.uid)) beat a later one that it had not seen")
        }
        if !written, passive == current.passive, current.uid != act.uid {
            // The other act stands: it may be younger, or as old as its way to the hub makes it look.
            let stood = before.item(id).flatMap { kind == .read ? $0.read : $0.archived }
            if let stood, stood.itime < act.itime {
                world.fail("act \(Hex64.text(act.uid)) lost to an earlier one")
            }
        }
    }

    /// Whether the hub can know when a person acted: true clocks, and no boot in between, which leaves only the wall clock with an
    /// offset as exact as the welcome was quick.
    private func hasTrueTime(_ person: Person) -> Bool {
        guard world.schedule.shape.trueClocks else { return false }
        return person.device.map { world.devices[$0].clock.boot == 0 } ?? true
    }

    /// Whether the current choice is of another author: a replica's own order decides between its own acts, and a clone shares
    /// its past.
    private func isForeign(_ person: Person, _ current: Choice, _ author: Author, _ key: Int64) -> Bool {
        guard current.author != author, let other = persons[current.uid] else { return false }
        let isShared = world.devices.contains { $0.mayFork && ($0.id == person.device || $0.id == other.device) }
        return !isShared && other.device != person.device
    }

    private func judge(
        mark act: Act, _ person: Person, _ kind: MarkKind, _ inbox: Inbox, _ before: InboxState, _ key: Int64
    ) {
        guard case .mark(_, let upTo, _) = act.effect else { return }
        let isHere = person.seen == 0 || chain(key, at: person.seen) == person.chain
        if person.device != nil, upTo > (isHere ? person.seen : common(person, key)) {
            world.fail("a mark reaches \(upTo), its person had seen \(person.seen)")
        }
        guard kind != .seen, person.device != nil else { return }
        var after = before
        after.fold(Entry(time: 0, kind: .act(act)))
        let choices = kind == .read ? inbox.reads : inbox.archives
        for (id, item) in before.items where !item.deleted {
            guard let now = after.items[id] else { continue }
            let was = before.marks.value(kind, kind == .read ? item.read : item.archived, at: item.position)
            if was, !after.marks.value(kind, kind == .read ? now.read : now.archived, at: item.position) {
                world.fail("a mark at \(before.head + 1) took back what item \(item.position) was")
            }
        }
        for (id, choice) in choices where !choice.value {
            guard let item = before.item(id), !item.deleted, item.position <= upTo,
                let seen = hadSeen(person, choice.since, key), let now = after.item(id)
            else { continue }
            let register = kind == .read ? item.read : item.archived
            guard !before.marks.value(kind, register, at: item.position) else { continue }
            let isNow = after.marks.value(kind, kind == .read ? now.read : now.archived, at: item.position)
            if seen, !isNow {
                world.fail(
                    "a mark at \(before.head + 1) spared item \(item.position), whose choice its person had seen")
            }
            if !seen, isNow, isForeign(person, choice, act.author, key) {
                world.fail(
                    "a mark at \(before.head + 1) overrode item \(item.position), a choice that its person had not seen"
                )
            }
        }
    }

    /// An opt-out is never undone by an author that had not seen it (invariant 6); API acts without a position are excepted.
    private func judge(preference act: Act, _ person: Person, _ inbox: Inbox, _ key: Int64) {
        guard case .preference(let cell, true) = act.effect, person.device != nil else { return }
        for off in inbox.offs[cell] ?? []
        where hadSeen(person, off.since, key) == false && isForeign(person, off, act.author, key) {
            world.fail("act \(Hex64.text(act.uid)) undid the opt-out of position \(off.since), which it had not seen")
        }
    }

    /// `replace` is literal, and a name is what was said last.
    private func checkInterests(_ act: Act, _ after: InboxState) {
        switch act.effect {
        case .interests(let names) where after.interests() != Set(names):
            world.fail("a replacement of interests was not literal")
        case .interest(let name, let on) where after.interests()?.contains(name) != on:
            world.fail("interest \(name) is not \(on ? "on" : "off")")
        default: break
        }
    }

    /// Deleted stays deleted, seen stays seen, read implies seen (invariant 8).
    func checkAfter(_ entry: Entry, _ key: Int64) {
        guard let inbox = inboxes[key], inbox.states.count > 1 else { return }
        let before = inbox.states[inbox.states.count - 2]
        let after = inbox.states[inbox.states.count - 1]
        if case .act(let act) = entry.kind { checkInterests(act, after) }
        for (id, old) in before.items {
            guard let new = after.items[id] else {
                world.fail("item \(old.position) is no more")
                continue
            }
            if old.deleted, !new.deleted { world.fail("item \(old.position) was deleted and is back") }
            if before.marks.isSeen(old), !after.marks.isSeen(new) {
                world.fail("item \(old.position) was seen and is not any more")
            }
            if after.marks.isRead(new), !after.marks.isSeen(new) {
                world.fail("item \(old.position) is read and not seen")
            }
        }
    }

    // MARK: The end

    /// What must hold once everything is quiet.
    func checkEnd() {
        for device in world.devices {
            check(device)
            checkSight(device)
        }
        checkActs()
    }

    /// What is shown with an empty outbox is what the hub has.
    private func checkSight(_ device: SimDevice) {
        do throws(ReplicaError) {
            let sight = try device.store.sight()
            guard let state = state(of: device), !sight.isPending else { return }
            let items = state.items.filter { !$0.value.deleted }
            if Set(sight.items) != Set(items.keys) {
                world.fail("device \(device.id) shows other items than the hub has")
            }
            for (id, item) in items {
                if sight.read.contains(id) != state.marks.isRead(item) {
                    world.fail(
                        "device \(device.id) shows item \(item.position) \(sight.read.contains(id) ? "" : "un")read")
                }
                if sight.seen.contains(id) != state.marks.isSeen(item) {
                    world.fail("device \(device.id): seen of item \(item.position) differs")
                }
                if sight.archived.contains(id) != state.marks.isArchived(item) {
                    world.fail("device \(device.id): archived of item \(item.position) differs")
                }
            }
            if sight.interests != state.interests() { world.fail("device \(device.id) shows other interests") }
        } catch {
            world.fail("device \(device.id) cannot be read: \(error)")
        }
    }

    /// The act left the outbox: its entry is folded.
    func checkSettled(_ uid: UInt64, _ device: SimDevice) {
        guard let inbox = inbox(of: device), let person = persons[uid], !person.isUndone else { return }
        let position = inbox.lines.firstIndex { line in
            if case .act(let act) = line.entry.kind { act.uid == uid } else { false }
        }
        let cursor = device.store.cursor
        guard inbox.states.count > cursor.position,
            cursor.position == 0 || inbox.lines[Int(cursor.position) - 1].chain == cursor.chain
        else { return }
        if let position, Position(position) < cursor.position { return }
        world.fail("act \(Hex64.text(uid)) left the outbox of device \(device.id) before its entry was folded")
    }

    /// Where an act was made, its outcome can be seen: in the journal or among the dead letters.
    private func checkOutcomes(_ dead: Set<UInt64>) {
        for device in world.devices where !device.mayFork {
            let settled = Set((try? device.store.settled()) ?? [])
            for person in persons.values where person.device == device.id && !person.isUndone && !person.mayBeLost {
                guard world.now - person.time < Limits.journalAge / 2 else { continue }
                if !settled.contains(person.uid), !dead.contains(person.uid) {
                    world.fail("act \(Hex64.text(person.uid)) of device \(device.id) has no outcome there")
                }
            }
        }
    }

    /// Every act of a person has arrived, with one outcome (invariants 3 and 10).
    private func checkActs() {
        var arrived: Set<UInt64> = []
        for inbox in inboxes.values {
            for line in inbox.lines {
                if case .act(let act) = line.entry.kind { arrived.insert(act.uid) }
            }
        }
        var dead: Set<UInt64> = []
        for device in world.devices { dead.formUnion((try? device.store.dead()) ?? []) }
        checkOutcomes(dead)
        for person in persons.values where !person.isUndone && !person.mayBeLost && !arrived.contains(person.uid) {
            if dead.contains(person.uid) { continue }
            world.fail(
                "act \(Hex64.text(person.uid)) of device \(person.device ?? -1) never arrived: \(person.operation)")
        }
    }
}
