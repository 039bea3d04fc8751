package import PealModel

/// Who says hello, before it is judged.
private enum Caller {
    case inbox(InboxRow, known: ReplicaRow?, mustFork: Bool)
    case refused(AdmissionResult.Refusal)
}

extension SQLHubStore {
    package func admit(
        _ hello: Hello, project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> AdmissionResult {
        switch try caller(of: hello, project: project, now: now) {
        case .refused(let why): return .refused(why)
        case .inbox(let inbox, let known, let mustFork):
            if let known, hello.attempt <= known.attempt { return .attemptTooLow(last: known.attempt) }
            let mode = mustFork ? .forked : try judge(hello, in: inbox, known: known)
            guard mode != .forked else { return .admitted(try fork(hello, in: inbox, known: known, now: now)) }
            return .admitted(try open(hello, mode: mode, in: inbox, known: known, now: now))
        }
    }

    private func judge(
        _ hello: Hello, in inbox: InboxRow, known: ReplicaRow?
    ) throws(HubStoreError) -> Admission.Mode {
        let chain = try chain(of: inbox, at: hello.cursor.position)
        return Admission.judge(
            cursor: hello.cursor, nonce: hello.nonce, log: inbox.log,
            known: known.map {
                Admission.Known(current: $0.nonceCurrent, issued: $0.nonceIssued, attempt: $0.attempt)
            }, chain: chain)
    }

    /// Nothing changes but the attempt; the welcome only carries the order.
    private func fork(
        _ hello: Hello, in inbox: InboxRow, known: ReplicaRow?, now: Milliseconds
    ) throws(HubStoreError) -> Admitted {
        if let known { try sessionQueries.attempt.run(known.key.row, hello.attempt, now) }
        return Admitted(
            inbox: inbox.key, replica: known?.key ?? ReplicaKey(row: 0),
            welcome: Welcome(
                session: freshSession(), mode: .forked, epoch: inbox.epoch, inbox: inbox.id, head: inbox.head,
                attempt: hello.attempt, nonce: hello.nonce, time: now),
            sum: inbox.sum)
    }

    private func open(
        _ hello: Hello, mode: Admission.Mode, in inbox: InboxRow, known: ReplicaRow?, now: Milliseconds
    ) throws(HubStoreError) -> Admitted {
        var inbox = inbox
        var tail = LogTail(inbox)
        let catalogue = try bringCatalogue(to: &inbox, &tail, now: now)
        let row: ReplicaRow
        if let known { row = known } else { row = try createReplica(hello.replica, in: inbox.key, now: now) }
        let session = freshSession()
        let nonce = PublicID.text(PublicID.random(&random))
        // Who presents the nonce that was issued last has its welcome: the hello itself is the first frame after it. Without
        // this, a second lost welcome in a row would make a fork of nobody.
        let current = hello.nonce == row.nonceIssued ? hello.nonce : row.nonceCurrent
        // A note of this very run is no crash's: the session that made it is over.
        try sessionQueries.open.run(row.key.row, hello.attempt, nonce, session, now, current, run)
        // Until a frame has proved that a welcome arrived, the next one must carry the secret too.
        let secret =
            current.isEmpty
            ? ReplicaSecret.text(seed: try seed(of: inbox.project), inbox: inbox.id, replica: row.id) : nil
        let welcome = Welcome(
            session: session, mode: mode, epoch: inbox.epoch, inbox: inbox.id, head: inbox.head, lastN: row.lastN,
            lastUID: row.lastUID, settled: try settled(hello.outbox, of: row), attempt: hello.attempt, nonce: nonce,
            secret: secret, time: now)
        return Admitted(
            inbox: inbox.key, replica: row.key, welcome: welcome, sum: inbox.sum, replaced: row.session,
            appended: catalogue)
    }

    private func settled(_ outbox: ClosedRange<Int64>, of row: ReplicaRow) throws(HubStoreError) -> [Settled] {
        guard outbox.upperBound > 0, outbox.lowerBound <= row.lastN else { return [] }
        return try actQueries.settledRange.all(
            row.inbox.row, Author.replica(row.id).bytes, max(outbox.lowerBound, 1), min(outbox.upperBound, row.lastN),
            HubStoreLimits.settled
        ) { (row) throws(HubStoreError) -> Settled in
            Settled(n: row.int64(0), uid: row.bits(1), outcome: try Outcome(stored: row.text(2)))
        }
    }

    private func createReplica(
        _ id: ReplicaID, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ReplicaRow {
        let key = try sessionQueries.insert.first(id.bytes, inbox.row, now) { $0.int64(0) } ?? 0
        return ReplicaRow(
            key: ReplicaKey(row: key), id: id, inbox: inbox, attempt: 0, nonceCurrent: "", nonceIssued: "", lastN: 0,
            failures: 0)
    }

    /// Never 0, which is free to mean none.
    private func freshSession() -> UInt64 { max(random.next(), 1) }

    func seed(of project: ProjectKey) throws(HubStoreError) -> [UInt8] {
        guard let seed = try sessionQueries.seed.first(project.row, read: { $0.blob(0) }) else {
            throw HubStoreError(.notFound, "no such project")
        }
        return seed
    }

    // MARK: Identity

    private func caller(
        of hello: Hello, project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Caller {
        let known = try sessionQueries.replica(hello.replica)
        let bound = try known.map { (row) throws(HubStoreError) in try inboxes.inbox(row.inbox) }
        if let bound {
            guard bound.project == project else { return .refused(.otherInbox) }
            if bound.kind == .deleted || known?.isRevoked == true { return .refused(.revoked) }
        }
        switch hello.inbox {
        case .user(let externalID, let email):
            return try userCaller(
                UserIdentity(externalID: externalID, email: email), project: project, known: known, now: now)
        case .device(let id):
            return try deviceCaller(id, hello, project: project, known: known, bound: bound, now: now)
        }
    }

    /// What was verified is the external id, else the email. An email beside an external id is a claim that nobody has proved: it is
    /// passed over, so that it neither binds an address to a user nor tells whether somebody has it.
    private func userCaller(
        _ identity: UserIdentity, project: ProjectKey, known: ReplicaRow?, now: Milliseconds
    ) throws(HubStoreError) -> Caller {
        let inbox: InboxKey
        do {
            let verified = identity.externalID == nil ? identity : UserIdentity(externalID: identity.externalID)
            if let owner = try user(verified, in: project) {
                inbox = owner.inbox
            } else if known != nil {
                return .refused(.otherInbox)
            } else {
                inbox = try upsertUser(verified, profile: UserProfile(), in: project, now: now).user.inbox
            }
        } catch {
            if error.code == .conflict || error.code == .invalid { return .refused(.conflict) }
            throw error
        }
        guard known == nil || known?.inbox == inbox else { return .refused(.otherInbox) }
        return .inbox(try inboxes.inbox(inbox), known: known, mustFork: false)
    }

    private func deviceCaller(
        _ id: String?, _ hello: Hello, project: ProjectKey, known: ReplicaRow?, bound: InboxRow?, now: Milliseconds
    ) throws(HubStoreError) -> Caller {
        guard let id else {
            guard let known, let bound else {
                return .inbox(try createDevice(in: project, now: now), known: nil, mustFork: false)
            }
            guard bound.kind == .device else { return .refused(.otherInbox) }
            // It has had a welcome and does not know it: restored to before its first contact.
            if known.nonceCurrent.isEmpty { return .inbox(bound, known: known, mustFork: false) }
            guard hello.cursor.epoch == nil else { return .refused(.unauthorized) }
            return .inbox(bound, known: known, mustFork: true)
        }
        guard let publicID = PublicID.bytes(id) else { return .refused(.unauthorized) }
        let found = try inboxes.inbox(public: publicID, in: project)
        if let found {
            guard found.kind == .device || found.kind == .deleted else { return .refused(.unauthorized) }
        }
        let seed = try seed(of: project)
        if found?.kind == .deleted {
            // Only who had it learns that it was there.
            let hadIt = ReplicaSecret.matches(
                hello.proof.secret, seed: seed, inbox: PublicID.text(publicID),
                replica: hello.proof.replica ?? hello.replica)
            return .refused(hadIt ? .revoked : .unauthorized)
        }
        if let known, let bound, known.inbox != found?.key {
            // Its secret shows that it had this inbox before the hub was restored; a copy of it has got another one since, and
            // another copy may have brought this one back.
            let isRight = ReplicaSecret.matches(
                hello.proof.secret, seed: seed, inbox: PublicID.text(publicID), replica: hello.replica)
            guard isRight else { return .refused(.otherInbox) }
            return .inbox(bound, known: known, mustFork: true)
        }
        let isUnproven = known?.nonceCurrent.isEmpty ?? false
        if !isUnproven {
            let owner = known == nil ? hello.proof.replica ?? hello.replica : hello.replica
            func opens(_ replica: ReplicaID) -> Bool {
                ReplicaSecret.matches(
                    hello.proof.secret, seed: seed, inbox: PublicID.text(publicID), replica: replica)
            }
            if !opens(owner) {
                // A copy from between a fork and its first welcome still has the secret of the id before.
                guard known != nil, let found, let previous = hello.proof.replica, opens(previous) else {
                    return .refused(.unauthorized)
                }
                return .inbox(found, known: known, mustFork: true)
            }
        }
        // A device whose secret is right and whose inbox is not here: the hub was restored to before it.
        if let found { return .inbox(found, known: known, mustFork: false) }
        return .inbox(try createDevice(publicID, in: project, now: now), known: nil, mustFork: false)
    }

    // MARK: After the welcome

    package func firstFrame(
        _ replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        try sessionQueries.firstFrame.first(replica.row, session, now) { _ in true } ?? false
    }

    package func revoke(
        _ replica: ReplicaID, of inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ReplicaKey? {
        try sessionQueries.revoke.first(replica.bytes, inbox.row, now) { ReplicaKey(row: $0.int64(0)) }
    }

    package func acknowledge(
        _ cursors: [(replica: ReplicaKey, position: Position)], now: Milliseconds
    ) throws(HubStoreError) {
        for (replica, position) in cursors { try sessionQueries.acknowledge.run(replica.row, position, now) }
    }
}
