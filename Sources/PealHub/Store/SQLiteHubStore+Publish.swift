package import PealModel

extension SQLiteHubStore {
    package func publish(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) -> PublishResult {
        if let matched = try publishQueries.byName.first(request.name, read: { $0.int(0) }) {
            return PublishResult(appended: [], matched: matched, isReplay: true)
        }
        var templates = try PublishTemplates(request, now: now)
        let recipients = try recipientTails(request, now: now)
        guard let targets = try matchingTails(request, templates.interests, and: recipients) else {
            return try freeze(request, templates, recipients: recipients, now: now)
        }
        let first = targets.isEmpty ? 0 : nextSeq
        let row = try insertPublish(
            request, seqs: first...(targets.isEmpty ? 0 : nextSeq + Int64(targets.count) - 1), matched: targets.count,
            pending: nil, now: now)
        let appended = try append(&templates, publish: row, to: targets, time: now, collapse: request.collapse)
        // What was replaced stands before the items.
        if request.collapse != nil, !targets.isEmpty { try publishQueries.advance.run(row, first, nextSeq - 1) }
        return PublishResult(appended: appended, matched: targets.count)
    }

    /// The user inboxes of a publish, each once; users that are not there are made.
    private func recipientTails(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) -> [LogTail] {
        var seen = Set<InboxKey>()
        var tails: [LogTail] = []
        for recipient in request.recipients {
            let user = try upsertUser(
                recipient.identity, profile: recipient.profile, in: request.project, now: now
            ).user
            guard seen.insert(user.inbox).inserted else { continue }
            tails.append(LogTail(try inboxes.inbox(user.inbox)))
        }
        return tails
    }

    /// Every matching inbox once, those of the same interests together; nil where they are too many for one transaction.
    private func matchingTails(
        _ request: PublishRequest, _ interests: [String], and recipients: [LogTail]
    ) throws(HubStoreError) -> [PublishTarget]? {
        var targets = recipients.map { PublishTarget(tail: $0) }
        var known: [InboxKey: Int] = [:]
        for (index, name) in interests.enumerated() {
            let matched = MatchedInterests(index)
            let rows = try publishQueries.matching.all(request.project.row, name, wideFrom + 1) { row in
                tail(InboxKey(row: row.int64(0)), head: row.int64(1), chain: row.bits(2), sum: row.bits(3))
            }
            // A user's inbox has no interests, so one interest alone cannot match an inbox twice.
            if interests.count == 1 {
                targets += rows.map { PublishTarget(tail: $0, matched: matched) }
            } else {
                for tail in rows {
                    if let place = known[tail.inbox] {
                        targets[place].matched.formUnion(matched)
                    } else {
                        known[tail.inbox] = targets.count
                        targets.append(PublishTarget(tail: tail, matched: matched))
                    }
                }
            }
            guard rows.count <= wideFrom, targets.count <= wideFrom else { return nil }
        }
        return Self.sorted(targets)
    }

    private static func sorted(_ targets: [PublishTarget]) -> [PublishTarget] {
        targets.sorted { ($0.matched, $0.tail.inbox) < ($1.matched, $1.tail.inbox) }
    }

    /// Where a log stands, of its row and of what the row does not know yet.
    private func tail(_ inbox: InboxKey, head: Position, chain: UInt64, sum: UInt64) -> LogTail {
        if let newer = heads.behind[inbox], newer.position > head {
            return LogTail(inbox: inbox, head: newer.position, chain: newer.chain, sum: newer.sum)
        }
        return LogTail(inbox: inbox, head: head, chain: chain, sum: sum)
    }

    /// Appends an item to each log; under a collapse key, what it replaces goes first.
    private func append(
        _ templates: inout PublishTemplates, publish: Int64, to targets: [PublishTarget], time: Milliseconds,
        collapse: String?
    ) throws(HubStoreError) -> [Appended] {
        guard let collapse else {
            return try templates.append(to: targets[...]) { (template, tails) throws(HubStoreError) in
                try append(template, publish: publish, to: tails, time: time)
            }
        }
        var replaced: [Appended] = []
        var targets = targets
        for index in targets.indices {
            let inbox = targets[index].tail.inbox
            let old = try publishQueries.collapsed.first(inbox.row, collapse) { row in
                ItemID(time: row.int64(0), counter: UInt64(row.int64(1)), random: row.bits(2))
            }
            guard let old, let entry = try remove([old], why: "retract", from: inbox, now: time) else { continue }
            replaced.append(entry)
            targets[index].tail = LogTail(try inboxes.inbox(inbox))
        }
        let first = nextSeq
        let appended = try templates.append(to: targets[...]) { (template, tails) throws(HubStoreError) in
            try append(template, publish: publish, to: tails, time: time)
        }
        for (offset, target) in targets.enumerated() {
            try publishQueries.setCollapsed.run(target.tail.inbox.row, collapse, first + Int64(offset))
        }
        return replaced + appended
    }

