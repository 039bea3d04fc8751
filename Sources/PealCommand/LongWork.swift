import PealHub
import Synchronization

/// Work that blocks for long, on a task of its own, with progress, and with Ctrl-C that stops it.
enum LongWork {
    /// Runs it.
    ///
    /// - Parameter work: gets `step`, which it calls as often as it likes: at most twice a second that shows something, so that neither a
    ///   terminal nor a log is flooded; false from it stops the work.
    /// - Returns: what came of it, and whether somebody wanted it to stop.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable (_ step: (_ show: () -> Void) -> Bool) throws(HubError) -> Value
    ) async -> (result: Result<Value, HubError>, wasStopped: Bool) {
        let stopped = Stop()
        let signals = await Signals.interruption()
        let watcher = Task.detached { for await _ in signals { stopped.flag.store(true, ordering: .relaxed) } }
        defer { watcher.cancel() }
        let result = await Task.detached { () -> Result<Value, HubError> in
            var shown = ContinuousClock.now
            do throws(HubError) {
                return .success(
                    try work { show in
                        if shown.duration(to: .now) > .milliseconds(500) {
                            shown = .now
                            show()
                        }
                        return !stopped.flag.load(ordering: .relaxed)
                    })
            } catch {
                return .failure(error)
            }
        }.value
        return (result, stopped.flag.load(ordering: .relaxed))
    }

    private final class Stop: Sendable {
        let flag = Atomic(false)
    }
}
