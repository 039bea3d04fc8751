@preconcurrency import Dispatch
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Waits for SIGINT or SIGTERM, so that a long command ends cleanly.
enum Signals {
    /// Ends with the first of the two signals, or with the task.
    static var interruption: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(()) }
            source.resume()
            sources.append(source)
        }
        let kept = sources
        continuation.onTermination = { _ in for source in kept { source.cancel() } }
        return stream
    }

    /// Runs `body` until it ends or a signal comes; nil for a signal.
    static func run<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R? {
        try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await _ in interruption { return nil }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
