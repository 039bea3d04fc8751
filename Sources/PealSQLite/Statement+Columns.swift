internal import CPealSQLite

/// The columns of the current row: after ``step()`` said true. Without a row, or past the last column, reading traps.
extension Statement {
    /// How many columns a row has.
    public var columnCount: Int32 { sqlite3_column_count(handle) }

    /// The name of a column.
    public func name(_ index: Int32) -> String {
        precondition(index >= 0 && index < columnCount, "no such column")
        return sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
    }

    /// Whether a column is NULL.
    @inline(__always)
    public func isNull(_ index: Int32) -> Bool { sqlite3_column_type(handle, checked(index)) == SQLITE_NULL }

    /// An integer column; 0 for NULL.
    @inline(__always)
    public func int64(_ index: Int32) -> Int64 { sqlite3_column_int64(handle, checked(index)) }

    /// An integer column; 0 for NULL.
    public func int(_ index: Int32) -> Int { Int(sqlite3_column_int64(handle, checked(index))) }

    /// The bits of an integer column, unsigned.
    public func bits(_ index: Int32) -> UInt64 { UInt64(bitPattern: sqlite3_column_int64(handle, checked(index))) }

    /// A column that is 0 or 1; false for NULL.
    public func bool(_ index: Int32) -> Bool { sqlite3_column_int64(handle, checked(index)) != 0 }

    /// An integer column, or nil for NULL.
    public func optionalInt64(_ index: Int32) -> Int64? { isNull(index) ? nil : int64(index) }

    /// A column that is 0 or 1, or nil for NULL.
    public func optionalBool(_ index: Int32) -> Bool? { isNull(index) ? nil : bool(index) }

    /// A number column; 0 for NULL.
    public func double(_ index: Int32) -> Double { sqlite3_column_double(handle, checked(index)) }

    /// A text column, invalid UTF-8 repaired; empty for NULL.
    public func text(_ index: Int32) -> String {
        // SQLite ends a text that it gives out with a zero, in a copy: without memory there would be none, as for NULL. The bytes
        // themselves it lends as they are.
        if sqlite3_column_type(handle, checked(index)) == SQLITE_TEXT { return lentText(index) }
        guard let text = sqlite3_column_text(handle, index) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, index))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// A text column, or nil for NULL.
    public func optionalText(_ index: Int32) -> String? {
        switch sqlite3_column_type(handle, checked(index)) {
        case SQLITE_NULL: nil
        case SQLITE_TEXT: lentText(index)
        default: text(index)
        }
    }

    /// A column that is known to be text.
    @inline(__always)
    private func lentText(_ index: Int32) -> String {
        guard let start = sqlite3_column_blob(handle, index) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, index))
        return String(
            decoding: UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count), as: UTF8.self
        )
    }

    /// A blob or text column; empty for NULL.
    public func blob(_ index: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, checked(index)) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, index))
        // One copy of memory: Array of a raw buffer goes through its iterator's checks.
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, used in
            UnsafeMutableRawBufferPointer(bytes).copyMemory(from: UnsafeRawBufferPointer(start: start, count: count))
            used = count
        }
    }

    /// A blob or text column, or nil for NULL.
    public func optionalBlob(_ index: Int32) -> [UInt8]? { isNull(index) ? nil : blob(index) }

    /// Lends the bytes of a blob or text column; they are valid during the call only, and while the statement does not step.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<R, E: Error>(
        _ index: Int32, _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        let start = sqlite3_column_blob(handle, checked(index))
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(handle, index))
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// SQLite answers NULL for a column that is not there, and without a row; that would hide a mistake.
    @inline(__always)
    private func checked(_ index: Int32) -> Int32 {
        precondition(index >= 0 && index < sqlite3_data_count(handle), "no row, or no such column")
        return index
    }
}
