package import PealHub
package import PealModel

extension MemoryHubStore {
    /// Who says hello, before it is judged. `known` is the replica's row.
    private enum Caller {
        case inbox(InboxKey, known: Int?, mustFork: Bool)
        case refused(AdmissionResult.Refusal)
    }

    package func admit(
        _ hello: Hello, project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> AdmissionResult {
        switch try caller(of: hello, project: project, now: now) {
        case .refused(let why): return .refused(why)
        case .inbox(let inbox, let known, let mustFork):
            if let known, hello.attempt <= replica(known).attempt, !planted(.noAttemptCheck) {
                return .attemptTooLow(last: replica(known).attempt)
            }
            let mode = mustFork ? .forked : judge(hello, in: inbox, known: known)
            guard mode != .forked else { return .admitted(fork(hello, in: inbox, known: known, now: now)) }
            return .admitted(open(hello, mode: mode, in: inbox, known: known, now: now))
        }
    }

    package func revoke(
        _ replica: ReplicaID, of inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ReplicaKey? {
        let index = state.replicas.firstIndex { $0.id == replica && $0.inbox == inbox && !$0.isRevoked }
        guard let index else { return nil }
        state.replicas[index].isRevoked = true
        state.replicas[index].session = nil
        return ReplicaKey(row: Int64(index + 1))
    }

    private func replica(_ row: Int) -> ReplicaRow { state.replicas[row - 1] }

    private func judge(_ hello: Hello, in key: InboxKey, known: Int?) -> Admission.Mode {
        let inbox = state.inboxes[Int(key.row) - 1]
        return Admission.judge(
            cursor: hello.cursor, nonce: hello.nonce,
            log: Admission.Log(epoch: inbox.value.epoch, head: inbox.head, floor: inbox.value.floor),
            known: known.map { row in
                let row = replica(row)
                return Admission.Known(current: row.nonceCurrent, issued: row.nonceIssued, attempt: row.attempt)
            }, chain: inbox.value.chain(at: hello.cursor.position))
    }

    private func fork(_ hello: Hello, in key: InboxKey, known: Int?, now: Milliseconds) -> Admitted {
        if let known {
            state.replicas[known - 1].attempt = hello.attempt
            state.replicas[known - 1].seenAt = now
        }
        let inbox = state[key]
        return Admitted(
            inbox: key, replica: ReplicaKey(row: Int64(known ?? 0)),
            welcome: Welcome(
                session: freshSession(), mode: .forked, epoch: inbox.epoch, inbox: inbox.id, head: inbox.head,
                attempt: hello.attempt, nonce: hello.nonce, time: now),
            sum: inbox.sum)
    }

    private func open(
        _ hello: Hello, mode: Admission.Mode, in key: InboxKey, known: Int?, now: Milliseconds
    ) -> Admitted {
        let catalogue = bringCatalogue(to: key, now: now)
        let row = known ?? createReplica(hello.replica, in: key, now: now)
        var replica = replica(row)
        let replaced = replica.session
        let session = freshSession()
        let nonce = randomID().description
        if hello.nonce == replica.nonceIssued { replica.nonceCurrent = hello.nonce }
        replica.attempt = hello.attempt
        replica.nonceIssued = nonce
        replica.session = session
        if replica.suspect == run { replica.suspect = nil }
        replica.seenAt = now
        state.replicas[row - 1] = replica
        let inbox = state[key]
        let secret =
            replica.nonceCurrent.isEmpty
            ? ReplicaSecret.text(seed: seed(of: inbox.project), inbox: inbox.id, replica: replica.id) : nil
        let welcome = Welcome(
            session: session, mode: mode, epoch: inbox.epoch, inbox: inbox.id, head: inbox.head, lastN: replica.lastN,
            lastUID: replica.lastUID, settled: settled(hello.outbox, of: replica), attempt: hello.attempt, nonce: nonce,
            secret: secret, time: now)
        return Admitted(
            inbox: key, replica: ReplicaKey(row: Int64(row)), welcome: welcome, sum: inbox.sum, replaced: replaced,
            appended: catalogue)
    }

    private func settled(_ outbox: ClosedRange<Int64>, of replica: ReplicaRow) -> [Settled] {
        let low = max(outbox.lowerBound, 1)
        let high = min(outbox.upperBound, replica.lastN)
        guard low <= high else { return [] }
        let inbox = state.inboxes[Int(replica.inbox.row) - 1]
        var settled: [Settled] = []
        for n in low...high {
            guard settled.count < HubStoreLimits.settled else { break }
            if let found = inbox.value.outcome(of: .replica(replica.id), n: n) {
                settled.append(Settled(n: n, uid: found.uid, outcome: found.outcome))
            }
        }
        return settled
    }

    private func createReplica(_ id: ReplicaID, in inbox: InboxKey, now: Milliseconds) -> Int {
        state.replicas.append(ReplicaRow(id: id, inbox: inbox, seenAt: now))
        state.replicaByID[id] = state.replicas.count
        return state.replicas.count
    }

    private func freshSession() -> UInt64 { max(random(), 1) }

    private func seed(of project: ProjectKey) -> [UInt8] { state.projects[Int(project.row) - 1].seed }

    // MARK: Identity

    private func caller(
        of hello: Hello, project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Caller {
        let known = state.replicaByID[hello.replica]
        if let known {
            let bound = state[replica(known).inbox]
            guard bound.project == project else { return .refused(.otherInbox) }
            if bound.kind.isDeleted || replica(known).isRevoked { return .refused(.revoked) }
        }
        switch hello.inbox {
        case .user(let externalID, let email):
            return try userCaller(
                UserIdentity(externalID: externalID, email: email), project: project, known: known, now: now)
        case .device(let id?): return deviceCaller(id, hello, project: project, known: known, now: now)
        case .device(nil): return newDeviceCaller(hello, project: project, known: known, now: now)
        }
    }

    private func userCaller(
        _ identity: UserIdentity, project: ProjectKey, known: Int?, now: Milliseconds
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
        if let known, replica(known).inbox != inbox { return .refused(.otherInbox) }
        return .inbox(inbox, known: known, mustFork: false)
    }

    private func newDeviceCaller(_ hello: Hello, project: ProjectKey, known: Int?, now: Milliseconds) -> Caller {
        guard let known else {
            return .inbox(createDevice(in: project, now: now).inbox, known: nil, mustFork: false)
        }
        let replica = replica(known)
        guard state[replica.inbox].kind == .device else { return .refused(.otherInbox) }
        // It has had a welcome and does not know it: restored to before its first contact.
        if replica.nonceCurrent.isEmpty { return .inbox(replica.inbox, known: known, mustFork: false) }
        guard hello.cursor.epoch == nil else { return .refused(.unauthorized) }
        return .inbox(replica.inbox, known: known, mustFork: true)
    }

    private func deviceCaller(
        _ id: String, _ hello: Hello, project: ProjectKey, known: Int?, now: Milliseconds
    ) -> Caller {
        guard let publicID = ReplicaID(id) else { return .refused(.unauthorized) }
        let found = state.inbox(public: id, in: project)
        if let found {
            if state[found].kind.isDeleted {
                // Only who had it learns that it was there.
                let hadIt = ReplicaSecret.matches(
                    hello.proof.secret, seed: seed(of: project), inbox: publicID.description,
                    replica: hello.proof.replica ?? hello.replica)
                return .refused(hadIt ? .revoked : .unauthorized)
            }
            guard state[found].kind == .device else { return .refused(.unauthorized) }
        }
        if let known, replica(known).inbox != found {
            let isRight = ReplicaSecret.matches(
                hello.proof.secret, seed: seed(of: project), inbox: publicID.description, replica: hello.replica)
            guard isRight else { return .refused(.otherInbox) }
            return .inbox(replica(known).inbox, known: known, mustFork: true)
        }
        let isUnproven = known.map { replica($0).nonceCurrent.isEmpty } ?? false
        if !isUnproven {
            let owner = known == nil ? hello.proof.replica ?? hello.replica : hello.replica
            let isRight = ReplicaSecret.matches(
                hello.proof.secret, seed: seed(of: project), inbox: publicID.description, replica: owner)
            guard isRight else {
                // A copy from between a fork and its first welcome still has the secret of the id before.
                let isCopy = ReplicaSecret.matches(
                    hello.proof.secret, seed: seed(of: project), inbox: publicID.description,
                    replica: hello.proof.replica ?? hello.replica)
                guard known != nil, let found, isCopy else { return .refused(.unauthorized) }
                return .inbox(found, known: known, mustFork: true)
            }
        }
        // A device whose secret is right and whose inbox is not here: the hub was restored to before it.
        let inbox = found ?? createDevice(publicID, in: project, now: now).inbox
        return .inbox(inbox, known: known, mustFork: false)
    }

    // MARK: After the welcome

    package func firstFrame(
        _ replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> Bool {
        guard let row = row(replica), state.replicas[row].session == session else { return false }
        state.replicas[row].nonceCurrent = state.replicas[row].nonceIssued
        state.replicas[row].seenAt = now
        return true
    }

    package func acknowledge(
        _ cursors: [(replica: ReplicaKey, position: Position)], now: Milliseconds
    ) throws(HubStoreError) {
        for (replica, position) in cursors {
            guard let row = row(replica) else { continue }
            state.replicas[row].got = max(state.replicas[row].got, position)
            state.replicas[row].seenAt = now
        }
    }

    /// The index of a replica's row; nil where there is none.
    func row(_ replica: ReplicaKey) -> Int? {
        let row = Int(replica.row) - 1
        return state.replicas.indices.contains(row) ? row : nil
    }
}
