import PealModel

/// What the acts of a device about itself do to its row.
extension SQLHubStore {
    func applyDevice(
        _ effect: Act.Effect, in view: StoreInboxView, now: Milliseconds
    ) throws(HubStoreError) {
        let inbox = view.inbox.key
        guard var device = try userQueries.deviceByInbox.first(inbox.row, read: { DeviceRecord($0) }) else { return }
        switch effect {
        case .token(let token, let platform):
            device.platform = platform ?? device.platform ?? "apns"
            device.token = token.isEmpty ? nil : token
            try release(device, in: view.inbox.project)
            try updateDevice(device)
        case .user(let id):
            device.user = try id.map { (id) throws(HubStoreError) in
                try upsertUser(
                    UserIdentity(externalID: id), profile: UserProfile(), in: view.inbox.project, now: now
                ).user.key
            }
            try updateDevice(device)
        case .end:
            for name in try view.interests() ?? [] { try view.setInterest(name, on: false) }
            try deleteDevice(inbox)
            view.inbox.kind = .deleted
        default: preconditionFailure("not about the device itself")
        }
    }

    /// A push token belongs to the installation that named it last.
    private func release(_ device: DeviceRecord, in project: ProjectKey) throws(HubStoreError) {
        guard let platform = device.platform, let token = device.token else { return }
        let owner = try userQueries.deviceByToken.first(project.row, platform, token) { DeviceRecord($0) }
        guard var owner, owner.inbox != device.inbox else { return }
        owner.token = nil
        try updateDevice(owner)
    }

    /// Decides an act, with what only the hub can find out: whether a user's proof holds, and whether the user has room.
    func resolve(
        _ mutation: Mutation, by author: Author, in view: StoreInboxView, now: Milliseconds
    ) throws(HubStoreError) -> Act {
        guard view.isDevice, case .user(let id?, let proof) = mutation.operation else {
            return try Resolver.resolve(mutation, by: author, in: view, now: now)
        }
        let project = try projectQueries.byKey.first(view.inbox.project.row) { Project($0) }
        let isProven = project.map { UserProof.isValid(proof, ofUser: id, in: $0, now: now) } ?? false
        var act = try Resolver.resolve(mutation, by: author, in: view, now: now, isProven: isProven)
        if case .user = act.effect, try !hasRoom(for: view.inbox.key, user: id, in: view.inbox.project) {
            act.effect = .none
            act.outcome = Outcome(.tooLarge, reason: "A user has at most \(Limits.devicesPerUser) devices.")
        }
        return act
    }

    private func hasRoom(
        for inbox: InboxKey, user id: String, in project: ProjectKey
    ) throws(HubStoreError) -> Bool {
        guard let user = try user(UserIdentity(externalID: id), in: project) else { return true }
        let devices = try devices(of: user.key)
        let count = try devices.count + subscriptions(of: user.key).count
        return count < Limits.devicesPerUser || devices.contains { $0.inbox == inbox }
    }

    /// Before the hub judges a preference, the log holds the catalogue by which it does.
    func bringCatalogue(
        for operation: PealModel.Operation, in view: StoreInboxView, now: Milliseconds
    ) throws(HubStoreError) -> Appended? {
        guard case .preference = operation else { return nil }
        return try bringCatalogue(to: &view.inbox, &view.tail, now: now)
    }
}
