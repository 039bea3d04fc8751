internal import Foundation
internal import PealModel
internal import PealReplica
internal import PealSQLite
internal import Synchronization

/// What ``PushNotifications`` needs of an inbox beside what every app has.
extension Inbox {
    /// Who follows an inbox on its own thread. Must neither block nor wait for anybody.
    struct Follower: Sendable {
        var change: @Sendable (isolated Inbox, Change) -> Void
        var status: @Sendable (isolated Inbox, InboxStatus) -> Void
    }

    /// Runs `body` on the inbox's thread and waits for it, without a task: for calls that are synchronous by their promise. The inbox's thread
    /// waits for nobody, so any thread may call, the main one too. Blocking for as long as what runs there, which is one commit.
    nonisolated func blocking<R: Sendable>(
        _ body: @escaping @Sendable (isolated Inbox) throws(PealError) -> R
    ) throws(PealError) -> R {
        @Sendable func run() -> Result<R, PealError> {
            assumeIsolated { inbox in
                do throws(PealError) {
                    return .success(try body(inbox))
                } catch {
                    return .failure(error)
                }
            }
        }
        if executor.isIsolatingCurrentContext() == true { return try run().get() }
        let answer = Slot<Result<R, PealError>>()
        let isDone = DispatchSemaphore(value: 0)
        executor.post {
            answer.set(run())
            isDone.signal()
        }
        isDone.wait()
        return try answer.take().get()
    }

    private final class Slot<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        func set(_ new: Value) { value.withLock { $0 = new } }
        func take() -> Value {
            guard let value = value.withLock({ $0 }) else { preconditionFailure("nothing was put here") }
            return value
        }
    }

    /// Opens an inbox without a task.
    static func open(_ configuration: Configuration) throws(PealError) -> Inbox {
        let inbox = try Inbox(blocking: configuration)
        try inbox.blocking { (inbox) in inbox.followCommits() }
        return inbox
    }

    /// Begins to be followed: nothing that comes later is missed.
    func follow(_ follower: Follower) { self.follower = follower }

    /// Queues an act that is not sent before ``outboxChanged()`` is called, or something else moves the session.
    func replicaAct(_ operation: PealModel.Operation) throws(PealError) -> UInt64 {
        try reading { () throws(ReplicaError) in try replica.enqueue(operation) }
    }

    /// A session that the hub refused says hello once more.
    func tryAgain() {
        if wanted, status.state == .stopped { drive { $0.start() } }
    }

    /// Whether the device was ended here, whether or not the hub knows it yet.
    func hasEnd() throws(PealError) -> Bool { try outbox().contains { $0.operation == .end } }

    /// The user that the device is about to be bound to.
    func waitingUser() throws(PealError) -> String? {
        for act in try outbox().reversed() where act.state != .dead {
            if case .user(let id, _)? = act.operation { return id }
        }
        return nil
    }

    /// Whether no hub can know of this file: it has never said hello.
    func isUnheard() throws(PealError) -> Bool { try inspect().attempt == 0 }

    /// What became of an act.
    enum Answer: Sendable, Equatable {
        case settled
        case refused(String)
        /// There is no hub now; it is sent later.
        case later
    }

    /// Waits for the hub's answer to an act: until it is there, or cannot come for now, at most for a time.
    nonisolated func answer(to uid: UInt64, within time: Duration) async -> Answer {
        let changes = changes
        let statuses = await statuses
        func standing() async -> Answer? {
            guard let acts = try? await outbox() else { return .later }
            guard let act = acts.first(where: { $0.id == uid }) else { return .settled }
            return act.state == .dead ? .refused(act.outcome?.reason ?? "no reason was given") : nil
        }
        return await withTaskGroup(of: Answer?.self) { group in
            group.addTask {
                if let answer = await standing() { return answer }
                for await change in changes where change.outbox || change.everything {
                    if let answer = await standing() { return answer }
                }
                return .later
            }
            group.addTask {
                await Self.wait(statuses) { $0.isWithoutHub }
                return await standing() ?? .later
            }
            group.addTask {
                try? await Task.sleep(for: time)
                return .later
            }
            defer { group.cancelAll() }
            return await group.next().flatMap { $0 } ?? .later
        }
    }

    /// Waits for the end of a device whose end is queued: until the hub has taken it, or there is no hub now, at most for a time.
    nonisolated func ended(within time: Duration) async {
        let statuses = await statuses
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await Self.wait(statuses) { $0.isWithoutHub } }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }

    private static func wait(_ statuses: AsyncStream<InboxStatus>, until isReached: (InboxStatus) -> Bool) async {
        for await status in statuses where isReached(status) { return }
    }
}

extension InboxStatus {
    /// Nothing will be answered soon: the hub cannot be reached, or has refused, or another process talks to it.
    fileprivate var isWithoutHub: Bool {
        switch state {
        case .offline: retryAfter != nil
        case .stopped, .elsewhere: true
        case .connecting, .loading, .live, .stalled: false
        }
    }
}
