internal import Foundation
public import PealModel
public import PealReplica

/// The entry to the library: one hub, one project, a directory for the replicas.
public final class PealClient: Sendable {
    /// The hub.
    public let hub: HubAddress
    /// The project's public key, or its instance id.
    public let apiKey: String
    /// Where the replicas lie; made with mode 0700.
    public let directory: String
    /// A PEM file of certificate authorities in place of the system's.
    public let authorityPath: String?
    /// How much of each inbox this device keeps; nil for everything.
    public let keep: KeepLimits?
    private let log: @Sendable (String) -> Void

    /// A client. Nothing is opened or sent yet.
    ///
    /// - Parameters:
    ///   - hub: `http://host:port` of the hub's publishing side.
    ///   - apiKey: the project's public key, or its instance id.
    ///   - directory: where the replicas lie.
    ///   - authorityPath: a PEM file of certificate authorities in place of the system's.
    ///   - keep: how much of each inbox this device keeps: the oldest read items beyond it are let go.
    ///   - log: takes a line for whoever debugs; never holds a secret or a body.
    /// - Throws: ``PealError``: `badURL`, `file` where the directory cannot be made.
    public init(
        hub: String, apiKey: String, directory: String, authorityPath: String? = nil, keep: KeepLimits? = nil,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(PealError) {
        self.hub = try HubAddress(hub)
        self.apiKey = apiKey
        self.directory = directory
        self.authorityPath = authorityPath
        self.keep = keep
        self.log = log
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PealError(.file, "the directory \(directory) cannot be made: \(error.localizedDescription)")
        }
    }

    /// The inbox of a user. ``Inbox/connect()`` starts its session.
    ///
    /// - Parameters:
    ///   - externalID: the app's own id of the user.
    ///   - email: the user's address; at least one of the two is given.
    ///   - hmac: base64(HMAC-SHA256(secret, external id, else the lower-case email)), where the project wants it.
    ///   - freshToken: gets a user token of the external id from the app's own server, in place of an HMAC: at the first connection,
    ///     before one ends, and after one has ended. Called on any thread; nil where there is none to be had.
    /// - Throws: ``PealError``: `invalid`, `file`.
    public func user(
        externalID: String? = nil, email: String? = nil, hmac: String? = nil,
        freshToken: (@Sendable () async -> String?)? = nil
    ) async throws(PealError) -> Inbox {
        let externalID = externalID.flatMap { $0.isEmpty ? nil : $0 }
        let email = email.flatMap { $0.isEmpty ? nil : $0.lowercased() }
        guard externalID != nil || email != nil else {
            throw PealError(.invalid, "a user has an external id, an email, or both")
        }
        for (name, value) in [("external id", externalID), ("email", email)] {
            if let value, value.unicodeScalars.count > Limits.identity {
                throw PealError(.invalid, "the \(name) has more than \(Limits.identity) characters")
            }
        }
        return try await inbox(.user(externalID: externalID, email: email), Proof(hmac: hmac), freshToken)
    }

    /// The inbox of this device, with its interests. ``Inbox/connect()`` starts its session.
    ///
    /// - Throws: ``PealError``: `file`.
    public func device() async throws(PealError) -> Inbox {
        try await inbox(.device(id: nil), Proof())
    }

    /// The file of an identity: named after it, so that a copy can be recognised; an email and an external id that look
    /// alike do not collide.
    public func path(of identity: InboxIdentity) -> String {
        let name: String
        switch identity {
        case .device: name = "device"
        case .user(let externalID, let email):
            name = [externalID.map { "id-" + Self.fileName($0) }, email.map { "email-" + Self.fileName($0) }]
                .compactMap { $0 }.joined(separator: "+")
        }
        return directory + "/" + name + ".peal"
    }

    /// Letters, digits, `.`, `-` and `_` stay; everything else, and an upper-case letter, becomes `%` and two digits; a long
    /// name ends in a checksum of the whole.
    private static func fileName(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"):
                name.append(Character(UnicodeScalar(byte)))
            default: name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        guard name.utf8.count > 100 else { return name }
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(name.prefix(80)) + "~" + Hex64.text(sum)
    }

    private func inbox(
        _ identity: InboxIdentity, _ proof: Proof, _ freshToken: (@Sendable () async -> String?)? = nil
    ) async throws(PealError) -> Inbox {
        var configuration = Inbox.Configuration(
            path: path(of: identity), identity: identity, proof: proof, project: apiKey, hub: hub)
        configuration.authorityPath = authorityPath
        configuration.keep = keep
        configuration.log = log
        configuration.freshToken = freshToken
        return try await Inbox(configuration)
    }
}
