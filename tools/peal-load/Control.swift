import Foundation
import Synchronization

/// What standard input says: `quiet`, or its end, which ends the process at once.
final class Control: Sendable {
    private let quiet = Atomic(false)

    init() {
        Thread.detachNewThread { [self] in
            while let line = readLine(), line == "quiet" { quiet.store(true, ordering: .relaxed) }
            exit(0)
        }
    }

    /// Whether acting is over.
    var isQuiet: Bool { quiet.load(ordering: .relaxed) }
}
