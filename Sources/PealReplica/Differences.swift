internal import PealModel
internal import PealSQLite

/// What a base and a snapshot differ in although no entry can explain it (docs/sync.md section 6): the base has folded every
/// entry up to its cursor, so whatever the snapshot says of that time must agree with it.
struct Differences {
    let connection: Connection
    let cursor: Position
    let newest: Position

    /// Sentences that a report holds at most.
    static let maximumSentences = 20

    init(_ connection: Connection, cursor: Position, newest: Position) {
        self.connection = connection
        self.cursor = cursor
        self.newest = newest
    }

    func find(_ report: inout SwapReport) throws(SQLiteError) {
        guard cursor > 0 else { return }
        try collect(
            "item %p is there again, or was never folded here",
            """
            SELECT s.position FROM stage_item s
            WHERE s.position <= \(cursor) AND NOT EXISTS
                (SELECT 1 FROM item i WHERE i.position = s.position AND i.id = s.id)
            """, &report)
        // Where the snapshot is not younger than the base, nothing can have been deleted in between.
        if newest <= cursor {
            try collect(
                "item %p is missing in the snapshot",
                """
                SELECT i.position FROM item i
                WHERE i.position <= \(newest) AND NOT EXISTS (SELECT 1 FROM stage_item s WHERE s.position = i.position)
                """, &report)
        }
        try collect(
            "item %p was seen and is not any more",
            """
            SELECT s.position FROM stage_item s JOIN item i ON i.position = s.position
            WHERE s.seen < i.seen AND s.version >= \(cursor)
            """, &report)
        try collect(
            "a choice on item %p stands differently",
            """
            SELECT i.position FROM register i LEFT JOIN stage_register s ON s.position = i.position AND s.field = i.field
            JOIN stage_item p ON p.position = i.position
            WHERE p.version >= \(cursor) AND (s.since IS NULL OR s.since < i.since
                OR (s.since = i.since AND (s.uid <> i.uid OR s.author <> i.author OR s.itime <> i.itime)))
            """, &report)
        try collect(
            "a choice on item %p was never folded here",
            """
            SELECT s.position FROM stage_register s LEFT JOIN register i ON i.position = s.position AND i.field = s.field
            WHERE s.since <= \(cursor) AND (i.since IS NULL OR i.since < s.since)
            """, &report)
        try findPreferences(&report)
    }

    /// Cells are staged as of the first page.
    private func findPreferences(_ report: inout SwapReport) throws(SQLiteError) {
        let since = "json_extract(%t.cell, '$.since')"
        let (base, staged) = (since.replacing("%t", with: "p"), since.replacing("%t", with: "s"))
        try collect(
            "the preference that was set at %p stands differently",
            """
            SELECT \(base) FROM preference p LEFT JOIN stage_preference s USING (category, channel)
            WHERE \(base) <= (SELECT first_at FROM stage)
                AND (s.cell IS NULL OR \(staged) < \(base) OR (\(staged) = \(base) AND s.cell <> p.cell))
            """, &report)
        try collect(
            "the preference that was set at %p was never folded here",
            """
            SELECT \(staged) FROM stage_preference s LEFT JOIN preference p USING (category, channel)
            WHERE \(staged) <= \(cursor) AND (p.cell IS NULL OR \(base) < \(staged))
            """, &report)
    }

    private func collect(_ sentence: String, _ sql: String, _ report: inout SwapReport) throws(SQLiteError) {
        let query = try connection.prepare(sql)
        while try query.step() {
            report.unexplainedCount += 1
            guard report.unexplained.count < Self.maximumSentences else { continue }
            report.unexplained.append(sentence.split(separator: "%p").joined(separator: String(query.int64(0))))
        }
    }
}
