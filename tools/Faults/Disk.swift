internal import CPealFaultVFS
internal import Synchronization

/// One disk that fails when it is told to: a SQLite VFS of its own name (docs/faults.md).
///
/// Thread-safe. It must outlive every connection that uses it.
package final class Disk: @unchecked Sendable {
    // The C side has a mutex.
    private let disk: OpaquePointer
    /// What a connection is opened with.
    package let vfs: String

    private static let numbers = Atomic<Int>(0)

    package init() {
        let number = Self.numbers.add(1, ordering: .relaxed).newValue
        vfs = "peal-fault-\(number)"
        guard let made = pfv_disk_new(vfs) else { preconditionFailure("the VFS cannot be registered") }
        disk = made
    }

    deinit { precondition(pfv_disk_free(disk) == 1, "a file of the disk is still open") }

    /// The k-th operation of a kind of fault fails from now on.
    package func arm(_ fault: Fault, at point: UInt64) {
        var plan = pfv_plan(
            ops: fault.operations.rawValue, at: point, effect: fault.effect.rawValue, sticky: fault.isSticky ? 1 : 0,
            loss: fault.loss.rawValue, seed: fault.seed &+ point &* 0x9E37_79B9)
        pfv_disk_arm(disk, &plan)
    }

    /// Nothing more fails; a power that is cut stays cut.
    package func disarm() { pfv_disk_disarm(disk) }

    /// How many operations of these kinds there were.
    func count(_ operations: Fault.Operations) -> UInt64 {
        (0..<PFV_OPS.rawValue).filter { operations.rawValue >> $0 & 1 == 1 }.reduce(0) {
            $0 + pfv_disk_count(disk, Int32($1))
        }
    }

    /// Cuts the power.
    package func cut(_ loss: Fault.Loss, seed: UInt64) { pfv_disk_cut(disk, loss.rawValue, seed) }

    /// How many operations have failed.
    package var fired: UInt64 { pfv_disk_fired(disk) }

    /// How many operations of the kind there were since it was armed.
    package var seen: UInt64 { pfv_disk_seen(disk) }

    /// Makes the files what a real disk might hold after the cut. Every connection is closed before.
    package func restore() {
        let result = pfv_disk_restore(disk)
        precondition(result == 0, "the disk cannot be restored: errno \(result)")
    }

    /// Whether the power is cut.
    package var isCut: Bool { pfv_disk_is_cut(disk) != 0 }

    /// Whether a file is open.
    package var isInUse: Bool { pfv_disk_open_files(disk) > 0 }
}
