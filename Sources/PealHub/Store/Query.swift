import PealSQLite

#if PostgreSQL
    import PealPostgres
#endif

/// A prepared statement with its ways of being run, and, while it runs, the row on which it stands. Never used again while it runs.
final class Query {
    private enum Engine: ~Copyable {
        case sqlite(Statement)
        #if PostgreSQL
            case postgres(PostgresQuery)
        #endif
    }

    private let engine: Engine

    init(_ statement: consuming Statement) { engine = .sqlite(statement) }

    #if PostgreSQL
        init(_ query: PostgresQuery) { engine = .postgres(query) }
    #endif

    // MARK: Running

    @inline(__always)
    private func bind<each Value: Bindable>(_ values: repeat each Value) {
        switch engine {
        case .sqlite(let statement):
            var index: Int32 = 1
            for value in repeat each values {
                value.bind(to: statement, at: index)
                index += 1
            }
        #if PostgreSQL
            case .postgres(let query):
                for value in repeat each values { value.add(to: &query.parameters) }
        #endif
        }
    }

    @inline(__always)
    private func step() throws(HubStoreError) -> Bool {
        switch engine {
        case .sqlite(let statement):
            do throws(SQLiteError) {
                return try statement.step()
            } catch {
                throw HubStoreError(error)
            }
        #if PostgreSQL
            case .postgres(let query): return try query.step()
        #endif
        }
    }

    @inline(__always)
    private func reset() {
        switch engine {
        case .sqlite(let statement): statement.reset()
        #if PostgreSQL
            case .postgres(let query): query.reset()
        #endif
        }
    }

    /// Runs it for its effect. On PostgreSQL nothing is waited for: what goes wrong is thrown by a later call.
    func run<each Value: Bindable>(_ values: repeat each Value) throws(HubStoreError) {
        bind(repeat each values)
        defer { reset() }
        switch engine {
        case .sqlite: while try step() {}
        #if PostgreSQL
            case .postgres(let query): try query.send()
        #endif
        }
    }

    /// Runs it for its effect, with as many integers as it has parameters. SQLite only.
    func run(integers values: ArraySlice<Int64>) throws(HubStoreError) {
        switch engine {
        case .sqlite(let statement):
            var index: Int32 = 1
            for value in values {
                statement.bind(index, value)
                index += 1
            }
        #if PostgreSQL
            case .postgres: preconditionFailure("PostgreSQL takes arrays")
        #endif
        }
        defer { reset() }
        while try step() {}
    }

    /// Reads the first row; nil where there is none.
    func first<each Value: Bindable, Result>(
        _ values: repeat each Value, read: (Query) throws(HubStoreError) -> Result
    ) throws(HubStoreError) -> Result? {
        bind(repeat each values)
        defer { reset() }
        guard try step() else { return nil }
        return try read(self)
    }

    /// Reads every row.
    func all<each Value: Bindable, Result>(
        _ values: repeat each Value, read: (Query) throws(HubStoreError) -> Result
    ) throws(HubStoreError) -> [Result] {
        bind(repeat each values)
        defer { reset() }
        var results: [Result] = []
        while try step() { results.append(try read(self)) }
        return results
    }

    /// Visits rows until the body answers false.
    func forEach<each Value: Bindable>(
        _ values: repeat each Value, body: (Query) throws(HubStoreError) -> Bool
    ) throws(HubStoreError) {
        bind(repeat each values)
        defer { reset() }
        while try step() {
            guard try body(self) else { return }
        }
    }

    // MARK: The row

    /// Whether a column is NULL.
    @inline(__always)
    func isNull(_ column: Int32) -> Bool {
        switch engine {
        case .sqlite(let statement): statement.isNull(column)
        #if PostgreSQL
            case .postgres(let query): query.isNull(column)
        #endif
        }
    }

    /// An integer, or 0 and 1 of a truth value; 0 for NULL.
    @inline(__always)
    func int64(_ column: Int32) -> Int64 {
        switch engine {
        case .sqlite(let statement): statement.int64(column)
        #if PostgreSQL
            case .postgres(let query): query.int64(column)
        #endif
        }
    }

    /// A text; empty for NULL.
    func text(_ column: Int32) -> String {
        switch engine {
        case .sqlite(let statement): statement.text(column)
        #if PostgreSQL
            case .postgres(let query): query.withBytes(column) { String(decoding: $0, as: UTF8.self) }
        #endif
        }
    }

    /// Lends bytes; they are valid during the call only.
    func withBytes<R>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        switch engine {
        case .sqlite(let statement): statement.withBytes(column, body)
        #if PostgreSQL
            case .postgres(let query): query.withBytes(column, body)
        #endif
        }
    }

    func int(_ column: Int32) -> Int { Int(int64(column)) }
    func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: int64(column)) }
    func bool(_ column: Int32) -> Bool { int64(column) != 0 }
    func blob(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }
    func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
    func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }
}
