import PealSQLite
import Synchronization

/// What one request leaves behind in a group commit.
struct Committed<Value: Sendable>: Sendable {
    /// The answer.
    var value: Value
    /// What it appended, in order.
    var appended: [Appended] = []
}

/// Group commit (docs/sync.md section 8): requests that arrive while a transaction is being made durable share the next one.
/// Nothing is answered before the transaction that holds it is durable.
final class Committer: @unchecked Sendable {
    // `store` is only used on `executor`; the rest is Sendable.
    /// What is told once a transaction is durable, or has failed; called on the store's executor.
    typealias Deliver = @Sendable (_ completions: [@Sendable () -> Void], _ appended: [Appended]) -> Void

    /// Weight that one transaction takes at most: mutations, or inboxes of a publish.
    static let maximumWeight = HubLimits.transaction
    /// Requests that may wait; more are refused with ``HubStoreError/Code/busy``.
    static let maximumWaiting = HubLimits.waiting

    private struct Job {
        var weight: Int
        var publish: PublishRequest?
        /// Runs inside the transaction; gives what follows once it is durable, or has failed. Throws where the whole
        /// transaction is lost; then it may run again in another one.
        var run: @Sendable (any HubStore) throws(HubStoreError) -> Done
        var refuse: @Sendable (HubStoreError) -> Void
    }

    private struct Done {
        var completion: @Sendable (HubStoreError?) -> Void
        var appended: [Appended] = []
    }

    private struct Waiting {
        var jobs: [Job] = []
        var running = false
        var stopped = false
    }

    private let metrics: Metrics
    /// Nil once closed.
    private var store: (any HubStore)?
    private let executor: ConnectionExecutor
    private let deliver: Deliver
    private let waiting = Mutex(Waiting())

    /// A committer over a store that is used on `executor` only.
    init(
        store: any HubStore, executor: ConnectionExecutor, metrics: Metrics = Metrics(), deliver: @escaping Deliver
    ) {
        self.store = store
        self.metrics = metrics
        self.executor = executor
        self.deliver = deliver
    }

    /// Queues a request. Not blocking; callable from anywhere.
    ///
    /// - Parameters:
    ///   - weight: how much of a transaction it is.
    ///   - publish: what it is going to publish, where it is known.
    ///   - work: runs on the store's executor in a savepoint of its own: what it throws is undone, for it alone. It runs again where another
    ///     node of the hub got in the way of the transaction, so it changes nothing but the store.
    ///   - completion: called through ``Deliver`` once the transaction is durable, or with the error.
    func submit<Value: Sendable>(
        weight: Int = 1, expecting publish: PublishRequest? = nil,
        _ work: @escaping @Sendable (any HubStore) throws(HubStoreError) -> Committed<Value>,
        completion: @escaping @Sendable (Result<Value, HubStoreError>) -> Void
    ) {
        let job = Job(
            weight: weight, publish: publish,
            run: { (store) throws(HubStoreError) in
                do throws(HubStoreError) {
                    let committed = try store.savepoint { () throws(HubStoreError) in try work(store) }
                    return Done(
                        completion: { error in completion(error.map(Result.failure) ?? .success(committed.value)) },
                        appended: committed.appended)
                } catch {
                    // The transaction may be gone: a savepoint of the next job would be one of its own.
                    if error.abortsCommit { throw error }
                    return Done(completion: { failure in completion(.failure(failure ?? error)) })
                }
            },
            refuse: { error in completion(.failure(error)) })
        enqueue(job)
    }

    private func enqueue(_ job: Job) {
        enum Next { case nothing, start, refuse(HubStoreError) }
        let next: Next = waiting.withLock { waiting in
            if waiting.stopped { return .refuse(HubStoreError(.busy, "the hub is stopping")) }
            if waiting.jobs.count >= Self.maximumWaiting {
                return .refuse(HubStoreError(.busy, "\(Self.maximumWaiting) requests are waiting already"))
            }
            waiting.jobs.append(job)
            if waiting.running { return .nothing }
            waiting.running = true
            return .start
        }
        switch next {
        case .nothing: break
        case .start: executor.post { self.drain() }
        case .refuse(let error): deliver([{ job.refuse(error) }], [])
        }
    }

    /// Takes what waits, one transaction at a time, until nothing does.
    private func drain() {
        while let jobs = take() { commit(jobs) }
    }

    private func take() -> [Job]? {
        waiting.withLock { waiting in
            var weight = 0
            var count = 0
            while count < waiting.jobs.count, count == 0 || weight + waiting.jobs[count].weight <= Self.maximumWeight {
                weight += waiting.jobs[count].weight
                count += 1
            }
            guard count > 0 else {
                waiting.running = false
                return nil
            }
            let jobs = Array(waiting.jobs[..<count])
            waiting.jobs.removeFirst(count)
            return jobs
        }
    }

    private func commit(_ jobs: [Job]) {
        guard let store else { preconditionFailure("a committer is stopped before it is closed") }
        let done: [Done]
        do throws(HubStoreError) {
            done = try store.group(attempts: jobs.count > 1 ? GroupAttempts.together : GroupAttempts.alone) {
                () throws(HubStoreError) in
                var done: [Done] = []
                try store.expect(jobs.compactMap(\.publish))
                for job in jobs { done.append(try job.run(store)) }
                return done
            }
        } catch {
            metrics.lostCommits.add()
            if error.code == .again, jobs.count > 1 {
                for job in jobs { commit([job]) }
                return
            }
            let failure = error
            deliver(jobs.map { job in { job.refuse(failure) } }, [])
            return
        }
        metrics.commits.add()
        deliver(done.map { done in { done.completion(nil) } }, done.flatMap(\.appended))
    }

    /// Requests that wait. Any thread.
    var waitingCount: Int { waiting.withLock { $0.jobs.count } }

    /// Refuses what comes from now on and runs `done` on the store's executor after what waits is committed.
    func stop(_ done: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.stopped = true }
        executor.post {
            self.drain()
            done()
        }
    }

    /// Closes the store, on its executor, and lets go of it. After ``stop(_:)``; harmless when repeated.
    func close() {
        waiting.withLock { $0.stopped = true }
        executor.post {
            self.drain()
            try? self.store?.close()
            self.store = nil
        }
    }
}
