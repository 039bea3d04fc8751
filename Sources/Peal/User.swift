internal import PealModel
public import PealReplica

/// A user whose inbox is connected: their stores, their preferences, and where the connection stands. Made by
/// ``PealClient/connectUser(email:externalId:hmac:freshToken:)``; the same arguments give the same user until they are disconnected.
public final class User: Sendable {
    /// The app's own id of the user.
    public let externalId: String?
    /// The user's address, in lower case.
    public let email: String?
    /// Lists of the user's notifications.
    public let store: UserStores
    /// What the user wants to get, and how.
    public let preferences: UserPreferences
    let core: UserCore
    /// Disconnects a user and deletes the file.
    let leave: @Sendable (User) async throws(PealError) -> Void

    init(
        externalId: String?, email: String?, core: UserCore,
        leave: @escaping @Sendable (User) async throws(PealError) -> Void
    ) {
        self.leave = leave
        self.externalId = externalId
        self.email = email
        self.core = core
        store = UserStores(core)
        preferences = UserPreferences(core)
    }

    /// Where the connection stands: the present status first, then each that differs. It ends when the user is disconnected.
    public var statuses: AsyncStream<ClientStatus> { core.statuses.stream() }

    /// Where the connection stands now. Not blocking.
    public var status: ClientStatus { core.statuses.last }

    /// The inbox beneath, for what has no call of its own: its log, its outbox, its notices.
    ///
    /// - Throws: ``PealError``: `file`, `invalid`, `disconnected`, `cancelled`.
    public func inbox() async throws(PealError) -> Inbox { try await core.call { (inbox) in inbox } }

    /// Acts that the hub refused, with the reason, and acts that wait.
    ///
    /// - Throws: ``PealError``: `file`, `disconnected`, `cancelled`.
    public func outbox() async throws(PealError) -> [OutboxItem] {
        try await core.call { (inbox) throws(PealError) in try inbox.outbox() }
    }
}
