internal import Foundation
internal import PealModel
internal import PealReplica
internal import Synchronization

/// Whose device this is.
extension PushNotifications {
    /// Makes this the device of a user, who then gets their own notifications on it too. Call it at each launch while the user is signed in; where it
    /// is theirs already that asks nobody. When the user signs out, call ``clearAllState(completion:)``.
    ///
    /// - Parameters:
    ///   - userId: the app's own id of the user, 1 to 164 bytes.
    ///   - tokenProvider: gets a token that proves the user; kept for as long as it is their device, because the hub wants one now and then.
    ///   - completion: called once, in the context of the callbacks, with nil when the hub has taken the user, or cannot be reached now: then it is told
    ///     later. Else with an error, and nothing is kept: ``PealError`` `notStarted`, `invalid` (the id, or a token of somebody else), `otherUser`,
    ///     `noToken`, `timeout`, `refused` by the hub, `cancelled` where the state was cleared meanwhile, `file`; or what the provider failed with.
    public func setUserId(
        _ userId: String, tokenProvider: any TokenProvider, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        Task {
            do {
                try await setUserId(userId, tokenProvider: tokenProvider)
                callbacks.run { completion(nil) }
            } catch {
                callbacks.run { completion(error) }
            }
        }
    }

    /// Makes this the device of a user, as ``setUserId(_:tokenProvider:completion:)``.
    ///
    /// - Throws: as that one gives.
    public func setUserId(_ userId: String, tokenProvider: any TokenProvider) async throws {
        guard (1...ProvenUser.maximumID).contains(userId.utf8.count) else {
            throw PealError(.invalid, "a user id has 1 to \(ProvenUser.maximumID) bytes")
        }
        let (file, isKnown, isBound) = try standing(userId)
        let provide: @Sendable () async throws -> String = { [tokenTimeout] in
            try await ProvenUser.token(of: userId, from: tokenProvider, within: tokenTimeout)
        }
        guard !isBound else {
            shown.withLock { $0.provider = tokenProvider }
            return try await openUser(userId, file: file, token: nil)
        }
        let token = try await provide()
        let (uid, inbox) = try bind(userId, token, file, tokenProvider, isAwaited: true)
        defer { shown.withLock { if $0.awaited == uid { $0.awaited = nil } } }
        if case .refused(let reason) = await inbox.answer(to: uid, within: Self.patience) {
            release(file, uid, forgetsUser: !isKnown)
            throw PealError(.refused, "the hub refused the user: \(reason)")
        }
        try await openUser(userId, file: file, token: token)
    }

    /// The device's file, whether it is this user's already, and whether the hub is told so.
    private func standing(_ userId: String) throws(PealError) -> (file: String, isKnown: Bool, isBound: Bool) {
        try life.withLock { (started: inout Started?) throws(PealError) in
            guard let now = started else { throw notStarted }
            try Self.check(now.record, userId)
            let isKnown = now.record.user != nil
            return (now.record.file, isKnown, isKnown && now.record.isBound)
        }
    }

    private static func check(_ record: DeviceRecord, _ userId: String) throws(PealError) {
        guard let user = record.user, !user.utf8.elementsEqual(userId.utf8) else { return }
        throw PealError(.otherUser, "this device is another user's; call clearAllState when somebody signs out")
    }

    /// Queues the act; the record says so when this returns.
    private func bind(
        _ userId: String, _ token: String, _ file: String, _ provider: any TokenProvider, isAwaited: Bool
    ) throws(PealError) -> (uid: UInt64, inbox: Inbox) {
        try life.withLock { (started: inout Started?) throws(PealError) in
            guard let now = started, now.record.file == file else {
                throw PealError(.cancelled, "the device's state was cleared meanwhile")
            }
            try Self.check(now.record, userId)
            var record = now.record
            record.user = userId
            record.isBound = true
            let next = record
            let folder = now.folder
            let uid = try now.inbox.blocking { [self] (inbox) throws(PealError) in
                // Held, so that it is not sent, and answered, before the record says so.
                let uid = try inbox.replicaAct(.user(id: userId, proof: token))
                shown.withLock { if isAwaited { $0.awaited = uid } }
                do throws(PealError) {
                    try next.save(folder)
                } catch {
                    _ = try? inbox.discard(uid)
                    throw error
                }
                inbox.outboxChanged()
                return uid
            }
            started?.record = next
            shown.withLock { $0.provider = provider }
            return (uid, now.inbox)
        }
    }

