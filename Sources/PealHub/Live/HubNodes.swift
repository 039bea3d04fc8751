import PealModel

/// Other hubs on the same store (docs/nodes.md): how one tells them that something has changed, and looks what they have done.
///
/// Nothing rests on a notice: it may be lost, doubled or late. What counts is what a look finds, and a hub looks anyway
/// (``Hub/lookPeriod``).
protocol HubNodes: AnyObject, Sendable {
    /// Begins to listen. `heard` is called on any thread, and also where notices may have been lost, with one of everything.
    func start(_ heard: @escaping @Sendable (NodeNotice) -> Void)
    /// Tells the other hubs, some milliseconds later and many notices at once. Not blocking; any thread.
    func tell(_ notice: NodeNotice)
    /// Reads how inboxes and replicas stand. Not blocking; the answer comes on any thread.
    func look(
        _ inboxes: [InboxKey], _ replicas: [ReplicaKey],
        completion: @escaping @Sendable (Result<Standing, HubStoreError>) -> Void)
    /// Tells what is still to be told and ends. Blocks.
    func stop()
}

/// What may be different in the store.
struct NodeNotice: Equatable, Sendable {
    /// Inboxes named in a notice at most; of more, all are meant.
    static let limit = 300

    /// Inboxes that have grown, were deleted, or have another session or a revoked replica.
    var inboxes: Set<InboxKey> = []
    /// Any inbox may be one.
    var isOfAll = false
    /// Projects were changed.
    var isOfProjects = false

    /// Of everything.
    static let everything = NodeNotice(isOfAll: true, isOfProjects: true)

    /// Whether it says nothing.
    var isEmpty: Bool { inboxes.isEmpty && !isOfAll && !isOfProjects }

    /// Adds another one.
    mutating func merge(_ other: NodeNotice) {
        isOfProjects = isOfProjects || other.isOfProjects
        isOfAll = isOfAll || other.isOfAll
        if !isOfAll { inboxes.formUnion(other.inboxes) }
        if inboxes.count > Self.limit { isOfAll = true }
        if isOfAll { inboxes = [] }
    }
}

/// How inboxes and replicas stand in the store, of one moment.
struct Standing: Sendable {
    /// Of an inbox.
    struct Inbox: Equatable, Sendable {
        /// Its newest position.
        var head: Position
        /// The additive sum there (docs/sync.md section 8).
        var sum: UInt64
        /// It was deleted with its user or device.
        var isDeleted: Bool
    }

    /// Of a replica.
    struct Replica: Equatable, Sendable {
        /// Its session; nil where it has none.
        var session: UInt64?
        /// Its user revoked it.
        var isRevoked: Bool
    }

    /// Those that there are; one that is missing is no more.
    var inboxes: [InboxKey: Inbox] = [:]
    /// Likewise.
    var replicas: [ReplicaKey: Replica] = [:]
}
