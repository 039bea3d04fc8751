internal import Foundation
internal import PealModel
internal import PealReplica
internal import Synchronization

/// How a device begins anew.
extension PushNotifications {
    /// Ends this device: its interests, its user and its push token are forgotten here at once, and on the hub as soon as there is one, also after
    /// a restart of the program (its next start tells it). Notifications come no more; ``start(instanceId:)`` begins with a new device.
    ///
    /// - Parameter completion: called once, when the hub has deleted the device or cannot be reached now; also where nothing was started. In the
    ///   context of the callbacks.
    public func stop(completion: @escaping @Sendable () -> Void) { end(goesOn: false, completion) }

    /// Ends this device, as ``stop(completion:)``.
    ///
    /// - Throws: ``PealError``: `file`; then nothing has ended.
    public func stop() async throws(PealError) { try await end(goesOn: false)?.ended(within: Self.patience) }

    /// Logs a user out: interests and user are forgotten as by ``stop(completion:)``, and this goes on as a new device, with the same push token,
    /// which is registered by itself.
    ///
    /// - Parameter completion: as for ``stop(completion:)``.
    public func clearAllState(completion: @escaping @Sendable () -> Void) { end(goesOn: true, completion) }

    /// Logs a user out, as ``clearAllState(completion:)``.
    ///
    /// - Throws: ``PealError``: `file`; then nothing has ended.
    public func clearAllState() async throws(PealError) {
        try await end(goesOn: true)?.ended(within: Self.patience)
    }

    private func end(goesOn: Bool, _ completion: @escaping @Sendable () -> Void) {
        let old: Inbox?
        do throws(PealError) {
            old = try end(goesOn: goesOn)
        } catch {
            log("the device was not ended: \(error)")
            old = nil
        }
        Task { [callbacks] in
            await old?.ended(within: Self.patience)
            callbacks.run(completion)
        }
    }

    /// Ends the device here.
    ///
    /// - Returns: its inbox, which is on its way to tell the hub; nil where there was none.
    private func end(goesOn: Bool) throws(PealError) -> Inbox? {
        try life.withLock { (started: inout Started?) throws(PealError) -> Inbox? in
            guard let now = started else { return nil }
            var record = now.record
            record.file = goesOn ? Self.freshFile() : ""
            record.user = nil
            record.isBound = false
            if !goesOn { record.token = nil }
            let new = goesOn ? try make(now, record, interests: []) : nil
            // From here on it has ended: a file of the folder that the record does not name is one whose end is sent.
            try record.save(now.folder)
            endUser(now.user, now.folder)
            let isHeard = farewell(now.inbox)
            started = nil
            shown.withLock { shown in
                shown.file = nil
                shown.provider = nil
                shown.awaited = nil
                shown.isCaughtUp = false
            }
            if let new {
                adopt(new, interests: [])
                started = new
            } else {
                told.tell(ClientStatus(state: .offline))
            }
            return isHeard ? now.inbox : nil
        }
    }

    /// Queues the end, and lets the inbox go its way.
    ///
    /// - Returns: whether a hub may know of it.
    private func farewell(_ inbox: Inbox) -> Bool {
        let path = inbox.configuration.path
        let log = log
        let isHeard =
            (try? inbox.blocking { (inbox) throws(PealError) -> Bool in
                do throws(PealError) {
                    try inbox.perform(.end)
                } catch {
                    // The next start of this folder does it.
                    log("the end of a device is not queued yet: \(error)")
                }
                inbox.follower = nil
                inbox.watchHealth { _ in }
                guard try inbox.isUnheard() else { return true }
                inbox.close()
                return false
            }) ?? true
        if isHeard {
            Farewells.shared.add(inbox)
        } else {
            Replica.remove(path)
        }
        return isHeard
    }

    /// A new device, that nobody has heard of yet.
    private func make(_ before: Started, _ record: DeviceRecord, interests: [String]) throws(PealError) -> Started {
        var now = before
        now.record = record
        now.user = nil
        now.inbox = try Inbox.open(
            configuration(before.folder + "/" + record.file, .device(id: nil), before.instance, before.hub))
        try now.inbox.blocking { (inbox) throws(PealError) in
            if let token = record.token { try inbox.perform(.token(token, platform: Self.platform)) }
            if !interests.isEmpty { try inbox.replaceInterests(interests) }
        }
        return now
    }

    /// It is the device from now on.
    private func adopt(_ new: Started, interests: [String]) {
        shown.withLock { shown in
            shown.file = new.record.file
            shown.refusals = 0
            shown.interests = interests
        }
        attach(new.inbox, new.record.file)
    }

    /// The hub does not know this device any more: it is made anew, with the interests, the push token and the user that it had
    /// (docs/sync.md section 7). What it held of notifications is gone, as it is on the hub. Blocking.
    func makeAnew(_ file: String) {
        life.withLock { started in
            guard let now = started, now.record.file == file else { return }
            do throws(PealError) {
                let (isKnown, interests) = try now.inbox.blocking { (inbox) throws(PealError) in
                    (try inbox.inspect().inbox != nil, try inbox.interests())
                }
                // One that no hub has ever welcomed would be refused again.
                guard isKnown else { return }
                var record = now.record
                record.file = Self.freshFile()
                record.isBound = false
                var next = try make(now, record, interests: interests)
                next.user = now.user
                try record.save(now.folder)
                started = next
                adopt(next, interests: interests)
                try now.inbox.blocking { (inbox) in inbox.close() }
                Replica.remove(now.inbox.configuration.path)
                shown.withLock { shown in
                    shown.renewed = .now
                    shown.awaited = nil
                }
                log("the hub knows this device no more; it goes on as a new one, with its interests")
            } catch {
                log("a device that the hub knows no more was not made anew: \(error)")
            }
        }
    }

    // MARK: User

    /// Ends a user's inbox here; nothing of it stays.
    func endUser(_ inbox: Inbox?, _ folder: String) {
        try? inbox?.blocking { (inbox) in inbox.close() }
        removeUsers(folder)
    }

    func removeUsers(_ folder: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasPrefix("user-") && name.hasSuffix(".peal") { Replica.remove(folder + "/" + name) }
    }
}
