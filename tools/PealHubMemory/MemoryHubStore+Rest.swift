package import PealHub
package import PealModel

/// Catalogues, and what the acts of a device about itself do to its row.
extension MemoryHubStore {
    package func setCatalogue(
        _ categories: [Catalogue.Category], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Catalogue {
        let current = state.projects[Int(project.row) - 1].catalogue
        if let current, current.categories == categories { return current }
        let next = Catalogue(version: (current?.version ?? 0) + 1, categories: categories)
        if let problem = next.problem { throw HubStoreError(.invalid, "the catalogue is not taken: \(problem)") }
        state.projects[Int(project.row) - 1].catalogue = next
        return next
    }

    package func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue? {
        state.projects.first { $0.project.key == project }?.catalogue
    }

    package func bringCatalogue(to keys: [InboxKey], now: Milliseconds) throws(HubStoreError) -> [Appended] {
        keys.sorted().compactMap { bringCatalogue(to: $0, now: now) }
    }

    /// Appends the project's newest catalogue where the log of a user's inbox lacks it.
    func bringCatalogue(to key: InboxKey, now: Milliseconds) -> Appended? {
        let inbox = state[key]
        let newest = state.projects[Int(inbox.project.row) - 1].catalogue
        guard inbox.kind == .user, let newest, newest.version > inbox.state.currentCatalogue?.version ?? 0 else {
            return nil
        }
        let entry = Entry(time: now, kind: .catalogue(newest))
        return append(entry, bytes: entry.bytes, to: key)
    }

    /// Before the hub judges a preference, the log holds the catalogue by which it does.
    func bringCatalogue(for operation: Operation, in key: InboxKey, now: Milliseconds) -> Appended? {
        guard case .preference = operation else { return nil }
        return bringCatalogue(to: key, now: now)
    }

    /// Decides an act, with what only the hub can find out: whether a user's proof holds, and whether the user has room.
    func resolve(_ mutation: Mutation, by author: Author, in inbox: InboxKey, now: Milliseconds) -> Act {
        let box = state.inboxes[Int(inbox.row) - 1]
        guard box.isDevice, case .user(let id?, let proof) = mutation.operation else {
            return Resolver.resolve(mutation, by: author, in: box, now: now)
        }
        let project = state.projects[Int(box.value.project.row) - 1].project
        let isProven = UserProof.isValid(proof, ofUser: id, in: project, now: now)
        var act = Resolver.resolve(mutation, by: author, in: box, now: now, isProven: isProven)
        if case .user = act.effect, !hasRoom(for: inbox, user: id, in: box.value.project) {
            act.effect = .none
            act.outcome = Outcome(.tooLarge, reason: "A user has at most \(Limits.devicesPerUser) devices.")
        }
        return act
    }

    private func hasRoom(for inbox: InboxKey, user id: String, in project: ProjectKey) -> Bool {
        guard let user = try? user(UserIdentity(externalID: id), in: project), let devices = try? devices(of: user.key)
        else { return true }
        let count = devices.count + state.subscriptions(of: user.key).count
        return count < Limits.devicesPerUser || devices.contains { $0.inbox == inbox }
    }

    /// After the entry is appended.
    func applyDevice(_ effect: Act.Effect, in inbox: InboxKey, now: Milliseconds) throws(HubStoreError) {
        guard var device = state.devices[inbox] else { return }
        switch effect {
        case .token(let token, let platform):
            device.platform = platform ?? device.platform ?? "apns"
            device.token = token.isEmpty ? nil : token
            // A push token belongs to the installation that named it last.
            if let name = device.tokenName(in: state[inbox].project), let owner = state.deviceByToken[name],
                owner != inbox, var other = state.devices[owner]
            {
                other.token = nil
                try updateDevice(other)
            }
            try updateDevice(device)
        case .user(let id):
            device.user = try id.map { (id) throws(HubStoreError) in
                try upsertUser(
                    UserIdentity(externalID: id), profile: UserProfile(), in: state[inbox].project, now: now
                ).user.key
            }
            try updateDevice(device)
        case .end: try deleteDevice(inbox)
        default: break
        }
    }
}
