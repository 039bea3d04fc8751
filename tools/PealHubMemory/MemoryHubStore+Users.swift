package import PealHub
package import PealModel

extension MemoryHubStore {
    package func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        try state.user(identity, in: project)
    }

    package func user(inboxID: String, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        guard let inbox = state.inbox(public: inboxID, in: project) else { return nil }
        return state.users.lazy.compactMap { $0 }.first { $0.inbox == inbox }
    }

    package func upsertUser(
        _ identity: UserIdentity, profile: UserProfile, in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> (user: UserRecord, isNew: Bool) {
        let identity = try identity.normalized()
        guard var user = try user(identity, in: project) else {
            let name = PublicID.text(PublicID.user(identity, seed: state.projects[Int(project.row) - 1].seed))
            let publicID = ReplicaID(name).flatMap { state.inboxByPublic[$0] == nil ? $0 : nil }
            let inbox = createInbox(isDevice: false, publicID: publicID, in: project)
            let user = UserRecord(
                key: UserKey(row: Int64(state.users.count) + 1), inbox: inbox, inboxID: state[inbox].id,
                identity: identity, profile: profile, created: now)
            state.users.append(user)
            state.userProjects.append(project)
            index(user, in: project)
            return (user, true)
        }
        if let old = user.identity.email, identity.email != nil {
            state.userByEmail[ScopedName(project: project, name: old)] = nil
        }
        user.identity.externalID = identity.externalID ?? user.identity.externalID
        user.identity.email = identity.email ?? user.identity.email
        user.profile.merge(profile)
        state.users[Int(user.key.row) - 1] = user
        index(user, in: project)
        return (user, false)
    }

    private func index(_ user: UserRecord, in project: ProjectKey) {
        let row = Int(user.key.row)
        if let id = user.identity.externalID { state.userByExternal[ScopedName(project: project, name: id)] = row }
        if let email = user.identity.email { state.userByEmail[ScopedName(project: project, name: email)] = row }
    }

    package func deleteUser(_ key: UserKey) throws(HubStoreError) -> [InboxKey] {
        let row = Int(key.row)
        guard row > 0, row <= state.users.count, let user = state.users[row - 1] else { return [] }
        var ended: [InboxKey] = []
        for device in try devices(of: key) {
            try deleteDevice(device.inbox)
            ended.append(device.inbox)
        }
        state.subscriptions[key] = nil
        let project = state.userProjects[row - 1]
        if let id = user.identity.externalID { state.userByExternal[ScopedName(project: project, name: id)] = nil }
        if let email = user.identity.email { state.userByEmail[ScopedName(project: project, name: email)] = nil }
        state.users[row - 1] = nil
        // As SQLite does: the number after the highest that is taken is the next.
        while let last = state.users.last, last == nil {
            state.users.removeLast()
            state.userProjects.removeLast()
        }
        end(user.inbox)
        ended.append(user.inbox)
        return ended
    }

    private func end(_ inbox: InboxKey) {
        state[inbox].kind = .deleted
        state.purging += 1
    }

    func createInbox(isDevice: Bool, publicID: ReplicaID? = nil, in project: ProjectKey) -> InboxKey {
        let publicID = publicID ?? randomID()
        let epoch = random()
        let key = InboxKey(row: Int64(state.inboxes.count) + 1)
        state.inboxes.append(
            Box(MemoryInbox(key: key, project: project, publicID: publicID, isDevice: isDevice, epoch: epoch)))
        state.inboxByPublic[publicID] = key
        return key
    }

    func randomID() -> ReplicaID {
        let high = random()
        return ReplicaID(high: high, low: random())
    }

    // MARK: Devices

    func createDevice(
        _ publicID: ReplicaID? = nil, platform: String? = nil, token: String? = nil, metadata: [UInt8]? = nil,
        in project: ProjectKey, now: Milliseconds
    ) -> DeviceRecord {
        let inbox = createInbox(isDevice: true, publicID: publicID, in: project)
        let device = DeviceRecord(
            id: state[inbox].id, inbox: inbox, platform: platform, token: token, metadata: metadata, created: now)
        state.devices[inbox] = device
        if let name = device.tokenName(in: project) { state.deviceByToken[name] = inbox }
        return device
    }

    package func subscriptions(of user: UserKey) throws(HubStoreError) -> [PushSubscription] {
        state.subscriptions(of: user)
    }

    package func subscribe(
        _ user: UserKey, platform: String, token: String, now: Milliseconds
    ) throws(HubStoreError) -> PushSubscription {
        let there = state.subscriptions[user] ?? []
        if let known = there.first(where: { $0.platform == platform && $0.hasToken(token) }) { return known }
        guard there.count + (try devices(of: user).count) < Limits.devicesPerUser else { throw .tooManyDevices }
        state.lastSubscription += 1
        let subscription = PushSubscription(id: state.lastSubscription, platform: platform, token: token, created: now)
        state.subscriptions[user] = there + [subscription]
        return subscription
    }

    package func unsubscribe(_ user: UserKey, token: String) throws(HubStoreError) -> Bool {
        let there = state.subscriptions[user] ?? []
        state.subscriptions[user] = there.filter { !$0.hasToken(token) }
        return there.contains { $0.hasToken(token) }
    }

    package func devices(of user: UserKey) throws(HubStoreError) -> [DeviceRecord] {
        state.devices.values.filter { $0.user == user }.sorted { $0.inbox < $1.inbox }.map(current)
    }

    /// A device with the external id that its user has now.
    private func current(_ device: DeviceRecord) -> DeviceRecord {
        var device = device
        device.userID = device.user.flatMap { state.users[Int($0.row) - 1]?.identity.externalID }
        return device
    }

    package func registerDevice(
        platform: String, token: String, metadata: [UInt8]?, in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> (device: DeviceRecord, isNew: Bool) {
        let name = TokenName(project: project, platform: platform, token: token)
        if let known = state.deviceByToken[name], var device = state.devices[known] {
            if let metadata { device.metadata = metadata }
            state.devices[known] = device
            return (current(device), false)
        }
        let device = createDevice(platform: platform, token: token, metadata: metadata, in: project, now: now)
        return (device, true)
    }

    package func device(_ id: String, in project: ProjectKey) throws(HubStoreError) -> DeviceRecord? {
        state.inbox(public: id, in: project).flatMap { state.devices[$0] }.map(current)
    }

    package func updateDevice(_ device: DeviceRecord) throws(HubStoreError) {
        guard var stored = state.devices[device.inbox] else {
            throw HubStoreError(.notFound, "no such device")
        }
        let project = state[device.inbox].project
        if let name = device.tokenName(in: project), let owner = state.deviceByToken[name], owner != device.inbox {
            throw HubStoreError(.conflict, "the token is another device's")
        }
        if let old = stored.tokenName(in: project) { state.deviceByToken[old] = nil }
        if let name = device.tokenName(in: project) { state.deviceByToken[name] = device.inbox }
        stored.platform = device.platform
        stored.token = device.token
        stored.metadata = device.metadata
        stored.user = device.user
        state.devices[device.inbox] = stored
    }

    package func deleteDevice(_ inbox: InboxKey) throws(HubStoreError) {
        guard let device = state.devices.removeValue(forKey: inbox) else { return }
        let project = state[inbox].project
        if let name = device.tokenName(in: project) { state.deviceByToken[name] = nil }
        for name in state[inbox].state.interests() ?? [] { setInterest(name, of: inbox, on: false) }
        end(inbox)
    }

    package func interests(
        of inbox: InboxKey, after: String?, limit: Int
    ) throws(HubStoreError) -> [String] {
        let box = try state.box(inbox)
        guard !box.value.kind.isDeleted else { return [] }
        let names = (box.interests() ?? []).filter { $0 > after ?? "" }.sorted()
        return Array(names.prefix(limit))
    }
}

extension DeviceRecord {
    func tokenName(in project: ProjectKey) -> TokenName? {
        guard let platform, let token else { return nil }
        return TokenName(project: project, platform: platform, token: token)
    }
}
