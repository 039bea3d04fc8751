import PealModel
import Testing

/// Runs a property for many seeds; a failure names its seed, with which it can be run alone.
func forEachSeed(
    _ seeds: Range<UInt64>, _ body: (inout SplitMix64, UInt64) throws -> Void
) rethrows {
    for seed in seeds {
        var random = SplitMix64(seed: seed)
        try body(&random, seed)
    }
}

extension SplitMix64 {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// A short text as raw JSON.
func raw(_ text: String) -> RawJSON { Array(text.utf8)[...] }
