internal import Foundation
internal import PealModel
internal import PealWebSocket

/// The hub's HTTP side: a typed call for every route of schema/rest/openapi.yaml, for servers and tools that publish or want no replica.
///
/// A value; make as many as there are credentials. Each call is one request, none is repeated by itself, and none blocks; all are callable from
/// anywhere. A cancelled task drops its request: whether the hub did it is not known then, nor after `unreachable`, so what must happen once is
/// called through ``once(_:)``.
///
/// Every call throws ``PealError``: `unreachable`; `badURL`; `refused` with ``PealError/status``, the hub's sentence, which names the member or the
/// limit, ``PealError/hubCode`` and ``PealError/retryAfter``; `invalid` where the credentials are not for the call; `notAHub` where an answer
/// cannot be read; `cancelled`.
public struct HubAPI: Sendable {
    /// The hub.
    public let hub: HubAddress
    /// Who calls.
    public let credentials: HubCredentials
    /// A PEM file of certificate authorities in place of the system's.
    public let authorityPath: String?
    /// Seconds for a request, for each address of the hub's name; 30 by default.
    public var timeoutSeconds = 30
    private var idempotencyKey: String?
    /// Told of each answer: the route, as the hub's description names it, the status and the time. Never what was sent or answered.
    package var told: (@Sendable (String) -> Void)?
    /// Told of each call; for tests.
    var traced: (@Sendable (HubOperation) -> Void)?

    /// Calls to a hub. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - hub: the hub, and the proxy before it.
    ///   - credentials: who calls; ``HubCredentials/nobody`` by default.
    ///   - authorityPath: a PEM file of certificate authorities in place of the system's.
    public init(hub: HubAddress, credentials: HubCredentials = .nobody, authorityPath: String? = nil) {
        self.hub = hub
        self.credentials = credentials
        self.authorityPath = authorityPath
    }

    /// The same calls under an idempotency key: the hub carries one request of a key out once in 24 hours and gives its first answer again; another
    /// request under the same key is `refused` (409). It counts for sending, publishing, acting on items, and making users and projects.
    ///
    /// - Parameter key: 1 to 255 characters.
    public func once(_ key: String) -> HubAPI {
        var copy = self
        copy.idempotencyKey = key
        return copy
    }

    // MARK: One request

    struct Request: Sendable {
        var parameters: [String] = []
        var query: [(String, String?)] = []
        var headers: [String: String] = [:]
        var body: JSON?
    }

    /// The instance id of the credentials.
    func instance() throws(PealError) -> String {
        if let instance = credentials.instance { return instance }
        throw PealError(.invalid, "this call needs credentials with an instance id, not those of \(credentials)")
    }

    private func prepared(
        _ operation: HubOperation, _ request: Request
    ) throws(PealError) -> (method: String, path: [String], query: [(String, String)], headers: [String: String]) {
        guard var headers = credentials.headers(for: operation.caller) else {
            throw PealError(.invalid, "\(operation.rawValue) is not for \(credentials)")
        }
        headers.merge(request.headers) { $1 }
        let words = operation.route.split(separator: " ")
        if words[0] == "POST", let idempotencyKey { headers["Idempotency-Key"] = idempotencyKey }
        var parameters = request.parameters[...]
        var path: [String] = []
        for segment in words[1].split(separator: "/") {
            guard segment.hasPrefix("{") else {
                path.append(String(segment))
                continue
            }
            guard let value = parameters.popFirst(), !value.isEmpty else {
                throw PealError(.invalid, "\(segment.dropFirst().dropLast()) is empty")
            }
            path.append(value)
        }
        let query = request.query.compactMap { pair in pair.1.map { (pair.0, $0) } }
        return (String(words[0]), path, query, headers)
    }

    /// Carries out an operation; the hub's answer where it did what was asked.
    @discardableResult
    func call(_ operation: HubOperation, _ request: Request = Request()) async throws(PealError) -> [UInt8] {
        try await call(operation, request, onBytes: nil)
    }

