internal import Foundation

/// What a ``HubAPI`` shows the hub: who calls, and what proves it. No description of it holds a secret, a code or a token.
public struct HubCredentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    enum Kind: Sendable {
        case nobody
        case instance(String)
        case project(instance: String, key: String, secret: String)
        case user(User)
        case operation(token: String)
    }

    struct User: Sendable {
        var key: String
        var externalId: String?
        var email: String?
        var hmac: String?
        var token: String?
        var secret: String?
    }

    let kind: Kind

    /// Nothing: enough for ``HubAPI/health()`` and its like.
    public static let nobody = HubCredentials(kind: .nobody)

    /// An instance id alone, as the SDKs of the interests surface have it: for a device, which its own id proves.
    public static func instance(_ instance: String) -> HubCredentials { HubCredentials(kind: .instance(instance)) }

    /// A project's back end. Never on people's devices.
    ///
    /// - Parameters:
    ///   - instance: the project's instance id.
    ///   - key: its public key.
    ///   - secret: its secret.
    public static func project(instance: String, key: String, secret: String) -> HubCredentials {
        HubCredentials(kind: .project(instance: instance, key: key, secret: secret))
    }

    /// A user of a project, by external id, else by email. One of `hmac`, `token` and `secret` proves it; none is enough where the project wants none.
    ///
    /// - Parameters:
    ///   - key: the project's public key.
    ///   - externalId: the app's own id of the user; wins over the email.
    ///   - email: the user's address.
    ///   - hmac: base64(HMAC-SHA256(secret, external id, else the lower-case email)), made by your server.
    ///   - token: a user token of your server.
    ///   - secret: the project's secret, on the operator's own machines only.
    public static func user(
        key: String, externalId: String? = nil, email: String? = nil, hmac: String? = nil, token: String? = nil,
        secret: String? = nil
    ) -> HubCredentials {
        HubCredentials(
            kind: .user(
                User(key: key, externalId: externalId, email: email, hmac: hmac, token: token, secret: secret)))
    }

    /// Who runs the hub: `peal hub` shows the operator's token once.
    public static func hubOperator(token: String) -> HubCredentials { HubCredentials(kind: .operation(token: token)) }

    /// Who calls, without what proves it.
    public var description: String {
        switch kind {
        case .nobody: "nobody"
        case .instance(let instance): "instance \(instance)"
        case .project(let instance, _, _): "the back end of \(instance)"
        case .user(let user): user.externalId != nil ? "a user by external id" : "a user by email"
        case .operation: "the hub's operator"
        }
    }

    /// As ``description``.
    public var debugDescription: String { description }

    /// Shows nothing of what is inside, so that `dump` does not.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

    /// The instance id; nil where none was given.
    var instance: String? {
        switch kind {
        case .instance(let instance), .project(let instance, _, _): instance
        default: nil
        }
    }

    /// The header fields for a family of routes; nil where these credentials are not for it.
    func headers(for caller: HubOperation.Caller) -> [String: String]? {
        switch (caller, kind) {
        case (.anybody, _): return [:]
        case (.device, .instance), (.device, .project): return [:]
        case (.inbox, .project(_, let key, let secret)), (.admin, .project(_, let key, let secret)):
            return ["X-MAGICBELL-API-KEY": key, "X-MAGICBELL-API-SECRET": secret]
        case (.inbox, .user(let user)):
            var headers = ["X-MAGICBELL-API-KEY": user.key]
            headers["X-MAGICBELL-USER-EXTERNAL-ID"] = user.externalId
            // The hub finds a user by the external id where there is one.
            if user.externalId == nil { headers["X-MAGICBELL-USER-EMAIL"] = user.email }
            headers["X-MAGICBELL-USER-HMAC"] = user.hmac
            headers["X-MAGICBELL-API-SECRET"] = user.secret
            if let token = user.token { headers["Authorization"] = "Bearer " + token }
            return headers
        case (.publisher, .project(_, _, let secret)): return ["Authorization": "Bearer " + secret]
        case (.native, .project(_, let key, let secret)):
            return ["Authorization": "Basic " + Data("\(key):\(secret)".utf8).base64EncodedString()]
        case (.operation, .operation(let token)): return ["Authorization": "Bearer " + token]
        default: return nil
        }
    }
}
