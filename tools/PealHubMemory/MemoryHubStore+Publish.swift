package import PealHub
package import PealModel

extension MemoryHubStore {
    package func publish(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) -> PublishResult {
        if let known = state.publishByName[request.name] {
            let matched = state.publishes[known - 1].value.matched
            return PublishResult(appended: [], matched: matched, isReplay: true)
        }
        let body = request.body.bytes
        let template = ItemTemplate(time: now, publish: request.name, body: body)
        guard template.count <= Limits.item else {
            throw HubStoreError(
                .tooLarge, "the item has \(template.count) bytes; at most \(Limits.item) can be delivered")
        }
        var targets = Set<InboxKey>()
        for recipient in request.recipients {
            let user = try upsertUser(
                recipient.identity, profile: recipient.profile, in: request.project, now: now
            ).user
            targets.insert(user.inbox)
        }
        for name in Set(request.interests) {
            targets.formUnion(state.interests[ScopedName(project: request.project, name: name)] ?? [])
        }
        let isWide = isWide(request, targets.count)
        let sorted = targets.sorted()
        let first = isWide || sorted.isEmpty ? 0 : nextSeq
        let row = PublishRow(
            name: request.name, project: request.project, category: request.body.category, topic: request.body.topic,
            silent: request.body.silent, expires: request.body.expires, firstSeq: first,
            lastSeq: first == 0 ? 0 : first + Int64(sorted.count) - 1, matched: sorted.count,
            pending: isWide ? body : nil, expiring: request.body.expires == nil ? nil : 0,
            targets: isWide ? sorted[...] : [])
        state.publishes.append(Box(row))
        state.publishByName[request.name] = state.publishes.count
        guard !isWide else { return PublishResult(appended: [], matched: sorted.count, isWide: true) }
        let appended = append(
            template, name: request.name, body: body, publish: state.publishes.count, to: sorted, now: now)
        return PublishResult(appended: appended, matched: sorted.count)
    }

    private func isWide(_ request: PublishRequest, _ count: Int) -> Bool {
        // Recipients alone never are: the surface limits them.
        count > wideFrom && !request.interests.isEmpty
    }

    private func append(
        _ template: ItemTemplate, name: String, body: [UInt8], publish: Int, to targets: [InboxKey], now: Milliseconds
    ) -> [Appended] {
        var salts = SplitMix(state: random())
        return targets.map { inbox in
            let id = ItemID(time: now, counter: UInt64(nextSeq), random: salts.next())
            let entry = Entry(time: now, kind: .item(id: id, publish: name, body: body[...]))
            return append(entry, bytes: template.entry(id).array, publish: Int64(publish), to: inbox)
        }
    }

    package func fanOut(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended]? {
        precondition(limit > 0, "a chunk has targets")
        guard let index = state.publishes.firstIndex(where: { $0.value.pending != nil }) else { return nil }
        let row = state.publishes[index].value
        let chunk = row.targets.prefix(limit)
        let firstSeq = nextSeq
        let body = row.pending ?? []
        let appended = append(
            ItemTemplate(time: now, publish: row.name, body: body), name: row.name, body: body, publish: index + 1,
            to: chunk.filter { !state[$0].kind.isDeleted }, now: now)
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

    // MARK: Taking back

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
                if let entry = try remove([place.item], why: "expired", from: place.inbox, now: now) {
                    appended.append(entry)
                }
            }
            state.publishes[index].value.expiring = count < limit ? nil : seq
            if !appended.isEmpty { return appended }
        }
        return []
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
