/// Where the connection of a user, or of a client, stands, as an app shows it.
public struct ClientStatus: Sendable, Equatable {
    /// Where it stands.
    public enum State: Int, Sendable, Comparable {
        /// Connected and up to date, or catching up; or another process of this machine is.
        case live
        /// A connection is being made, or a first snapshot is being loaded.
        case connecting
        /// Connected without progress.
        case stalled
        /// No connection: everything works, and is sent later.
        case offline
        /// The hub refused for good; ``ClientStatus/lastError`` says why.
        case stopped

        /// From what needs nothing to what needs somebody.
        public static func < (left: State, right: State) -> Bool { left.rawValue < right.rawValue }
    }

    /// Where it stands; of a client the worst of its users'.
    public var state: State
    /// Entries that the hub has and this device has not folded yet, as far as it knows; nil without a connection. Of a client the sum.
    public var lag: Int64?
    /// Acts that the hub has not answered yet; of a client the sum.
    public var outboxDepth: Int
    /// Acts that the hub refused for good and that wait for a person; of a client the sum.
    public var deadLetters: Int
    /// What went wrong last, as a sentence; nil while all is well.
    public var lastError: String?

    /// A status of its parts.
    public init(state: State, lag: Int64? = nil, outboxDepth: Int = 0, deadLetters: Int = 0, lastError: String? = nil) {
        self.state = state
        self.lag = lag
        self.outboxDepth = outboxDepth
        self.deadLetters = deadLetters
        self.lastError = lastError
    }

    /// The status of several: the worst state with its error, and the sums.
    init(_ parts: [ClientStatus]) {
        self.init(state: parts.map(\.state).max() ?? .offline)
        for part in parts {
            if let more = part.lag { lag = (lag ?? 0) + more }
            outboxDepth += part.outboxDepth
            deadLetters += part.deadLetters
        }
        lastError = parts.filter { $0.state == state }.compactMap(\.lastError).first
    }
}
