extension DownFrame {
    /// Decodes a frame from the hub. Entries of a batch stay raw bytes that share the frame's storage.
    ///
    /// - Throws: ``FrameError`` for bytes that are no JSON object, a missing or wrong member. A frame of a type that this version does
    ///   not know is ``unknown(type:)``, and is to be ignored.
    public init(_ bytes: RawJSON) throws(FrameError) {
        do throws(JSONError) {
            self = try Self.decode(JSONObject(bytes))
        } catch {
            throw FrameError(.protocolError, error.reason)
        }
    }

    private static func decode(_ object: JSONObject) throws(JSONError) -> DownFrame {
        switch try object.required("type", object.string("type")) {
        case "batch": return .batch(try Batch(object))
        case "welcome": return .welcome(try Welcome(object))
        case "page": return .page(try Page(object))
        case "settled":
            return .settled(
                try [Settled](object.required("settled", object.array("settled"))),
                at: try object.required("at", object.int("at")))
        case "busy": return .busy(retryAfter: try object.required("retryAfter", object.int("retryAfter")))
        case "renew": return .renew(in: try object.required("in", object.int("in")))
        case "renewed": return .renewed(expires: try object.required("expires", object.int("expires")))
        case "drain":
            let spread = try object.required("spread", object.array("spread")).map { JSON.int(of: $0) }
            guard spread.count == 2, let low = spread[0], let high = spread[1], low >= 0, high >= low,
                high <= JSONObject.largestInt
            else {
                throw JSONError("'spread' is no range")
            }
            return .drain(low: low, high: high)
        case "ping": return .ping
        case "pong": return .pong
        case "error":
            return .error(
                code: try object.required("code", object.string("code")), retry: try object.bool("retry") ?? false,
                message: try object.string("message") ?? "", last: try object.int("last"))
        case let word: return .unknown(type: word)
        }
    }

    /// The encoded frame.
    public var bytes: [UInt8] {
        var writer = JSONWriter(capacity: sizeHint)
        writer.beginObject()
        switch self {
        case .welcome(let welcome): welcome.write(to: &writer)
        case .batch(let batch): batch.write(to: &writer)
        case .page(let page): page.write(to: &writer)
        case .settled(let settled, let position):
            writer.member("type", "settled")
            writer.key("settled")
            settled.write(to: &writer)
            writer.member("at", position)
        case .busy(let retryAfter):
            writer.member("type", "busy")
            writer.member("retryAfter", retryAfter)
        case .renew(let seconds):
            writer.member("type", "renew")
            writer.member("in", seconds)
        case .renewed(let expires):
            writer.member("type", "renewed")
            writer.member("expires", expires)
        case .drain(let low, let high):
            writer.member("type", "drain")
            writer.key("spread")
            writer.beginArray()
            writer.int(low)
            writer.int(high)
            writer.endArray()
        case .ping: writer.member("type", "ping")
        case .pong: writer.member("type", "pong")
        case .error(let code, let retry, let message, let last):
            writer.member("type", "error")
            writer.member("code", code)
            writer.member("retry", retry)
            writer.member("message", message)
            writer.member("last", last)
        case .unknown(let type): writer.member("type", type)
        }
        writer.endObject()
        return writer.bytes
    }
}

extension DownFrame {
    /// A guess at its bytes: a page is large, and growing into it would copy it over and over.
    private var sizeHint: Int {
        guard case .page(let page) = self else { return 256 }
        return page.rows.reduce(1_024) { $0 + $1.body.count + 180 }
    }
}

extension Batch {
    init(_ object: JSONObject) throws(JSONError) {
        self.init(
            session: try object.hex("session"), from: try object.required("from", object.int("from")),
            to: try object.required("to", object.int("to")), chain: try object.hex("chain"),
            entries: try object.required("entries", object.array("entries")), sum: try object.optionalHex("sum"))
        guard from >= 0, to > from, Int64(entries.count) == to - from else {
            throw JSONError("'entries' has \(entries.count) for (\(from), \(to)]")
        }
    }

