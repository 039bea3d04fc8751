import Foundation
import PealModel
import Testing

/// The replica in memory and the real one, given the same calls, answer alike, send the same and show the same.
@Suite struct ReplicaTwinTests {
    /// `PEAL_TWINS` asks for more.
    static let seeds = ProcessInfo.processInfo.environment["PEAL_TWINS"].flatMap { UInt64($0) } ?? 30

    @Test(arguments: 0..<ReplicaTwinTests.seeds)
    func `SQLite and memory answer random calls alike`(_ seed: UInt64) throws {
        var twins = try ReplicaTwins(seed: seed)
        defer { twins.end() }
        for _ in 0..<100 { try twins.step() }
    }
}
