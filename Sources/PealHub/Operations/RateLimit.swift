import PealModel
import Synchronization

/// Lets requests through to the router, so many a second of an address and of a project; more get 429 with `Retry-After`. Only a
/// project that there is has a count of its own, so names that somebody makes up take no memory.
struct RateLimit: HTTPHandler {
    /// Those who have a project's secret, and those who have its public key only.
    private struct Share: Hashable {
        var project: ProjectKey
        var hasSecret: Bool
    }

    private struct State {
        var addresses: TokenBuckets<String>
        var projects: TokenBuckets<Share>
    }

    private final class Box: Sendable {
        let state: Mutex<State>
        init(_ state: State) { self.state = Mutex(state) }
    }

    private let router: HTTPRouter
    private let core: HubCore
    private let box: Box

    init(_ limits: HubLimits, router: HTTPRouter, core: HubCore) {
        self.router = router
        self.core = core
        box = Box(
            State(
                addresses: TokenBuckets(
                    rate: limits.requestsPerAddress, burst: HubLimits.requestBurst, remembered: HubLimits.remembered),
                projects: TokenBuckets(
                    rate: limits.requestsPerProject, burst: HubLimits.requestBurst, remembered: HubLimits.remembered)))
    }

    func bodyLimit(for head: HTTPRequestHead) -> Int? { router.bodyLimit(for: head) }

    func response(to failure: HTTPFailure, target: String) -> HTTPResponse {
        router.response(to: failure, target: target)
    }

    func handle(_ request: HTTPRequest, respond: HTTPResponder) {
        let share = share(request)
        let wait = box.state.withLock { state in
            let now = ContinuousClock.now
            return state.addresses.take(request.peer.address, now: now)
                ?? share.flatMap { state.projects.take($0, now: now) }
        }
        guard let wait else { return router.handle(request, respond: respond) }
        core.metrics.limited.add()
        respond.send(
            router.response(to: .tooManyRequests(seconds: max(1, Int(wait.rounded(.up)))), target: request.target.raw))
    }

    /// Whose share a request is of, by what it says of itself; nil for none.
    private func share(_ request: HTTPRequest) -> Share? {
        let credentials = HTTPCredentials(request.headers)
        var name = request.headers["X-MAGICBELL-API-KEY"]
        var secret = request.headers["X-MAGICBELL-API-SECRET"]
        if let pair = credentials.basic {
            (name, secret) = (pair.name, pair.password)
        } else if HTTPSurface.of(target: request.target.raw) == .interests, request.segments.count > 3 {
            name = request.segments[3]
            secret = credentials.bearer
        }
        let now = core.clock()
        guard let name, let project = core.projects.find(name, at: now) else { return nil }
        return Share(project: project.key, hasSecret: secret.map { project.hasSecret($0, at: now) } ?? false)
    }
}
