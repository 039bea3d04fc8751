import Glibc
import Synchronization

@testable import PealHub

/// Lines that the server logged.
final class LogLines: Sendable {
    private let stored = Mutex<[String]>([])
    var lines: [String] { stored.withLock { $0 } }
    func add(_ line: String) { stored.withLock { $0.append(line) } }
    func add(_ record: HubLogRecord) { add("\(record)") }
}

/// Responders that wait for the test to answer.
final class HeldResponders: Sendable {
    private let stored = Mutex<[HTTPResponder]>([])
    func hold(_ responder: HTTPResponder) { stored.withLock { $0.append(responder) } }
    /// Waits until a responder is there and takes it.
    func next(within limit: Duration = .seconds(10)) throws -> HTTPResponder {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if let first = stored.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return first }
            sched_yield()
        }
        throw RawHTTPError(what: "no request came")
    }
}

/// A server with routes that show what the handler saw.
struct HTTPTestServer {
    let server: HTTPServer
    let log = LogLines()
    let held = HeldResponders()

    init(_ adjust: (inout HTTPServerConfiguration) -> Void = { _ in }) throws {
        var configuration = HTTPServerConfiguration()
        configuration.log = { [log] in log.add($0) }
        adjust(&configuration)
        server = try HTTPServer(configuration: configuration, handler: HTTPRouter(Self.routes(held)))
    }

    /// A connection; it keeps the server.
    func client() throws -> RawHTTPClient { try RawHTTPClient(port: server.boundPort, keeping: server) }

    private static func routes(_ held: HeldResponders) -> [HTTPRoute] {
        [
            HTTPRoute(.get, "/users/{id}") { request, respond in
                respond.send(.text(200, request.parameter("id")))
            },
            HTTPRoute(.get, "/plus/{id}") { request, respond in
                respond.send(.text(200, request.parameter("id", plusIsSpace: true)))
            },
            HTTPRoute(.get, "/users/me") { _, respond in respond.send(.text(200, "literal")) },
            HTTPRoute(.delete, "/users/{id}") { _, respond in respond.send(.empty(200)) },
            HTTPRoute(.get, "/query") { request, respond in
                respond.send(.text(200, request.query.items.map { "\($0.name)=\($0.value)" }.joined(separator: "|")))
            },
            HTTPRoute(.post, "/echo") { request, respond in
                respond.send(HTTPResponse(status: 200, contentType: nil, body: request.body))
            },
            HTTPRoute(.post, "/small", bodyLimit: 10) { request, respond in
                respond.send(.text(200, "\(request.body.count)"))
            },
            HTTPRoute(.post, "/publish_api/v1/instances/{instance}/publishes", bodyLimit: 10) { _, respond in
                respond.send(.empty(200))
            },
            HTTPRoute(.get, "/v1/thing") { _, respond in respond.send(.empty(204)) },
            HTTPRoute(.get, "/empty") { _, respond in respond.send(.empty(200)) },
            HTTPRoute(.get, "/header") { request, respond in
                respond.send(.text(200, request.headers["x-some-ID"] ?? "none"))
            },
            HTTPRoute(.get, "/peer") { request, respond in respond.send(.text(200, request.peer.address)) },
            HTTPRoute(.get, "/badheader") { _, respond in
                respond.send(.text(200, "sent", headers: ["X-Bad": "a\r\nX-Other: b", "X-Good": "c"]))
            },
            HTTPRoute(.get, "/forgotten") { _, _ in },
            HTTPRoute(.get, "/held") { _, respond in held.hold(respond) },
        ]
    }
}