    /// The hub did not take the user.
    private func release(_ file: String, _ uid: UInt64, forgetsUser: Bool) {
        life.withLock { started in
            guard let now = started, now.record.file == file else { return }
            var record = now.record
            record.isBound = false
            if forgetsUser { record.user = nil }
            do throws(PealError) {
                try record.save(now.folder)
                started?.record = record
                _ = try now.inbox.blocking { (inbox) throws(PealError) in try inbox.discard(uid) }
            } catch {
                log("that the hub refused the user is not kept: \(error)")
            }
            guard forgetsUser else { return }
            shown.withLock { $0.provider = nil }
            endUser(now.user, now.folder)
            started?.user = nil
        }
    }

    // MARK: Later

    /// A refusal that nobody waits for: the token had ended before the hub was there. On the inbox's thread.
    func lookForRefusal(_ inbox: isolated Inbox, _ file: String) {
        guard let dead = try? inbox.outboxDepth().dead, dead > 0, let acts = try? inbox.outbox() else { return }
        let awaited = shown.withLock { $0.awaited }
        for act in acts where act.state == .dead && act.id != awaited {
            guard case .user? = act.operation else { continue }
            let uid = act.id
            // Not on this thread, which it waits for.
            Thread.detachNewThread { [weak self] in
                self?.release(file, uid, forgetsUser: false)
                self?.log("the hub refused the user's token; a fresh one is asked for at the next connection")
            }
        }
    }

    /// Whenever the device is live: where the hub has not got its user, it is told, with a fresh token. Not blocking.
    func bindAgain(_ file: String) {
        guard let provider = shown.withLock({ $0.provider }) else { return }
        Task { [weak self, tokenTimeout] in
            guard let user = self?.unbound(file) else { return }
            defer { self?.shown.withLock { $0.isBinding = false } }
            do {
                let token = try await ProvenUser.token(of: user, from: provider, within: tokenTimeout)
                _ = try self?.bind(user, token, file, provider, isAwaited: false)
                try await self?.openUser(user, file: file, token: token)
            } catch {
                self?.log("the hub was not told the user: there is no good token, or the file failed")
            }
        }
    }

    /// The user of whom the hub does not know; nil where there is none, or somebody is about to tell it.
    private func unbound(_ file: String) -> String? {
        let user: String? = life.withLock { started in
            guard let record = started?.record, record.file == file, !record.isBound else { return nil }
            return record.user
        }
        guard let user else { return nil }
        let isMine = shown.withLock { shown in
            guard !shown.isBinding, shown.awaited == nil else { return false }
            shown.isBinding = true
            return true
        }
        return isMine ? user : nil
    }

    // MARK: Inbox

    /// The user's own inbox, beside the device's. What they had before does not come as new.
    private func openUser(_ userId: String, file: String, token: String?) async throws {
        let opened = try life.withLock { (started: inout Started?) throws(PealError) -> Inbox? in
            guard let now = started, now.record.file == file else { return nil }
            if let inbox = now.user {
                let isStopped = try inbox.blocking { (inbox) in inbox.status.state == .stopped }
                guard isStopped else { return nil }
                endUser(inbox, now.folder)
            }
            let path = now.folder + "/user-" + PealClient.fileName(userId) + ".peal"
            var configuration = configuration(
                path, .user(externalID: userId, email: nil), now.instance, now.hub)
            configuration.proof.token = token
            configuration.freshToken = { [weak self] in await self?.freshToken(userId) }
            let isKnown = FileManager.default.fileExists(atPath: path)
            let inbox = try Inbox.open(configuration)
            let follower = Inbox.Follower(
                change: { [weak self] inbox, change in
                    guard let self, !change.inserted.isEmpty, shown.withLock({ $0.isCaughtUp }) else { return }
                    deliver(change.inserted, inbox)
                }, status: { _, _ in })
            shown.withLock { $0.isCaughtUp = isKnown }
            try inbox.blocking { (inbox) in
                inbox.follow(follower)
                inbox.connect()
            }
            started?.user = inbox
            return isKnown ? nil : inbox
        }
        guard let opened else { return }
        await opened.upToDate(within: Milliseconds(Self.patience / .milliseconds(1)))
        shown.withLock { $0.isCaughtUp = true }
    }

    private func freshToken(_ userId: String) async -> String? {
        guard let provider = shown.withLock({ $0.provider }) else { return nil }
        return try? await ProvenUser.token(of: userId, from: provider, within: tokenTimeout)
    }
}
