#if PostgreSQL
    package import PealModel

    /// The statements that publish, fan out and take back.
    final class PostgresPublishQueries {
        let byName: Query
        let recipients: Query
        let allRecipients: Query
        let names: Query
        let matching: Query
        let freeze: Query
        let freezeSome: Query
        let countTargets: Query
        let pending: Query
        let targets: Query
        let deleteTargets: Query
        let setMatched: Query
        let finish: Query
        let due: Query
        let itemsOf: Query
        let itemIn: Query
        let setExpiring: Query
        let collapsed: Query
        let setCollapsed: Query

        init(_ database: StoreDatabase) throws(HubStoreError) {
            byName = try database.query("SELECT matched FROM publish WHERE name = ?1", flushes: false)
            // All that a publish to known users asks, at once.
            recipients = try database.query(
                """
                SELECT (SELECT matched FROM publish WHERE name = ?3), u.external_id, \(InboxRow.columns)
                FROM "user" u JOIN inbox b ON b.id = u.inbox
                WHERE u.project = ?1 AND u.external_id = ANY (?2) ORDER BY b.id FOR UPDATE OF b
                """, flushes: false)
            allRecipients = try database.query(
                """
                SELECT u.project, u.external_id, \(InboxRow.columns)
                FROM unnest(?1::bigint[], ?2::text[]) AS w (project, id)
                    JOIN "user" u ON u.project = w.project AND u.external_id = w.id JOIN inbox b ON b.id = u.inbox
                ORDER BY b.id FOR UPDATE OF b
                """)
            names = try database.query("SELECT name FROM publish WHERE name = ANY (?1)")
            matching = try database.query(
                "SELECT inbox FROM interest WHERE project = ?1 AND name = ?2 ORDER BY inbox LIMIT ?3")
            freeze = try database.query(
                """
                INSERT INTO target (publish, inbox, matched_low, matched_high)
                SELECT ?1, inbox, ?4, ?5 FROM interest WHERE project = ?2 AND name = ?3
                ON CONFLICT (publish, inbox) DO UPDATE
                SET matched_low = target.matched_low | ?4, matched_high = target.matched_high | ?5
                """)
            freezeSome = try database.query(
                """
                INSERT INTO target (publish, inbox, matched_low, matched_high) SELECT ?1, inbox, 0, 0 FROM unnest(?2::bigint[]) AS v (inbox)
                ON CONFLICT DO NOTHING
                """)
            countTargets = try database.query("SELECT count(*) FROM target WHERE publish = ?1")
            pending = try database.query(
                """
                SELECT id, name, pending, collapse, retracted FROM publish WHERE pending IS NOT NULL
                ORDER BY time, id LIMIT 1 FOR UPDATE SKIP LOCKED
                """)
            targets = try database.query(
                "SELECT inbox, matched_low, matched_high FROM target WHERE publish = ?1 ORDER BY inbox LIMIT ?2")
            deleteTargets = try database.query("DELETE FROM target WHERE publish = ?1 AND inbox <= ?2")
            setMatched = try database.query("UPDATE publish SET matched = ?2 WHERE id = ?1")
            finish = try database.query("UPDATE publish SET pending = NULL WHERE id = ?1")
            due = try database.query(
                """
                SELECT id, expiring, retracted FROM publish
                WHERE expiring IS NOT NULL AND expires <= ?1 AND pending IS NULL
                ORDER BY expires, id LIMIT 1 FOR UPDATE SKIP LOCKED
                """)
            itemsOf = try database.query(
                """
                SELECT inbox, time, counter, salt FROM entry WHERE publish = ?1 AND publish > 0 AND inbox > ?2
                ORDER BY inbox LIMIT ?3
                """)
            itemIn = try database.query(
                "SELECT time, counter, salt FROM entry WHERE publish = ?1 AND publish > 0 AND inbox = ?2")
            setExpiring = try database.query("UPDATE publish SET expiring = ?2 WHERE id = ?1")
            collapsed = try database.query(
                """
                SELECT c.inbox, e.time, e.counter, e.salt
                FROM collapse c JOIN entry e ON e.inbox = c.inbox AND e.position = c.position
                WHERE c.inbox = ANY (?1) AND c.key = ?2
                """)
            setCollapsed = try database.query(
                """
                INSERT INTO collapse (inbox, key, position) SELECT inbox, ?3, position FROM unnest(?1::bigint[], ?2::bigint[]) AS v (inbox, position)
                ON CONFLICT (inbox, key) DO UPDATE SET position = excluded.position
                """)
        }
    }

    extension PostgresHubStore {
        package func publish(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) -> PublishResult {
            var templates = try PublishTemplates(request, now: now)
            var matching: [InboxKey: MatchedInterests] = [:]
            let known = try knownRecipients(of: request)
            if let matched = known.matched { return PublishResult(appended: [], matched: matched, isReplay: true) }
            for recipient in request.recipients {
                if let id = recipient.plainID, let inbox = known.inboxes[id] {
                    matching[inbox] = MatchedInterests.none
                    continue
                }
                let user = try upsertUser(
                    recipient.identity, profile: recipient.profile, in: request.project, now: now
                ).user
                matching[user.inbox] = MatchedInterests.none
            }
            let recipients = Array(matching.keys)
            guard try add(request, templates.interests, to: &matching) else {
                return try freeze(request, templates, recipients: recipients, now: now)
            }
            let targets = try targets(matching)
            let row = try insertPublish(request, matched: targets.count, pending: nil, now: now)
            let appended = try append(&templates, publish: row, to: targets, time: now, collapse: request.collapse)
            return PublishResult(appended: appended, matched: targets.count)
        }

        /// Locks the inboxes of users that are there, and looks whether the publish is.
        private func knownRecipients(
            of request: PublishRequest
        ) throws(HubStoreError) -> (matched: Int?, inboxes: [String: InboxKey]) {
            if let matched = newPublishes.matched(request.name) { return (matched, [:]) }
            var matched: Int?
            var inboxes: [String: InboxKey] = [:]
            var ids = Set(request.recipients.compactMap(\.plainID)).sorted()
            ids.removeAll { id in
                guard let inbox = expected.users[.init(project: request.project, id: id)],
                    let row = held[inbox], row.kind != .deleted
                else { return false }
                inboxes[id] = inbox
                return true
            }
            // Once only: a second one of the name in the group is a replay.
            let isNew = expected.newNames.remove(request.name) != nil
            if !ids.isEmpty {
                try publishQueries.recipients.forEach(request.project.row, Texts(ids), request.name) {
                    (found) throws(HubStoreError) in
                    matched = found.optionalInt64(0).map { Int($0) }
                    let row = try InboxRow(found, at: 2)
                    inboxes[found.text(1)] = row.key
                    if held[row.key] == nil { held.hold(row) }
                    return true
                }
            }
            if !isNew, ids.isEmpty || inboxes.isEmpty {
                matched = try publishQueries.byName.first(request.name, read: { $0.int(0) })
            }
            return (matched, inboxes)
        }

        /// Adds the inboxes that have one of the interests; false where they are too many for one transaction.
        private func add(
            _ request: PublishRequest, _ interests: [String], to matching: inout [InboxKey: MatchedInterests]
        ) throws(HubStoreError) -> Bool {
            for (index, name) in interests.enumerated() {
                let found = try publishQueries.matching.all(request.project.row, name, wideFrom + 1) { row in
                    InboxKey(row: row.int64(0))
                }
                for inbox in found { matching[inbox, default: .none].formUnion(MatchedInterests(index)) }
                guard matching.count <= wideFrom else { return false }
            }
            return true
        }

        /// Locks the inboxes. Those of the same interests stand together.
        private func targets(_ matching: [InboxKey: MatchedInterests]) throws(HubStoreError) -> [PublishTarget] {
            var targets: [PublishTarget] = []
            // One that was deleted since it was found gets nothing.
            for row in try lock(matching.keys) where row.kind != .deleted {
                targets.append(PublishTarget(tail: LogTail(row), matched: matching[row.key] ?? .none))
            }
            return targets.sorted { ($0.matched, $0.tail.inbox) < ($1.matched, $1.tail.inbox) }
        }

        /// Appends an item to each log; under a collapse key, what it replaces goes first.
        private func append(
            _ templates: inout PublishTemplates, publish: Int64, to targets: [PublishTarget], time: Milliseconds,
            collapse: String?
        ) throws(HubStoreError) -> [Appended] {
            guard let collapse, !targets.isEmpty else {
                return try templates.append(to: targets[...]) { (template, tails) throws(HubStoreError) in
                    try append(template, publish: publish, to: tails, time: time)
                }
            }
            var targets = targets
            let replaced = try replace(collapse, in: &targets, time: time)
            let appended = try templates.append(to: targets[...]) { (template, tails) throws(HubStoreError) in
                try append(template, publish: publish, to: tails, time: time)
            }
            try publishQueries.setCollapsed.run(
                Integers(appended.map(\.inbox.row)), Integers(appended.map(\.position)), collapse)
            return replaced + appended
        }

        private func replace(
            _ collapse: String, in targets: inout [PublishTarget], time: Milliseconds
        ) throws(HubStoreError) -> [Appended] {
            var old: [InboxKey: ItemID] = [:]
            try publishQueries.collapsed.forEach(Integers(targets.map(\.tail.inbox.row)), collapse) { row in
                old[InboxKey(row: row.int64(0))] = ItemID(
                    time: row.int64(1), counter: UInt64(row.int64(2)), random: row.bits(3))
                return true
            }
            var replaced: [Appended] = []
            for index in targets.indices {
                let inbox = targets[index].tail.inbox
                guard let id = old[inbox], let entry = try remove([id], why: "retract", from: inbox, now: time)
                else { continue }
                replaced.append(entry)
                targets[index].tail = LogTail(try inboxes.inbox(inbox))
            }
            return replaced
        }

        private func append(
            _ template: ItemTemplate, publish: Int64, to tails: [LogTail], time: Milliseconds
        ) throws(HubStoreError) -> [Appended] {
            var shared: Int64 = 0
            if tails.count >= Self.wideAppend {
                shared = try logQueries.insertTemplate.first(template.bytes) { $0.int64(0) } ?? 0
            }
            var salts = SplitMix(state: random.next())
            var scratch = template.bytes
            var appended: [Appended] = []
            appended.reserveCapacity(tails.count)
            for var tail in tails {
                tail.head += 1
                let id = ItemID(time: time, counter: UInt64(tail.head), random: salts.next())
                scratch.withUnsafeMutableBytes { EntryBytes.write(id, to: $0, at: template.idOffset) }
                tail.chain = hasher.link(after: tail.chain, entry: scratch[...])
                tail.sum &+= InboxSum.item(id, at: tail.head)
                newEntries.add(
                    NewEntries.Row(
                        inbox: tail.inbox.row, position: tail.head, publish: publish, salt: Int64(id.salt), time: time,
                        chain: Int64(bitPattern: tail.chain), bytes: shared == 0 ? scratch : nil, template: shared))
                held.move(tail)
                appended.append(Appended(tail, content: template.entry(id), time: time))
            }
            return appended
        }

        private func insertPublish(
            _ request: PublishRequest, matched: Int, pending: [UInt8]?, now: Milliseconds
        ) throws(HubStoreError) -> Int64 {
            let row = try newPublishes.number()
            newPublishes.add(
                NewPublishes.Row(id: row, request: request, matched: matched, pending: pending, time: now))
            return row
        }

        // MARK: Wide publishes

        /// Freezes who matches now; the items follow in chunks, each with the removal of its targets in one transaction.
        private func freeze(
            _ request: PublishRequest, _ templates: PublishTemplates, recipients: [InboxKey], now: Milliseconds
        ) throws(HubStoreError) -> PublishResult {
            let row = try insertPublish(request, matched: 0, pending: templates.bytes, now: now)
            for (index, name) in templates.interests.enumerated() {
                let matched = MatchedInterests(index)
                try publishQueries.freeze.run(
                    row, request.project.row, name, Int64(bitPattern: matched.low), Int64(bitPattern: matched.high))
            }
            if !recipients.isEmpty { try publishQueries.freezeSome.run(row, Integers(recipients.map(\.row))) }
            let matched = try publishQueries.countTargets.first(row) { $0.int(0) } ?? 0
            try publishQueries.setMatched.run(row, matched)
            return PublishResult(appended: [], matched: matched, isWide: true)
        }

        package func fanOut(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended]? {
            precondition(limit > 0, "a chunk has targets")
            let job = try publishQueries.pending.first { row in
                (
                    id: row.int64(0), name: row.text(1), body: row.blob(2), collapse: row.optionalText(3),
                    isRetracted: !row.isNull(4)
                )
            }
            guard let job else { return nil }
            let chunk = try publishQueries.targets.all(job.id, limit) { row in
                (InboxKey(row: row.int64(0)), MatchedInterests(low: row.bits(1), high: row.bits(2)))
            }
            let targets = job.isRetracted ? [] : try targets(Dictionary(uniqueKeysWithValues: chunk))
            var templates = try PublishTemplates(time: now, publish: job.name, body: job.body)
            let appended = try append(&templates, publish: job.id, to: targets, time: now, collapse: job.collapse)
            if let last = chunk.last { try publishQueries.deleteTargets.run(job.id, last.0.row) }
            if chunk.count < limit { try publishQueries.finish.run(job.id) }
            return appended
        }

        // MARK: What became of it

        package func item(
            ofPublish name: String, of project: ProjectKey, in inbox: InboxKey
        ) throws(HubStoreError) -> ItemID? {
            guard let publish = try deliveryQueries.publish.first(name, project.row, read: { $0.int64(0) }) else {
                return nil
            }
            guard try inboxes.inbox(inbox).kind != .deleted else { return nil }
            return try publishQueries.itemIn.first(publish, inbox.row) { row in
                ItemID(time: row.int64(0), counter: UInt64(row.int64(1)), random: row.bits(2))
            }
        }

        /// One publish a call, some inboxes of it.
        package func expire(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended] {
            while true {
                let due = try publishQueries.due.first(now) { row in
                    (id: row.int64(0), after: row.int64(1), why: row.isNull(2) ? "expired" : "retract")
                }
                guard let due else { return [] }
                let items = try publishQueries.itemsOf.all(due.id, due.after, limit) { row in
                    (
                        inbox: InboxKey(row: row.int64(0)),
                        id: ItemID(time: row.int64(1), counter: UInt64(row.int64(2)), random: row.bits(3))
                    )
                }
                _ = try lock(items.map(\.inbox))
                var appended: [Appended] = []
                for (inbox, id) in items {
                    if let entry = try remove([id], why: due.why, from: inbox, now: now) { appended.append(entry) }
                }
                let next: Int64? = items.count < limit ? nil : items.last?.inbox.row
                try publishQueries.setExpiring.run(due.id, next)
                if !appended.isEmpty { return appended }
            }
        }
    }
#endif
