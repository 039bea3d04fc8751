import PealModel

/// How a path names a user: its id, `email:E` or `external_id:X`.
enum UserName: Sendable {
    case identity(UserIdentity)
    case id(String)

    /// The parameter `user` of a request.
    init(_ request: HTTPRequest) {
        let text = request.parameter("user")
        func rest(after prefix: String) -> String? {
            text.hasPrefix(prefix) && text.count > prefix.count ? String(text.dropFirst(prefix.count)) : nil
        }
        if let email = rest(after: "email:") {
            self = .identity(UserIdentity(email: email))
        } else if let id = rest(after: "external_id:") {
            self = .identity(UserIdentity(externalID: id))
        } else {
            self = .id(text)
        }
    }

    func find(_ store: any HubStore, _ project: Project) throws(HubStoreError) -> UserRecord? {
        switch self {
        case .identity(let identity): try store.user(identity, in: project.key)
        case .id(let id): try store.user(inboxID: id, in: project.key)
        }
    }

    func find(_ reader: any HubReader, _ project: Project) throws(HubStoreError) -> UserRecord? {
        switch self {
        case .identity(let identity): try reader.user(identity, in: project.key)
        case .id(let id): try reader.user(inboxID: id, in: project.key)
        }
    }
}
