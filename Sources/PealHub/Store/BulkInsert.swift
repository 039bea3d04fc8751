/// Inserts rows of integers, several with each statement: starting and ending a statement costs as much as a row.
final class BulkInsert {
    /// Rows of one statement.
    static let rows = 16

    private let one: Query
    private let many: Query
    private let columns: Int

    /// - Parameters:
    ///   - table: what to insert into.
    ///   - columns: its columns, in the order of the values.
    init(_ database: StoreDatabase, into table: String, _ columns: [String]) throws(HubStoreError) {
        self.columns = columns.count
        let head = "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
        let row = "(" + Array(repeating: "?", count: columns.count).joined(separator: ", ") + ")"
        one = try database.query(head + row)
        many = try database.query(head + Array(repeating: row, count: Self.rows).joined(separator: ", "))
    }

    /// Inserts rows, whose values stand one after the other.
    func run(_ values: [Int64]) throws(HubStoreError) {
        precondition(values.count.isMultiple(of: columns), "rows are whole")
        var rest = values[...]
        while !rest.isEmpty {
            let isMany = rest.count >= Self.rows * columns
            let next = rest.prefix(isMany ? Self.rows * columns : columns)
            try (isMany ? many : one).run(integers: next)
            rest = rest[next.endIndex...]
        }
    }
}
