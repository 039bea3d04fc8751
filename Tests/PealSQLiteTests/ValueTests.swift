import PealSQLite
import Testing

@Suite struct ValueTests {
    let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:")
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    }

    @Test func `every kind of value comes back as it went in`() throws {
        let statement = try connection.prepare("SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8")
        statement.bind(1, Int64.min)
        statement.bind(2, 1.5)
        statement.bind(3, true)
        statement.bind(4, "päal")
        statement.bind(5, [0, 1, 255] as [UInt8])
        statement.bindNull(6)
        statement.bind(7, bits: UInt64.max)
        statement.bind(8, text: Array("abc".utf8)[1...])
        #expect(try statement.step() == true)
        #expect(statement.columnCount == 8)
        #expect(statement.int64(0) == .min)
        #expect(statement.double(1) == 1.5)
        #expect(statement.bool(2) == true)
        #expect(statement.text(3) == "päal")
        #expect(statement.blob(4) == [0, 1, 255])
        #expect(statement.isNull(5) == true)
        #expect(statement.optionalText(5) == nil)
        #expect(statement.optionalInt64(5) == nil)
        #expect(statement.optionalBlob(5) == nil)
        #expect(statement.optionalBool(5) == nil)
        #expect(statement.text(5) == "")
        #expect(statement.bits(6) == .max)
        #expect(statement.text(7) == "bc")
        #expect(try statement.step() == false)
    }

    @Test func `an empty text and an empty blob are not NULL`() throws {
        let statement = try connection.prepare("SELECT typeof(?1), typeof(?2), typeof(?3), typeof(?4)")
        statement.bind(1, "")
        statement.bind(2, [] as [UInt8])
        statement.bind(3, UnsafeRawBufferPointer(start: nil, count: 0))
        statement.bind(4, text: [])
        #expect(try statement.step() == true)
        var types: [String] = []
        for index: Int32 in 0..<4 { types.append(statement.text(index)) }
        #expect(types == ["text", "blob", "blob", "text"])
    }

    @Test func `an optional binds its value or NULL`() throws {
        let statement = try connection.prepare("SELECT ?1, ?2, ?3, ?4")
        statement.bind(1, Int64?.none)
        statement.bind(2, String?.some("a"))
        statement.bind(3, Bool?.some(false))
        statement.bind(4, [UInt8]?.none)
        #expect(try statement.step() == true)
        #expect(statement.isNull(0) == true)
        #expect(statement.isNull(3) == true)
        #expect(statement.text(1) == "a")
        #expect(statement.optionalBool(2) == false)
    }

    @Test func `text keeps embedded NULs, and what is not UTF-8 is mended at reading only`() throws {
        let insert = try connection.prepare("INSERT INTO t(v) VALUES(?1)")
        insert.bind(1, "a\0b\0")
        try insert.run()
        insert.bind(1, text: [0x61, 0xFF, 0xC3])
        try insert.run()
        let query = try connection.prepare("SELECT v, typeof(v) FROM t ORDER BY id")
        #expect(try query.step() == true)
        #expect(query.text(0) == "a\0b\0")
        #expect(try query.step() == true)
        #expect(query.text(0) == "a\u{FFFD}\u{FFFD}")
        #expect(query.blob(0) == [0x61, 0xFF, 0xC3])
        #expect(query.text(1) == "text")
    }

    @Test func `a blob of sixteen megabytes comes back whole`() throws {
        let bytes = (0..<(16 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let insert = try connection.prepare("INSERT INTO t(v) VALUES(?1)")
        insert.bind(1, bytes)
        try insert.run()
        let query = try connection.prepare("SELECT v FROM t")
        #expect(try query.step() == true)
        let isSame = query.withBytes(0) { $0.elementsEqual(bytes) }
        #expect(isSame)
    }

    @Test func `a value over the limit throws at the step and never becomes NULL`() throws {
        let insert = try connection.prepare("INSERT INTO t(v) VALUES(?1)")
        // SQLite refuses it by its length, before it reads a byte.
        let tooLong = UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: 4_096), count: 1 << 31)
        insert.bind(1, tooLong)
        do throws(SQLiteError) {
            try insert.run()
            Issue.record("it ran")
        } catch {
            #expect(error.code == .tooBig)
        }
        #expect(try connection.count("t") == 0)
        insert.bind(1, 7)
        try insert.run()
        insert.bind(1, tooLong)
        insert.clearBindings()
        try insert.run()
        #expect(try connection.count("t") == 2)
    }
}
