public import PealModel
public import PealReplica

/// Why a call of the client library failed. Holds no body, token or secret.
public struct PealError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The word, for logs.
        public let rawValue: String
        /// A code of its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The hub's URL is none.
        public static let badURL = Code(rawValue: "badURL")
        /// The hub cannot be reached.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The hub answered something that is not Peal.
        public static let notAHub = Code(rawValue: "notAHub")
        /// The hub refused.
        public static let refused = Code(rawValue: "refused")
        /// The replica's file cannot be used; ``PealError/file`` tells more.
        public static let file = Code(rawValue: "file")
        /// An argument is wrong; the message names it and the limit.
        public static let invalid = Code(rawValue: "invalid")
        /// The notification is not there any more.
        public static let gone = Code(rawValue: "gone")
        /// The user was disconnected, or the store was disposed of.
        public static let disconnected = Code(rawValue: "disconnected")
        /// Acts that were not sent yet would be lost.
        public static let pending = Code(rawValue: "pending")
        /// A notification could not be shown; nothing was recorded of it.
        public static let notPresented = Code(rawValue: "notPresented")
        /// ``PushNotifications/start(hub:instanceId:directory:)`` has not been called yet, or it failed, or a stop came after it.
        public static let notStarted = Code(rawValue: "notStarted")
        /// Another object, or another program, has the device's files.
        public static let inUse = Code(rawValue: "inUse")
        /// The device is another user's until ``PushNotifications/clearAllState(completion:)``.
        public static let otherUser = Code(rawValue: "otherUser")
        /// There is no user token to be had.
        public static let noToken = Code(rawValue: "noToken")
        /// Something that was waited for did not come in time.
        public static let timeout = Code(rawValue: "timeout")
        /// The calling task was cancelled. What had begun by then is done all the same.
        public static let cancelled = Code(rawValue: "cancelled")
    }

    /// What went wrong.
    public let code: Code
    /// A sentence for a person.
    public let message: String
    /// For ``Code/file``: what is wrong with the file.
    public let file: ReplicaError.Code?
    /// For ``Code/refused``: the HTTP status.
    public let status: Int?
    /// For ``Code/refused``: the hub's word for it, such as `incorrect_api_key`; nil where its answer has none.
    public let hubCode: String?
    /// For ``Code/refused``: seconds after which the hub wants to be asked again; nil where it did not say.
    public let retryAfter: Int?

    /// An error of its parts.
    public init(
        _ code: Code, _ message: String, file: ReplicaError.Code? = nil, status: Int? = nil, hubCode: String? = nil,
        retryAfter: Int? = nil
    ) {
        self.code = code
        self.message = message
        self.file = file
        self.status = status
        self.hubCode = hubCode
        self.retryAfter = retryAfter
    }

    init(_ error: ReplicaError) {
        let code: Code = error.code == .invalid || error.code == .tooLarge ? .invalid : .file
        self.init(code, error.message, file: error.code)
    }

    /// The sentence.
    public var description: String { message }
}

/// An inbox's connection to its hub, as an app shows it.
public struct InboxStatus: Sendable, Equatable {
    /// Where the connection stands.
    public enum State: Sendable, Equatable {
        /// No connection; acts are kept and sent later.
        case offline
        /// A connection is being made.
        case connecting
        /// Connected, loading a snapshot.
        case loading
        /// Connected and up to date, or catching up.
        case live
        /// Connected without progress.
        case stalled
        /// Another process of this machine has the connection; this one reads and queues.
        case elsewhere
        /// The hub refused for good; ``InboxStatus/message`` says why.
        case stopped
    }

    /// Where the connection stands.
    public var state: State
    /// For ``State/offline``: milliseconds until the next try.
    public var retryAfter: Milliseconds?
    /// What went wrong last, as a sentence; nil while all is well.
    public var message: String?
    /// For ``State/stopped``: the hub's close code.
    public var code: UInt16?

    /// A status of its parts.
    public init(state: State, retryAfter: Milliseconds? = nil, message: String? = nil, code: UInt16? = nil) {
        self.state = state
        self.retryAfter = retryAfter
        self.message = message
        self.code = code
    }
}
