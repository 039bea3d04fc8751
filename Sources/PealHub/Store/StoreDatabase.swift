import PealSQLite

/// One connection to the hub's file, whose errors are the store's.
final class StoreDatabase {
    /// The connection itself.
    let connection: Connection
    /// The text of every prepared query, for the test that asserts their plans.
    private(set) var queries: [String] = []

    init(path: String, options: Connection.Options) throws(HubStoreError) {
        connection = try sqlite { () throws(SQLiteError) in try Connection(path: path, options: options) }
    }

    /// Prepares a query that lives as long as the connection.
    func query(_ sql: String) throws(HubStoreError) -> Query {
        queries.append(sql)
        do throws(SQLiteError) {
            return Query(try connection.prepare(sql))
        } catch {
            throw HubStoreError(error)
        }
    }

    /// Runs statements that return nothing.
    func execute(_ sql: String) throws(HubStoreError) {
        try sqlite { () throws(SQLiteError) in try connection.execute(sql) }
    }
}

/// A prepared statement with its ways of being run. Never used again while it runs.
final class Query {
    private let statement: Statement

    fileprivate init(_ statement: consuming Statement) { self.statement = statement }

    @inline(__always)
    private func bind<each Value: Bindable>(_ values: repeat each Value) {
        var index: Int32 = 1
        for value in repeat each values {
            value.bind(to: statement, at: index)
            index += 1
        }
    }

    private func step() throws(HubStoreError) -> Bool {
        do throws(SQLiteError) {
            return try statement.step()
        } catch {
            throw HubStoreError(error)
        }
    }

    /// Runs it for its effect.
    func run<each Value: Bindable>(_ values: repeat each Value) throws(HubStoreError) {
        bind(repeat each values)
        defer { statement.reset() }
        while try step() {}
    }

    /// Runs it for its effect, with as many integers as it has parameters.
    func run(integers values: ArraySlice<Int64>) throws(HubStoreError) {
        var index: Int32 = 1
        for value in values {
            statement.bind(index, value)
            index += 1
        }
        defer { statement.reset() }
        while try step() {}
    }

    /// Reads the first row; nil where there is none.
    func first<each Value: Bindable, Result>(
        _ values: repeat each Value, read: (borrowing Statement) throws(HubStoreError) -> Result
    ) throws(HubStoreError) -> Result? {
        bind(repeat each values)
        defer { statement.reset() }
        guard try step() else { return nil }
        return try read(statement)
    }

    /// Reads every row.
    func all<each Value: Bindable, Result>(
        _ values: repeat each Value, read: (borrowing Statement) throws(HubStoreError) -> Result
    ) throws(HubStoreError) -> [Result] {
        bind(repeat each values)
        defer { statement.reset() }
        var results: [Result] = []
        while try step() { results.append(try read(statement)) }
        return results
    }

    /// Visits rows until the body answers false.
    func forEach<each Value: Bindable>(
        _ values: repeat each Value, body: (borrowing Statement) throws(HubStoreError) -> Bool
    ) throws(HubStoreError) {
        bind(repeat each values)
        defer { statement.reset() }
        while try step() {
            guard try body(statement) else { return }
        }
    }
}

/// What a query can be given.
protocol Bindable {
    func bind(to statement: borrowing Statement, at index: Int32)
}

extension Int64: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension Int: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension Bool: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension String: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension [UInt8]: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension UInt64: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, bits: self) }
}
extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) {
        switch self {
        case .none: statement.bindNull(index)
        case .some(let value): value.bind(to: statement, at: index)
        }
    }
}

/// Runs something of SQLite's and turns its error into the store's.
func sqlite<R>(_ body: () throws(SQLiteError) -> R) throws(HubStoreError) -> R {
    do throws(SQLiteError) {
        return try body()
    } catch {
        throw HubStoreError(error)
    }
}

extension HubStoreError {
    /// The store's word for an error of SQLite's.
    init(_ error: SQLiteError) {
        switch error.code.primary {
        case .busy, SQLiteError.Code(rawValue: 6):
            self.init(.busy, "another process holds the store's lock", underlying: error)
        case .full: self.init(.full, "the disk is full", underlying: error)
        case .noMemory, .ioError, .cantOpen, .readOnly:
            self.init(.io, "the disk or memory failed: \(error.message)", underlying: error)
        case .corrupt, .notADatabase, .newerVersion, .otherApplication:
            self.init(.corrupt, "the file cannot be used: \(error.message)", underlying: error)
        default: self.init(.failed, "the database refused a statement: \(error.message)", underlying: error)
        }
    }
}

extension StoreDatabase {
    /// The lines of a query's plan.
    func plan(_ sql: String) throws(HubStoreError) -> [String] {
        try sqlite { () throws(SQLiteError) in try connection.queryPlan(sql) }
    }

    /// The first column of the first row, for tests and counts.
    func int(_ sql: String) throws(HubStoreError) -> Int64 {
        try sqlite { () throws(SQLiteError) in try connection.int(sql) }
    }
}
