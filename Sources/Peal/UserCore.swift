internal import PealModel
internal import PealReplica
internal import Synchronization

/// What a connected user's objects share: the inbox, which is opened in the background, and the order of what is asked of it. Calls are
/// carried out one after the other, as they were made, on the inbox's thread.
final class UserCore: Sendable {
    typealias Work = @Sendable (Result<Inbox, PealError>) async -> Void

    let context: CallbackContext
    let identity: InboxIdentity
    let statuses = Told(ClientStatus(state: .connecting))
    private let queue: AsyncStream<Work>.Continuation
    private let worker: Task<Result<Int, PealError>, Never>
    private let end: SharedEnd

    /// Whether a user was disconnected, and how.
    private final class SharedEnd: Sendable {
        private let state = Mutex((hasEnded: false, force: false))
        /// What was not sent is dropped.
        var force: Bool { state.withLock { $0.force } }

        /// Does something unless it has ended; whether it did.
        func unlessEnded(_ body: () -> Void) -> Bool {
            state.withLock { state in
                if !state.hasEnded { body() }
                return !state.hasEnded
            }
        }

        /// Ends it, once.
        func end(force: Bool, _ body: () -> Void) {
            state.withLock { state in
                guard !state.hasEnded else { return }
                state = (true, force)
                body()
            }
        }
    }

    /// - Parameters:
    ///   - status: told whenever it may be different; any thread.
    ///   - open: makes the inbox; called once.
    init(
        _ identity: InboxIdentity, context: CallbackContext,
        status: @escaping @Sendable (ClientStatus?) -> Void,
        open: @escaping @Sendable () async throws(PealError) -> Inbox
    ) {
        self.identity = identity
        self.context = context
        let (works, queue) = AsyncStream.makeStream(of: Work.self)
        self.queue = queue
        let end = SharedEnd()
        self.end = end
        worker = Task { [statuses] in
            @Sendable func tell(_ new: ClientStatus) {
                statuses.tell(new)
                status(new)
            }
            let inbox: Result<Inbox, PealError>
            do throws(PealError) {
                let opened = try await open()
                await opened.watchHealth(tell)
                inbox = .success(opened)
            } catch {
                tell(ClientStatus(state: .stopped, lastError: error.message))
                inbox = .failure(error)
            }
            // Ends with the user's disconnecting, or with the last reference to the core.
            for await work in works { await work(inbox) }
            var left = Result<Int, PealError>.success(0)
            if case .success(let inbox) = inbox { left = await inbox.leave(force: end.force) }
            statuses.finish()
            status(nil)
            return left
        }
    }

    deinit { queue.finish() }

    /// Carries `body` out on the inbox's thread, after all that was asked before; `then` is called in the app's context, after the
    /// stores show what it did.
    func run<R: Sendable>(
        _ body: @escaping @Sendable (isolated Inbox) throws(PealError) -> R,
        then: @escaping @Sendable (Result<R, PealError>) -> Void
    ) {
        let context = context
        let isTaken = end.unlessEnded {
            queue.yield { inbox in
                switch inbox {
                case .success(let inbox): await inbox.carryOut(body) { result in context.run { then(result) } }
                case .failure(let error): context.run { then(.failure(error)) }
                }
            }
        }
        if !isTaken { context.run { then(.failure(Self.disconnected)) } }
    }

    /// The same as an async call. A cancelled one throws `cancelled` at once; what had begun is done all the same.
    func call<R: Sendable>(
        _ body: @escaping @Sendable (isolated Inbox) throws(PealError) -> R
    ) async throws(PealError) -> R {
        guard !Task.isCancelled else { throw Self.cancelled }
        let answer = Once<Result<R, PealError>>()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                run(body) { answer.give($0) }
            }
        } onCancel: {
            answer.give(.failure(Self.cancelled))
        }.get()
    }

    /// Waits for the hub, but not longer than it makes sense (``Inbox/upToDate(within:)``); calls that come meanwhile are carried out.
    func upToDate(within time: Duration) async throws(PealError) {
        let inbox = try await call { (inbox) in inbox }
        await inbox.upToDate(within: Milliseconds(time / .milliseconds(1)))
    }

    /// Nothing is taken any more. What was asked before is done, then the inbox is closed.
    ///
    /// - Returns: how many acts were not sent.
    func end(force: Bool) -> Task<Result<Int, PealError>, Never> {
        end.end(force: force) { queue.finish() }
        return worker
    }

    static let disconnected = PealError(
        .disconnected, "the user was disconnected, or the store was disposed of; connect or build it anew")
    static let cancelled = PealError(.cancelled, "the call was cancelled")
}

extension Inbox {
    /// Runs `body` here; `then` is called before anything else happens on this thread, so that what it hands on keeps the order.
    func carryOut<R: Sendable>(
        _ body: @Sendable (isolated Inbox) throws(PealError) -> R, then: @Sendable (Result<R, PealError>) -> Void
    ) {
        let result: Result<R, PealError>
        do throws(PealError) {
            result = .success(try body(self))
        } catch {
            result = .failure(error)
        }
        then(result)
    }

    /// Closes the inbox.
    ///
    /// - Parameter force: drops what was not sent.
    /// - Returns: how many acts were not sent.
    func leave(force: Bool) -> Result<Int, PealError> {
        defer { close() }
        do throws(PealError) {
            let waiting = try outboxDepth().waiting
            if force {
                for act in try outbox() where act.state != .dead { _ = try discard(act.id) }
            }
            return .success(waiting)
        } catch {
            return .failure(error)
        }
    }

    /// How many acts are not settled, and how many dead letters there are.
    func outboxDepth() throws(PealError) -> (waiting: Int, dead: Int) {
        try reading { () throws(ReplicaError) in try replica.outboxDepth() }
    }

    /// A later proof of the same user takes the place of the one before; a session that was refused tries again with it.
    func renew(_ proof: Proof) {
        guard driver.proof.hmac != proof.hmac else { return }
        driver.proof.hmac = proof.hmac
        if wanted, status.state == .stopped { drive { $0.start() } }
    }
}
