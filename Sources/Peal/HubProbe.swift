internal import PealModel
internal import PealWebSocket
internal import Synchronization

/// Looks at a hub as a stranger would: what its answers say of clock and certificate, and whether its sockets open. Nothing blocks.
package struct HubProbe: Sendable {
    /// An answer to `GET /healthz`.
    package struct Answer: Sendable {
        /// The HTTP status.
        package var status: Int
        /// The hub's clock, in whole seconds since 1970; nil where it did not say.
        package var date: Int64?
        /// The name in the certificate; nil where it has none, and without TLS.
        package var certificateName: String?
        /// Until when the certificate is good, in seconds since 1970; nil without TLS.
        package var certificateEnd: Int64?
    }

    private let hub: HubAddress
    private let authorityPath: String?

    /// The version of libwebsockets.
    package static var libraryVersion: String { webSocketLibraryVersion }

    /// A probe of a hub; nothing is sent yet.
    package init(hub: HubAddress, authorityPath: String?) {
        self.hub = hub
        self.authorityPath = authorityPath
    }

    /// One request.
    ///
    /// - Throws: ``PealError``: `unreachable`, `badURL`, `cancelled`.
    package func ask(seconds: Int) async throws(PealError) -> Answer {
        let answer = try await hub.answer(
            "GET", ["healthz"], headers: [:], body: nil, seconds: seconds, authorityPath: authorityPath)
        return Answer(
            status: answer.status, date: answer.date, certificateName: answer.certificate?.name,
            certificateEnd: answer.certificate?.end)
    }

    /// Opens a socket as a device does, and closes it before it says who it is.
    ///
    /// - Parameter url: where devices connect, as the hub says.
    /// - Throws: ``PealError``: `unreachable`, `badURL`.
    package func connect(_ url: String, seconds: Int) async throws(PealError) {
        let (events, continuation) = AsyncStream.makeStream(of: WebSocketEvent.self)
        let listener = Listener(continuation)
        // The client holds it weakly.
        defer { withExtendedLifetime(listener) {} }
        do throws(WebSocketError) {
            let client = WebSocketClient(service: try SocketService.shared(), handler: listener)
            var configuration = WebSocketClientConfiguration(url: url, subprotocol: wireSubprotocol)
            configuration.authorityPath = authorityPath
            configuration.proxy = hub.proxy?.address
            configuration.connectTimeoutSeconds = seconds
            try client.connect(configuration)
            var problem = "it did not open"
            loop: for await event in events {
                switch event {
                case .opened:
                    client.close(code: 1000, reason: "")
                    return
                case .closed(_, let reason):
                    problem = reason
                    break loop
                default: continue
                }
            }
            throw WebSocketError(.lost, problem)
        } catch {
            let code: PealError.Code = error.code == .url ? .badURL : .unreachable
            throw PealError(code, "the socket at \(url) does not open: \(error.message)")
        }
    }

    private final class Listener: WebSocketClientHandler {
        private let continuation: AsyncStream<WebSocketEvent>.Continuation
        init(_ continuation: AsyncStream<WebSocketEvent>.Continuation) { self.continuation = continuation }
        func received(_ events: [WebSocketEvent]) { for event in events { continuation.yield(event) } }
    }
}
