#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
public import PealModel

/// Where a replica gets time from. Each closure is called on the replica's executor.
public struct ReplicaClock: Sendable {
    /// The wall clock, in milliseconds since 1970; may be wrong and may jump.
    public var wall: @Sendable () -> Milliseconds
    /// Milliseconds since boot, suspended time included.
    public var boot: @Sendable () -> Milliseconds
    /// Which boot; a new word after each.
    public var bootID: @Sendable () -> String

    /// A clock of its parts.
    public init(
        wall: @escaping @Sendable () -> Milliseconds, boot: @escaping @Sendable () -> Milliseconds,
        bootID: @escaping @Sendable () -> String
    ) {
        self.wall = wall
        self.boot = boot
        self.bootID = bootID
    }

    /// The machine's clocks.
    public static let system: ReplicaClock = {
        let id = readBootID()
        return ReplicaClock(
            wall: { milliseconds(CLOCK_REALTIME) }, boot: { milliseconds(bootClock) }, bootID: { id })
    }()

    #if canImport(Glibc)
        private static let bootClock = CLOCK_BOOTTIME
    #else
        private static let bootClock = CLOCK_MONOTONIC
    #endif

    private static func milliseconds(_ clock: clockid_t) -> Milliseconds {
        var time = timespec()
        clock_gettime(clock, &time)
        return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec) / 1_000_000
    }

    /// The kernel's boot id; where there is none, a word that is never equal to another process's.
    private static func readBootID() -> String {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            var generator = SystemRandomNumberGenerator()
            return Hex64.text(generator.next())
        }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(count, 0)).filter { $0 > 0x20 }, as: UTF8.self)
    }
}

/// How a replica is opened; the defaults are for production.
public struct ReplicaOptions: Sendable {
    /// Where time comes from.
    public var clock = ReplicaClock.system
    /// 64 random bits a call: ids and uids.
    public var random: @Sendable () -> UInt64 = {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
    /// The most pages of 4 KiB that the file may grow to; nil for no limit.
    public var maximumPages: Int64?
    /// What ``Replica/letGo()`` keeps; nil for everything.
    public var keep: KeepLimits?
    /// KiB of page cache of the connection.
    public var cacheKiB = 8_192
    /// The name of a registered SQLite VFS to use the file through; nil for the system's. Tests give one that fails (docs/faults.md).
    public var vfs: String?
    /// Pages in the write-ahead log before a checkpoint; few in tests of checkpoints.
    package var checkpointPages = 1_000

    /// The defaults.
    public init() {}
}
