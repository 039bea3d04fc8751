package import PealModel

extension SQLHubStore {
    // MARK: Projects

    package func createProject(
        instance: String, apiKey: String, secret: String, requiresHMAC: Bool, now: Milliseconds
    ) throws(HubStoreError) -> Project {
        let seed = PublicID.random(&random) + PublicID.random(&random)
        let project = try projectQueries.insert.first(
            instance.lowercased(), apiKey, secret, seed, requiresHMAC, now
        ) { Project($0) }
        guard let project else { throw HubStoreError(.failed, "the project was not created") }
        return project
    }

    package func projects() throws(HubStoreError) -> [Project] {
        try projectQueries.all.all { Project($0) }
    }

    package func project(_ name: String) throws(HubStoreError) -> Project? {
        try projectQueries.named(name)
    }

    package func updateProject(_ project: Project) throws(HubStoreError) {
        try projectQueries.save(project)
    }

    package func operatorHash() throws(HubStoreError) -> [UInt8]? {
        try projectQueries.operatorHash()
    }

    package func setOperatorHash(_ hash: [UInt8]) throws(HubStoreError) {
        try projectQueries.writeOperator.run(hash)
    }

    // MARK: Users

    package func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        try UserFinder(byExternalID: userQueries.byExternalID, byEmail: userQueries.byEmail).find(identity, in: project)
    }

    package func user(inboxID: String, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
        guard let publicID = PublicID.bytes(inboxID), let inbox = try inboxes.inbox(public: publicID, in: project)
        else {
            return nil
        }
        return try userQueries.byInbox.first(inbox.key.row) { UserRecord($0) }
    }

    package func upsertUser(
        _ identity: UserIdentity, profile: UserProfile, in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> (user: UserRecord, isNew: Bool) {
        let identity = try identity.normalized()
        guard let found = try user(identity, in: project) else {
            let publicID = PublicID.user(identity, seed: try seed(of: project))
            // The tombstone of a deleted user keeps its id.
            let isTaken = try inboxes.inbox(public: publicID, in: project) != nil
            let inbox = try createInbox(.user, publicID: isTaken ? nil : publicID, in: project)
            let key = try userQueries.insertUser.first(
                project.row, inbox.key.row, identity.externalID, identity.email, profile.firstName, profile.lastName,
                profile.attributes, profile.phoneNumbers, now
            ) { $0.int64(0) }
            let user = UserRecord(
                key: UserKey(row: key ?? 0), inbox: inbox.key, inboxID: inbox.id, identity: identity, profile: profile,
                created: now)
            return (user, true)
        }
        var user = found
        user.identity.externalID = identity.externalID ?? found.identity.externalID
        user.identity.email = identity.email ?? found.identity.email
        user.profile.merge(profile)
        if user != found {
            try userQueries.updateUser.run(
                user.key.row, user.identity.externalID, user.identity.email, user.profile.firstName,
                user.profile.lastName, user.profile.attributes, user.profile.phoneNumbers)
        }
        return (user, false)
    }

    package func deleteUser(_ key: UserKey) throws(HubStoreError) -> [InboxKey] {
        guard let user = try userQueries.byKey.first(key.row, read: { UserRecord($0) }) else { return [] }
        var ended: [InboxKey] = []
        for device in try devices(of: key) {
            try deleteDevice(device.inbox)
            ended.append(device.inbox)
        }
        try userQueries.deleteSubscriptions.run(key.row)
        try userQueries.deleteUser.run(key.row)
        try end(user.inbox)
        ended.append(user.inbox)
        return ended
    }

    func createInbox(
        _ kind: InboxRow.Kind, publicID: [UInt8]? = nil, in project: ProjectKey
    ) throws(HubStoreError) -> InboxRow {
        let publicID = publicID ?? PublicID.random(&random)
        let epoch = random.next()
        let row = try sessionQueries.insertInbox.first(project.row, publicID, kind.rawValue, epoch) { $0.int64(0) }
        guard let row else { throw HubStoreError(.failed, "the inbox was not created") }
        return InboxRow(key: InboxKey(row: row), project: project, publicID: publicID, kind: kind, epoch: epoch)
    }

    // MARK: Push subscriptions

    package func subscriptions(of user: UserKey) throws(HubStoreError) -> [PushSubscription] {
        try userQueries.subscriptionsOfUser.all(user.row) { PushSubscription($0) }
    }

    package func subscribe(
        _ user: UserKey, platform: String, token: String, now: Milliseconds
    ) throws(HubStoreError) -> PushSubscription {
        let there = try subscriptions(of: user)
        if let known = there.first(where: { $0.platform == platform && $0.hasToken(token) }) { return known }
        guard there.count + (try devices(of: user).count) < Limits.devicesPerUser else { throw .tooManyDevices }
        let id = try userQueries.insertSubscription.first(user.row, platform, token, now) { $0.int64(0) }
        guard let id else { throw HubStoreError(.failed, "the push subscription was not written") }
        return PushSubscription(id: id, platform: platform, token: token, created: now)
    }

    package func unsubscribe(_ user: UserKey, token: String) throws(HubStoreError) -> Bool {
        let named = try subscriptions(of: user).filter { $0.hasToken(token) }
        for subscription in named { try userQueries.deleteSubscription.run(subscription.id) }
        return !named.isEmpty
    }

    // MARK: Devices

    func createDevice(
        _ publicID: [UInt8]? = nil, platform: String? = nil, token: String? = nil, metadata: [UInt8]? = nil,
        in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> InboxRow {
        let inbox = try createInbox(.device, publicID: publicID, in: project)
        try userQueries.insertDevice.run(inbox.key.row, project.row, platform, token, metadata, now)
        return inbox
    }

    package func devices(of user: UserKey) throws(HubStoreError) -> [DeviceRecord] {
        try userQueries.devicesOfUser.all(user.row) { DeviceRecord($0) }
    }

    package func registerDevice(
        platform: String, token: String, metadata: [UInt8]?, in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> (device: DeviceRecord, isNew: Bool) {
        let known = try userQueries.deviceByToken.first(project.row, platform, token) { DeviceRecord($0) }
        if var device = known {
            if let metadata, metadata != device.metadata {
                device.metadata = metadata
                try updateDevice(device)
            }
            return (device, false)
        }
        let inbox = try createDevice(platform: platform, token: token, metadata: metadata, in: project, now: now)
        let device = DeviceRecord(
            id: inbox.id, inbox: inbox.key, platform: platform, token: token, metadata: metadata, created: now)
        return (device, true)
    }

    package func device(_ id: String, in project: ProjectKey) throws(HubStoreError) -> DeviceRecord? {
        guard let publicID = PublicID.bytes(id), let inbox = try inboxes.inbox(public: publicID, in: project),
            inbox.kind == .device
        else { return nil }
        return try userQueries.deviceByInbox.first(inbox.key.row) { DeviceRecord($0) }
    }

    package func updateDevice(_ device: DeviceRecord) throws(HubStoreError) {
        guard let stored = try userQueries.deviceByInbox.first(device.inbox.row, read: { DeviceRecord($0) }) else {
            throw HubStoreError(.notFound, "no such device")
        }
        if let platform = device.platform, let token = device.token,
            platform != stored.platform || token != stored.token
        {
            let project = try inboxes.inbox(device.inbox).project
            let owner = try userQueries.deviceByToken.first(project.row, platform, token) { DeviceRecord($0) }
            guard owner == nil || owner?.inbox == device.inbox else {
                throw HubStoreError(.conflict, "the token is another device's")
            }
        }
        try userQueries.updateDevice.run(
            device.inbox.row, device.platform, device.token, device.metadata, device.user?.row)
    }

    package func deleteDevice(_ inbox: InboxKey) throws(HubStoreError) {
        guard try userQueries.deviceByInbox.first(inbox.row, read: { _ in true }) != nil else { return }
        try userQueries.deleteInterests.run(inbox.row)
        try userQueries.deleteDevice.run(inbox.row)
        try end(inbox)
    }

    package func interests(
        of inbox: InboxKey, after: String?, limit: Int
    ) throws(HubStoreError) -> [String] {
        try inboxes.interests(of: inbox, after: after ?? "", limit: limit)
    }
}

extension UserProfile {
    /// Takes what another says; its nil members leave what is here.
    package mutating func merge(_ other: UserProfile) {
        firstName = other.firstName ?? firstName
        lastName = other.lastName ?? lastName
        attributes = other.attributes ?? attributes
        phoneNumbers = other.phoneNumbers ?? phoneNumbers
    }
}
