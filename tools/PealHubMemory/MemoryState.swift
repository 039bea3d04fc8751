import PealHub
import PealModel

extension MemoryHubStore {
    /// All that a store holds, as a value: copying it costs a few reference counts.
    package struct State: Sendable {
        var projects: [ProjectRow] = []
        var operatorHash: [UInt8]?
        /// The inbox of row r is at r − 1; an inbox never leaves.
        var inboxes: [Box<MemoryInbox>] = []
        var inboxByPublic: [ReplicaID: InboxKey] = [:]
        /// The user of row r is at r − 1.
        var users: [UserRecord?] = []
        var userProjects: [ProjectKey] = []
        var userByExternal: [ScopedName: Int] = [:]
        var userByEmail: [ScopedName: Int] = [:]
        var devices: [InboxKey: DeviceRecord] = [:]
        var subscriptions: [UserKey: [PushSubscription]] = [:]
        var lastSubscription: Int64 = 0
        var deviceByToken: [TokenName: InboxKey] = [:]
        var interests: [ScopedName: Set<InboxKey>] = [:]
        /// The replica of row r is at r − 1.
        var replicas: [ReplicaRow] = []
        var replicaByID: [ReplicaID: Int] = [:]
        /// The publish of row r is at r − 1.
        var publishes: [Box<PublishRow>] = []
        var publishByName: [String: Int] = [:]
        /// The entry of number s is at s − 1; nil where a request was undone.
        var entries = Chunks<EntryPlace?>()
        /// The newest item of a collapse key in an inbox.
        var collapsed: [CollapseName: ItemID] = [:]
        /// In the order in which they were asked for.
        var scheduled: [ScheduledRow] = []
        var webhooks: [WebhookRow] = []
        /// When deliveries were reported.
        var deliveries: [DeliveryName: Milliseconds] = [:]
        var answers: [ScopedName: AnswerRow] = [:]
        var broadcasts: [BroadcastRow] = []
        /// Not above the time of the oldest act and of the oldest answer.
        var oldest = Milliseconds.max
        /// Inboxes that were deleted and are not purged.
        var purging = 0

        subscript(inbox: InboxKey) -> MemoryInbox {
            get { inboxes[Int(inbox.row) - 1].value }
            _modify { yield &inboxes[Int(inbox.row) - 1].value }
        }

        func box(_ inbox: InboxKey) throws(HubStoreError) -> Box<MemoryInbox> {
            guard inbox.row > 0, inbox.row <= inboxes.count else { throw HubStoreError(.notFound, "no such inbox") }
            return inboxes[Int(inbox.row) - 1]
        }

        func inbox(public id: String, in project: ProjectKey) -> InboxKey? {
            guard let publicID = ReplicaID(id), let key = inboxByPublic[publicID], self[key].project == project else {
                return nil
            }
            return key
        }

        /// As SQLite's binary order has them.
        func subscriptions(of user: UserKey) -> [PushSubscription] {
            func bytes(_ one: PushSubscription) -> [UInt8] { Array(one.platform.utf8) + [0] + Array(one.token.utf8) }
            return (subscriptions[user] ?? []).sorted { bytes($0).lexicographicallyPrecedes(bytes($1)) }
        }

        func project(_ name: String) -> Project? {
            projects.first { row in
                [row.project.instance, row.project.apiKey, row.project.oldAPIKey?.value].contains(name)
            }?.project
        }

        /// Finds a user; the two identities must not belong to different ones.
        func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
            let identity = try identity.normalized()
            let byID = identity.externalID.flatMap { userByExternal[ScopedName(project: project, name: $0)] }
            let byEmail = identity.email.flatMap { userByEmail[ScopedName(project: project, name: $0)] }
            if let byID, let byEmail, byID != byEmail {
                throw HubStoreError(.conflict, "the email and the external id belong to different users")
            }
            guard let found = byID ?? byEmail, let user = users[found - 1] else { return nil }
            if byID == nil, identity.externalID != nil, user.identity.externalID != nil {
                throw HubStoreError(.conflict, "the email belongs to a user with another external id")
            }
            return user
        }
    }
}
