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
        handle = try prepareHandle(connection, sql)
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
        guard owned else { return }
        counter.forgetBinding(of: handle)
        sqlite3_finalize(handle)
    }

    // MARK: Binding

    /// A value that cannot be bound must not become NULL: the next step throws.
    @inline(__always)
    private func check(_ result: Int32) {
        if result != SQLITE_OK { note(result) }
    }

    private func note(_ result: Int32) {
        precondition(
            result == SQLITE_NOMEM || result == SQLITE_TOOBIG, "no such parameter, or the statement is running")
        counter.failedBinding = (handle, result)
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

    /// Steps to the next row: true where there is one, false at the end, where the statement is reset. Blocking.
    ///
    /// - Throws: ``SQLiteError``, also of a value that could not be bound (`tooBig`, `noMemory`); the statement is reset then.
    @inline(__always)
    public func step() throws(SQLiteError) -> Bool {
        if counter.failedBinding != nil { try throwFailedBinding() }
        counter.steps += 1
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default: throw stepError()
        }
    }

    private func throwFailedBinding() throws(SQLiteError) {
        guard let failed = counter.failedBinding, failed.statement == handle else { return }
        counter.failedBinding = nil
        throw SQLiteError(resultCode: failed.code, sql: sqlite3_sql(handle).map { String(cString: $0) })
    }

    private func stepError() -> SQLiteError {
        let error = SQLiteError.last(
            sqlite3_db_handle(handle), sql: sqlite3_sql(handle).map { String(cString: $0) },
            hasValues: sqlite3_bind_parameter_count(handle) > 0)
        sqlite3_reset(handle)
        return error
    }

    /// Makes the statement ready for the next run; bound values stay.
    @inline(__always)
    public func reset() { sqlite3_reset(handle) }

    /// Forgets the bound values.
    public func clearBindings() {
        sqlite3_clear_bindings(handle)
        counter.forgetBinding(of: handle)
    }

    /// Runs a statement whose rows, if any, do not matter, and resets it. Blocking.
    ///
    /// - Throws: ``SQLiteError``; the statement is reset then too.
    @inline(__always)
    public func run() throws(SQLiteError) {
        while try step() {}
    }
}

/// Prepares SQL that is one statement and stays for a while.
func prepareHandle(_ connection: OpaquePointer, _ sql: String) throws(SQLiteError) -> OpaquePointer {
    var handle: OpaquePointer?
    var isFollowed = false
    let result = sql.withCString { text in
        var tail: UnsafePointer<CChar>?
        let result = sqlite3_prepare_v3(connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, &tail)
        if result == SQLITE_OK, let tail { isFollowed = hasStatement(connection, tail) }
        return result
    }
    guard result == SQLITE_OK else { throw SQLiteError.last(connection, sql: sql) }
    guard let handle, !isFollowed else {
        sqlite3_finalize(handle)
        throw SQLiteError(.sql, "the text is not exactly one statement", sql: sql)
    }
    return handle
}

/// Whether there is more than white space, comments and semicolons; SQLite alone knows.
private func hasStatement(_ connection: OpaquePointer, _ text: UnsafePointer<CChar>) -> Bool {
    var next: UnsafePointer<CChar>? = text
    while let start = next, start.pointee != 0 {
        var handle: OpaquePointer?
        let result = sqlite3_prepare_v2(connection, start, -1, &handle, &next)
        sqlite3_finalize(handle)
        if result != SQLITE_OK || handle != nil { return true }
    }
    return false
}

/// Counts the steps of a connection's statements, so that a test can hold a call to a number of statements.
final class StepCounter {
    var steps = 0
    /// The last value that a statement could not take, until its step tells.
    var failedBinding: (statement: OpaquePointer, code: Int32)?

    func forgetBinding(of statement: OpaquePointer) {
        if let failed = failedBinding, failed.statement == statement { failedBinding = nil }
    }
}
