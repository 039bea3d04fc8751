internal import CPealSQLite

/// One prepared statement; finalised when it goes out of scope. Use it on its connection's thread only.
///
/// Indexes of parameters begin at 1, indexes of columns at 0, as in SQLite.
public struct Statement: ~Copyable {
    let handle: OpaquePointer
    private let counter: StepCounter
    private let owned: Bool

    /// Prepares SQL that is one statement.
    ///
    /// - Throws: ``SQLiteError`` where the SQL is wrong.
    init(_ connection: OpaquePointer, _ sql: String, counter: StepCounter) throws(SQLiteError) {
        var handle: OpaquePointer?
        guard sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil) == SQLITE_OK,
            let handle
        else { throw SQLiteError.last(connection, sql: sql) }
        self.handle = handle
        self.counter = counter
        owned = true
    }

    /// A statement that a cache owns.
    init(borrowing handle: OpaquePointer, counter: StepCounter) {
        self.handle = handle
        self.counter = counter
        owned = false
    }

    deinit {
        if owned { sqlite3_finalize(handle) }
    }

    // MARK: Binding

    private func check(_ result: Int32) {
        precondition(
            result == SQLITE_OK || result == SQLITE_NOMEM || result == SQLITE_TOOBIG,
            "no such parameter, or the statement is running")
    }

    /// Binds an integer.
    @inline(__always)
    public func bind(_ index: Int32, _ value: Int64) { check(sqlite3_bind_int64(handle, index, value)) }

    /// Binds an integer.
    @inline(__always)
    public func bind(_ index: Int32, _ value: Int) { check(sqlite3_bind_int64(handle, index, Int64(value))) }

    /// Binds 64 bits as a signed integer of the same bits.
    @inline(__always)
    public func bind(_ index: Int32, bits value: UInt64) {
        check(sqlite3_bind_int64(handle, index, Int64(bitPattern: value)))
    }

    /// Binds 0 or 1.
    public func bind(_ index: Int32, _ value: Bool) { check(sqlite3_bind_int64(handle, index, value ? 1 : 0)) }

    /// Binds a number.
    public func bind(_ index: Int32, _ value: Double) { check(sqlite3_bind_double(handle, index, value)) }

    /// Binds text; a copy is made.
    public func bind(_ index: Int32, _ value: String) {
        var value = value
        value.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) { text in
                check(peal_sqlite_bind_text(handle, index, text.baseAddress ?? Self.empty, UInt64(text.count)))
            }
        }
    }

    private static var empty: UnsafePointer<CChar> { UnsafePointer(bitPattern: 8)! }

    /// Binds a blob; a copy is made.
    public func bind(_ index: Int32, _ value: UnsafeRawBufferPointer) {
        check(
            peal_sqlite_bind_blob(handle, index, value.baseAddress ?? UnsafeRawPointer(Self.empty), UInt64(value.count))
        )
    }

    /// Binds a blob; a copy is made.
    public func bind(_ index: Int32, _ value: [UInt8]) {
        value.withUnsafeBytes { bind(index, $0) }
    }

    /// Binds a blob; a copy is made.
    public func bind(_ index: Int32, _ value: ArraySlice<UInt8>) {
        value.withUnsafeBytes { bind(index, $0) }
    }

    /// Binds bytes that are known to be valid UTF-8 as text; a copy is made.
    public func bind(_ index: Int32, text value: ArraySlice<UInt8>) {
        value.withUnsafeBytes { raw in
            raw.withMemoryRebound(to: CChar.self) { text in
                check(peal_sqlite_bind_text(handle, index, text.baseAddress ?? Self.empty, UInt64(text.count)))
            }
        }
    }

    /// Binds NULL.
    public func bindNull(_ index: Int32) { check(sqlite3_bind_null(handle, index)) }

    /// Binds an integer, or NULL.
    public func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    /// Binds text, or NULL.
    public func bind(_ index: Int32, _ value: String?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    /// Binds 0, 1 or NULL.
    public func bind(_ index: Int32, _ value: Bool?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    /// Binds a blob, or NULL.
    public func bind(_ index: Int32, _ value: [UInt8]?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    // MARK: Running

    /// Steps to the next row: true where there is one, false at the end. Blocking.
    ///
    /// - Throws: ``SQLiteError``; the statement is reset then.
    @inline(__always)
    public func step() throws(SQLiteError) -> Bool {
        counter.steps += 1
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let error = SQLiteError.last(
                sqlite3_db_handle(handle), sql: sqlite3_sql(handle).map { String(cString: $0) })
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Makes the statement ready for the next run; bound values stay.
    @inline(__always)
    public func reset() { sqlite3_reset(handle) }

    /// Forgets the bound values.
    public func clearBindings() { sqlite3_clear_bindings(handle) }

    /// Runs a statement whose rows, if any, do not matter, and resets it. Blocking.
    ///
    /// - Throws: ``SQLiteError``; the statement is reset then too.
    @inline(__always)
    public func run() throws(SQLiteError) {
        while try step() {}
        sqlite3_reset(handle)
    }

    // MARK: Columns

    /// How many columns a row has.
    public var columnCount: Int32 { sqlite3_column_count(handle) }

    /// The name of a column.
    public func name(_ index: Int32) -> String { sqlite3_column_name(handle, index).map { String(cString: $0) } ?? "" }

    /// Whether a column is NULL.
    @inline(__always)
    public func isNull(_ index: Int32) -> Bool { sqlite3_column_type(handle, index) == SQLITE_NULL }

    /// An integer column; 0 for NULL.
    @inline(__always)
    public func int64(_ index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

    /// An integer column; 0 for NULL.
    public func int(_ index: Int32) -> Int { Int(sqlite3_column_int64(handle, index)) }

    /// The bits of an integer column, unsigned.
    public func bits(_ index: Int32) -> UInt64 { UInt64(bitPattern: sqlite3_column_int64(handle, index)) }

    /// A column that is 0 or 1; false for NULL.
    public func bool(_ index: Int32) -> Bool { sqlite3_column_int64(handle, index) != 0 }

    /// An integer column, or nil for NULL.
    public func optionalInt64(_ index: Int32) -> Int64? { isNull(index) ? nil : int64(index) }

    /// A column that is 0 or 1, or nil for NULL.
    public func optionalBool(_ index: Int32) -> Bool? { isNull(index) ? nil : bool(index) }

    /// A number column; 0 for NULL.
    public func double(_ index: Int32) -> Double { sqlite3_column_double(handle, index) }

    /// A text column, invalid UTF-8 repaired; empty for NULL.
    public func text(_ index: Int32) -> String {
        guard let text = sqlite3_column_text(handle, index) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, index))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// A text column, or nil for NULL.
    public func optionalText(_ index: Int32) -> String? { isNull(index) ? nil : text(index) }

    /// A blob or text column; empty for NULL.
    public func blob(_ index: Int32) -> [UInt8] { withBytes(index) { Array($0) } }

    /// A blob or text column, or nil for NULL.
    public func optionalBlob(_ index: Int32) -> [UInt8]? { isNull(index) ? nil : blob(index) }

    /// Lends the bytes of a blob or text column; they are valid during the call only.
    public func withBytes<R>(_ index: Int32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let start = sqlite3_column_blob(handle, index)
        return body(
            UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, index))))
    }
}

/// Counts the steps of a connection's statements, so that a test can hold a call to a number of statements.
final class StepCounter {
    var steps = 0
}
