import PealModel

extension FuzzTarget {
    /// A hub and a device, session machines and stores, joined by frames that are lost, changed, forged, doubled; with acts,
    /// publishes, clocks, cuts, restarts and restores. An input is a program of ``SessionStep``s.
    package static let sessions = FuzzTarget(
        name: "sessions", seeds: SessionSeeds.all,
        dictionary: JSONWords.all + SessionStep.allCases.map { String(UnicodeScalar($0.rawValue)) },
        replays: 150, run: SessionWorld.run)
}

/// What an input may do; the first byte of a step, modulo their number.
enum SessionStep: UInt8, CaseIterable {
    /// Everything flows, for some rounds.
    case flow
    case deliverUp
    case deliverDown
    case commit
    case write
    /// The next frame arrives changed.
    case patchUp
    case patchDown
    /// A golden frame arrives, changed.
    case goldenUp
    case goldenDown
    /// Bytes of the input arrive as a frame.
    case rawUp
    case rawDown
    case clock
    case cut
    case act
    case publish
    case dropUp
    case dropDown
    case doubleUp
    case doubleDown
    /// The device's process starts again.
    case restartDevice
    /// The hub's process starts again.
    case restartHub
    case backUpHub
    case restoreHub
    case start
    case stop
    case networkChanged
    case secondThoughts
    case otherAct
    case upkeep
    case token
}

/// Programs to begin with.
enum SessionSeeds {
    private static func program(_ steps: [(SessionStep, [UInt8])]) -> [UInt8] {
        steps.flatMap { [$0.0.rawValue] + $0.1 }
    }

    static func all() -> [(name: String, bytes: [UInt8])] {
        let begin: [(SessionStep, [UInt8])] = [(.publish, [3]), (.start, []), (.flow, [])]
        var seeds: [(name: String, bytes: [UInt8])] = [
            ("session", program(begin + [(.act, [0, 0]), (.flow, []), (.publish, [1]), (.flow, [])])),
            ("device", [1] + program(begin + [(.act, [9, 0]), (.flow, [])])),
            ("acts", program(begin + (0..<12).flatMap { [(.act, [$0, 0]), (.otherAct, [$0, 1]), (.flow, [])] })),
            (
                "cuts",
                program(
                    begin
                        + (0..<6).flatMap {
                            [(.act, [$0, 0]), (.deliverUp, []), (.cut, []), (.clock, [3]), (.flow, [])]
                        })
            ),
            (
                "restore",
                program(
                    begin + [
                        (.backUpHub, []), (.act, [0, 0]), (.flow, []), (.restoreHub, []), (.clock, [5]), (.flow, []),
                    ])
            ),
            (
                "doubled",
                program(
                    begin + [
                        (.act, [0, 0]), (.doubleUp, []), (.flow, []), (.publish, [2]), (.write, []), (.doubleDown, []),
                        (.flow, []),
                    ])
            ),
            (
                "restarts",
                program(
                    begin + [
                        (.act, [1, 0]), (.restartDevice, []), (.flow, []), (.restartHub, []), (.clock, [4]),
                        (.flow, []),
                    ])
            ),
            (
                "quiet",
                program(
                    begin + [
                        (.clock, [7]), (.clock, [7]), (.networkChanged, []), (.flow, []), (.upkeep, []), (.token, []),
                    ])
            ),
        ]
        for index in GoldenFrames.up.indices {
            seeds.append(("up-\(index)", program(begin + [(.goldenUp, [UInt8(index), 0]), (.flow, [])])))
        }
        for index in GoldenFrames.down.indices {
            seeds.append(("down-\(index)", program(begin + [(.goldenDown, [UInt8(index), 1, 0]), (.flow, [])])))
        }
        return seeds.map { ($0.name, $0.name == "device" ? $0.bytes : [0] + $0.bytes) }
    }
}