    func call(
        _ operation: HubOperation, _ request: Request, onBytes: (@Sendable ([UInt8]) -> Void)?
    ) async throws(PealError) -> [UInt8] {
        let (method, path, query, headers) = try prepared(operation, request)
        traced?(operation)
        let begin = ContinuousClock.now
        func tell(_ end: String) {
            let tenths = (begin.duration(to: .now) / .microseconds(100)).rounded()
            told?("\(operation.route): \(end) in \(tenths / 10) ms")
        }
        let answer: HTTPClientAnswer
        do throws(PealError) {
            answer = try await hub.answer(
                method, path, query: query, headers: headers, body: request.body?.bytes, seconds: timeoutSeconds,
                authorityPath: authorityPath, onBytes: onBytes)
        } catch {
            tell("\(error.code.rawValue)")
            throw error
        }
        tell("\(answer.status)")
        guard (200..<300).contains(answer.status) else { throw Self.refusal(answer) }
        return answer.body
    }

    /// The same, and reads the answer.
    func call<T>(
        _ operation: HubOperation, _ request: Request = Request(), _ read: (JSON) throws(ShapeError) -> T
    ) async throws(PealError) -> T {
        let bytes = try await call(operation, request)
        do throws(ShapeError) {
            guard let json = try? JSON(bytes[...]) else { throw ShapeError(member: "it") }
            return try read(json)
        } catch {
            throw PealError(
                .notAHub, "the hub's answer to \(operation.route) cannot be read: \(error.member) is not as expected")
        }
    }

    private static func refusal(_ answer: HTTPClientAnswer) -> PealError {
        let body = try? JSON(answer.body[...])
        // Three families of routes, three shapes of an error.
        let first = body?["errors"]?.arrayValue?.first ?? body?["error"]
        let sentences = body?["errors"]?.arrayValue?.compactMap { $0["message"]?.stringValue }.joined(separator: " ")
        let message =
            body?["description"]?.stringValue ?? sentences ?? first?["message"]?.stringValue ?? "no reason was given"
        return PealError(
            .refused, "the hub refused (\(answer.status)): \(message)", status: answer.status,
            hubCode: first?["code"]?.stringValue, retryAfter: answer.retryAfterSeconds)
    }
}

/// An answer is not as the hub's description says.
struct ShapeError: Error {
    /// The member that is not there, or is of another kind.
    var member: String
}

extension JSON {
    func member(_ key: String) throws(ShapeError) -> JSON {
        if let value = self[key] { return value }
        throw ShapeError(member: key)
    }

    func text(_ key: String) throws(ShapeError) -> String {
        if let value = self[key]?.stringValue { return value }
        throw ShapeError(member: key)
    }

    func whole(_ key: String) throws(ShapeError) -> Int {
        if let value = self[key]?.intValue { return Int(value) }
        throw ShapeError(member: key)
    }

    func flag(_ key: String) throws(ShapeError) -> Bool {
        if let value = self[key]?.boolValue { return value }
        throw ShapeError(member: key)
    }

    /// Of seconds since 1970.
    func date(_ key: String) throws(ShapeError) -> Date { Date(timeIntervalSince1970: Double(try whole(key))) }

    /// Nil where the member is absent or null.
    func anyDate(_ key: String) -> Date? { self[key]?.intValue.map { Date(timeIntervalSince1970: Double($0)) } }

    func list<T>(_ key: String, _ read: (JSON) throws(ShapeError) -> T) throws(ShapeError) -> [T] {
        guard let values = self[key]?.arrayValue else { throw ShapeError(member: key) }
        var all: [T] = []
        for value in values { all.append(try read(value)) }
        return all
    }

    func texts(_ key: String) throws(ShapeError) -> [String] {
        try list(key) { (value) throws(ShapeError) in
            guard let text = value.stringValue else { throw ShapeError(member: key) }
            return text
        }
    }
}

extension JSON {
    /// An object of the members that are there.
    static func members(_ members: [(String, JSON?)]) -> JSON {
        .object(members.compactMap { (member) in member.1.map { (key: member.0, value: $0) } })
    }

    static func text(_ text: String?) -> JSON? { text.map(JSON.string) }

    static func whole(_ number: Int?) -> JSON? { number.map { .number(String($0)) } }

    /// Whole seconds since 1970.
    static func seconds(_ date: Date?) -> JSON? {
        date.map { .number(String(Int64(min(max($0.timeIntervalSince1970, 0), 9e15).rounded(.down)))) }
    }

    static func texts(_ texts: [String]) -> JSON { .array(texts.map(JSON.string)) }
}
