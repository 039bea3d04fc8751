import PealModel

/// What happens next; `a` and `b` choose among what is there at that moment, so that a step means something wherever it stands.
struct Step: Equatable, Sendable {
    /// What kinds of steps there are, the common ones first.
    enum Kind: Int, CaseIterable, Sendable {
        case up, down, write, commit, look, act, publish, advance
        case apiAct, undo, deadLetter, online, offline
        case cut, notice, replay, crashDevice, crashHub, failCommit
        case backupHub, restoreHub, backupDevice, restoreDevice, cloneDevice
        case cross, trim, poison, reboot, jumpClock, longPause, remove, otherProcess, busyHub
        case token, provider, stall, damage, garble, calm
    }

    var kind: Kind
    var a: UInt32
    var b: UInt32
}

/// One run: its seed gives the shape of the world and the steps; both can be cut down afterwards.
struct Schedule: Sendable {
    /// Where everything else comes from.
    var seed: UInt64
    /// What is different from run to run.
    var shape: Shape
    /// What happens.
    var steps: [Step]

    /// What a run looks like: swarm testing, so that each run leaves some faults out and has much of others.
    struct Shape: Sendable {
        var users = 1
        var devicesPerUser = 2
        var interestDevices = 1
        var trueClocks = true
        var windowEntries: Int64 = 8
        var pageRows = 3
        var keepEntries: Int64 = 6
        /// How long durable cursors hold trimming back.
        var hold: Milliseconds = 0
        var wideFrom = 2
        var restoresHub = false
        var restoresDevices = false
        /// Copies and restored devices are common, and so is what leaves holes in the numbers that they offer again.
        var isOfCopies = false
        /// Frames go through their bytes, as on a socket.
        var encodes = false
        /// How long a user's token lives; nil where users prove nothing.
        var tokenLife: Milliseconds?
        /// Replicas' files are damaged.
        var damages = false
        /// When the faults stop, ends of dead connections still have to find out by themselves.
        var waitsForTimeouts = false
        /// The real SQLite stores.
        var isSQLite = false

        var retention: Retention {
            Retention(entries: keepEntries, age: 365 * 86_400_000, hold: hold, period: 0)
        }
    }

    /// The schedule of a seed.
    init(seed: UInt64, steps count: Int, sqliteShare: Int = 0) {
        self.seed = seed
        var random = SimRandom(seed: seed)
        var shape = Shape()
        shape.users = random.once(in: 5) ? 2 : 1
        shape.devicesPerUser = 1 + random.below(3)
        shape.interestDevices = random.once(in: 4) ? 4 : random.below(3)
        shape.trueClocks = !random.once(in: 3)
        shape.windowEntries = [1, 2, 4, 8, 64][random.below(5)]
        shape.pageRows = 1 + random.below(5)
        shape.keepEntries = Int64([1, 3, 8, 1_000][random.below(4)])
        shape.hold = random.once(in: 2) ? 0 : 60_000
        shape.wideFrom = [1, 2, 1_000][random.below(3)]
        shape.restoresHub = random.once(in: 3)
        shape.restoresDevices = random.once(in: 3)
        shape.isOfCopies = random.once(in: 12)
        if shape.isOfCopies { shape.restoresDevices = true }
        shape.encodes = random.once(in: 8)
        if random.once(in: 3) { shape.tokenLife = [60_000, 90_000, 600_000][random.below(3)] }
        shape.damages = random.once(in: 4) && shape.trueClocks
        shape.waitsForTimeouts = random.once(in: 4)
        shape.isSQLite = sqliteShare > 0 && random.once(in: sqliteShare)
        let weights = Self.weights(shape, &random)
        let total = weights.reduce(0) { $0 + $1.1 }
        steps = []
        steps.reserveCapacity(count)
        for _ in 0..<count {
            var pick = random.below(total)
            var kind = Step.Kind.up
            for (candidate, weight) in weights {
                if pick < weight {
                    kind = candidate
                    break
                }
                pick -= weight
            }
            let bits = random.next()
            steps.append(
                Step(kind: kind, a: UInt32(truncatingIfNeeded: bits), b: UInt32(truncatingIfNeeded: bits >> 32)))
        }
        self.shape = shape
    }

    private static func weights(_ shape: Shape, _ random: inout SimRandom) -> [(Step.Kind, Int)] {
        var weights: [(Step.Kind, Int)] = []
        for kind in Step.Kind.allCases {
            let base =
                switch kind {
                case .up, .down: 160
                case .write, .commit: 110
                case .look: 40
                case .act: 70
                case .publish: 40
                case .advance: 60
                case .apiAct: 12
                case .online: 20
                case .notice: 16
                case .undo, .deadLetter, .offline: 6
                case .cut: 12
                case .cross: 8
                case .replay, .crashDevice, .crashHub, .failCommit: 5
                case .backupHub: shape.restoresHub ? 4 : 0
                case .restoreHub: shape.restoresHub ? 2 : 0
                case .backupDevice: shape.restoresDevices ? 4 : 0
                case .restoreDevice, .cloneDevice: shape.isOfCopies ? 8 : shape.restoresDevices ? 2 : 0
                case .trim: 16
                case .poison: shape.isOfCopies ? 20 : 3
                case .remove: 3
                case .reboot: 3
                case .jumpClock: shape.trueClocks ? 0 : 4
                case .longPause: 1
                case .busyHub: 2
                case .otherProcess: 4
                case .token: shape.tokenLife == nil ? 0 : 24
                case .provider: shape.tokenLife == nil ? 0 : 6
                case .stall: 8
                case .garble: 4
                case .calm: 3
                case .damage: shape.damages && !shape.isSQLite ? 14 : 0
                }
            guard base > 0 else { continue }
            // Faults are left out of a quarter of the runs each, and come often in another.
            if base <= 20 {
                switch random.below(4) {
                case 0: continue
                case 1: weights.append((kind, base * 3))
                default: weights.append((kind, base))
                }
            } else {
                weights.append((kind, base / 2 + random.below(base)))
            }
        }
        return weights
    }
}
