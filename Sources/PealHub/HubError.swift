/// Why a hub does not start.
public struct HubError: Error, Sendable, CustomStringConvertible {
    /// A sentence that says what to look at.
    public let message: String
    /// The project that this start had made before it failed. Nobody else shows its secret, so whoever starts the hub shows it now. Nil
    /// where none was made.
    public internal(set) var project: HubProject?
    /// Whether a listener could not be opened, as where another program has the port.
    public internal(set) var isOfListener = false
    /// The sentence.
    public var description: String { message }
}
