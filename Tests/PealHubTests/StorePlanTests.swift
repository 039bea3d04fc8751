import PealModel
import Testing

@testable import PealHub

/// Every statement finds its rows through an index: none reads a table that grows from end to end, none sorts.
@Suite struct StorePlanTests {
    /// Whole scans that are meant: projects are few, and a partial index holds only what is to be done.
    private let meant = [
        "SCAN project", "SCAN inbox USING INDEX inbox_purge", "SCAN publish USING INDEX publish_pending",
        "SCAN replica USING INDEX replica_suspect", "SCAN CONSTANT ROW",
        "SCAN scheduled USING INDEX scheduled_due",
        "SCAN newest", "SCAN 16 CONSTANT ROWS",
    ]

    private func check(_ queries: [String], _ database: StoreDatabase) throws {
        #expect(queries.count > 5)
        for sql in queries {
            for line in try database.plan(sql) {
                let isScan = line.hasPrefix("SCAN") && !meant.contains(line)
                // Opening after a crash sorts what waited, so that an inbox's rows share its pages.
                let isRecovery =
                    sql.hasPrefix("INSERT OR IGNORE INTO log") || sql.hasPrefix("UPDATE inbox SET head = newest")
                let isSort = line.contains("TEMP B-TREE") && !isRecovery
                #expect(!isScan && !isSort && !line.contains("AUTOMATIC"), "\(line)\n\(sql)")
            }
        }
    }

    @Test func `the store's statements use their indexes`() throws {
        let hub = try StoreFixture()
        let store = try #require(hub.store as? SQLiteHubStore)
        try check(store.database.queries, store.database)
    }

    @Test func `the readers' statements use their indexes`() throws {
        let hub = try StoreFixture()
        let store = try #require(hub.store as? SQLiteHubStore)
        let reader = try #require(hub.reader as? SQLiteHubReader)
        try check(reader.sql, store.database)
    }

    @Test func `a plan without an index is noticed`() throws {
        let hub = try StoreFixture()
        let store = try #require(hub.store as? SQLiteHubStore)
        let plan = try store.database.plan("SELECT * FROM entry WHERE inbox = ?1 ORDER BY position")
        #expect(plan == ["SCAN entry", "USE TEMP B-TREE FOR ORDER BY"])
    }
}
