@preconcurrency import Dispatch

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Waits for SIGINT or SIGTERM, so that a long command ends cleanly.
enum Signals {
    /// A stream that gives a value for each of some signals. When this returns, a signal is not lost: Dispatch registers its
    /// handlers on a thread of its own, and one that comes before that ends the process as ever.
    static func interruption(_ numbers: [Int32] = [SIGINT, SIGTERM]) async -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        var sources: [any DispatchSourceSignal] = []
        for number in numbers {
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(()) }
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
            #if !canImport(Glibc)
                // Elsewhere Dispatch only watches; on Linux its handler takes the place of the default.
                signal(number, SIG_IGN)
            #endif
            sources.append(source)
        }
        let kept = sources
        continuation.onTermination = { _ in for source in kept { source.cancel() } }
        return stream
    }

    /// Runs `body` until it ends or a signal comes; nil for a signal.
    static func run<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R? {
        let signals = await interruption()
        return try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await _ in signals { return nil }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
