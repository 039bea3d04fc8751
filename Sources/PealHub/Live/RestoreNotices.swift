import PealModel

/// What an operator is told of devices that were ahead of this hub, or whose files were restored or copied (docs/sync.md
/// section 7): of each kind a line at once, and then at most one a minute with how many there are by now. Counts only. Belongs
/// to the hub's thread.
struct RestoreNotices {
    /// Milliseconds from a line to the next of its kind.
    static let pause: Milliseconds = 60_000
    /// Replicas of a kind that are counted at most, so that the memory of it has a limit.
    static let remembered = 100_000

    private struct Kind {
        var replicas: Set<ReplicaKey> = []
        /// How many the last line named.
        var told = 0
        var toldAt: Milliseconds?

        mutating func due(now: Milliseconds) -> Int? {
            guard replicas.count > told else { return nil }
            // A clock that was set back must not silence it.
            if let toldAt, now >= toldAt, now - toldAt < RestoreNotices.pause { return nil }
            told = replicas.count
            toldAt = now
            return told
        }
    }

    private var ahead = Kind()
    private var forked = Kind()

    /// Looks at a hello that was admitted; gives the lines that are due.
    mutating func note(_ hello: Hello, _ admitted: Admitted, now: Milliseconds) -> [String] {
        if admitted.welcome.mode == .ahead, ahead.replicas.count < Self.remembered {
            ahead.replicas.insert(admitted.replica)
        }
        // A cursor without a nonce is what a replica presents that has just taken a new id, whoever had found the fork out.
        let isAfterFork = hello.nonce.isEmpty && hello.cursor.epoch != nil && admitted.welcome.mode != .forked
        if isAfterFork, forked.replicas.count < Self.remembered { forked.replicas.insert(admitted.replica) }
        return tick(now: now)
    }

    /// The lines that are due by now.
    mutating func tick(now: Milliseconds) -> [String] {
        let hint = "(docs/operations.md, Restoring a backup)"
        let lines = [
            ahead.due(now: now).map {
                "\(Self.devices($0)) so far had seen more than this hub holds, as after a restored backup; each loads a snapshot "
                    + "and sends again what was lost \(hint)"
            },
            forked.due(now: now).map {
                "\(Self.devices($0)) so far had a file that was restored or copied; each goes on under a new id \(hint)"
            },
        ]
        return lines.compactMap { $0 }
    }

    private static func devices(_ count: Int) -> String { count == 1 ? "1 device" : "\(count) devices" }
}
