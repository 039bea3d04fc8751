package import PealHub
package import PealModel

extension MemoryHubStore {
    package func publish(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) -> PublishResult {
        if let known = state.publishByName[request.name] {
            let matched = state.publishes[known - 1].value.matched
            return PublishResult(appended: [], matched: matched, isReplay: true)
        }
        var templates = try PublishTemplates(request, now: now)
        var targets: [InboxKey: MatchedInterests] = [:]
        for recipient in request.recipients {
            let user = try upsertUser(
                recipient.identity, profile: recipient.profile, in: request.project, now: now
            ).user
            targets[user.inbox] = MatchedInterests.none
        }
        for (index, name) in templates.interests.enumerated() {
            for inbox in state.interests[ScopedName(project: request.project, name: name)] ?? [] {
                targets[inbox, default: .none].formUnion(MatchedInterests(index))
            }
        }
        let isWide = isWide(request, targets.count)
        let all = targets.map { PublishTarget(inbox: $0.key, matched: $0.value) }
        let sorted = isWide ? all.sorted { $0.inbox < $1.inbox } : PublishTarget.sorted(all[...])
        let first = isWide || sorted.isEmpty ? 0 : nextSeq
        let row = PublishRow(
            name: request.name, project: request.project, category: request.body.category, topic: request.body.topic,
            silent: request.body.silent, expires: request.body.expires, firstSeq: first,
            lastSeq: first == 0 ? 0 : first + Int64(sorted.count) - 1, matched: sorted.count,
            pending: isWide ? templates.bytes : nil, expiring: request.body.expires == nil ? nil : 0,
            collapse: request.collapse, time: now,
            targets: isWide ? sorted[...] : [])
        state.publishes.append(Box(row))
        state.publishByName[request.name] = state.publishes.count
        guard !isWide else { return PublishResult(appended: [], matched: sorted.count, isWide: true) }
        let index = state.publishes.count - 1
        let replaced = try replace(request.collapse, in: sorted.map(\.inbox), now: now)
        let appended =
            replaced
            + append(&templates, name: request.name, publish: index + 1, to: sorted, now: now)
        try note(request.collapse, appended.dropFirst(replaced.count))
        if request.collapse != nil, !sorted.isEmpty { state.publishes[index].value.lastSeq = nextSeq - 1 }
        return PublishResult(appended: appended, matched: sorted.count)
    }

    private func isWide(_ request: PublishRequest, _ count: Int) -> Bool {
        // Recipients alone never are: the surface limits them.
        count > wideFrom && !request.interests.isEmpty
    }

    private func append(
        _ templates: inout PublishTemplates, name: String, publish: Int, to targets: [PublishTarget], now: Milliseconds
    ) -> [Appended] {
        var appended: [Appended] = []
        var rest = targets[...]
        // As the store in SQLite does it, seeds of ids included.
        while let matched = rest.first?.matched {
            let alike = rest.prefix { $0.matched == matched }
            rest = rest.dropFirst(alike.count)
            var salts = SplitMix(state: random())
            let template = templates.template(matched)
            let body = templates.item(matched).bytes
            for target in alike {
                let counter = countsPositions ? state[target.inbox].head + 1 : nextSeq
                let id = ItemID(time: now, counter: UInt64(counter), random: salts.next())
                let entry = Entry(time: now, kind: .item(id: id, publish: name, body: body[...]))
                appended.append(
                    append(entry, bytes: template.entry(id).array, publish: Int64(publish), to: target.inbox))
            }
        }
        return appended
    }

    package func fanOut(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended]? {
        precondition(limit > 0, "a chunk has targets")
        guard let index = state.publishes.firstIndex(where: { $0.value.pending != nil }) else { return nil }
        let row = state.publishes[index].value
        let chunk = row.targets.prefix(limit)
        let firstSeq = nextSeq
        var templates = try PublishTemplates(time: now, publish: row.name, body: row.pending ?? [])
        let targets =
            row.retracted == nil ? PublishTarget.sorted(chunk.filter { !state[$0.inbox].kind.isDeleted }[...]) : []
        let replaced = try replace(row.collapse, in: targets.map(\.inbox), now: now)
        let appended =
            replaced + append(&templates, name: row.name, publish: index + 1, to: targets, now: now)
        try note(row.collapse, appended.dropFirst(replaced.count))
        if !appended.isEmpty {
            state.publishes[index].value.firstSeq = row.firstSeq == 0 ? firstSeq : row.firstSeq
            state.publishes[index].value.lastSeq = nextSeq - 1
        }
        if planted(.fanOutTwice), chunk.count == limit {
            state.publishes[index].value.targets = row.targets.dropFirst()
        } else {
            state.publishes[index].value.targets.removeFirst(chunk.count)
        }
        if chunk.count < limit || planted(.fanOutForgets) { state.publishes[index].value.pending = nil }
        return appended
    }

