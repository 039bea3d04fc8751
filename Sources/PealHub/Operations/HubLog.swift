import PealModel

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How much a line matters; the raw values are syslog's.
public enum HubLogLevel: Int, Sendable, Comparable, CaseIterable {
    /// Something failed and somebody has to look.
    case error = 3
    /// Something is wrong, and the hub goes on.
    case warning = 4
    /// What an operator wants to know without a reason: start and stop.
    case notice = 5
    /// Each request.
    case info = 6
    /// What only who looks for a mistake wants.
    case debug = 7

    /// The word.
    public var name: String { String(describing: self) }

    /// A level of its word, nil for another one.
    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    /// Less is worse.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A line for the operator. It never holds a secret, a token, a body, a query or a name of a user.
public struct HubLogRecord: Sendable, Equatable, CustomStringConvertible {
    /// A named value beside the sentence.
    public struct Field: Sendable, Equatable {
        /// A word of lower-case letters.
        public var name: String
        /// Any text.
        public var value: String
    }

    /// How much it matters.
    public var level: HubLogLevel
    /// What happened.
    public var message: String
    /// More about it, in order.
    public var fields: [Field]

    /// A record of its parts.
    public init(_ level: HubLogLevel, _ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        self.level = level
        self.message = message
        self.fields = fields.map { Field(name: $0.key, value: $0.value) }
    }

    /// The sentence with its fields, as in the text form, without time and level.
    public var description: String {
        fields.reduce(Self.oneLine(message)) { $0 + " \($1.name)=\(Self.quoted($1.value))" }
    }

    /// How records are written.
    public enum Format: String, Sendable, CaseIterable {
        /// `2026-11-30T12:00:00.000Z warning: SENTENCE NAME=VALUE …`
        case text
        /// One JSON object a line: `time`, `level`, `message`, then the fields.
        case json
        /// `<4>SENTENCE NAME=VALUE …`: the journal takes the priority from the prefix and adds the time itself.
        case journald
    }

    /// The record as one line, without the line feed.
    ///
    /// - Parameter time: milliseconds since 1970.
    public func line(_ format: Format, time: Int64) -> String {
        switch format {
        case .text: return "\(Self.timestamp(time)) \(level.name): \(description)"
        case .journald: return "<\(level.rawValue)>\(description)"
        case .json:
            let members = [("time", Self.timestamp(time)), ("level", level.name), ("message", message)]
            let all = members + fields.map { ($0.name, $0.value) }
            func quoted(_ text: String) -> String { String(decoding: JSON.string(text).bytes, as: UTF8.self) }
            return "{" + all.map { "\(quoted($0.0)):\(quoted($0.1))" }.joined(separator: ",") + "}"
        }
    }

    /// A line feed in a value must not begin a line of its own.
    private static func oneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else { return text }
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }

    private static func quoted(_ text: String) -> String {
        let text = oneLine(text)
        guard text.isEmpty || text.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else { return text }
        return "\"" + text.replacing("\"", with: "'") + "\""
    }

    /// RFC 3339 in UTC, to the millisecond.
    private static func timestamp(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let fraction = String(1_000 + milliseconds % 1_000).dropFirst()
        return "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):"
            + "\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)Z"
    }
}

extension HubLogRecord {
    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// The line of an answered request. It names the route's pattern: a path can hold a token or a user's address.
    init(_ answered: HTTPAnswered, pattern: String?) {
        let method = answered.head?.method.rawValue ?? "-"
        let (seconds, attoseconds) = answered.duration.components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        self.init(
            answered.status >= 500 && answered.status != 503 ? .error : .info, "request",
            [
                "request": answered.requestID, "method": Self.methods.contains(method) ? method : "-",
                "route": pattern ?? "-", "status": "\(answered.status)", "bytes": "\(answered.bytes)",
                "us": "\(microseconds)", "peer": answered.peer,
            ])
    }
}
