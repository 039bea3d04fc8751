import Foundation
import Synchronization

/// A thread of its own: blocking work would starve the few threads that tests share.
final class OtherThread: Sendable {
    private let done = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    init(_ work: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread { [self] in
            do { try work() } catch { failure.withLock { $0 = error } }
            done.signal()
        }
    }

    /// Waits for the end and throws what the work threw.
    func wait() throws {
        guard done.wait(timeout: .now() + 60) == .success else { throw RawHTTPError(what: "a thread hangs") }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}

/// A number that threads add to.
final class Count: Sendable {
    private let stored = Atomic(0)
    var value: Int { stored.load(ordering: .relaxed) }
    func add(_ number: Int) { stored.add(number, ordering: .relaxed) }
}