    /// Takes out of each inbox what a collapse key names there.
    private func replace(
        _ key: String?, in inboxes: [InboxKey], now: Milliseconds
    ) throws(HubStoreError) -> [Appended] {
        guard let key else { return [] }
        var replaced: [Appended] = []
        for inbox in inboxes {
            guard let old = state.collapsed[CollapseName(inbox: inbox, key: key)] else { continue }
            if let entry = try remove([old], why: "retract", from: inbox, now: now) { replaced.append(entry) }
        }
        return replaced
    }

    private func note(_ key: String?, _ appended: ArraySlice<Appended>) throws(HubStoreError) {
        guard let key else { return }
        for entry in appended {
            if let item = try item(at: entry.position, in: entry.inbox) {
                state.collapsed[CollapseName(inbox: entry.inbox, key: key)] = item
            }
        }
    }

    private func item(at position: Position, in inbox: InboxKey) throws(HubStoreError) -> ItemID? {
        let row = try state.box(inbox).value.log[Int(position) - 1]
        return row.publish > 0 ? row.item : nil
    }

    // MARK: Taking back

    package func retract(
        _ name: String, of project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        guard let number = publish(name, of: project), state.publishes[number - 1].value.retracted == nil else {
            return false
        }
        state.publishes[number - 1].value.retracted = now
        state.publishes[number - 1].value.expires = min(state.publishes[number - 1].value.expires ?? now, now)
        state.publishes[number - 1].value.expiring = 0
        return true
    }

    package func remove(
        _ items: [ItemID], why: String, from inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Appended? {
        precondition(why == "retract" || why == "expired", "the log knows two reasons")
        let there = try remaining(items, in: inbox)
        guard !there.isEmpty else { return nil }
        let entry = Entry(time: now, kind: .removed(items: there, why: why))
        return append(entry, bytes: entry.bytes, to: inbox)
    }

    private func remaining(_ items: [ItemID], in inbox: InboxKey) throws(HubStoreError) -> [ItemID] {
        let box = try state.box(inbox)
        guard !box.value.kind.isDeleted else { return [] }
        var known = Set<ItemID>()
        return items.filter { id in
            known.insert(id).inserted && box.item(id).map { !$0.deleted } ?? false
        }
    }

    package func expire(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended] {
        while let index = due(now) {
            if countsPositions {
                let appended = try expireByInbox(index, limit: limit, now: now)
                if !appended.isEmpty { return appended }
                continue
            }
            let row = state.publishes[index].value
            let after = max(row.expiring ?? 0, row.firstSeq - 1)
            let last = min(row.lastSeq, Int64(state.entries.count))
            var seq = after
            var count = 0
            var appended: [Appended] = []
            var items: [EntryPlace] = []
            while seq < last, count < limit {
                seq += 1
                guard let place = state.entries[Int(seq) - 1] else { continue }
                count += 1
                if place.publish == Int64(index) + 1 { items.append(place) }
            }
            for place in items {
                if let entry = try remove(
                    [place.item], why: row.retracted == nil ? "expired" : "retract", from: place.inbox, now: now)
                {
                    appended.append(entry)
                }
            }
            state.publishes[index].value.expiring = count < limit ? nil : seq
            if !appended.isEmpty { return appended }
        }
        return []
    }

    /// Some items of a publish, in the order of their inboxes; `expiring` is the last of these.
    private func expireByInbox(_ index: Int, limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended] {
        let row = state.publishes[index].value
        var places: [EntryPlace] = []
        for seq in 0..<state.entries.count {
            guard let place = state.entries[seq], place.publish == Int64(index) + 1,
                place.inbox.row > row.expiring ?? 0, state[place.inbox].kind != .purged,
                place.position > state[place.inbox].purged
            else { continue }
            places.append(place)
        }
        let some = places.sorted { $0.inbox < $1.inbox }.prefix(limit)
        var appended: [Appended] = []
        for place in some {
            let why = row.retracted == nil ? "expired" : "retract"
            if let entry = try remove([place.item], why: why, from: place.inbox, now: now) { appended.append(entry) }
        }
        state.publishes[index].value.expiring = some.count < limit ? nil : some.last?.inbox.row
        return appended
    }

    /// The publish whose time was over first, of those that are all appended.
    private func due(_ now: Milliseconds) -> Int? {
        var found: (expires: Milliseconds, index: Int)?
        for (index, row) in state.publishes.enumerated() {
            let row = row.value
            guard row.expiring != nil, row.pending == nil, let expires = row.expires, expires <= now else { continue }
            if found == nil || expires < found!.expires { found = (expires, index) }
        }
        return found?.index
    }
}
