import Faults
import Testing

/// A hub's file on a disk that fails, fills up or loses its power (docs/faults.md). Here some places by a seed, `peal-faults` tries
/// all of them.
@Suite struct HubFaultTests {
    /// Scenarios by name: making one runs it.
    static let scenarios: [(name: String, make: @Sendable () throws -> Scenario)] = [
        ("a new file", Scenario.hubOpen), ("group commits", Scenario.hubRequests),
        ("wide fan-outs", Scenario.hubWide), ("upkeep", Scenario.hubUpkeep),
    ]

    @Test(arguments: scenarios.indices)
    func `a fault at any place leaves whole group commits, and all that were answered`(_ index: Int) throws {
        let campaign = try Campaign(Self.scenarios[index].make())
        defer { campaign.end() }
        let reports = try campaign.sample(Fault.disk(seed: 1), count: 6, seed: UInt64(index) + 11)
        #expect(reports.flatMap(\.problems) == [])
        #expect(reports.count == 6 && reports.allSatisfy { $0.struck == 1 })
    }
}