    private func append(
        _ template: ItemTemplate, publish: Int64, to tails: [LogTail], time: Milliseconds
    ) throws(HubStoreError) -> [Appended] {
        guard tails.count < Self.deferredFrom else {
            return try appendWide(template, to: tails, publish: publish, time: time)
        }
        var appended: [Appended] = []
        var salts = SplitMix(state: random.next())
        for var tail in tails {
            let id = ItemID(time: time, counter: UInt64(nextSeq), random: salts.next())
            let content = template.entry(id)
            try enter(content.array, to: &tail, publish: publish, salt: id.salt, time: time)
            tail.sum &+= InboxSum.item(id, at: tail.head)
            try moveHead(tail)
            appended.append(Appended(tail, content: content, time: time))
        }
        return appended
    }

    private func insertPublish(
        _ request: PublishRequest, seqs: ClosedRange<Int64>, matched: Int, pending: [UInt8]?, now: Milliseconds
    ) throws(HubStoreError) -> Int64 {
        let body = request.body
        let row = try publishQueries.insert.first(
            request.name, request.project.row, now, body.category, body.topic, body.silent, body.expires,
            seqs.lowerBound, seqs.upperBound, matched, pending,
            body.expires == nil ? Int64?.none : Int64?.some(0), request.collapse
        ) { $0.int64(0) }
        guard let row else { throw HubStoreError(.failed, "the publish was not written") }
        return row
    }

    // MARK: Wide publishes

    /// Freezes who matches now; the items follow in chunks, each with the removal of its targets in one transaction.
    func freeze(
        _ request: PublishRequest, _ templates: PublishTemplates, recipients: [LogTail], now: Milliseconds
    ) throws(HubStoreError) -> PublishResult {
        let row = try insertPublish(request, seqs: 0...0, matched: 0, pending: templates.bytes, now: now)
        for (index, name) in templates.interests.enumerated() {
            let matched = MatchedInterests(index)
            try publishQueries.freeze.run(
                row, request.project.row, name, Int64(bitPattern: matched.low), Int64(bitPattern: matched.high))
        }
        for tail in recipients { try publishQueries.freezeOne.run(row, tail.inbox.row) }
        let matched = try publishQueries.countTargets.first(row) { $0.int(0) } ?? 0
        try publishQueries.setMatched.run(row, matched)
        return PublishResult(appended: [], matched: matched, isWide: true)
    }

    package func fanOut(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended]? {
        precondition(limit > 0, "a chunk has targets")
        let job = try publishQueries.pending.first { row in
            (
                id: row.int64(0), name: row.text(1), body: row.blob(2), firstSeq: row.int64(3),
                collapse: row.optionalText(4), isRetracted: !row.isNull(5)
            )
        }
        guard let job else { return nil }
        var last: Int64 = 0
        var count = 0
        var targets: [PublishTarget] = []
        try publishQueries.targets.forEach(job.id, limit) { row in
            last = row.int64(0)
            count += 1
            if !job.isRetracted, row.int64(4) < InboxRow.Kind.deleted.rawValue {
                targets.append(
                    PublishTarget(
                        tail: tail(InboxKey(row: last), head: row.int64(1), chain: row.bits(2), sum: row.bits(3)),
                        matched: MatchedInterests(low: row.bits(5), high: row.bits(6))))
            }
            return true
        }
        let firstSeq = nextSeq
        var templates = try PublishTemplates(time: now, publish: job.name, body: job.body)
        let appended = try append(
            &templates, publish: job.id, to: Self.sorted(targets), time: now, collapse: job.collapse)
        if !appended.isEmpty {
            try publishQueries.advance.run(job.id, job.firstSeq == 0 ? firstSeq : job.firstSeq, nextSeq - 1)
        }
        try publishQueries.deleteTargets.run(job.id, last)
        if count < limit { try publishQueries.finish.run(job.id) }
        return appended
    }
}

extension ItemID {
    /// The bits of its randomness that it keeps: 34.
    var salt: UInt64 { low & 0x3_FFFF_FFFF }
}

/// A quick generator for what must differ and need not be secret (SplitMix64).
package struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    /// A generator of a seed.
    package init(state: UInt64) { self.state = state }

    /// The next 64 bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
