internal import Foundation
public import PealModel
public import PealReplica
internal import Synchronization

/// The entry to the library: one hub, one project, a directory for the replicas. An app makes one, early, and keeps it.
///
/// ``connectUser(email:externalId:hmac:freshToken:)`` gives users with their stores and preferences; ``user(externalID:email:hmac:freshToken:)`` and
/// ``device()`` give the inboxes beneath, for programs that want the log itself.
public final class PealClient: Sendable {
    /// How much is logged.
    public enum LogLevel: Sendable {
        /// Nothing.
        case none
        /// A line for each step that somebody who debugs may want to see.
        case debug
    }

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
    /// Where completions and observers are called.
    public let callbacks: CallbackContext
    private let apiSecret: String?
    private let formerKeys: [String]
    let log: @Sendable (String) -> Void
    let connected = ConnectedUsers()
    let delivered: DeliveredCore
    let tokens: DeviceTokens
    let tracked: TrackedMessages
    let shown = Mutex<any NotificationPresenter>(SystemPresenter())

    /// A client. Nothing is opened or sent yet.
    ///
    /// - Parameters:
    ///   - hub: `http://host:port` of the hub's publishing side.
    ///   - apiKey: the project's public key, or its instance id, which stays what it is when a key is replaced.
    ///   - formerKeys: keys that `apiKey` has replaced: replicas that were made with one of them are taken over with all that they hold. Without
    ///     that a replica of another key does not open, because it may be another project's.
    ///   - apiSecret: the project's secret, for programs on the operator's own machines only: it proves every user. Never give it to people's
    ///     devices; they bring an HMAC or a token from your server.
    ///   - logLevel: how much `log` gets.
    ///   - directory: where the replicas lie; by default `peal` in the user's data directory (`$XDG_DATA_HOME`, else `~/.local/share`).
    ///   - authorityPath: a PEM file of certificate authorities in place of the system's.
    ///   - proxy: an HTTP proxy before the hub; nil for none, whatever the environment says: ``HubProxy/environment(for:_:)`` gives that one.
    ///   - keep: how much of each inbox this device keeps: the oldest read items beyond it are let go.
    ///   - callbacks: where completions and observers are called; by default the main queue.
    ///   - log: takes a line for whoever debugs, on any thread; never holds a secret or a body. By default standard error.
    /// - Throws: ``PealError``: `badURL`, `file` where the directory cannot be made.
    public init(
        hub: String, apiKey: String, formerKeys: [String] = [], apiSecret: String? = nil, logLevel: LogLevel = .none,
        directory: String? = nil,
        authorityPath: String? = nil, proxy: HubProxy? = nil, keep: KeepLimits? = nil,
        callbacks: CallbackContext = .main,
        log: (@Sendable (String) -> Void)? = nil
    ) throws(PealError) {
        self.hub = try HubAddress(hub, proxy: proxy)
        self.apiKey = apiKey
        self.formerKeys = formerKeys
        self.apiSecret = apiSecret
        let directory = directory ?? Self.defaultDirectory
        self.directory = directory
        self.authorityPath = authorityPath
        self.keep = keep
        self.callbacks = callbacks
        switch logLevel {
        case .none: self.log = { _ in }
        case .debug: self.log = log ?? { FileHandle.standardError.write(Data("peal: \($0)\n".utf8)) }
        }
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PealError(.file, "the directory \(directory) cannot be made: \(error.localizedDescription)")
        }
        var device = Inbox.Configuration(
            path: directory + "/device.peal", identity: .device(id: nil), proof: Proof(), project: apiKey, hub: self.hub
        )
        device.formerProjects = formerKeys
        device.authorityPath = authorityPath
        device.keep = keep
        device.log = self.log
        delivered = DeliveredCore(connected, DeviceSource(device, callbacks))
        tracked = TrackedMessages(directory: directory, delivered, log: self.log)
        tokens = DeviceTokens(
            directory: directory, hub: self.hub, apiKey: apiKey, authorityPath: authorityPath, log: self.log)
    }

    deinit { tokens.end() }

    package static var defaultDirectory: String {
        let environment = ProcessInfo.processInfo.environment
        if let data = environment["XDG_DATA_HOME"], !data.isEmpty { return data + "/peal" }
        return (environment["HOME"] ?? ".") + "/.local/share/peal"
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
        let identity = try Self.identity(externalID, email)
        return try await Inbox(configuration(identity, proof(hmac, identity), freshToken))
    }

    /// The inbox of this device, with its interests. ``Inbox/connect()`` starts its session.
    ///
    /// - Throws: ``PealError``: `file`.
    public func device() async throws(PealError) -> Inbox {
        try await Inbox(configuration(.device(id: nil), Proof()))
    }

    /// The file of an identity: named after it, so that a copy can be recognised; an email and an external id that look
    /// alike do not collide.
    public func path(of identity: InboxIdentity) -> String { Self.path(of: identity, in: directory) }

    /// The same where there is no client.
    package static func path(of identity: InboxIdentity, in directory: String) -> String {
        let name: String
        switch identity {
        case .device: name = "device"
        case .user(let externalID, let email):
            name = [externalID.map { "id-" + fileName($0) }, email.map { "email-" + fileName($0) }]
                .compactMap { $0 }.joined(separator: "+")
        }
        return directory + "/" + name + ".peal"
    }

    /// Letters, digits, `.`, `-` and `_` stay; everything else, and an upper-case letter, becomes `%` and two digits; a long
    /// name ends in a checksum of the whole.
    static func fileName(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"):
                name.append(Character(UnicodeScalar(byte)))
            default: name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        guard name.utf8.count > 100 else { return name }
        return String(name.prefix(80)) + "~" + Hex64.text(checksum(text))
    }

    /// FNV-1a of a text's bytes.
    static func checksum(_ text: String) -> UInt64 {
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return sum
    }

    /// Who a user is; an empty name counts as none.
    package static func identity(_ externalID: String?, _ email: String?) throws(PealError) -> InboxIdentity {
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
        return .user(externalID: externalID, email: email)
    }

    /// The code of a user that the app brought, else one that the project's secret makes.
    func proof(_ hmac: String?, _ identity: InboxIdentity) -> Proof {
        guard hmac == nil, let apiSecret, case .user(let externalID, let email) = identity,
            let name = externalID ?? email
        else { return Proof(hmac: hmac) }
        return Proof(hmac: UserCode.code(of: name, secret: apiSecret))
    }

    /// What an inbox of this client is made of.
    func configuration(
        _ identity: InboxIdentity, _ proof: Proof, _ freshToken: (@Sendable () async -> String?)? = nil
    ) -> Inbox.Configuration {
        var configuration = Inbox.Configuration(
            path: path(of: identity), identity: identity, proof: proof, project: apiKey, hub: hub)
        configuration.formerProjects = formerKeys
        configuration.authorityPath = authorityPath
        configuration.keep = keep
        configuration.log = log
        configuration.freshToken = freshToken
        return configuration
    }
}
