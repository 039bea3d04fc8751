public import Foundation
internal import PealModel

/// What a user may do about their own data.
extension HubAPI {
    /// A device of a user.
    public struct OwnDevice: Sendable, Equatable, Identifiable {
        /// What kind of a device.
        public enum Kind: Sendable {
            /// A copy of the user's inbox: an app that connected the user.
            case replica
            /// A device with interests or a push token of its own.
            case device
        }

        /// The hub's id of it.
        public let id: String
        /// What kind of a device.
        public let kind: Kind
        /// `apns`, `fcm` or `web`; nil where the hub knows none.
        public let platform: String?
        /// Whether it has a push token.
        public let hasPushToken: Bool
        /// When the hub last heard of it.
        public let lastSeenDate: Date
        /// Whether it is the user's copy on this device; ``Peal/User/devices()`` tells.
        public internal(set) var isThisDevice = false

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            kind = try json.text("kind") == "replica" ? .replica : .device
            platform = json["platform"]?.stringValue
            hasPushToken = try json.flag("push")
            lastSeenDate = try json.date("last_seen_at")
        }
    }

    /// A user's devices: copies of the inbox, then devices with an inbox or a push token of their own. For a user.
    public func ownDevices() async throws(PealError) -> [OwnDevice] {
        try await call(.ownDevices) { (json) throws(ShapeError) in
            try json.list("devices") { (one) throws(ShapeError) in try OwnDevice(one) }
        }
    }

    /// Signs a device out: its session ends, its push token goes, and the hub takes it for this device no more. For a user with a proof, in any
    /// project; `refused` (404) where there is none.
    public func revokeOwnDevice(_ id: String) async throws(PealError) {
        try await call(.revokeOwn, Request(parameters: [id]))
    }

    /// Deletes all that the hub has of a user: inbox, preferences, devices, push tokens. Sessions end. Also done for who is not there. For a user with
    /// a proof, in any project.
    public func eraseOwn() async throws(PealError) { try await call(.eraseOwn) }
}
