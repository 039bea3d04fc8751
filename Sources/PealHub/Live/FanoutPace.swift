import PealModel

/// Keeps a distance between fan-outs to many sessions.
///
/// In a burst of publishes a frame for each session and publish would cost more than all else, so what comes soon after a fan-out
/// shares the next. What comes first after a silence is not delayed, and what comes now and then hardly is: the distance is short at
/// first and doubles with each fan-out that follows close on the last.
struct FanoutPace {
    /// Fewer sessions are never delayed.
    static let sessions = 64
    /// Microseconds of distance for each session: about a frame's worth at first, some frames' worth within a burst.
    static let perSession = 8...64
    /// Milliseconds of distance at most.
    static let maximum: Milliseconds = 50

    private var last: Milliseconds?
    private var perSession = Self.perSession.lowerBound

    private func distance(_ sessions: Int) -> Milliseconds {
        min(Milliseconds(sessions * perSession / 1_000), Self.maximum)
    }

    /// Milliseconds to wait before so many sessions are told.
    func delay(of sessions: Int, now: Milliseconds) -> Milliseconds {
        guard sessions >= Self.sessions, let last else { return 0 }
        let distance = distance(sessions)
        let passed = now - last
        // The clock may be set back.
        return (0..<distance).contains(passed) ? distance - passed : 0
    }

    /// So many sessions were told.
    mutating func told(_ sessions: Int, now: Milliseconds) {
        guard sessions >= Self.sessions else { return }
        if let last, (0..<2 * distance(sessions)).contains(now - last) {
            perSession = min(perSession * 2, Self.perSession.upperBound)
        } else {
            perSession = Self.perSession.lowerBound
        }
        last = now
    }
}
