internal import PealReplica

/// Something that happened to an inbox and that a person may want to know, although the inbox has dealt with it by itself: an app
/// shows the sentence, or sends it to whoever looks after it. Holds no content, token or secret.
public struct InboxNotice: Sendable, Equatable, CustomStringConvertible {
    /// What happened; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The word, for logs.
        public let rawValue: String
        /// A code of its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The hub went back in time, as one that was restored from a backup does; what it lost of this device's acts is sent again
        /// (docs/sync.md section 7).
        public static let hubWentBack = Code(rawValue: "hubWentBack")
        /// This device's file was restored from a backup or copied; it goes on under a new id (docs/sync.md section 7).
        public static let forked = Code(rawValue: "forked")
        /// This device differed from the hub; a snapshot repairs it (docs/sync.md section 8).
        public static let diverged = Code(rawValue: "diverged")
        /// Entries of the hub could not be read and were set aside (docs/sync.md section 3).
        public static let setAside = Code(rawValue: "setAside")
    }

    /// What happened.
    public let code: Code
    /// A sentence for a person.
    public let message: String
    /// The sentence.
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static let forked = InboxNotice(
        .forked,
        "this device's data was restored from a backup or copied: it goes on under a new id, and what was done here is sent; "
            + "nothing takes effect twice")

    /// What a snapshot from a hub that had gone back in time changed.
    init(wentBack swap: SwapReport) {
        let lost =
            swap.lost == 1
            ? "1 notification that it no longer has is" : "\(swap.lost) notifications that it no longer has are"
        let acts = swap.offered == 1 ? "1 act of this device is" : "\(swap.offered) acts of this device are"
        let dropped =
            swap.reoffered || swap.lostActs == 0
            ? "" : "; acts that it had known (\(swap.lostActs)) are dropped, as whoever runs the hub wants"
        self.init(
            .hubWentBack,
            "the hub went back in time, as one that was restored from a backup does: \(lost) gone here too, and \(acts) sent again"
                + dropped)
    }
}
