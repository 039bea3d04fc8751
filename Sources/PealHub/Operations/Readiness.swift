import Synchronization

/// Whether the hub can take requests: it is not stopping, and its store writes. Any thread.
final class Readiness: Sendable {
    /// Why it cannot.
    enum Reason: Equatable, Sendable {
        case draining
        /// The store's word.
        case store(String)
    }

    typealias Completion = @Sendable (Reason?) -> Void

    /// How long an answer is given again, so that those who ask do not become writers.
    static let freshFor = Duration.seconds(1)

    /// Milliseconds that a write may take; until a slower one is over, the hub is not ready.
    static let patience: Int64 = 1_500

    private struct State {
        var isDraining = false
        var last: (reason: Reason?, at: ContinuousClock.Instant)?
        var writes = 0
        /// A write is under way.
        var isWriting = false
        /// It takes too long.
        var isOverdue = false
        /// Who waits for it.
        var waiting: [Completion] = []
    }
    private let state = Mutex(State())
    private static let slow = Reason.store("slow")

    /// From now on it is not.
    func drain() { state.withLock { $0.isDraining = true } }

    /// Tells whether it is, after a write to the store; nil for yes. The completion is called on any thread.
    ///
    /// - Parameter timer: runs a closure after so many milliseconds.
    func check(
        _ committer: Committer, timer: (Int64, @escaping @Sendable () -> Void) -> Void,
        _ completion: @escaping Completion
    ) {
        enum Next { case tell(Reason?), wait, write(Int) }
        let next: Next = state.withLock { state in
            if state.isDraining { return .tell(.draining) }
            if state.isOverdue { return .tell(Self.slow) }
            if let last = state.last, last.at.duration(to: .now) < Self.freshFor { return .tell(last.reason) }
            state.waiting.append(completion)
            if state.isWriting { return .wait }
            state.isWriting = true
            state.writes += 1
            return .write(state.writes)
        }
        switch next {
        case .wait: break
        case .tell(let reason): completion(reason)
        case .write(let number):
            timer(Self.patience) { self.lookAtClock(number) }
            committer.submit(
                { (store) throws(HubStoreError) in Committed(value: try store.probe()) },
                completion: { result in
                    if case .failure(let error) = result {
                        self.tell(.store(error.code.rawValue))
                    } else {
                        self.tell(nil)
                    }
                })
        }
    }

    private func tell(_ reason: Reason?) {
        let waiting = state.withLock { state in
            state.last = (reason, .now)
            state.isWriting = false
            state.isOverdue = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for completion in waiting { completion(reason) }
    }

    private func lookAtClock(_ number: Int) {
        let waiting = state.withLock { state in
            guard state.isWriting, state.writes == number else { return [Completion]() }
            state.isOverdue = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for completion in waiting { completion(Self.slow) }
    }
}
