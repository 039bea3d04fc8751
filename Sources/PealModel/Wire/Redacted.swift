/// What proves something shows in no description, dump or failed expectation: a person who prints a value to find a mistake must
/// not find a secret in a log.
extension Proof: CustomReflectable {
    /// Which kinds of proof there are, without them.
    public var customMirror: Mirror {
        let kinds = [hmac.map { _ in "hmac" }, token.map { _ in "token" }, secret.map { _ in "secret" }]
        return Mirror(self, children: ["kinds": kinds.compactMap { $0 }], displayStyle: .struct)
    }
}

extension Hello: CustomReflectable {
    /// All but the nonce; the proof as above.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "version": version, "inbox": inbox, "replica": replica, "proof": proof, "attempt": attempt,
                "cursor": cursor,
                "outbox": outbox,
            ], displayStyle: .struct)
    }
}

extension Welcome: CustomReflectable {
    /// All but the nonce and the secret.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "session": session, "mode": mode, "epoch": epoch, "inbox": inbox, "head": head, "lastN": lastN,
                "settled": settled, "attempt": attempt,
            ], displayStyle: .struct)
    }
}

extension UpFrame: CustomStringConvertible, CustomReflectable {
    /// A token without itself; any other frame as its case and what belongs to it.
    public var description: String {
        switch self {
        case .hello(let hello): "hello(\(hello))"
        case .got(let to): "got(to: \(to))"
        case .push(let mutations): "push(\(mutations))"
        case .suspect(let mutation): "suspect(\(mutation))"
        case .snapshot(let request): "snapshot(\(request))"
        case .token: "token"
        case .ping: "ping"
        case .pong: "pong"
        case .bye: "bye"
        }
    }

    /// The description, and nothing below it.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension HubSession.Action: CustomReflectable {
    /// What belongs to it; a token without itself.
    public var customMirror: Mirror {
        let value: Any? =
            switch self {
            case .write: "write"
            case .admit(let hello): hello
            case .firstFrame: "firstFrame"
            case .commit(let mutations): mutations
            case .commitSuspect(let mutation): mutation
            case .checkToken: "checkToken"
            case .acknowledge(let position): position
            case .loadPage(let request): request
            case .close(let code, let reason): (code, reason)
            case .bye: "bye"
            }
        return Mirror(self, children: ["action": value as Any], displayStyle: .struct)
    }
}

extension Operation: CustomStringConvertible, CustomReflectable {
    /// As on the wire; a push token and a proof without themselves.
    public var description: String {
        switch self {
        case .token(_, let platform): return "token(\(platform ?? "-"))"
        case .user(let id, let proof): return "user(\(id ?? "-"), proof: \(proof == nil ? "no" : "yes"))"
        default:
            var writer = JSONWriter()
            write(to: &writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    /// The description, and nothing below it.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
