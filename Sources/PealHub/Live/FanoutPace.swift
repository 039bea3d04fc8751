import PealModel

/// Keeps a distance between fan-outs to many sessions.
///
/// In a burst of publishes a frame for each session and publish would cost more than all else, so what comes soon after a fan-out
/// shares the next. What comes first after a silence is not delayed.
struct FanoutPace {
    /// Fewer sessions are never delayed.
    static let sessions = 64
    /// Microseconds of distance for each session: some frames' worth.
    static let perSession = 50
    /// Milliseconds of distance at most.
    static let maximum: Milliseconds = 50

    private var last: Milliseconds?

    /// Milliseconds to wait before so many sessions are told.
    func delay(of sessions: Int, now: Milliseconds) -> Milliseconds {
        guard sessions >= Self.sessions, let last else { return 0 }
        let distance = min(Milliseconds(sessions * Self.perSession / 1_000), Self.maximum)
        let passed = now - last
        // The clock may be set back.
        return (0..<distance).contains(passed) ? distance - passed : 0
    }

    /// So many sessions were told.
    mutating func told(_ sessions: Int, now: Milliseconds) {
        if sessions >= Self.sessions { last = now }
    }
}
