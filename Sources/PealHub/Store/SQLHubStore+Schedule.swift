package import PealModel

/// The statements about publishes that are to come.
package final class ScheduleQueries {
    let insert: Query
    let cancel: Query
    let due: Query
    let next: Query
    let delete: Query
    let refuse: Query
    let forget: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        insert = try database.query(
            "INSERT INTO scheduled (name, project, deliver_at, request) VALUES (?1, ?2, ?3, ?4)")
        cancel = try database.query(
            "UPDATE scheduled SET state = 1 WHERE name = ?1 AND project = ?2 AND state = 0 RETURNING id")
        due = try database.query(
            """
            SELECT id, name, project, request FROM scheduled WHERE state = 0 AND deliver_at <= ?1
            ORDER BY deliver_at LIMIT 1\(database.skipLocked)
            """)
        next = try database.query("SELECT deliver_at FROM scheduled WHERE state = 0 ORDER BY deliver_at LIMIT 1")
        delete = try database.query("DELETE FROM scheduled WHERE id = ?1")
        refuse = try database.query("UPDATE scheduled SET state = 2 WHERE id = ?1")
        forget = try database.query(
            """
            DELETE FROM scheduled WHERE id IN
                (SELECT id FROM scheduled WHERE state > 0 AND deliver_at < ?1 LIMIT ?2) RETURNING 1
            """)
    }
}

extension SQLHubStore {
    package func schedule(_ request: PublishRequest, at time: Milliseconds) throws(HubStoreError) {
        try request.checkSize(now: time)
        try scheduleQueries.insert.run(request.name, request.project.row, time, request.encoded)
    }

    package func cancel(_ name: String, of project: ProjectKey) throws(HubStoreError) -> Bool {
        try scheduleQueries.cancel.first(name, project.row) { _ in true } ?? false
    }

    package func publishDue(now: Milliseconds) throws(HubStoreError) -> PublishResult? {
        let due = try scheduleQueries.due.first(now) { row in
            (id: row.int64(0), name: row.text(1), project: ProjectKey(row: row.int64(2)), request: row.blob(3))
        }
        guard let due else { return nil }
        do {
            let result = try savepoint { () throws(HubStoreError) in
                try publish(
                    PublishRequest(due.request, project: due.project, name: due.name, now: now), now: now)
            }
            try scheduleQueries.delete.run(due.id)
            return result
        } catch {
            if error.abortsCommit { throw error }
            try scheduleQueries.refuse.run(due.id)
            return PublishResult(appended: [], matched: 0)
        }
    }

    package func nextDue() throws(HubStoreError) -> Milliseconds? {
        try scheduleQueries.next.first { $0.int64(0) }
    }
}
