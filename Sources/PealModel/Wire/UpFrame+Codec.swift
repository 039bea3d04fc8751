extension UpFrame {
    /// Decodes a frame from a replica.
    ///
    /// - Throws: ``FrameError`` for bytes that are no JSON object, an unknown `type`, a missing or wrong member, or a push
    ///   over ``Limits/mutationsPerPush``.
    public init(_ bytes: RawJSON) throws(FrameError) {
        guard bytes.count <= Limits.frameUp else {
            throw FrameError(.frameTooLarge, "a frame of \(bytes.count) bytes; at most \(Limits.frameUp) go up")
        }
        do throws(JSONError) {
            self = try Self.decode(JSONObject(bytes))
        } catch {
            throw FrameError(.protocolError, error.reason)
        }
    }

    private static func decode(_ object: JSONObject) throws(JSONError) -> UpFrame {
        switch try object.required("type", object.string("type")) {
        case "hello": return .hello(try Hello(object))
        case "got": return .got(to: try object.required("to", object.int("to")))
        case "push":
            let raw = try object.required("mutations", object.array("mutations"))
            guard raw.count <= Limits.mutationsPerPush else {
                throw JSONError("'mutations' has \(raw.count), at most \(Limits.mutationsPerPush) go in one push")
            }
            var mutations: [Mutation] = []
            for mutation in raw { mutations.append(try Mutation(JSONObject(mutation))) }
            if try object.bool("suspect") ?? false {
                guard mutations.count == 1 else { throw JSONError("a suspect goes alone") }
                return .suspect(mutations[0])
            }
            return .push(mutations)
        case "snapshot":
            return .snapshot(
                SnapshotRequest(
                    id: try object.optionalHex("id"), after: try object.int("after"), at: try object.int("at"),
                    chain: try object.optionalHex("chain")))
        case "token": return .token(try object.required("token", object.string("token")))
        case "ping": return .ping
        case "pong": return .pong
        case "bye": return .bye
        default: throw JSONError("'type' is no frame that goes up")
        }
    }

    /// The encoded frame.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .hello(let hello):
            writer.member("type", "hello")
            hello.write(to: &writer)
        case .got(let to):
            writer.member("type", "got")
            writer.member("to", to)
        case .push(let mutations):
            writer.member("type", "push")
            writer.key("mutations")
            writer.beginArray()
            for mutation in mutations { mutation.write(to: &writer) }
            writer.endArray()
        case .suspect(let mutation):
            writer.member("type", "push")
            writer.member("suspect", true)
            writer.key("mutations")
            writer.beginArray()
            mutation.write(to: &writer)
            writer.endArray()
        case .snapshot(let request):
            writer.member("type", "snapshot")
            writer.member("id", request.id.map(Hex64.text))
            writer.member("after", request.after)
            writer.member("at", request.at)
            writer.member("chain", request.chain.map(Hex64.text))
        case .token(let token):
            writer.member("type", "token")
            writer.member("token", token)
        case .ping: writer.member("type", "ping")
        case .pong: writer.member("type", "pong")
        case .bye: writer.member("type", "bye")
        }
        writer.endObject()
        return writer.bytes
    }
}

extension Hello {
    init(_ object: JSONObject) throws(JSONError) {
        guard let replica = ReplicaID(try object.required("replica", object.string("replica"))) else {
            throw JSONError("'replica' is not 32 hexadecimal digits")
        }
        let outbox = try object.object("outbox")
        let low = try outbox.map { (outbox) throws(JSONError) in try outbox.required("low", outbox.int("low")) } ?? 0
        let high = try outbox.map { (outbox) throws(JSONError) in try outbox.required("high", outbox.int("high")) } ?? 0
        guard low >= 0, low <= high else { throw JSONError("'outbox' is no range") }
        let window = try object.object("window")
        self.init(
            version: try object.required("v", object.int("v")),
            project: try object.required("project", object.string("project")),
            inbox: try InboxIdentity(object.required("inbox", object.object("inbox"))), replica: replica,
            proof: try Proof(object.object("proof")), attempt: try object.required("attempt", object.int("attempt")),
            nonce: try object.string("nonce") ?? "", cursor: try Cursor(object.object("cursor")),
            outbox: low...high, windowEntries: try window?.int("entries") ?? Int64(Limits.windowEntries),
            windowBytes: try window?.int("bytes") ?? Int64(Limits.windowBytes))
    }

    func write(to writer: inout JSONWriter) {
        writer.member("v", version)
        writer.member("project", project)
        writer.key("inbox")
        inbox.write(to: &writer)
        writer.member("replica", replica.description)
        writer.key("proof")
        proof.write(to: &writer)
        writer.member("attempt", attempt)
        writer.member("nonce", nonce)
        writer.key("cursor")
        writer.beginObject()
        writer.member("epoch", cursor.epoch.map(Hex64.text))
        writer.member("position", cursor.position)
        writer.member("chain", Hex64.text(cursor.chain))
        writer.endObject()
        writer.key("outbox")
        writer.beginObject()
        writer.member("low", outbox.lowerBound)
        writer.member("high", outbox.upperBound)
        writer.endObject()
        writer.key("window")
        writer.beginObject()
        writer.member("entries", windowEntries)
        writer.member("bytes", windowBytes)
        writer.endObject()
    }
}

extension Cursor {
    init(_ object: JSONObject?) throws(JSONError) {
        guard let object else {
            self = .start
            return
        }
        let position = try object.int("position") ?? 0
        guard position >= 0 else { throw JSONError("'position' is negative") }
        self.init(
            epoch: try object.optionalHex("epoch"), position: position, chain: try object.optionalHex("chain") ?? 0)
    }
}

extension Proof {
    init(_ object: JSONObject?) throws(JSONError) {
        self.init()
        guard let object else { return }
        hmac = try object.string("hmac")
        token = try object.string("token")
        secret = try object.string("secret")
        replica = try object.string("replica").flatMap { ReplicaID($0) }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("hmac", hmac)
        writer.member("token", token)
        writer.member("secret", secret)
        writer.member("replica", replica?.description)
        writer.endObject()
    }
}

extension InboxIdentity {
    init(_ object: JSONObject) throws(JSONError) {
        switch try object.required("kind", object.string("kind")) {
        case "user":
            self = .user(externalID: try object.string("externalId"), email: try object.string("email"))
        case "device": self = .device(id: try object.string("id"))
        default: throw JSONError("'kind' is neither user nor device")
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .user(let externalID, let email):
            writer.member("kind", "user")
            writer.member("externalId", externalID)
            writer.member("email", email)
        case .device(let id):
            writer.member("kind", "device")
            writer.member("id", id)
        }
        writer.endObject()
    }
}
