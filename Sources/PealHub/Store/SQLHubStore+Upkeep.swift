package import PealModel

/// The statements of idempotency and of forgetting.
package final class UpkeepQueries {
    let probe: Query
    let answer: Query
    let insertAnswer: Query
    let deleteAnswers: Query
    let deleteActs: Query
    let deleteState: Query
    let deleteMarks: Query
    let deletePreferences: Query
    let deleteFacts: Query
    let deleteActsOf: Query
    let deleteCollapsed: Query
    let emptied: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        probe = try database.query("UPDATE meta SET probed = probed + 1 WHERE id = 1")
        answer = try database.query("SELECT digest, status, body, time FROM answer WHERE project = ?1 AND key = ?2")
        insertAnswer = try database.query(
            """
            INSERT INTO answer (project, key, digest, status, body, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (project, key) DO UPDATE SET digest = ?3, status = ?4, body = ?5, time = ?6
            """)
        deleteAnswers = try database.query(
            """
            DELETE FROM answer WHERE (project, key) IN (SELECT project, key FROM answer WHERE time < ?1 ORDER BY time LIMIT ?2)
            RETURNING 1
            """)
        deleteActs = try database.query(
            """
            DELETE FROM act WHERE (inbox, uid, author, n) IN
                (SELECT inbox, uid, author, n FROM act WHERE time < ?1 ORDER BY time LIMIT ?2) RETURNING 1
            """)
        deleteState = try database.query("DELETE FROM state WHERE inbox = ?1 AND position <= ?2")
        deletePreferences = try database.query("DELETE FROM preference WHERE inbox = ?1")
        deleteFacts = try database.query("DELETE FROM fact WHERE inbox = ?1 AND position <= ?2")
        deleteMarks = try database.query("DELETE FROM mark WHERE inbox = ?1")
        deleteActsOf = try database.query("DELETE FROM act WHERE inbox = ?1")
        deleteCollapsed = try database.query("DELETE FROM collapse WHERE inbox = ?1")
        emptied = try database.query("UPDATE inbox SET kind = 3, catalogue = 0 WHERE id = ?1")
    }
}

extension SQLHubStore {
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
        let scheduled = try scheduleQueries.forget.all(now - HubStoreLimits.broadcastAge, limit) { _ in () }.count
        let purging = try purge(limit: limit)
        let trimming = try trim(limit: limit, now: now)
        return answers == limit || acts == limit || broadcasts == limit || scheduled == limit || purging || trimming
    }

    /// Removes the state of a deleted inbox at or below a position.
    func purge(_ inbox: Int64, through position: Position) throws(HubStoreError) {
        try upkeepQueries.deleteState.run(inbox, position)
        try upkeepQueries.deleteFacts.run(inbox, position)
    }

    /// Removes what else there is of a deleted inbox, and makes it a tombstone.
    func empty(_ inbox: Int64) throws(HubStoreError) {
        try upkeepQueries.deleteMarks.run(inbox)
        try deliveryQueries.deleteAll.run(inbox)
        try upkeepQueries.deleteCollapsed.run(inbox)
        try upkeepQueries.deletePreferences.run(inbox)
        try upkeepQueries.deleteActsOf.run(inbox)
        try upkeepQueries.emptied.run(inbox)
    }
}
