import PealModel

/// What a hub lets its clients use up: every figure of it, with what happens beyond. Those that both ends keep are
/// ``PealModel/Limits``. The table of docs/operations.md is ``table``; a test compares them.
public struct HubLimits: Sendable {
    // MARK: What an operator may set

    /// Open HTTP connections. Beyond: they wait in the system's queue.
    public var connections = 1_024
    /// Open HTTP connections of one address; 0 for no limit. Beyond: closed at once.
    public var connectionsPerAddress = 0
    /// HTTP requests a second of one address, and twice as many at once; 0 for no limit. Beyond: 429 with Retry-After.
    public var requestsPerAddress = 0
    /// HTTP requests a second in the name of a project, and twice as many at once; those that bring its secret count by themselves, so
    /// that a public key cannot use up what its back end needs. 0 for no limit. Beyond: 429 with Retry-After.
    public var requestsPerProject = 2_000
    /// Open sockets of devices. Beyond: 503 to the handshake.
    public var sockets = 100_000
    /// Open sockets of one address; 0 for no limit. Beyond: close code 4029.
    public var socketsPerAddress = 0
    /// Seconds that a new HTTP connection may take until its first request's head is there, handshake included. Beyond: closed.
    public var headSeconds = 20
    /// Seconds from an answer to the end of the next request's head. Beyond: closed.
    public var idleSeconds = 60
    /// Seconds that a body may take from the head to its last byte. Beyond: closed.
    public var bodySeconds = 60
    /// Seconds that a client may take to read an answer. Beyond: closed.
    public var answerSeconds = 60
    /// Handshakes of sockets that are under way. Beyond: the oldest is closed, since who really connects is done within a moment.
    public var handshakes = 1_000
    /// Seconds from the connection of a socket to the end of its handshake, TLS included. Beyond: closed.
    public var handshakeSeconds = 10
    /// Frames a second of one socket, and five times as many at once. Beyond: close code 4029.
    public var framesPerSecond = 1_000

    /// The defaults. Limits of one address are off: behind a proxy, and on loopback, all clients share one.
    public init() {}

    /// The defaults for a listener that clients reach themselves, without a proxy.
    public static var open: HubLimits {
        var limits = HubLimits()
        limits.connectionsPerAddress = 128
        limits.requestsPerAddress = 200
        limits.socketsPerAddress = 1_000
        return limits
    }

    // MARK: What is fixed

    /// Bytes of the request line and the header fields, each with its line's end. Beyond: 431, and the connection is closed.
    static let headers = 16 * 1024
    /// Header fields. The library keeps a record of each, in memory that bounds them together with ``headers``. Beyond: 431, and the
    /// connection is closed.
    static let headerFields = 100
    /// Bytes of a body, unless a route has less. Beyond: 413.
    static let body = 256 * 1024
    /// Bytes of a publish to interests. Beyond: 400.
    static let interestsBody = 10 * 1024
    /// Bytes of a publish to users. Beyond: 400.
    static let usersBody = 200 * 1024
    /// Bytes of a refused body that are read and dropped, so that the connection stays usable. Beyond: closed.
    static let drainedBody = 4 * 1024 * 1024
    /// Characters of an Idempotency-Key. Beyond: 400.
    static let idempotencyKey = 255
    /// Requests that wait for the store's writer. Beyond: 503 with Retry-After, and `busy` to a push.
    static let waiting = 10_000
    /// What one transaction takes: mutations, or inboxes of a publish.
    static let transaction = 500
    /// Milliseconds in which a socket must say hello. Beyond: close code 4203.
    static let hello: Milliseconds = 10_000
    /// Seconds of silence after which a socket counts as lost; a ping goes after ``PealModel/Limits/heartbeatSeconds``.
    static let silenceSeconds = Int(Limits.heartbeatSeconds) * 3 / 2
    /// How many times the rate of a second may come at once.
    static let requestBurst = 2
    static let frameBurst = 5
    /// Addresses, and projects, whose rate is remembered: more begin anew.
    static let remembered = 50_000
}

extension HubLimits {
    /// One row of the table for operators.
    struct Row {
        /// What is counted.
        let what: String
        /// The figure, with its unit.
        let limit: String
        /// What happens beyond.
        let beyond: String
        /// The option that sets it.
        var option: String?
    }

    /// Every limit, as docs/operations.md shows them.
    static var table: [Row] { http + content + devices }

    private static func number(_ value: some BinaryInteger) -> String {
        var digits = String(value)
        var grouped = ""
        while digits.count > 3 {
            grouped = "," + digits.suffix(3) + grouped
            digits.removeLast(3)
        }
        return digits + grouped
    }

    private static func bytes(_ value: Int) -> String {
        value % 1_048_576 == 0 ? "\(value / 1_048_576) MiB" : "\(value / 1_024) KiB"
    }

    private static func perAddress(_ key: KeyPath<HubLimits, Int>, _ unit: String = "") -> String {
        "\(number(open[keyPath: key]))\(unit) where others reach the listener without a proxy, else none"
    }

