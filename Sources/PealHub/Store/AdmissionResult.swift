package import PealModel

/// What became of a hello.
package enum AdmissionResult: Equatable, Sendable {
    /// A session, or the order to fork. Send the welcome after the commit.
    case admitted(Admitted)
    /// The attempt is not higher than the last accepted one: error `attempt` that names it.
    case attemptTooLow(last: Int64)
    /// No session; nothing was changed.
    case refused(Refusal)

    /// Why there is no session.
    package enum Refusal: Equatable, Sendable {
        /// The identity is empty, or the email and the external id belong to different users.
        case conflict
        /// The proof does not open this inbox.
        case unauthorized
        /// The replica is bound to another inbox.
        case otherInbox
        /// The inbox was deleted with its user or device.
        case revoked
    }
}

/// A hello that was accepted.
package struct Admitted: Equatable, Sendable {
    /// Which inbox.
    package var inbox: InboxKey
    /// Which replica.
    package var replica: ReplicaKey
    /// Every member is filled in; the heartbeat has its default.
    package var welcome: Welcome
    /// The session that this one replaced, for 4105; nil where there was none.
    package var replaced: UInt64?
    /// The additive sum of the inbox at the welcome's head (docs/sync.md section 8).
    package var sum: UInt64
    /// The catalogue, where the log got a newer one; the welcome's head counts it.
    package var appended: Appended?

    /// An accepted hello of its parts.
    package init(
        inbox: InboxKey, replica: ReplicaKey, welcome: Welcome, sum: UInt64, replaced: UInt64? = nil,
        appended: Appended? = nil
    ) {
        self.inbox = inbox
        self.replica = replica
        self.welcome = welcome
        self.sum = sum
        self.replaced = replaced
        self.appended = appended
    }
}