    /// Appends the bytes of a frame before its entries; the hub's hot path, which makes no string on the way. The entries
    /// follow, with commas between them, and then ``tail``. The whole is what ``DownFrame/bytes`` gives.
    public static func appendHead(
        session: UInt64, from: Position, to: Position, chain: UInt64, sum: UInt64?, into bytes: inout [UInt8]
    ) {
        bytes.append(contentsOf: #"{"type":"batch","session":""#.utf8)
        Hex64.append(session, to: &bytes)
        bytes.append(contentsOf: #"","from":"#.utf8)
        appendDecimal(from, to: &bytes)
        bytes.append(contentsOf: #","to":"#.utf8)
        appendDecimal(to, to: &bytes)
        bytes.append(contentsOf: #","chain":""#.utf8)
        Hex64.append(chain, to: &bytes)
        if let sum {
            bytes.append(contentsOf: #"","sum":""#.utf8)
            Hex64.append(sum, to: &bytes)
        }
        bytes.append(contentsOf: #"","entries":["#.utf8)
    }

    /// What follows the entries of a frame.
    public static let tail: [UInt8] = Array("]}".utf8)

    private static func appendDecimal(_ value: Int64, to bytes: inout [UInt8]) {
        if value >= 10 { appendDecimal(value / 10, to: &bytes) }
        bytes.append(0x30 + UInt8(value % 10))
    }

    /// Writes the members.
    func write(to writer: inout JSONWriter) {
        writer.member("type", "batch")
        writer.member("session", Hex64.text(session))
        writer.member("from", from)
        writer.member("to", to)
        writer.member("chain", Hex64.text(chain))
        writer.member("sum", sum.map(Hex64.text))
        writer.key("entries")
        writer.beginArray()
        for entry in entries { writer.raw(entry) }
        writer.endArray()
    }
}

extension Welcome {
    init(_ object: JSONObject) throws(JSONError) {
        let word = try object.required("mode", object.string("mode"))
        guard let mode = Admission.Mode(rawValue: word) else { throw JSONError("'mode' is none that is known") }
        self.init(
            session: try object.hex("session"), mode: mode, epoch: try object.hex("epoch"),
            inbox: try object.required("inbox", object.string("inbox")),
            head: try object.required("head", object.int("head")), lastN: try object.int("lastN") ?? 0,
            lastUID: try object.optionalHex("lastUid"), settled: try [Settled](object.array("settled") ?? []),
            attempt: try object.required("attempt", object.int("attempt")),
            nonce: try object.required("nonce", object.string("nonce")), secret: try object.string("secret"),
            time: try object.required("time", object.int("time")),
            heartbeat: try object.int("heartbeat") ?? Limits.heartbeatSeconds,
            reoffer: try object.bool("reoffer") ?? true)
    }

    func write(to writer: inout JSONWriter) {
        writer.member("type", "welcome")
        writer.member("v", wireVersion)
        writer.member("session", Hex64.text(session))
        writer.member("mode", mode.rawValue)
        writer.member("epoch", Hex64.text(epoch))
        writer.member("inbox", inbox)
        writer.member("head", head)
        writer.member("lastN", lastN)
        writer.member("lastUid", lastUID.map(Hex64.text))
        writer.key("settled")
        settled.write(to: &writer)
        writer.member("attempt", attempt)
        writer.member("nonce", nonce)
        writer.member("secret", secret)
        writer.member("time", time)
        writer.member("heartbeat", heartbeat)
        if !reoffer { writer.member("reoffer", false) }
        writer.key("limits")
        writer.beginObject()
        writer.member("frameUp", Int64(Limits.frameUp))
        writer.member("frameDown", Int64(Limits.frameDown))
        writer.member("mutationsPerPush", Int64(Limits.mutationsPerPush))
        writer.member("itemsPerMutation", Int64(Limits.itemsPerMutation))
        writer.endObject()
    }
}

extension [Settled] {
    init(_ elements: [RawJSON]) throws(JSONError) {
        self = []
        for element in elements {
            let object = try JSONObject(element)
            append(
                Settled(
                    n: try object.required("n", object.int("n")), uid: try object.hex("uid"),
                    outcome: try Outcome(object.required("outcome", object.object("outcome")))))
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for settled in self {
            writer.beginObject()
            writer.member("n", settled.n)
            writer.member("uid", Hex64.text(settled.uid))
            writer.key("outcome")
            settled.outcome.write(to: &writer)
            writer.endObject()
        }
        writer.endArray()
    }
}
