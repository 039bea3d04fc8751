import Faults
import PealSQLite
import Testing

/// The disk that fails is an instrument: what it says has been lost must be lost, and nothing else.
@Suite struct DiskTests {
    private func count(_ scratch: Scratch) throws -> Int64 {
        try scratch.connect(nil).int("SELECT count(*) FROM t")
    }

    /// A database with a table, on the disk for good, and one row in a commit of its own.
    private func row(
        _ scratch: Scratch, _ disk: Disk, _ synchronous: Connection.Synchronous, lose: Fault.Loss, seed: UInt64 = 1
    ) throws {
        try scratch.connect(nil).execute("CREATE TABLE t (value INTEGER) STRICT")
        var connection: Connection? = try scratch.connect(disk, synchronous)
        try connection?.execute("INSERT INTO t VALUES (1)")
        disk.cut(lose, seed: seed)
        #expect(throws: SQLiteError.self) { try connection?.execute("INSERT INTO t VALUES (2)") }
        connection = nil
        disk.restore()
    }

    @Test func `a power cut takes a commit that was not synced`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        try row(scratch, disk, .normal, lose: .all)
        #expect(try count(scratch) == 0)
        #expect(!scratch.exists("-wal") && !scratch.exists("-shm"))
    }

    @Test func `a power cut leaves a commit that was synced`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        try row(scratch, disk, .full, lose: .all)
        #expect(try count(scratch) == 1)
    }

    @Test func `where names outlive data, the log is there and empty`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        try row(scratch, disk, .normal, lose: .data)
        #expect(scratch.exists("-wal"))
        #expect(try count(scratch) == 0)
    }

    @Test func `some seeds lose an unsynced commit and some keep it`() throws {
        var found = Set<Int64>()
        for seed in 1...40 as ClosedRange<UInt64> where found.count < 2 {
            let (scratch, disk) = (try Scratch(), Disk())
            try row(scratch, disk, .normal, lose: .some, seed: seed)
            found.insert(try count(scratch))
        }
        #expect(found == [0, 1])
    }

    @Test func `a database that was never synced vanishes`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        disk.arm(Fault("cut", .write, .cut), at: 1)
        #expect(throws: SQLiteError.self) { try scratch.connect(disk) }
        #expect(scratch.exists())
        disk.restore()
        #expect(!scratch.exists())
    }

    @Test func `half of a write reaches the file, the caller hears that the disk is full`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        let connection = try scratch.connect(disk)
        disk.arm(Fault("short", .write, .short), at: 3)
        let error = #expect(throws: SQLiteError.self) { try connection.execute("CREATE TABLE t (a INTEGER) STRICT") }
        #expect(error?.code == .full)
        #expect(disk.fired == 1)
        try connection.execute("CREATE TABLE t (a INTEGER) STRICT")
        #expect(try connection.integrityProblems() == [])
    }

    @Test func `a fault strikes once, or from then on until the disk is mended`() throws {
        for sticky in [false, true] {
            let (scratch, disk) = (try Scratch(), Disk())
            let connection = try scratch.connect(disk)
            try connection.execute("CREATE TABLE t (a INTEGER) STRICT")
            disk.arm(Fault("sync", .sync, .io, isSticky: sticky), at: 1)
            #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES (1)") }
            if sticky {
                #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES (2)") }
                disk.disarm()
            }
            try connection.execute("INSERT INTO t VALUES (3)")
            #expect(try connection.int("SELECT count(*) FROM t") == 1)
        }
    }

    @Test func `what a failed sync left behind is not made durable by a later one`() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        try scratch.connect(nil).execute("CREATE TABLE t (a INTEGER) STRICT")
        var connection: Connection? = try scratch.connect(disk, .normal)
        try connection?.execute("INSERT INTO t VALUES (1)")
        disk.arm(Fault("sync", .sync, .io), at: 1)
        // The checkpoint's sync of the log fails; nothing in the log is safe from now on.
        #expect(throws: SQLiteError.self) { try connection?.checkpoint(.full) }
        try connection?.setSynchronous(.full)
        try connection?.execute("INSERT INTO t VALUES (2)")
        disk.cut(.all, seed: 1)
        connection = nil
        disk.restore()
        #expect(try count(scratch) == 0)
    }
}
