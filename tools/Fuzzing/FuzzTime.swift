import PealModel
import PealReplica

/// The one clock of an input, and its sources of chance.
final class FuzzTime: @unchecked Sendable {
    // An input is run on one thread.
    var now: Milliseconds
    private var state: UInt64 = 1

    init(_ now: Milliseconds) { self.now = now }

    /// 64 bits, the same for each input.
    func random() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// What a replica takes time and chance from; the device has run since 1970.
    var options: ReplicaOptions {
        var options = ReplicaOptions()
        options.clock = ReplicaClock(
            wall: { [self] in now }, boot: { [self] in now }, bootID: { "boot" })
        options.random = { [self] in random() }
        return options
    }
}
