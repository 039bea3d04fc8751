package import PealModel

extension SQLHubStore {
    /// Appends a decided act, applies its effect, and remembers it for dedupe.
    func append(_ act: Act, in view: StoreInboxView, now: Milliseconds) throws(HubStoreError) -> Appended {
        let bytes = Entry(time: now, kind: .act(act)).bytes
        try enter(bytes, to: &view.tail, time: now)
        try apply(act, in: view, now: now)
        try moveHead(view.tail)
        try remember(act, at: view.head, in: view.inbox.key, now: now)
        return Appended(view.tail, content: EntryBytes(bytes), time: now)
    }

    func remember(_ act: Act, at position: Position, in inbox: InboxKey, now: Milliseconds) throws(HubStoreError) {
        try actQueries.insert.run(
            inbox.row, act.uid, act.author.bytes, act.n ?? 0, position, now, act.outcome.text, act.outcome.isDead)
    }

    /// Writes what an act changes: the fold of its entry (PealModel's `InboxState.fold`), in SQL.
    func apply(_ act: Act, in view: StoreInboxView, now: Milliseconds) throws(HubStoreError) {
        let head = view.head
        switch act.effect {
        case .none: break
        case .read(let ids, let on, let passive, let unseen, let alsoSeen):
            try applyRead(ids, on: on, passive: passive, unseen: Set(unseen), by: act, in: view)
            for id in alsoSeen {
                try update(id, in: view) { (item) throws(HubStoreError) in try self.raiseSeen(&item, act, view) }
            }
        case .seen(let ids):
            for id in ids {
                try update(id, in: view) { (item) throws(HubStoreError) in try self.raiseSeen(&item, act, view) }
            }
        case .archive(let ids, let on):
            for id in ids {
                try update(id, in: view) { (item) throws(HubStoreError) in
                    let before = try view.times.archivedAt(item)
                    item.archivedAt = on ? before ?? act.itime : nil
                    item.state.archived = self.register(on, passive: false, by: act, at: head)
                }
            }
        case .delete(let ids): try delete(ids, in: view)
        case .mark(let kind, let upTo, let except):
            let mark = Mark(upTo: upTo, version: head, author: act.author)
            try view.add(kind, mark, by: act.author, itime: act.itime)
            for id in except {
                try update(id, in: view) { (item) throws(HubStoreError) in
                    if kind == .read { item.state.read?.rank = head }
                    if kind == .archive { item.state.archived?.rank = head }
                }
            }
        case .interest(let name, let on): try view.setInterest(name, on: on)
        case .interests(let names):
            let wanted = Set(names)
            let current = try view.interests() ?? []
            for name in current.subtracting(wanted).sorted() { try view.setInterest(name, on: false) }
            for name in wanted.subtracting(current).sorted() { try view.setInterest(name, on: true) }
        case .preference(let key, let enabled):
            try view.choose(key, register(enabled, passive: false, by: act, at: head))
        case .fact(let id, let event, let data):
            try view.add(Fact(event: event, time: now, data: data), about: id)
        case .token, .user, .end: try applyDevice(act.effect, in: view, now: now)
        }
    }

    func delete(_ ids: [ItemID], in view: StoreInboxView) throws(HubStoreError) {
        for id in ids {
            try update(id, in: view) { (item) throws(HubStoreError) in
                item.state.deleted = true
                // Above the floor the log still needs its bytes.
                if item.state.position <= view.inbox.floor { try self.emptyEntry(of: item, in: view.inbox.key) }
                try view.deleteFacts(at: item.state.position)
            }
        }
    }

    private func applyRead(
        _ ids: [ItemID], on: Bool, passive: Bool, unseen: Set<ItemID>, by act: Act, in view: StoreInboxView
    ) throws(HubStoreError) {
        for id in ids {
            try update(id, in: view) { (item) throws(HubStoreError) in
                let before = try view.times.readAt(item)
                if on || !unseen.contains(id) { try self.raiseSeen(&item, act, view) }
                item.readAt = on ? before ?? act.itime : nil
                item.state.read = self.register(on, passive: passive, by: act, at: view.head)
            }
        }
    }

    private func raiseSeen(_ item: inout StoredItem, _ act: Act, _ view: StoreInboxView) throws(HubStoreError) {
        guard !item.state.seen else { return }
        item.seenAt = try view.times.seenAt(item) ?? act.itime
        item.state.seen = true
    }

    private func register(_ on: Bool, passive: Bool, by act: Act, at head: Position) -> Register {
        Register(
            value: on, passive: passive, since: head, rank: head, itime: act.itime, author: act.author, uid: act.uid)
    }

    private func update(
        _ id: ItemID, in view: StoreInboxView, _ change: (inout StoredItem) throws(HubStoreError) -> Void
    ) throws(HubStoreError) {
        guard var item = try view.stored(id) else { return }
        try change(&item)
        try view.save(item, of: id)
    }

    // MARK: Through HTTP

    package func act(
        _ operation: Operation, uid: UInt64, observed: Position?, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ActResult {
        let row = try inboxes.inbox(inbox)
        guard row.kind != .deleted else { throw HubStoreError(.notFound, "the inbox was deleted") }
        let view = try StoreInboxView(row, in: self)
        let catalogue = try bringCatalogue(for: operation, in: view, now: now)
        let mutation = Mutation(
            n: 0, uid: uid, observed: observed ?? view.head, observedTime: 0, moment: .age(0), operation: operation)
        // "api" is stored as the empty author, which sorts first: a replay is found before a replica's act.
        if let (author, outcome) = try known(uid, in: inbox) {
            if author == .api { return ActResult(outcome: outcome, catalogue: catalogue) }
            let duplicate = Act(author: .api, n: nil, uid: uid, itime: now, outcome: .duplicate)
            return ActResult(
                outcome: .duplicate, appended: try append(duplicate, in: view, now: now), catalogue: catalogue)
        }
        let act = try resolve(mutation, by: .api, in: view, now: now)
        guard act.effect != .none else {
            // Nobody waits for its outcome as an entry, and polling must not grow the log.
            try remember(act, at: view.head, in: inbox, now: now)
            return ActResult(outcome: act.outcome, results: act.results, catalogue: catalogue)
        }
        return ActResult(
            outcome: act.outcome, results: act.results, appended: try append(act, in: view, now: now),
            catalogue: catalogue)
    }

    /// Whose act a uid was, and its outcome; nil for a new one.
    func known(_ uid: UInt64, in inbox: InboxKey) throws(HubStoreError) -> (author: Author, outcome: Outcome)? {
        try actQueries.byUID.first(inbox.row, uid) {
            (row) throws(HubStoreError) -> (author: Author, outcome: Outcome) in
            (row.withBytes(0) { Author(stored: $0) }, try Outcome(stored: row.text(1)))
        }
    }
}
