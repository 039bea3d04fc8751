/// What a person, or an app for a person, did: the whole of what a replica sends (docs/sync.md section 4).
public struct Mutation: Equatable, Sendable {
    /// The replica's own dense number, assigned durably at the first send.
    public var n: Int64
    /// 64 random bits made with the act.
    public var uid: UInt64
    /// The position of the view that the person acted on.
    public var observed: Position
    /// The hub's time of that position's entry.
    public var observedTime: Milliseconds
    /// When the person acted, as well as the replica can tell.
    public var moment: Moment
    /// What was done.
    public var operation: Operation

    /// When an act happened.
    public enum Moment: Equatable, Sendable {
        /// So many milliseconds before the send, by a clock that has run since the act.
        case age(Milliseconds)
        /// The wall clock at the act, corrected by the offset to the hub that was last measured.
        case wall(Milliseconds)
    }

    /// A mutation of its parts.
    public init(
        n: Int64, uid: UInt64, observed: Position, observedTime: Milliseconds, moment: Moment, operation: Operation
    ) {
        self.n = n
        self.uid = uid
        self.observed = observed
        self.observedTime = observedTime
        self.moment = moment
        self.operation = operation
    }

    /// Decodes a mutation of a `push`.
    ///
    /// - Throws: ``JSONError`` where the envelope is not of the shape; an operation that this version does not know, or
    ///   whose members are wrong, decodes as ``Operation/malformed(reason:)`` so that its number can still be settled.
    public init(_ object: JSONObject) throws(JSONError) {
        let n = try object.required("n", object.int("n"))
        guard n > 0 else { throw JSONError("'n' is not above 0") }
        let moment: Moment
        if let age = try object.int("age") {
            moment = .age(age)
        } else {
            moment = .wall(try object.required("wall", object.int("wall")))
        }
        let operation: Operation
        do throws(JSONError) {
            operation = try Operation(object.required("op", object.object("op")))
        } catch {
            operation = .malformed(reason: error.reason)
        }
        self.init(
            n: n, uid: try object.hex("uid"),
            observed: try object.required("observed", object.int("observed")),
            observedTime: try object.int("observedTime") ?? 0, moment: moment, operation: operation)
    }

    /// Writes the mutation as an object.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("n", n)
        writer.member("uid", Hex64.text(uid))
        writer.member("observed", observed)
        writer.member("observedTime", observedTime)
        switch moment {
        case .age(let age): writer.member("age", age)
        case .wall(let wall): writer.member("wall", wall)
        }
        writer.key("op")
        operation.write(to: &writer)
        writer.endObject()
    }
}

/// The operations of docs/sync.md section 4. At most ``Limits/itemsPerMutation`` items each.
public enum Operation: Equatable, Sendable {
    /// Sets or clears `read`; `passive` means "was shown", as opposed to a deliberate act.
    case read(items: [ItemID], on: Bool, passive: Bool)
    /// Raises `seen`.
    case seen(items: [ItemID])
    /// Sets or clears `archived`.
    case archive(items: [ItemID], on: Bool)
    /// Deletes, for good.
    case delete(items: [ItemID])
    /// Marks everything up to a position.
    case mark(MarkKind, upTo: Position)
    /// A preference cell.
    case preference(category: String, channel: String, enabled: Bool)
    /// A fact about an item: `opened`, `clicked`, `dismissed`, `answered`.
    case track(item: ItemID, event: String, data: RawJSON?)
    /// Adds or removes one interest of the device.
    case interest(name: String, on: Bool)
    /// Replaces the device's interests, literally.
    case interests(replace: [String])
    /// Sets the device's push token; an empty one takes it away. `platform` is `apns`, `fcm` or `web`; nil for the one that
    /// the device has, else `apns`.
    case token(String, platform: String? = nil)
    /// Binds the device to a user by that user's own proof, or frees it.
    case user(id: String?, proof: String?)
    /// Ends the device: interests, token and user are forgotten.
    case end
    /// Takes the place of a mutation that can no longer be sent as it was.
    case void(reason: String)
    /// Cannot be understood here; never encoded by a replica. The hub answers `invalid` or `unknownOp` for it.
    case malformed(reason: String)

    /// The word on the wire.
    public var name: String {
        switch self {
        case .read: "read"
        case .seen: "seen"
        case .archive: "archive"
        case .delete: "delete"
        case .mark: "mark"
        case .preference: "preference"
        case .track: "track"
        case .interest: "interest"
        case .interests: "interests"
        case .token: "token"
        case .user: "user"
        case .end: "end"
        case .void: "void"
        case .malformed: "malformed"
        }
    }

    /// The items that it names; empty for those that name none.
    public var items: [ItemID] {
        switch self {
        case .read(let items, _, _), .seen(let items), .archive(let items, _), .delete(let items): items
        case .track(let item, _, _): [item]
        default: []
        }
    }
}
