/// Cuts a failing schedule down to what a person can read: steps that are not needed for any failure are taken out, in halves and
/// then one by one.
struct Shrinker {
    let schedule: Schedule
    /// Schedules tried at most.
    var budget = 4_000

    /// The smallest failing schedule that was found.
    mutating func shrunk() -> Schedule {
        var best = schedule
        if let violation = World(best).run(), let step = violation.step { best.steps.removeSubrange((step + 1)...) }
        var size = max(best.steps.count / 2, 1)
        while budget > 0 {
            var index = 0
            var isSmaller = false
            while index < best.steps.count, budget > 0 {
                var candidate = best
                candidate.steps.removeSubrange(index..<min(index + size, best.steps.count))
                budget -= 1
                if World(candidate).run() != nil {
                    best = candidate
                    isSmaller = true
                } else {
                    index += size
                }
            }
            if size == 1, !isSmaller { break }
            size = max(size / 2, 1)
        }
        return best
    }
}
