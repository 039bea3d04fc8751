package import PealModel

/// The writing side of a hub's store: one object, one thread at a time, every call blocking.
///
/// Everything between ``begin()`` and ``commit()`` is one durable transaction, the group commit. Requests run in it one after the
/// other, each in a ``savepoint(_:)``; what they return may be told to anybody only after ``commit()`` has returned. Every
/// method but ``makeReader()`` must be called inside it.
///
/// Any method can throw ``HubStoreError``; where ``HubStoreError/abortsCommit`` holds, roll back and fail the whole group.
package protocol HubStore: AnyObject {
    // MARK: Group commit

    /// Opens the group commit. Throws `busy` where another process holds the lock.
    func begin() throws(HubStoreError)
    /// Ends it; durable when this returns. Where it throws, everything since ``begin()`` is undone.
    func commit() throws(HubStoreError)
    /// Undoes everything since ``begin()``. Harmless where nothing is open.
    func rollback()
    /// Runs a request; where it throws, only its own changes are undone. Savepoints nest.
    func savepoint<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R
    /// A reader of what is committed. It belongs to one thread at a time, which may be another than the store's.
    func makeReader() throws(HubStoreError) -> any HubReader
    /// Settles what is deferred and closes the files. No call is allowed afterwards; readers are closed before.
    func close() throws(HubStoreError)

    // MARK: Projects

    /// Creates a project.
    func createProject(
        instance: String, apiKey: String, secret: String, requiresHMAC: Bool, now: Milliseconds
    ) throws(HubStoreError) -> Project
    /// Every project, oldest first.
    func projects() throws(HubStoreError) -> [Project]
    /// The project of an instance id, an API key, or the API key before; also one that is closed: ``Project/isNamed(_:at:)`` says
    /// whether the name is good now.
    func project(_ name: String) throws(HubStoreError) -> Project?
    /// Writes all of a project but its key, instance and time. Throws `notFound`.
    func updateProject(_ project: Project) throws(HubStoreError)
    /// SHA-256 of the operator's token; nil where there is none yet.
    func operatorHash() throws(HubStoreError) -> [UInt8]?
    /// Replaces it.
    func setOperatorHash(_ hash: [UInt8]) throws(HubStoreError)

    // MARK: Users and devices

    /// Finds a user. Throws `conflict` where the two identities belong to different users, `invalid` for an empty identity.
    func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord?
    /// The user of an inbox's public id; nil where there is none in the project.
    func user(inboxID: String, in project: ProjectKey) throws(HubStoreError) -> UserRecord?
    /// Finds or creates a user, adds the identity that it lacks and merges the profile in. Throws as ``user(_:in:)`` does.
    func upsertUser(
        _ identity: UserIdentity, profile: UserProfile, in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> (user: UserRecord, isNew: Bool)
    /// Deletes a user, its devices and their inboxes; returns the inboxes, whose sessions must end (4201).
    func deleteUser(_ key: UserKey) throws(HubStoreError) -> [InboxKey]
    /// The devices of a user.
    func devices(of user: UserKey) throws(HubStoreError) -> [DeviceRecord]
    /// The push tokens that were registered for a user, without those of devices; by platform and token.
    func subscriptions(of user: UserKey) throws(HubStoreError) -> [PushSubscription]
    /// Registers a push token for a user; the same again is no change. Throws `invalid` beyond ``Limits/devicesPerUser``, devices
    /// with an inbox included.
    func subscribe(
        _ user: UserKey, platform: String, token: String, now: Milliseconds
    ) throws(HubStoreError) -> PushSubscription
    /// Takes a push token away from a user, whatever its platform; true where there was one.
    func unsubscribe(_ user: UserKey, token: String) throws(HubStoreError) -> Bool
    /// Registers a device by its push token; a known token gives the same device.
    func registerDevice(
        platform: String, token: String, metadata: [UInt8]?, in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> (device: DeviceRecord, isNew: Bool)
    /// A device by its id.
    func device(_ id: String, in project: ProjectKey) throws(HubStoreError) -> DeviceRecord?
    /// Writes token, metadata, platform and user of a device. Throws `conflict` where the token is another device's.
    func updateDevice(_ device: DeviceRecord) throws(HubStoreError)
    /// Deletes a device and its inbox, whose sessions must end (4201).
    func deleteDevice(_ inbox: InboxKey) throws(HubStoreError)
    /// Replaces the project's catalogue by its next version; the same content is no change. Throws `invalid` for what is wrong
    /// or too large. Logs get it by ``bringCatalogue(to:now:)``, with a hello, and before a preference is judged.
    func setCatalogue(
        _ categories: [Catalogue.Category], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Catalogue
    /// The project's newest catalogue; nil where none was set.
    func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue?
    /// Appends the project's newest catalogue to those of the users' logs that lack it.
    func bringCatalogue(to inboxes: [InboxKey], now: Milliseconds) throws(HubStoreError) -> [Appended]
    /// The interests of a device's inbox in order, those after a name, at most so many.
    func interests(of inbox: InboxKey, after: String?, limit: Int) throws(HubStoreError) -> [String]

    // MARK: Sessions

    /// Judges a hello whose token or HMAC the caller has verified, and opens a session (docs/sync.md section 7).
    ///
    /// Creates user, device, inbox and replica at the first contact. A device that is known must show the replica's own
    /// secret, or that of `proof.replica`. In mode `forked` nothing changes but the attempt.
    func admit(_ hello: Hello, project: ProjectKey, now: Milliseconds) throws(HubStoreError) -> AdmissionResult
    /// The session's first frame after the welcome: the issued nonce becomes the current one. False where fenced.
    func firstFrame(_ replica: ReplicaKey, session: UInt64, now: Milliseconds) throws(HubStoreError) -> Bool
    /// Records durable cursors; they never go back.
    func acknowledge(_ cursors: [(replica: ReplicaKey, position: Position)], now: Milliseconds) throws(HubStoreError)
    /// Processes mutations in order (docs/sync.md sections 4 and 5). Each has its own savepoint.
    func push(
        _ mutations: [Mutation], from replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> PushResult
    /// Notes that a mutation, which was in flight at three cuts, may end the process (docs/sync.md section 8).
    ///
    /// - Returns: nil where it is noted: commit, then ``push(_:from:session:now:)`` it alone. Else the answer: it is a resend, may
    ///   not come, or an earlier run of the hub left its note and so has ended over it; then it is settled as `poison`.
    func suspect(
        _ mutation: Mutation, from replica: ReplicaKey, session: UInt64, now: Milliseconds
    ) throws(HubStoreError) -> PushResult?

    /// Takes no hello and no push of a replica any more; nil where the inbox has none such, or it was revoked before.
    func revoke(
        _ replica: ReplicaID, of inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ReplicaKey?

    // MARK: Acts, publishing

    /// An act through HTTP, author `api`. After an `end` the sessions of the inbox must end (4201).
    ///
    /// - Parameters:
    ///   - observed: the position that the caller had seen; nil for the head.
    ///   - uid: from the Idempotency-Key, else random; one that is known is a replay and answers as before.
    func act(
        _ operation: Operation, uid: UInt64, observed: Position?, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> ActResult
    /// Told at the begin of a group commit which publishes are in it, so that what they ask can be asked at once. They may come or not.
    func expect(_ publishes: [PublishRequest]) throws(HubStoreError)
    /// Publishes: exactly one item in each matching inbox. Throws `tooLarge` over ``Limits/item``, `conflict` for a recipient
    /// whose identities belong to different users.
    func publish(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) -> PublishResult
    /// Appends the next chunk of the oldest wide publish; nil where none is left. Call once at start, and while it answers.
    func fanOut(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended]?
    /// Takes items back: `retract` or `expired`. Those that are not there or deleted are left out; nil where none is left.
    func remove(
        _ items: [ItemID], why: String, from inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Appended?
    /// Appends `expired` for items whose time is over, at most so many; an empty answer means that none is left.
    func expire(limit: Int, now: Milliseconds) throws(HubStoreError) -> [Appended]

    /// Takes a publish back: its items go with `retract`, by ``expire(limit:now:)``, and no list shows them from now on. False where there is
    /// none in the project, or it was taken back before.
    func retract(_ name: String, of project: ProjectKey, now: Milliseconds) throws(HubStoreError) -> Bool

    // MARK: Scheduled publishes

    /// Keeps a publish for a time. Throws `tooLarge` as ``publish(_:now:)`` does. What recipients say about themselves is not kept.
    func schedule(_ request: PublishRequest, at time: Milliseconds) throws(HubStoreError)
    /// Cancels one that waits; false where none does.
    func cancel(_ name: String, of project: ProjectKey) throws(HubStoreError) -> Bool
    /// Publishes the one that was due first; nil where none is due. One that cannot be published is kept as refused.
    func publishDue(now: Milliseconds) throws(HubStoreError) -> PublishResult?
    /// When the next one is due; nil where none waits.
    func nextDue() throws(HubStoreError) -> Milliseconds?

    // MARK: Webhooks

    /// Queues calls; those above ``WebhookCall/waiting`` of a project are dropped.
    func enqueue(_ calls: [WebhookCall], now: Milliseconds) throws(HubStoreError)
    /// Takes calls that are due. Each is due again after ``WebhookCall/lease``, for the case that this process ends over it.
    func takeWebhooks(limit: Int, now: Milliseconds) throws(HubStoreError) -> [WebhookCall]
    /// Settles a call that was taken: it is made again at a time, or is over.
    func webhook(_ call: WebhookCall, retryAt time: Milliseconds?) throws(HubStoreError)
    /// When the next call is due; nil where none waits.
    func nextWebhook() throws(HubStoreError) -> Milliseconds?

    // MARK: Reports

    /// The item that a publish left in an inbox; nil where there is none.
    func item(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey
    ) throws(HubStoreError) -> ItemID?
    /// Notes that a platform's SDK reported the delivery of a publish's item; false where there is no such item, or it was noted before.
    func reportDelivery(
        ofPublish name: String, of project: ProjectKey, in inbox: InboxKey, now: Milliseconds
    ) throws(HubStoreError) -> Bool

    // MARK: Broadcasts

    /// Keeps what was asked for; after the publish, in its transaction.
    func keep(_ broadcast: BroadcastRecord, in project: ProjectKey) throws(HubStoreError)
    /// A broadcast by the name of its publish.
    func broadcast(_ name: String, in project: ProjectKey) throws(HubStoreError) -> BroadcastRecord?
    /// Broadcasts from the newest on, so many after so many; and how many there are.
    func broadcasts(
        in project: ProjectKey, after skipped: Int, limit: Int
    ) throws(HubStoreError) -> (page: [BroadcastRecord], total: Int)

    // MARK: Idempotency, upkeep

    /// Writes something that means nothing, so that its commit shows whether the store can write.
    func probe() throws(HubStoreError)
    /// What is known of an idempotency key; `digest` is of the request.
    func replay(
        _ key: String, digest: [UInt8], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Replay
    /// Remembers an answer for 24 h.
    func remember(
        _ key: String, digest: [UInt8], status: Int, body: [UInt8], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError)
    /// Forgets what is old and what was deleted, and raises the floors of the logs (``Retention``), at most so many rows of each;
    /// false where nothing is left to do now.
    func upkeep(limit: Int, now: Milliseconds) throws(HubStoreError) -> Bool
}

extension HubStore {
    package func expect(_ publishes: [PublishRequest]) throws(HubStoreError) {}
}

/// The reading side: what is committed, each call of one moment. One thread at a time, every call blocking.
package protocol HubReader: AnyObject {
    /// Epoch, head and floor of a log. Throws `notFound`.
    func log(of inbox: InboxKey) throws(HubStoreError) -> Admission.Log
    /// Head, chain and additive sum of an inbox, of one moment (docs/sync.md section 8). Throws `notFound`.
    func sum(of inbox: InboxKey) throws(HubStoreError) -> InboxAtHead
    /// The chain at a position; 0 at 0, nil above the head.
    func chain(of inbox: InboxKey, at position: Position) throws(HubStoreError) -> UInt64?
    /// Entries after a position, dense and in order: at least one where there is one, then while both limits hold.
    /// Throws `belowFloor` where they are trimmed.
    func entries(
        of inbox: InboxKey, after position: Position, maxCount: Int, maxBytes: Int
    ) throws(HubStoreError) -> [LogEntry]
    /// A snapshot page (docs/sync.md section 6): items below a position (nil for the first page, which carries `rest`), descending,
    /// at most so many rows and about so many bytes. The id of a new snapshot (nil) is the `at` of its first page.
    func snapshotPage(
        of inbox: InboxKey, id: UInt64?, below: Position?, maxRows: Int, maxBytes: Int
    ) throws(HubStoreError) -> Page
    /// A page of the list. Silent, expired and deleted items are neither listed nor counted.
    func list(_ query: ListQuery, of inbox: InboxKey) throws(HubStoreError) -> ListPage
    /// One item; nil where it is not there or deleted.
    func item(_ id: ItemID, of inbox: InboxKey, now: Milliseconds) throws(HubStoreError) -> ListedItem?
    /// The project's newest catalogue; nil where none was set.
    func catalogue(of project: ProjectKey) throws(HubStoreError) -> Catalogue?
    /// Every preference of a user's inbox, as it counts now.
    func preferences(of inbox: InboxKey) throws(HubStoreError) -> [Preference]
    /// The facts about an item, by their names; none where it is not there.
    func facts(of item: ItemID, in inbox: InboxKey) throws(HubStoreError) -> [Fact]
    /// The inbox of a public id (a device's id, or what `Welcome.inbox` carried).
    func inbox(_ id: String, in project: ProjectKey) throws(HubStoreError) -> InboxKey?
    /// Wide publishes that are not through.
    func pendingPublishes() throws(HubStoreError) -> Int
    /// The project of a name, as the store has it.
    func project(_ name: String) throws(HubStoreError) -> Project?
    /// Every project, oldest first, and SHA-256 of the operator's token: another process may have changed them.
    func tenants() throws(HubStoreError) -> (projects: [Project], operatorHash: [UInt8]?)
    /// Finds a user. Throws `conflict` where the two identities belong to different users.
    func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord?
    /// The user of an inbox's public id; nil where there is none in the project.
    func user(inboxID: String, in project: ProjectKey) throws(HubStoreError) -> UserRecord?
    /// A publish by its name, also one that is still to come.
    func publish(_ name: String, of project: ProjectKey) throws(HubStoreError) -> PublishRecord?
    /// What became of a publish in each inbox, in the order in which they got it: some after a number, which the page before gave.
    func deliveries(
        of publish: String, in project: ProjectKey, after number: Int64, limit: Int, now: Milliseconds
    ) throws(HubStoreError) -> DeliveryPage
    /// The replicas of an inbox that were not revoked.
    func replicas(of inbox: InboxKey) throws(HubStoreError) -> [ReplicaRecord]
    /// The devices of a user.
    func devices(of user: UserKey) throws(HubStoreError) -> [DeviceRecord]
    /// The push tokens that were registered for a user, without those of devices; by platform and token.
    func subscriptions(of user: UserKey) throws(HubStoreError) -> [PushSubscription]
    /// Acts of an inbox that nobody could take (``Outcome/isDead``), the newest first: some before a place, which the page before gave.
    func deadLetters(
        of inbox: InboxKey, before place: DeadLetter.Place?, limit: Int
    ) throws(HubStoreError) -> [DeadLetter]
    /// Closes the connection. No call is allowed afterwards.
    func close()
}
