public import Foundation
public import PealModel

/// Devices of the interests surface, and push tokens of users.
extension HubAPI {
    /// A device of the interests surface.
    public struct Device: Sendable, Equatable {
        /// Its id.
        public let id: String
        /// `apns`, `fcm` or `web`; nil for one that only has a replica, and where the call does not tell.
        public let platform: String?
        /// The push token; nil for none, and where the call does not tell.
        public let token: String?
        /// The external id of its user; nil for none, and where the call does not tell.
        public let userId: String?
        /// What its SDK says about it.
        public let metadata: JSON
        /// When it was made; nil where the call does not tell.
        public let creationDate: Date?

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            platform = json["platform"]?.stringValue
            token = json["token"]?.stringValue
            userId = json["userId"]?.stringValue
            metadata = try json.member("metadata")
            creationDate = json.anyDate("created_at")
        }
    }

    /// Which device of the interests surface a call is about.
    public struct DeviceName: Sendable, Equatable {
        /// `apns`, `fcm` or `web`.
        public let platform: String
        /// Its id.
        public let id: String

        /// A device's name.
        public init(platform: String, id: String) {
            self.platform = platform
            self.id = id
        }
    }

    private func naming(_ device: DeviceName, _ more: [String] = []) throws(PealError) -> [String] {
        [try instance(), device.platform, device.id] + more
    }

    /// Registers a device by its push token; a known token gives the same device. For a device.
    ///
    /// - Parameters:
    ///   - platform: `apns`, `fcm` or `web`.
    ///   - token: the push token; a browser's subscription as an object.
    ///   - metadata: what the SDK says about the device, one JSON object.
    /// - Returns: the device, and the interests that it has.
    public func registerDevice(
        platform: String, token: JSON, metadata: JSON? = nil
    ) async throws(PealError) -> (device: DeviceName, interests: [String]) {
        let body = JSON.members([("token", token), ("metadata", metadata)])
        let request = Request(parameters: [try instance(), platform], body: body)
        return try await call(.registerDevice, request) { (json) throws(ShapeError) in
            (DeviceName(platform: platform, id: try json.text("id")), try json.texts("initialInterestSet"))
        }
    }

    /// A device. For a device.
    public func device(_ device: DeviceName) async throws(PealError) -> Device {
        try await call(.showDevice, Request(parameters: try naming(device))) { (json) throws(ShapeError) in
            try Device(json)
        }
    }

    /// Deletes a device and its inbox; also one that is not there. For a device.
    public func deleteDevice(_ device: DeviceName) async throws(PealError) {
        try await call(.deleteDevice, Request(parameters: try naming(device)))
    }

    /// Replaces what an SDK says about its device: one JSON object. For a device.
    public func setMetadata(_ metadata: JSON, of device: DeviceName) async throws(PealError) {
        try await call(.setMetadata, Request(parameters: try naming(device), body: metadata))
    }

    /// Changes the push token; id, interests and user stay. For a device.
    public func setToken(_ token: JSON, of device: DeviceName) async throws(PealError) {
        try await call(.setToken, Request(parameters: try naming(device), body: .members([("token", token)])))
    }

    /// Binds a device to the user of a user token of your server. For a device.
    public func setUser(of device: DeviceName, userToken: String) async throws(PealError) {
        try await call(
            .setDeviceUser,
            Request(parameters: try naming(device), headers: ["Authorization": "Bearer " + userToken]))
    }

    /// A page of a device's interests, sorted. For a device.
    ///
    /// - Parameters:
    ///   - device: the device.
    ///   - cursor: what the page before gave; nil for the first.
    ///   - limit: interests of a page, 1 to 100.
    /// - Returns: also the next page's cursor; nil after the last.
    public func interests(
        of device: DeviceName, cursor: String? = nil, limit: Int = 100
    ) async throws(PealError) -> (interests: [String], cursor: String?) {
        let request = Request(
            parameters: try naming(device), query: [("limit", String(limit)), ("cursor", cursor)])
        return try await call(.interests, request) { (json) throws(ShapeError) in
            (try json.texts("interests"), json["responseMetadata"]?["nextCursor"]?.stringValue)
        }
    }

    /// Replaces a device's interests; at most 5,000. For a device.
    public func setInterests(_ interests: [String], of device: DeviceName) async throws(PealError) {
        let body = JSON.members([("interests", .texts(interests))])
        try await call(.setInterests, Request(parameters: try naming(device), body: body))
    }

    /// Adds an interest. For a device.
    public func addInterest(_ interest: String, to device: DeviceName) async throws(PealError) {
        try await call(.addInterest, Request(parameters: try naming(device, [interest])))
    }

    /// Takes an interest away. For a device.
    public func removeInterest(_ interest: String, from device: DeviceName) async throws(PealError) {
        try await call(.removeInterest, Request(parameters: try naming(device, [interest])))
    }

    /// The devices of a user. For a project's back end.
    public func devices(of user: UserName) async throws(PealError) -> [Device] {
        try await call(.devices, Request(parameters: [user.segment])) { (json) throws(ShapeError) in
            try json.list("devices") { (one) throws(ShapeError) in try Device(one) }
        }
    }

    // MARK: Push tokens of users

    /// A push token of a user's device.
    public struct PushSubscription: Sendable, Equatable {
        /// The device's id.
        public let id: String
        /// The token.
        public let token: String
        /// `ios`, `android` or `safari`.
        public let platform: String

        init(_ json: JSON) throws(ShapeError) {
            id = try json.text("id")
            token = try json.text("device_token")
            platform = try json.text("platform")
        }
    }

    /// Registers a push token of a user's device; one that a device has already moves to this user with its device. For a user.
    ///
    /// - Parameters:
    ///   - token: the token, up to 255 characters.
    ///   - platform: `ios`, `android` or `safari`; also `apns`, `fcm` or `web`.
    public func subscribe(token: String, platform: String) async throws(PealError) -> PushSubscription {
        let members = JSON.members([("device_token", .string(token)), ("platform", .string(platform))])
        let request = Request(body: .members([("push_subscription", members)]))
        return try await call(.subscribe, request) { (json) throws(ShapeError) in
            try PushSubscription(json.member("push_subscription"))
        }
    }

    /// The push tokens of a user's devices. For a user.
    public func subscriptions() async throws(PealError) -> [PushSubscription] {
        try await call(.subscriptions) { (json) throws(ShapeError) in
            try json.list("push_subscriptions") { (one) throws(ShapeError) in try PushSubscription(one) }
        }
    }

    /// Takes a push token away; its device stays. For a user.
    public func unsubscribe(token: String) async throws(PealError) {
        try await call(.unsubscribe, Request(parameters: [token]))
    }
}
