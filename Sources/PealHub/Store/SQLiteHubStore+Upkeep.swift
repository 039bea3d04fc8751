package import PealModel
import PealSQLite

/// The statements of idempotency and of forgetting.
final class UpkeepQueries {
    let probe: Query
    let answer: Query
    let insertAnswer: Query
    let deleteAnswers: Query
    let deleteActs: Query
    let deletedInbox: Query
    let logOf: Query
    let deleteEntry: Query
    let deleteLog: Query
    let deleteState: Query
    let deleteMarks: Query
    let deletePreferences: Query
    let deleteFacts: Query
    let deleteActsOf: Query
    let emptied: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        probe = try database.query("UPDATE meta SET probed = probed + 1 WHERE id = 1")
        answer = try database.query("SELECT digest, status, body, time FROM answer WHERE project = ?1 AND key = ?2")
        insertAnswer = try database.query(
            "INSERT OR REPLACE INTO answer (project, key, digest, status, body, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        deleteAnswers = try database.query(
            """
            DELETE FROM answer WHERE (project, key) IN (SELECT project, key FROM answer WHERE time < ?1 LIMIT ?2)
            RETURNING 1
            """)
        deleteActs = try database.query(
            """
            DELETE FROM act WHERE (inbox, uid, author, n) IN
                (SELECT inbox, uid, author, n FROM act WHERE time < ?1 LIMIT ?2) RETURNING 1
            """)
        deletedInbox = try database.query("SELECT id FROM inbox WHERE kind = 2 ORDER BY id LIMIT 1")
        logOf = try database.query("SELECT position, seq FROM log WHERE inbox = ?1 ORDER BY position LIMIT ?2")
        deleteEntry = try database.query("DELETE FROM entry WHERE seq = ?1")
        deleteLog = try database.query("DELETE FROM log WHERE inbox = ?1 AND position <= ?2")
        deleteState = try database.query("DELETE FROM state WHERE inbox = ?1 AND position <= ?2")
        deletePreferences = try database.query("DELETE FROM preference WHERE inbox = ?1")
        deleteFacts = try database.query("DELETE FROM fact WHERE inbox = ?1 AND position <= ?2")
        deleteMarks = try database.query("DELETE FROM mark WHERE inbox = ?1")
        deleteActsOf = try database.query("DELETE FROM act WHERE inbox = ?1")
        emptied = try database.query("UPDATE inbox SET kind = 3, catalogue = 0 WHERE id = ?1")
    }
}

extension SQLiteHubStore {
    package func probe() throws(HubStoreError) { try upkeepQueries.probe.run() }

    package func replay(
        _ key: String, digest: [UInt8], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) -> Replay {
        let found = try upkeepQueries.answer.first(project.row, key) { row -> Replay in
            guard row.int64(3) > now - HubStoreLimits.answerAge else { return .new }
            return row.blob(0) == digest ? .answered(status: row.int(1), body: row.blob(2)) : .different
        }
        return found ?? .new
    }

    package func remember(
        _ key: String, digest: [UInt8], status: Int, body: [UInt8], in project: ProjectKey, now: Milliseconds
    ) throws(HubStoreError) {
        try upkeepQueries.insertAnswer.run(project.row, key, digest, status, body, now)
    }

    package func upkeep(limit: Int, now: Milliseconds) throws(HubStoreError) -> Bool {
        precondition(limit > 0, "upkeep takes steps")
        let answers = try upkeepQueries.deleteAnswers.all(now - HubStoreLimits.answerAge, limit) { _ in () }.count
        let acts = try upkeepQueries.deleteActs.all(now - Limits.uidAge, limit) { _ in () }.count
        let broadcasts = try broadcastQueries.forget.all(now - HubStoreLimits.broadcastAge, limit) { _ in () }.count
        let purging = try purge(limit: limit)
        let trimming = try trim(limit: limit, now: now)
        return answers == limit || acts == limit || broadcasts == limit || purging || trimming
    }

    /// Removes the rows of an inbox that was deleted, little by little; the tombstone stays, so that its replicas are refused.
    private func purge(limit: Int) throws(HubStoreError) -> Bool {
        guard let row = try upkeepQueries.deletedInbox.first(read: { $0.int64(0) }) else { return false }
        guard heads.behind[InboxKey(row: row)] == nil else {
            // Its rows of `log` are not all there yet: the next group commit writes them first.
            wantsSettling = true
            return true
        }
        let rows = try upkeepQueries.logOf.all(row, limit) { (position: $0.int64(0), seq: $0.int64(1)) }
        for entry in rows { try upkeepQueries.deleteEntry.run(entry.seq) }
        if let last = rows.last?.position {
            try upkeepQueries.deleteLog.run(row, last)
            try upkeepQueries.deleteState.run(row, last)
            try upkeepQueries.deleteFacts.run(row, last)
        }
        if rows.count < limit {
            try upkeepQueries.deleteMarks.run(row)
            try reportQueries.deleteDeliveries.run(row)
            try upkeepQueries.deletePreferences.run(row)
            try upkeepQueries.deleteActsOf.run(row)
            try upkeepQueries.emptied.run(row)
        }
        return true
    }
}
