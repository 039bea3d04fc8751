import Fuzzing
import Testing

/// Runs the fuzzers' seeds, and mutations of them by a seeded source of chance: what a fuzzer does, in little and the same each time
/// (docs/fuzzing.md).
@Suite struct ReplayTests {
    @Test(arguments: FuzzTarget.all.map(\.name))
    func `seeds and their mutations break no law and trap nowhere`(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let seeds = try target.seeds()
        #expect(seeds.count > 5)
        for seed in seeds { #expect(target.run(seed.bytes) == nil, "\(seed.name)") }
        var random = Chance(seed: 1)
        for round in 0..<target.replays {
            var bytes = seeds[random.below(seeds.count)].bytes
            random.mutate(&bytes, words: target.dictionary)
            #expect(target.run(bytes) == nil, "\(name), round \(round): \(bytes)")
        }
    }
}

/// SplitMix64, and what it does to an input.
private struct Chance {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }

    mutating func mutate(_ bytes: inout [UInt8], words: [String]) {
        for _ in 0...below(4) where !bytes.isEmpty {
            let at = below(bytes.count)
            let end = min(bytes.count, at + 1 + below(12))
            switch below(6) {
            case 0: bytes[at] = UInt8(truncatingIfNeeded: next())
            case 1: bytes.removeSubrange(at..<end)
            case 2: bytes.insert(contentsOf: bytes[at..<end], at: below(bytes.count))
            case 3: bytes.replaceSubrange(at..<end, with: words[below(words.count)].utf8)
            case 4: bytes.insert(contentsOf: words[below(words.count)].utf8, at: at)
            default: bytes[at] ^= 1 << UInt8(below(8))
            }
        }
    }
}
