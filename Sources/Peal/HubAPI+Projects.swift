public import Foundation
internal import PealModel

/// The hub itself, and its projects, for who runs it.
extension HubAPI {
    // MARK: The hub

    /// Where devices connect, with limits and versions.
    public struct Configuration: Sendable, Equatable {
        /// Where devices connect.
        public let webSocketURL: String
        /// The hub's version.
        public let version: String
        /// The version of the frames.
        public let wire: Int
        /// The hub's limits, by their names.
        public let limits: [String: Int]
    }

    /// Returns where the hub answers.
    public func health() async throws(PealError) { try await call(.health) }

    /// Returns where the hub takes requests: its store can write.
    public func ready() async throws(PealError) { try await call(.ready) }

    /// What the hub counts of itself, in Prometheus' text format.
    public func metrics() async throws(PealError) -> String {
        String(decoding: try await call(.metrics, Request()), as: UTF8.self)
    }

    /// Where devices connect, with limits and versions.
    public func configuration() async throws(PealError) -> Configuration {
        try await call(.config) { (json) throws(ShapeError) in
            var limits: [String: Int] = [:]
            for (key, value) in try json.member("limits").objectValue ?? [] {
                limits[key] = value.intValue.map { Int($0) }
            }
            let versions = try json.member("versions")
            return Configuration(
                webSocketURL: try json.text("websocket"), version: try versions.text("hub"),
                wire: try versions.whole("wire"), limits: limits)
        }
    }

    // MARK: Projects

    /// A project of a hub. Its description does not show the secret.
    public struct Project: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
    {
        /// Its instance id.
        public let instance: String
        /// The operator's word for it.
        public let name: String
        /// Its public key.
        public let key: String
        /// Its secret: only in the answers that made it.
        public let secret: String?
        /// Whether a user must prove who it is.
        public let isHMACRequired: Bool
        /// URLs that are told of publishes, deliveries and opens.
        public let webhooks: [String]
        /// When it was made.
        public let creationDate: Date
        /// Until when the key before is good; nil for nothing.
        public let oldKeyEndDate: Date?
        /// Until when the secret before is good; nil for nothing.
        public let oldSecretEndDate: Date?
        /// When it was closed; nil for an open one.
        public let closingDate: Date?

        /// Without the secret.
        public var description: String { "project \(instance)" }
        /// As ``description``.
        public var debugDescription: String { description }
        /// Shows nothing of what is inside, so that `dump` does not.
        public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

        init(_ json: JSON) throws(ShapeError) {
            instance = try json.text("instance")
            name = try json.text("name")
            key = try json.text("key")
            secret = json["secret"]?.stringValue
            isHMACRequired = try json.flag("hmac_required")
            webhooks = try json.texts("webhooks")
            creationDate = try json.date("created_at")
            oldKeyEndDate = json.anyDate("old_key_until")
            oldSecretEndDate = json.anyDate("old_secret_until")
            closingDate = json.anyDate("closed_at")
        }
    }

    private static func settings(_ name: String?, _ isHMACRequired: Bool?, _ webhooks: [String]?) -> JSON {
        .members([
            (
                "project",
                .members([
                    ("name", .text(name)), ("hmac_required", isHMACRequired.map(JSON.bool)),
                    ("webhooks", webhooks.map(JSON.texts)),
                ])
            )
        ])
    }

    private func project(_ operation: HubOperation, _ request: Request) async throws(PealError) -> Project {
        try await call(operation, request) { (json) throws(ShapeError) in try Project(json.member("project")) }
    }

    /// Every project, without secrets, the oldest first. For the operator.
    public func projects() async throws(PealError) -> [Project] {
        try await call(.projects) { (json) throws(ShapeError) in
            try json.list("projects") { (one) throws(ShapeError) in try Project(one) }
        }
    }

    /// Makes a project. For the operator.
    ///
    /// - Parameters:
    ///   - name: the operator's word for it.
    ///   - isHMACRequired: whether a user must prove who it is; true by default.
    ///   - webhooks: http and https URLs, at most 10.
    /// - Returns: the project with its secret.
    public func createProject(
        name: String? = nil, isHMACRequired: Bool? = nil, webhooks: [String]? = nil
    ) async throws(PealError) -> Project {
        try await project(.createProject, Request(body: Self.settings(name, isHMACRequired, webhooks)))
    }

    /// A project, without its secret. For the operator.
    public func project(_ instance: String) async throws(PealError) -> Project {
        try await project(.showProject, Request(parameters: [instance]))
    }

    /// Changes what is given. For the operator.
    public func changeProject(
        _ instance: String, name: String? = nil, isHMACRequired: Bool? = nil, webhooks: [String]? = nil
    ) async throws(PealError) -> Project {
        let body = Self.settings(name, isHMACRequired, webhooks)
        return try await project(.changeProject, Request(parameters: [instance], body: body))
    }

    /// Closes a project for good; its sessions end, its data stays. For the operator.
    public func closeProject(_ instance: String) async throws(PealError) {
        try await call(.closeProject, Request(parameters: [instance]))
    }

    /// Replaces key or secret or both. For the operator.
    ///
    /// - Parameters:
    ///   - instance: the project.
    ///   - key: replaces the key.
    ///   - secret: replaces the secret.
    ///   - overlap: how long what was current stays good, in whole seconds up to 90 days; a day by default.
    /// - Returns: the project with its secret.
    public func rotateProject(
        _ instance: String, key: Bool = false, secret: Bool = false, overlap: Duration? = nil
    ) async throws(PealError) -> Project {
        let seconds = overlap.map { Int($0.components.seconds) }
        let body = JSON.members([
            ("key", .bool(key)), ("secret", .bool(secret)), ("overlap_seconds", .whole(seconds)),
        ])
        return try await project(.rotateProject, Request(parameters: [instance], body: body))
    }

    /// Ends at once what a rotation left good. For the operator.
    public func revokeOld(of instance: String) async throws(PealError) -> Project {
        try await project(.revokeOld, Request(parameters: [instance]))
    }
}
