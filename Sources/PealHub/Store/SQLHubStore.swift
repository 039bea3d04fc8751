package import PealModel

/// A hub's store on an SQL database: what is alike in SQLite and PostgreSQL stands in extensions of this, the statements in the
/// `…Queries` files. What each does in a way of its own is asked for here.
///
/// The statements about an inbox's state, users, sessions and all that is rarely asked are shared, word for word or nearly so
/// (``StoreDatabase/dialect(sqlite:postgres:)``). The log, publishing, trimming and the readers are not.
package protocol SQLHubStore: HubStore {
    var inboxes: InboxQueries { get }
    var rest: RestQueries { get }
    var actQueries: ActQueries { get }
    var projectQueries: ProjectQueries { get }
    var userQueries: UserQueries { get }
    var sessionQueries: SessionQueries { get }
    var scheduleQueries: ScheduleQueries { get }
    var webhookQueries: WebhookQueries { get }
    var broadcastQueries: BroadcastQueries { get }
    var deliveryQueries: DeliveryQueries { get }
    var upkeepQueries: UpkeepQueries { get }

    /// The source of ids, nonces and sessions.
    var random: any RandomNumberGenerator { get set }
    /// Names this run of the hub: what an earlier one noted and did not take back, it ended over.
    var run: UInt64 { get }
    /// A test's fault, called in a mutation's savepoint.
    var fault: ((Mutation) throws(HubStoreError) -> Void)? { get }

    /// Appends an entry that is no item and moves the tail; what the entry changes and ``moveHead(_:)`` follow.
    func enter(_ bytes: [UInt8], to tail: inout LogTail, time: Milliseconds) throws(HubStoreError)
    /// Writes where a log stands: head, chain and sum together.
    func moveHead(_ tail: LogTail) throws(HubStoreError)
    /// The chain at a position of an inbox that the running transaction has read; nil above the head.
    func chain(of inbox: InboxRow, at position: Position) throws(HubStoreError) -> UInt64?
    /// Removes the bytes of an item's entry.
    func emptyEntry(of item: StoredItem, in inbox: InboxKey) throws(HubStoreError)
    /// Ends an inbox with its user or device.
    func end(_ inbox: InboxKey) throws(HubStoreError)
    /// Notes which version of the catalogue a log holds.
    func setCatalogue(_ version: Int64, in inbox: InboxKey) throws(HubStoreError)
    /// Reads at once what a push is about to ask for; does nothing where a question costs no more than its answer.
    func prepare(_ mutations: [Mutation], in view: StoreInboxView) throws(HubStoreError)
    /// Removes the rows of an inbox that was deleted, little by little; the tombstone stays, so that its replicas are refused.
    func purge(limit: Int) throws(HubStoreError) -> Bool
    /// Goes on with the round that raises the floors (docs/sync.md section 8); false where nothing is left to do now.
    func trim(limit: Int, now: Milliseconds) throws(HubStoreError) -> Bool
}
