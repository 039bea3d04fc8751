package import PealModel
import PealSQLite
import PealWebSocket
import Synchronization

/// Every route of a hub over any store, without a port: for fuzzers and tests of routes. It does no upkeep and has no sessions.
package final class HubWithoutListeners: Sendable {
    /// The routes that ``HubServer`` serves.
    package let routes: [HTTPRoute]
    /// Finds the route of a request.
    package let router: HTTPRouter

    private let service: WebSocketService
    private let core: HubCore
    private let writer: ConnectionExecutor

    /// Starts its threads. Until ``stop()`` the store is used on one of them while a request is answered, and not otherwise.
    ///
    /// - Parameters:
    ///   - store: with its projects in it.
    ///   - clock: milliseconds since 1970; called on any thread.
    ///   - log: takes a line about a mistake of ours; called on any thread.
    /// - Throws: ``HubError``: no thread, or a store that cannot be read.
    package init(
        store: any HubStore, clock: @escaping @Sendable () -> Milliseconds, log: @escaping @Sendable (String) -> Void
    ) throws(HubError) {
        do {
            let (projects, operatorHash) = try HubServer.tenants(store)
            let service = try WebSocketService(name: "peal-hub")
            let hub = Hub(service: service, reoffersLostActs: true, clock: clock, log: log)
            let writer = ConnectionExecutor(name: "peal-commit")
            let committer = Committer(store: store, executor: writer, metrics: hub.metrics) { completions, appended in
                service.post {
                    for completion in completions { completion() }
                    hub.assumeIsolated { $0.committed(appended) }
                }
            }
            let reader = LogReader(reader: try store.makeReader(), executor: ConnectionExecutor(name: "peal-read"))
            core = HubCore(
                committer: committer, reader: reader, hub: hub,
                projects: Projects(projects, operatorHash: operatorHash), clock: clock, log: log)
            self.service = service
            self.writer = writer
        } catch {
            throw HubError(message: "a hub without listeners cannot start: \(error)")
        }
        let operations = OperationsSurface(core: core, webSocketPort: 1, publicWebSocketURL: nil, usesTLS: false)
        routes = HubServer.routes(core, operations)
        router = HTTPRouter(routes)
        service.start()
        let core = core
        service.post {
            core.hub.assumeIsolated {
                $0.attach(committer: core.committer, logReader: core.reader, projects: core.projects)
            }
        }
    }

    /// Answers a request as the server does. Blocks until the answer is there; not on one of the hub's own threads.
    ///
    /// - Throws: ``HTTPTarget/Refusal``: the target cannot be decoded.
    package func answer(
        _ method: HTTPMethod, _ target: [UInt8], headers: HTTPHeaders, body: [UInt8]
    ) throws(HTTPTarget.Refusal) -> HTTPResponse {
        let head = HTTPRequestHead(
            method: method, target: try HTTPTarget(target), headers: headers,
            peer: HTTPPeer(address: "127.0.0.1", port: 1))
        if let limit = router.bodyLimit(for: head), body.count > limit {
            return router.response(to: .bodyTooLarge(limit: limit), target: head.target.raw)
        }
        return answer(HTTPRequest(head: head, body: body))
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        let answer = Mutex<HTTPResponse?>(nil)
        let done = DispatchLatch()
        let responder = HTTPResponder { response in
            answer.withLock { $0 = response ?? HTTPSurface.of(target: request.target.raw).response(to: .internalError) }
            done.open()
        }
        router.handle(request, respond: responder)
        done.wait()
        guard let response = answer.withLock({ $0 }) else { preconditionFailure("the latch opens after the answer") }
        return response
    }

    /// Ends the threads. Blocks; call once.
    package func stop() {
        let done = DispatchLatch()
        core.committer.stop { done.open() }
        done.wait()
        HubServer.end(core, service: service, writer: writer)
    }
}
