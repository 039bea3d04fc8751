/// A small seeded generator (SplitMix64), so that a state machine stays a value: same seed, same jitter.
public struct SplitMix64: RandomNumberGenerator, Equatable, Sendable {
    private var state: UInt64

    /// A generator of a seed.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// When to try again: full jitter, base 1 s, cap 60 s; the counter resets only after a healthy session (docs/sync.md section 6).
struct Backoff: Equatable, Sendable {
    /// The first ceiling, in milliseconds.
    static let base: Milliseconds = 1_000
    /// The highest ceiling.
    static let cap: Milliseconds = 60_000
    /// After a healthy session the first try comes within this.
    static let afterHealthy: Milliseconds = 3_000
    /// After the network came back, one try comes within this.
    static let networkUp: Milliseconds = 500

    var random: SplitMix64
    private var failures = 0
    private var healthy = false

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func sessionIsHealthy() {
        failures = 0
        healthy = true
    }

    mutating func next() -> Milliseconds {
        if healthy {
            healthy = false
            return Milliseconds.random(in: 0...Self.afterHealthy, using: &random)
        }
        let ceiling = min(Self.cap, Self.base << min(failures, 6))
        failures += 1
        return Milliseconds.random(in: 0...ceiling, using: &random)
    }

    mutating func within(_ range: ClosedRange<Milliseconds>) -> Milliseconds {
        Milliseconds.random(in: range, using: &random)
    }
}
