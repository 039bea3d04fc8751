/// So many a second, and so many at once: each one takes a token, and tokens come back with time.
struct TokenBucket: Sendable {
    /// Tokens a second.
    let rate: Double
    /// Tokens at most; a fresh bucket has them.
    let capacity: Double
    private var tokens: Double
    private var at: ContinuousClock.Instant

    init(rate: Int, burst: Int, now: ContinuousClock.Instant) {
        precondition(rate > 0 && burst > 0, "a bucket lets something through")
        self.rate = Double(rate)
        capacity = Double(rate * burst)
        tokens = capacity
        at = now
    }

    /// Takes a token; else tells after how many seconds there is one.
    mutating func take(now: ContinuousClock.Instant) -> Double? {
        refill(now)
        guard tokens >= 1 else { return (1 - tokens) / rate }
        tokens -= 1
        return nil
    }

    /// Whether it is as a fresh one.
    func isFull(now: ContinuousClock.Instant) -> Bool {
        var copy = self
        copy.refill(now)
        return copy.tokens >= capacity
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        guard now > at else { return }
        tokens = min(capacity, tokens + rate * (at.duration(to: now) / .seconds(1)))
        at = now
    }
}

/// A bucket for each key.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    private let rate: Int
    private let burst: Int
    private let remembered: Int
    private var buckets: [Key: TokenBucket] = [:]

    /// - Parameters:
    ///   - rate: 0 for no limit.
    ///   - remembered: how many keys are kept. When there are more, full ones go, and all where none is full.
    init(rate: Int, burst: Int, remembered: Int) {
        self.rate = rate
        self.burst = burst
        self.remembered = remembered
    }

    /// How many keys it remembers.
    var count: Int { buckets.count }

    /// Takes a token of a key; else tells after how many seconds there is one.
    mutating func take(_ key: Key, now: ContinuousClock.Instant) -> Double? {
        guard rate > 0 else { return nil }
        if buckets[key] == nil, buckets.count >= remembered {
            buckets = buckets.filter { !$0.value.isFull(now: now) }
            if buckets.count >= remembered { buckets.removeAll() }
        }
        return buckets[key, default: TokenBucket(rate: rate, burst: burst, now: now)].take(now: now)
    }
}
