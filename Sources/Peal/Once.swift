internal import Synchronization

/// A value that somebody waits for; the first one that is given counts.
final class Once<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Value, Never>)
        case early(Value)
        case done
    }

    private let state = Mutex(State.open)

    func wait(_ continuation: CheckedContinuation<Value, Never>) {
        let early: Value? = state.withLock { state in
            if case .early(let value) = state {
                state = .done
                return value
            }
            state = .waiting(continuation)
            return nil
        }
        if let early { continuation.resume(returning: early) }
    }

    func give(_ value: Value) {
        let waiting: CheckedContinuation<Value, Never>? = state.withLock { state in
            switch state {
            case .waiting(let continuation):
                state = .done
                return continuation
            case .open:
                state = .early(value)
                return nil
            case .early, .done: return nil
            }
        }
        waiting?.resume(returning: value)
    }
}
