import PealHub
import PealHubMemory
import PealModel
import Synchronization

/// A hub that answers requests of the fuzzer, one input at a time.
///
/// A request: the route; who asks (bits 0–1: 3 for a wrong secret; 2: another content type; 3: a user by email; 4: a user from the
/// input, up to a line feed); a byte for each parameter of the path, which names one that is there, or from 128 on takes a line of
/// the input; a line for the query; the rest is the body.
final class HTTPFuzz: @unchecked Sendable {
    // An input is run on one thread; the hub's threads use the store only while a request is answered.
    static let shared = HTTPFuzz()
    static let now: Milliseconds = 1_700_000_000_000

    let hub: HubWithoutListeners
    private let store: MemoryHubStore
    private let base: MemoryHubStore.State
    private let statuses = DocumentedStatuses()
    private let known: [String]
    private static let lines = Mutex<[String]>([])

    private init() {
        do {
            let world = try HTTPFuzzWorld.make()
            store = world.store
            known = world.known
            hub = try HubWithoutListeners(
                store: world.store, clock: { Self.now }, log: { line in Self.lines.withLock { $0.append(line) } })
            base = world.store.snapshot()
        } catch {
            preconditionFailure("a hub over a fresh store starts: \(error)")
        }
    }

    func run(_ bytes: [UInt8]) -> String? {
        store.restore(base)
        for request in bytes.split(separator: 0xFF, maxSplits: 3, omittingEmptySubsequences: true) {
            var request = FuzzRequest(Array(request))
            if let problem = run(&request) { return problem }
        }
        return nil
    }

    private func run(_ request: inout FuzzRequest) -> String? {
        let route = hub.routes[request.input.index(below: hub.routes.count)]
        let flags = request.input.byte()
        var target: [UInt8] = []
        for part in route.pattern.split(separator: "/") {
            target.append(UInt8(ascii: "/"))
            target +=
                part.hasPrefix("{") ? request.parameter(part == "{instance}" ? ["instance"] : known) : Array(part.utf8)
        }
        let headers = request.headers(flags)
        let query = request.line()
        if !query.isEmpty { target += [UInt8(ascii: "?")] + query }
        let body = request.rest()
        Self.lines.withLock { $0 = [] }
        guard let response = try? hub.answer(route.method, target, headers: headers, body: body) else { return nil }
        return judge(response, route)
    }

    private func judge(_ response: HTTPResponse, _ route: HTTPRoute) -> String? {
        let place = "\(route.method.rawValue) \(route.pattern)"
        if response.status >= 500 {
            return "\(place) answers \(response.status): \(Self.lines.withLock { $0.joined(separator: "; ") })"
        }
        guard statuses.has(response.status, route.method.rawValue, route.pattern.replacing("*}", with: "}")) else {
            return "\(place) answers \(response.status), which is not documented"
        }
        guard response.contentType?.hasPrefix("application/json") == true else { return nil }
        guard let json = try? JSON(response.body[...]) else { return "\(place) answers what is no JSON" }
        let isError = json["error"] != nil || json["errors"] != nil
        return isError == (response.status >= 400)
            ? nil : "\(place) answers \(response.status) in the shape of the other"
    }
}

/// One request of an input.
struct FuzzRequest {
    var input: FuzzInput

    init(_ bytes: [UInt8]) { input = FuzzInput(bytes) }

    /// Up to the next line feed.
    mutating func line() -> [UInt8] {
        var line: [UInt8] = []
        while !input.isEmpty {
            let byte = input.byte()
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        return line
    }

    mutating func rest() -> [UInt8] { Array(input.take(.max)) }

    mutating func parameter(_ known: [String]) -> [UInt8] {
        let choice = input.byte()
        return choice < 128 ? Array(known[Int(choice) % known.count].utf8) : line()
    }

    mutating func headers(_ flags: UInt8) -> HTTPHeaders {
        let secret = flags & 3 == 3 ? "wrong" : "secret"
        var headers: HTTPHeaders = [
            "Host": "127.0.0.1:8080", "X-MAGICBELL-API-KEY": "key", "X-MAGICBELL-API-SECRET": secret,
            "Authorization": "Bearer \(secret)",
            "Content-Type": flags & 4 == 0 ? "application/json; charset=utf-8" : "text/plain",
        ]
        if flags & 8 == 0 {
            headers.add("X-MAGICBELL-USER-EXTERNAL-ID", "mary")
        } else {
            headers.add("X-MAGICBELL-USER-EMAIL", "Mary@example.org")
        }
        if flags & 16 != 0 {
            let text = String(decoding: line(), as: UTF8.self)
            headers["X-MAGICBELL-USER-EXTERNAL-ID"] = text
            headers.add("Idempotency-Key", text)
        }
        return headers
    }
}
