/// Why a store did not do what was asked. Holds no body, token, secret or bound value.
package struct HubStoreError: Error, Sendable, CustomStringConvertible {
    /// What went wrong; an open set.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// The word, for logs.
        package let rawValue: String
        /// A code of its word.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// An email and an external id (or a token and a device) belong to different users; never merged (docs/sync.md section 2).
        package static let conflict = Code(rawValue: "conflict")
        /// No such project, user, device, inbox or item.
        package static let notFound = Code(rawValue: "notFound")
        /// The item is over ``Limits/item``, or a list over its limit.
        package static let tooLarge = Code(rawValue: "tooLarge")
        /// A value that the caller should have refused.
        package static let invalid = Code(rawValue: "invalid")
        /// A rule of the project, or what the user has already, does not allow it.
        package static let denied = Code(rawValue: "denied")
        /// The entries that were asked for are trimmed: a snapshot is needed.
        package static let belowFloor = Code(rawValue: "belowFloor")
        /// Another process holds the store's lock; nothing was done, try again.
        package static let busy = Code(rawValue: "busy")
        /// Another node of the hub got in the way: the whole group commit is lost, and is to be run again.
        package static let again = Code(rawValue: "again")
        /// The database cannot be reached, or its answer to a commit did not arrive; the group commit is lost, or its end is not known.
        package static let unavailable = Code(rawValue: "unavailable")
        /// The database does not write: a standby, or one that was set so. The group commit is lost.
        package static let readOnly = Code(rawValue: "readOnly")
        /// The disk is full; the group commit is lost.
        package static let full = Code(rawValue: "full")
        /// The disk or memory failed; the group commit is lost.
        package static let io = Code(rawValue: "io")
        /// The file is damaged, or of a version that this hub does not know.
        package static let corrupt = Code(rawValue: "corrupt")
        /// Anything else that the database refused: a bug, or a poisonous mutation.
        package static let failed = Code(rawValue: "failed")
    }

    /// What went wrong.
    package let code: Code
    /// A sentence for an operator.
    package let message: String
    /// What the database said, if it was the database.
    package let underlying: (any Error)?

    /// An error of its parts.
    package init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// Whether the whole group commit is lost: roll back and fail every request in it, not only the one that met it.
    package var abortsCommit: Bool { [.busy, .again, .unavailable, .readOnly, .full, .io, .corrupt].contains(code) }

    /// A sentence for a log.
    package var description: String { "\(code.rawValue): \(message)" }
}
