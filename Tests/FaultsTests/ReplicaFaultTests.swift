import Faults
import PealModel
import PealReplica
import PealSQLite
import Testing

/// A device's file on a disk that fails, fills up or loses its power (docs/faults.md). Here some places by a seed, `peal-faults`
/// tries all of them.
@Suite struct ReplicaFaultTests {
    /// Scenarios by name: making one runs it.
    static let scenarios: [(name: String, make: @Sendable () throws -> Scenario)] = [
        ("a new file", Scenario.replicaOpen), ("apply", Scenario.replicaApply), ("acts", Scenario.replicaAct),
        ("a session", Scenario.replicaSession), ("a snapshot", Scenario.replicaSnapshot),
        ("a hub that went back", Scenario.replicaAhead),
    ]

    @Test(arguments: scenarios.indices)
    func `a fault at any place leaves the state before or after, and the file goes on`(_ index: Int) throws {
        let scenario = Self.scenarios[index]
        let campaign = try Campaign(scenario.make())
        defer { campaign.end() }
        let reports = try campaign.sample(Fault.disk(seed: 1), count: 6, seed: UInt64(index) + 1)
        #expect(reports.flatMap(\.problems) == [])
        #expect(reports.count == 6 && reports.allSatisfy { $0.struck == 1 })
    }

    @Test func `each open that fails names the file and says what to do`() throws {
        let scratch = try Scratch()
        _ = try scratch.replica(nil)
        var struck = 0
        for point in 1...20 as ClosedRange<UInt64> {
            let disk = Disk()
            disk.arm(Fault("open", .open, .io), at: point)
            do {
                _ = try scratch.replica(disk)
                if disk.fired == 0 { break }
            } catch let error as ReplicaError {
                struck += 1
                #expect(error.code == .cantOpen)
                #expect(error.message.contains(scratch.file) && error.message.contains("folder"), "\(error)")
            }
        }
        #expect(struck >= 3)
    }

    @Test func `a file whose making was cut off at any place opens again`() throws {
        var struck: UInt64 = 0
        for point in 1...1_000 as ClosedRange<UInt64> {
            let (scratch, disk) = (try Scratch(), Disk())
            disk.arm(Fault("cut", .moving, .cut, loss: .data), at: point)
            let isMade = (try? scratch.replica(disk)) != nil
            if disk.isCut { disk.restore() }
            _ = try scratch.replica(nil)
            struck = point
            if isMade { break }
        }
        #expect((20..<1_000).contains(struck))
    }

    @Test func `an outcome that waits for its entry outlives a batch that could not be folded`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        var hub = TestHub()
        hub.publish()
        let replica = try scratch.replica(disk)
        _ = try replica.welcomed(hub.welcome(try replica.hello(proof: Proof())))
        _ = try replica.apply(hub.batch(from: 0))
        let uid = try replica.enqueue(.mark(.read, upTo: 1))
        _ = try replica.nextPush()
        hub.publish()
        // The answer to a resend, whose entry is at a position that the cursor has not reached.
        _ = try replica.settled([Settled(n: 1, uid: uid, outcome: .applied)], at: hub.head)
        disk.arm(Fault("write", .write, .io), at: 1)
        #expect(throws: ReplicaError.self) { try replica.apply(hub.batch(from: 1)) }
        #expect(try replica.outbox().count == 1)
        _ = try replica.apply(hub.batch(from: 1))
        #expect(try replica.outbox().isEmpty)
    }
}
