package import PealModel

/// The statements about webhook calls.
package final class WebhookQueries {
    let insert: Query
    let count: Query
    let take: Query
    let next: Query
    let delete: Query
    let retry: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        insert = try database.query(
            "INSERT INTO webhook (project, url, event, body, due) VALUES (?1, ?2, ?3, ?4, ?5)")
        count = try database.query("SELECT count(*) FROM webhook WHERE project = ?1")
        take = try database.query(
            """
            UPDATE webhook SET due = ?2
            WHERE id IN (SELECT id FROM webhook WHERE due <= ?1 ORDER BY due LIMIT ?3\(database.skipLocked))
            RETURNING id, project, url, event, body, failures
            """)
        next = try database.query("SELECT min(due) FROM webhook")
        delete = try database.query("DELETE FROM webhook WHERE id = ?1")
        retry = try database.query("UPDATE webhook SET failures = failures + 1, due = ?2 WHERE id = ?1")
    }
}

extension SQLHubStore {
    package func enqueue(_ calls: [WebhookCall], now: Milliseconds) throws(HubStoreError) {
        for call in calls {
            let waiting = try webhookQueries.count.first(call.project.row) { $0.int(0) } ?? 0
            guard waiting < WebhookCall.waiting else { continue }
            try webhookQueries.insert.run(call.project.row, call.url, call.event, call.body, now)
        }
    }

    package func takeWebhooks(limit: Int, now: Milliseconds) throws(HubStoreError) -> [WebhookCall] {
        try webhookQueries.take.all(now, now + WebhookCall.lease, limit) { row in
            WebhookCall(
                id: row.int64(0), project: ProjectKey(row: row.int64(1)), url: row.text(2), event: row.text(3),
                body: row.blob(4), failures: row.int(5))
        }.sorted { $0.id < $1.id }
    }

    package func webhook(_ call: WebhookCall, retryAt time: Milliseconds?) throws(HubStoreError) {
        if let time { try webhookQueries.retry.run(call.id, time) } else { try webhookQueries.delete.run(call.id) }
    }

    package func nextWebhook() throws(HubStoreError) -> Milliseconds? {
        try webhookQueries.next.first { $0.optionalInt64(0) } ?? nil
    }
}
