internal import PealSQLite

/// Reads a table row by row as far as it goes: from the lowest key upwards, and where that meets damage, from the highest key downwards and
/// then from the first key beyond the damage that can be found. So one broken page costs the rows that stand on it.
struct TableWalk {
    let connection: Connection
    let table: String
    let columns: [String]
    /// The column that orders the table: its first key, or `rowid`.
    let key: String
    /// Whether the key is a number, so that one can seek beyond damage.
    let isNumber: Bool
    /// How often reading failed, and why first.
    private(set) var failures = 0
    private(set) var problem: String?

    /// Stretches of damage that are passed over in one table.
    private static let patience = 4_096

    init(_ connection: Connection, table: String, columns: [String], key: String, isNumber: Bool) {
        self.connection = connection
        self.table = table
        self.columns = columns
        self.key = key
        self.isNumber = isNumber
    }

    /// Visits what can be read; a row may come twice where there is damage.
    ///
    /// - Throws: what the visitor throws.
    mutating func run(_ visit: ([SQLiteValue]) throws(SQLiteError) -> Void) throws(SQLiteError) {
        var last = Int64.min
        if try pass("1", descending: false, &last, visit) { return }
        guard isNumber else {
            _ = try pass("1", descending: true, &last, visit)
            return
        }
        var high = Int64.max
        _ = try pass("\(key) > \(last)", descending: true, &high, visit)
        while failures < Self.patience, let next = beyond(last, high) {
            last = next
            if try pass("\(key) > \(next) AND \(key) < \(high)", descending: false, &last, visit) { return }
        }
    }

    /// One way through, with the key of the last row that could be read.
    ///
    /// - Returns: whether it came to the end.
    private mutating func pass(
        _ condition: String, descending: Bool, _ reached: inout Int64,
        _ visit: ([SQLiteValue]) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        var visiting: SQLiteError?
        do throws(SQLiteError) {
            let query = try connection.prepare(
                "SELECT \(key), \(columns.joined(separator: ", ")) FROM \(table) NOT INDEXED WHERE \(condition) "
                    + "ORDER BY \(key) \(descending ? "DESC" : "ASC")")
            while try query.step() {
                let row = columns.indices.map { query.value(Int32($0) + 1) }
                if isNumber { reached = query.int64(0) }
                do throws(SQLiteError) {
                    try visit(row)
                } catch {
                    visiting = error
                    throw error
                }
            }
            return true
        } catch {
            if let visiting { throw visiting }
            failures += 1
            problem = problem ?? error.message
            return false
        }
    }

    /// A key below the first row that can be found beyond damage; nil where none is.
    private func beyond(_ last: Int64, _ high: Int64) -> Int64? {
        var bad = last
        var good: Int64?
        var step: Int64 = 1
        for _ in 0..<60 {
            let (probe, isOver) = last.addingReportingOverflow(step)
            guard !isOver, probe < high else { break }
            if isReadable(probe, high) {
                good = probe
                break
            }
            bad = probe
            step = step.multipliedReportingOverflow(by: 2).partialValue
            if step <= 0 { break }
        }
        guard var good else { return nil }
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2
            if isReadable(middle, high) { good = middle } else { bad = middle }
        }
        return good
    }

    private func isReadable(_ key: Int64, _ high: Int64) -> Bool {
        do throws(SQLiteError) {
            return try connection.prepare(
                "SELECT \(columns.joined(separator: ", ")) FROM \(table) NOT INDEXED WHERE \(self.key) > \(key) AND \(self.key) < \(high) "
                    + "ORDER BY \(self.key) LIMIT 1"
            ).step()
        } catch {
            return false
        }
    }
}