    private static var http: [Row] {
        let limits = HubLimits()
        return [
            Row(
                what: "HTTP connections", limit: number(limits.connections), beyond: "they wait", option: "connections"),
            Row(
                what: "HTTP connections of an address", limit: perAddress(\.connectionsPerAddress), beyond: "closed",
                option: "connections-per-address"),
            Row(
                what: "requests of an address", limit: perAddress(\.requestsPerAddress, " a second"),
                beyond: "429 with Retry-After", option: "requests-per-address"),
            Row(
                what: "requests of a project; with its secret, and without",
                limit: "\(number(limits.requestsPerProject)) a second each",
                beyond: "429 with Retry-After", option: "requests-per-project"),
            Row(what: "request line and headers", limit: bytes(headers), beyond: "431, closed"),
            Row(what: "header fields", limit: number(headerFields), beyond: "431, closed"),
            Row(what: "time for the first request's head", limit: "\(limits.headSeconds) s", beyond: "closed"),
            Row(
                what: "time from an answer to the next request's head", limit: "\(limits.idleSeconds) s",
                beyond: "closed"),
            Row(what: "time for a body", limit: "\(limits.bodySeconds) s", beyond: "closed"),
            Row(what: "time to read an answer", limit: "\(limits.answerSeconds) s", beyond: "closed"),
            Row(what: "body of a publish to interests", limit: bytes(interestsBody), beyond: "400"),
            Row(what: "body of a publish to users", limit: bytes(usersBody), beyond: "400"),
            Row(what: "any other body", limit: bytes(body), beyond: "413"),
            Row(what: "a refused body, read and dropped", limit: bytes(drainedBody), beyond: "closed"),
            Row(what: "Idempotency-Key", limit: "\(idempotencyKey) characters", beyond: "400"),
            Row(
                what: "requests that wait for the store", limit: number(waiting),
                beyond: "503 with Retry-After; a device is told to wait"),
        ]
    }

    private static var content: [Row] {
        [
            Row(what: "an item, a catalogue", limit: bytes(Limits.item), beyond: "422"),
            Row(what: "title", limit: "\(Limits.title) characters", beyond: "422"),
            Row(what: "category, topic", limit: "\(Limits.category) characters", beyond: "422"),
            Row(what: "action URL", limit: "\(number(Limits.url)) characters", beyond: "422"),
            Row(what: "custom attributes", limit: bytes(Limits.attributes), beyond: "422"),
            Row(what: "email, external id", limit: "\(Limits.identity) characters", beyond: "422; close code 4204"),
            Row(what: "name of a person", limit: "\(Limits.personName) characters", beyond: "422"),
            Row(
                what: "interest, user id of the interests surface", limit: "\(Limits.interest) characters",
                beyond: "422"),
            Row(what: "recipients of a publish", limit: number(Limits.usersPerPublish), beyond: "422"),
            Row(what: "interests of a publish", limit: number(Limits.interestsPerPublish), beyond: "422"),
            Row(
                what: "interests of a device", limit: number(Limits.interestsPerDevice),
                beyond: "422; outcome `tooLarge`"),
            Row(what: "devices of a user", limit: number(Limits.devicesPerUser), beyond: "422; outcome `tooLarge`"),
            Row(
                what: "preferences of a user", limit: number(Limits.preferenceCells), beyond: "403; outcome `tooLarge`"),
        ]
    }

    private static var devices: [Row] {
        let limits = HubLimits()
        return [
            Row(
                what: "sockets", limit: number(limits.sockets), beyond: "503 with Retry-After to the handshake",
                option: "sockets"),
            Row(
                what: "sockets of an address", limit: perAddress(\.socketsPerAddress), beyond: "close code 4029",
                option: "sockets-per-address"),
            Row(
                what: "handshakes of sockets under way", limit: number(limits.handshakes),
                beyond: "the oldest is closed"),
            Row(what: "time for a socket's handshake", limit: "\(limits.handshakeSeconds) s", beyond: "closed"),
            Row(what: "sessions of a replica", limit: "1", beyond: "the older one is closed with 4105"),
            Row(what: "a socket that says no hello", limit: "\(hello / 1_000) s", beyond: "close code 4203"),
            Row(what: "hellos of a socket that are too low", limit: "3", beyond: "close code 4029"),
            Row(what: "a frame from a device", limit: bytes(Limits.frameUp), beyond: "close code 4104"),
            Row(what: "a frame to a device", limit: bytes(Limits.frameDown), beyond: "the next frame takes the rest"),
            Row(
                what: "frames from a socket", limit: "\(number(limits.framesPerSecond)) a second",
                beyond: "close code 4029"),
            Row(what: "mutations of a push", limit: number(Limits.mutationsPerPush), beyond: "close code 4203"),
            Row(what: "items of a mutation", limit: number(Limits.itemsPerMutation), beyond: "outcome `tooLarge`"),
            Row(what: "pushes in flight of a session", limit: "1", beyond: "it is told to wait (`busy`)"),
            Row(
                what: "answers that a device does not read", limit: "\(HubSession.readyLimit)",
                beyond: "close code 4029"),
            Row(
                what: "entries that a session has not acknowledged",
                limit: "\(number(Limits.windowEntries)), \(bytes(Limits.windowBytes))",
                beyond: "nothing is sent; after \(HubSession.creditPatience / 1_000) s close code 4008"),
            Row(what: "silence of a socket", limit: "\(silenceSeconds) s", beyond: "it counts as lost"),
        ]
    }

    /// The table as the page has it.
    static var markdown: String {
        let rows = table.map { row in
            "| \(row.what) | \(row.limit) | \(row.beyond) | \(row.option.map { "`--\($0)`" } ?? "") |\n"
        }
        return "| what | limit | beyond | option |\n|---|---|---|---|\n" + rows.joined()
    }
}
