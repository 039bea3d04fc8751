/// A tenant, as the operator gets to see it once.
public struct HubProject: Sendable {
    /// The instance id.
    public let instance: String
    /// The public key.
    public let apiKey: String
    /// The secret.
    public let secret: String
    /// Whether this start made it.
    public let isNew: Bool
    /// The token of the operator's routes (`/v1/projects`), where this start made one: only its hash is kept.
    public let operatorToken: String?
    /// Whether users of it must prove who they are.
    let requiresHMAC: Bool
}
