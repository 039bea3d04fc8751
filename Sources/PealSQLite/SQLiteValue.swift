internal import CPealSQLite

/// A value of any type, for whoever copies rows without knowing their columns.
public enum SQLiteValue: Equatable, Sendable {
    /// NULL.
    case null
    /// An integer.
    case integer(Int64)
    /// A number.
    case real(Double)
    /// The bytes of a text, valid UTF-8 or not.
    case text([UInt8])
    /// A blob.
    case blob([UInt8])
}

extension Statement {
    /// A column as it is.
    public func value(_ index: Int32) -> SQLiteValue {
        if isNull(index) { return .null }
        switch sqlite3_column_type(handle, index) {
        case SQLITE_INTEGER: return .integer(int64(index))
        case SQLITE_FLOAT: return .real(double(index))
        case SQLITE_TEXT: return .text(blob(index))
        default: return .blob(blob(index))
        }
    }

    /// Binds a value as it is; a copy is made.
    public func bind(_ index: Int32, _ value: SQLiteValue) {
        switch value {
        case .null: bindNull(index)
        case .integer(let value): bind(index, value)
        case .real(let value): bind(index, value)
        case .text(let bytes): bind(index, text: bytes[...])
        case .blob(let bytes): bind(index, bytes)
        }
    }
}
