import PealModel
import PealWebSocket
import Synchronization

/// The log of an inbox as it grows, for operators.
extension NativeSurface {
    var logRoutes: [HTTPRoute] { [HTTPRoute(.get, "/v1/log") { log($0, $1) }] }

    /// Where somebody who looks on begins.
    private enum Start: Sendable {
        /// With what comes from now on.
        case head
        /// After a position.
        case after(Position)
        /// After an event of a log with an epoch.
        case event(epoch: UInt64, Position)
    }

    private func log(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            let project = try project(request)
            guard let id = request.query["inbox"] else { throw JSONBody.invalid("'inbox' is missing.") }
            let start = try Self.start(request)
            core.reader.read(
                { (reader) throws(HubStoreError) -> (InboxKey, Admission.Log)? in
                    guard let inbox = try reader.inbox(id, in: project.key) else { return nil }
                    return (inbox, try reader.log(of: inbox))
                },
                completion: { result in
                    switch result {
                    case .success(let (inbox, log)?): open(inbox, of: project, log, from: start, respond)
                    case .success(nil): respond.send(Self.missing("inbox"))
                    case .failure(let error): respond.send(HTTPSurface.native.response(to: core.failure(error)))
                    }
                })
        }
    }

    private static func start(_ request: HTTPRequest) throws(HTTPFailure) -> Start {
        if let text = request.headers["Last-Event-ID"], !text.isEmpty {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let epoch = Hex64.parse(parts[0]), let position = Position(parts[1]), position >= 0
            else { throw JSONBody.invalid("'Last-Event-ID' is not the id of an event of this path.") }
            return .event(epoch: epoch, position)
        }
        guard let text = request.query["after"] else { return .head }
        guard let position = Position(text), position >= 0 else {
            throw JSONBody.invalid("'after' is a whole number from 0.")
        }
        return .after(position)
    }

    private func open(
        _ inbox: InboxKey, of project: Project, _ log: Admission.Log, from start: Start, _ respond: HTTPResponder
    ) {
        let position: Position
        switch start {
        case .head: position = log.head
        case .after(let asked): position = min(max(asked, log.floor), log.head)
        // Another epoch is another log, and beyond the head is what this one has lost.
        case .event(let epoch, let asked):
            position = epoch == log.epoch && asked <= log.head ? max(asked, log.floor) : log.floor
        }
        let hub = core.hub
        // The hub's thread alone knows the feed; the stream knows where to ask for it.
        let place = FeedPlace()
        let stream = HTTPStream(
            drained: { place.with(hub) { hub, feed in feed.pump(in: hub) } },
            over: { place.with(hub) { hub, feed in hub.remove(feed) } })
        hub.service.post {
            hub.assumeIsolated { hub in
                let feed = LogFeed(
                    inbox: inbox, project: project.key, stream: stream, epoch: log.epoch, after: position,
                    head: log.head,
                    now: hub.clock())
                guard hub.add(feed) else {
                    return respond.send(
                        HTTPSurface.native.response(
                            to: HTTPFailure(
                                status: 503, code: "unavailable",
                                message: "There are \(Hub.feedLimit) who look on already, or the hub is stopping.",
                                headers: ["Retry-After": "5"])))
                }
                place.id.withLock { $0 = ObjectIdentifier(feed) }
                respond.send(.events(stream))
                feed.pump(in: hub)
            }
        }
    }
}

/// Which feed a stream belongs to.
private final class FeedPlace: Sendable {
    let id = Mutex<ObjectIdentifier?>(nil)

    /// Does something with the feed on the hub's thread, where it is there.
    func with(_ hub: Hub, _ body: @escaping @Sendable (isolated Hub, LogFeed) -> Void) {
        hub.service.post {
            hub.assumeIsolated { hub in
                if let feed = self.id.withLock({ $0 }).flatMap({ hub.feeds[$0] }) { body(hub, feed) }
            }
        }
    }
}
