import Testing

@testable import Simulation

/// Every state of a small world (docs/simulation.md). The numbers are part of the claim: fewer would mean that something is not tried
/// any more.
@Suite struct SmallScopeTests {
    @Test(arguments: [
        (acts: 1, cuts: 2, states: 7_920, ends: 378),
        (acts: 2, cuts: 0, states: 11_743, ends: 1_860),
    ])
    func `every interleaving of acts, frames, cuts and resends keeps every act once and converges`(
        _ bounds: (acts: Int, cuts: Int, states: Int, ends: Int)
    ) throws {
        let outcome = try SmallScope(.init(acts: bounds.acts, cuts: bounds.cuts)).explore()
        print("\(bounds.acts) acts, \(bounds.cuts) cuts: \(outcome)")
        #expect(outcome.failure == nil)
        #expect(outcome.states == bounds.states)
        #expect(outcome.ends == bounds.ends)
    }
}
