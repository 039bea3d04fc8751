internal import CPealFaultVFS

/// A way in which the ground gives way under SQLite; a campaign puts it at the first, second, third … place where it can.
package struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// What a file is asked for.
    package struct Operations: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        init(_ operation: pfv_op) { rawValue = 1 << UInt32(operation.rawValue) }

        package static let open = Operations(PFV_OPEN)
        package static let read = Operations(PFV_READ)
        package static let write = Operations(PFV_WRITE)
        package static let sync = Operations(PFV_SYNC)
        package static let truncate = Operations(PFV_TRUNCATE)
        package static let delete = Operations(PFV_DELETE)
        package static let access = Operations(PFV_ACCESS)
        package static let size = Operations(PFV_SIZE)
        package static let lock = Operations(PFV_LOCK)
        package static let index: Operations = [Operations(PFV_SHM_MAP), Operations(PFV_SHM_LOCK)]
        /// What moves something: where a power cut makes a difference.
        package static let moving: Operations = [.open, .write, .sync, .truncate, .delete]
    }

    /// How an operation fails.
    package enum Effect: Int32, Sendable {
        /// EIO.
        case io
        /// ENOSPC.
        case full
        /// Half of a write, then ENOSPC.
        case short
        /// The power goes.
        case cut
        /// No memory: an allocation of SQLite fails, no operation of a file.
        case memory
    }

    /// What a power cut leaves.
    package enum Loss: Int32, Sendable {
        /// Nothing that was not synced.
        case all
        /// Names as they were, no byte that was not synced.
        case data
        /// Any of it, by the seed.
        case some
    }

    /// A word for reports.
    package var name: String
    var operations: Operations
    var effect: Effect
    /// Everything after it fails too, until the disk is mended.
    var isSticky: Bool
    var loss: Loss
    var seed: UInt64
    /// Where the calls went on after it, the power is cut in the end.
    var cutsAtEnd: Bool

    package init(
        _ name: String, _ operations: Operations, _ effect: Effect, isSticky: Bool = false, loss: Loss = .all,
        seed: UInt64 = 0, cutsAtEnd: Bool = false
    ) {
        self.name = name
        self.operations = operations
        self.effect = effect
        self.isSticky = isSticky
        self.loss = loss
        self.seed = seed
        self.cutsAtEnd = cutsAtEnd
    }

    /// Its name.
    package var description: String { name }

    /// Each operation, once and for good; a full disk and a short write; a power cut with three kinds of loss.
    package static func disk(seed: UInt64) -> [Fault] {
        let kinds: [(String, Operations)] = [
            ("open", .open), ("read", .read), ("write", .write), ("sync", .sync), ("truncate", .truncate),
            ("delete", .delete), ("access", .access), ("size", .size), ("lock", .lock), ("index", .index),
        ]
        var faults: [Fault] = []
        for (name, operations) in kinds {
            faults.append(Fault("\(name) fails", operations, .io))
            faults.append(Fault("\(name) fails for good", operations, .io, isSticky: true))
        }
        faults += [
            Fault("full", .write, .full), Fault("full for good", .write, .full, isSticky: true),
            Fault("short write", .write, .short), Fault("short writes for good", .write, .short, isSticky: true),
            Fault("write fails, later a cut", .write, .io, cutsAtEnd: true),
            Fault("sync fails, later a cut", .sync, .io, cutsAtEnd: true),
            Fault("cut, all lost", .moving, .cut), Fault("cut, data lost", .moving, .cut, loss: .data),
        ]
        for index in 0..<3 as Range<UInt64> {
            faults.append(
                Fault("cut, some lost \(index + 1)", .moving, .cut, loss: .some, seed: seed &* 31 &+ index))
        }
        return faults
    }

    /// An allocation, once and for good.
    package static let memory = [
        Fault("no memory", [], .memory), Fault("no memory for good", [], .memory, isSticky: true),
    ]

    /// Puts the allocator that fails under SQLite; before anything else of it is called in this process. False: it runs already.
    package static func installMemory() -> Bool { pfv_memory_install() == 0 }
}
