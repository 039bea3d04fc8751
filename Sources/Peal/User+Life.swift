public import Foundation
internal import PealModel
internal import PealReplica

/// The life of a user's data: taking it out, seeing and revoking devices, having it deleted.
extension User {
    /// The hub's calls as this user, with the newest proof that the app gave: the HMAC, else a fresh user token.
    ///
    /// - Throws: ``PealError``: `noToken` where the app's server gives none, `file`, `disconnected`, `cancelled`.
    public func api() async throws(PealError) -> HubAPI {
        let (configuration, proof) = try await core.call { (inbox) in (inbox.configuration, inbox.driver.proof) }
        var token: String?
        if proof.hmac == nil, let fresh = configuration.freshToken {
            token = await fresh()
            if token == nil { throw PealError(.noToken, "the app's server gave no user token") }
        }
        return HubAPI(
            hub: configuration.hub,
            credentials: .user(
                key: configuration.project, externalId: externalId, email: email, hmac: proof.hmac, token: token),
            authorityPath: configuration.authorityPath)
    }

    /// The user's devices, as the hub has them; ``HubAPI/OwnDevice/isThisDevice`` marks the copy of this one. Asks the hub.
    ///
    /// - Throws: ``PealError``: `unreachable`, `refused`, and those of ``api()``.
    public func devices() async throws(PealError) -> [HubAPI.OwnDevice] {
        let own = try await core.call { (inbox) throws(PealError) in try inbox.inspect().replica.description }
        return try await api().ownDevices().map { device in
            var device = device
            device.isThisDevice = device.kind == .replica && device.id == own
            return device
        }
    }

    /// Signs a device out, this one too: its session ends with 4201, which stops it (``ClientStatus/State/stopped``), its push token goes, and the hub
    /// takes it for that device no more (docs/sync.md section 7). What it holds stays in its file, and what it had not sent stays unsent, until the app
    /// there disconnects the user with `eraseReplica` and connects anew with a proof. Who has a proof of the user can come back as another device, so
    /// for a stolen one also let the app's server give no more tokens to it.
    ///
    /// - Parameter id: ``HubAPI/OwnDevice/id``.
    /// - Throws: ``PealError``: `unreachable`: it is not known whether it was done; `refused`: 404 where there is no such device, 401 without a proof,
    ///   which this wants in any project; and those of ``api()``.
    public func revoke(device id: String) async throws(PealError) { try await api().revokeOwnDevice(id) }

    /// Deletes all of the user's data on the hub, and then here: the replica's file with everything that was not sent. The user is disconnected when it
    /// returns. Other devices stop with 4201 and keep their files until their app removes them.
    ///
    /// Only with the hub: where it cannot be reached nothing is removed, here neither, because what would have to be kept for doing it later is a proof
    /// of the user who wants nothing kept. To remove the data of this device alone, disconnect with `force` and `eraseReplica`.
    ///
    /// - Throws: ``PealError``: `unreachable`: it is not known whether the hub did it, and calling again is right in either case; `refused`: 401
    ///   without a proof, which this wants in any project; and those of ``api()``.
    public func erase() async throws(PealError) {
        try await api().eraseOwn()
        _ = try? await leave(self)
    }

    /// All that this device holds of the user, as JSON Lines, without asking the hub: a line `export` about the whole, then each `item` with what was
    /// published, its state as shown and what happened to it, newest first, silent and expired ones too, then each `preference`, each `act` that
    /// waits or was refused, and a line `end`, without which it is not whole. The lines are of one state of the file, however long they take.
    ///
    /// The file is read in pages of 200 items on a thread of its own. It stays open until the iterator is let go, and what comes meanwhile
    /// cannot be checkpointed: take the lines as fast as they come.
    ///
    /// - Returns: lines without line ends; iterating throws ``PealError``: `file`, `disconnected`, `cancelled`.
    public func export() -> UserExport { UserExport(core) }

    /// Writes ``export()`` to a file, mode 0600, as a whole or not at all.
    ///
    /// - Throws: ``PealError``: `file`, also where the file cannot be written; `disconnected`; `cancelled`.
    /// - Returns: how many lines there are.
    @discardableResult
    public func export(to file: URL) async throws(PealError) -> Int {
        let part = file.path + ".part-" + UUID().uuidString
        guard
            FileManager.default.createFile(atPath: part, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: part)
        else { throw PealError(.file, "\(file.path) cannot be written") }
        do {
            var count = 0
            for try await line in export() {
                try handle.write(contentsOf: Data(line + [0x0A]))
                count += 1
            }
            try handle.synchronize()
            try handle.close()
            guard rename(part, file.path) == 0 else { throw PealError(.file, "\(file.path) cannot be written") }
            return count
        } catch {
            try? handle.close()
            try? FileManager.default.removeItem(atPath: part)
            throw error as? PealError ?? PealError(.file, "\(file.path) cannot be written")
        }
    }
}
