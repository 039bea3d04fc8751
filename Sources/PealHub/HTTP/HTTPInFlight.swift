internal import Synchronization

/// The requests whose answer a handler owes, so that stopping can wait for them and answer the rest itself.
final class HTTPInFlight: Sendable {
    private struct State {
        var accepting = true
        var exchanges: [ObjectIdentifier: HTTPExchange] = [:]
    }
    private let state = Mutex(State())

    /// Notes a request that is about to be handed to the handler; false when the server is stopping.
    func enter(_ exchange: HTTPExchange) -> Bool {
        state.withLock { state in
            if state.accepting { state.exchanges[ObjectIdentifier(exchange)] = exchange }
            return state.accepting
        }
    }

    /// Forgets a request that is over.
    func leave(_ exchange: HTTPExchange) {
        _ = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    /// From now on `enter` is refused.
    func close() {
        state.withLock { $0.accepting = false }
    }

    /// The requests that are not over yet.
    var exchanges: [HTTPExchange] {
        state.withLock { Array($0.exchanges.values) }
    }

    /// Whether no request is in flight.
    var isEmpty: Bool {
        state.withLock { $0.exchanges.isEmpty }
    }
}
