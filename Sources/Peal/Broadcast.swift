internal import Synchronization

/// One producer, any number of streams. A reader that does not keep up misses values, never the last one.
final class Broadcast<Value: Sendable>: Sendable {
    private struct State {
        var next = 0
        var continuations: [Int: AsyncStream<Value>.Continuation] = [:]
        var finished = false
    }

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: values that a stream keeps for a slow reader; the newest stay.
    init(limit: Int) { self.limit = limit }

    /// A new stream, with a first value where one is given. It ends with ``finish()`` or with its reader.
    func stream(first: Value? = nil) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(limit))
        let id: Int? = state.withLock { state in
            guard !state.finished else { return nil }
            state.next += 1
            state.continuations[state.next] = continuation
            return state.next
        }
        if let first { continuation.yield(first) }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.continuations.removeValue(forKey: id) }
        }
        return stream
    }

    var hasFinished: Bool { state.withLock { $0.finished } }

    func send(_ value: Value) {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield(value) }
    }

    func finish() {
        let open = state.withLock { state in
            state.finished = true
            defer { state.continuations = [:] }
            return Array(state.continuations.values)
        }
        for continuation in open { continuation.finish() }
    }
}

/// A value that streams tell, beginning with the present one.
final class Told<Value: Sendable & Equatable>: Sendable {
    private let value: Mutex<Value>
    private let streams = Broadcast<Value>(limit: 64)

    init(_ value: Value) { self.value = Mutex(value) }

    var last: Value { value.withLock { $0 } }

    func stream() -> AsyncStream<Value> { value.withLock { streams.stream(first: $0) } }

    func tell(_ new: Value) {
        value.withLock { value in
            guard value != new else { return }
            value = new
            // Within the lock, so that the order of two tellers is that of the values. A stream never calls back.
            streams.send(new)
        }
    }

    func finish() { streams.finish() }

    var hasFinished: Bool { streams.hasFinished }
}
