import PealModel

/// The statements about replicas and their sessions.
package final class SessionQueries {
    private let byKey: Query
    private let byPublic: Query
    let insert: Query
    let open: Query
    let attempt: Query
    let firstFrame: Query
    let acknowledge: Query
    let advance: Query
    let fail: Query
    let suspect: Query
    let forgetSuspects: Query
    let seed: Query
    let insertInbox: Query
    let revoke: Query

    init(_ database: StoreDatabase) throws(HubStoreError) {
        let columns = """
            id, public, inbox, attempt, nonce_current, nonce_issued, last_n, last_uid, session, failures, suspect,
            revoked IS NOT NULL
            """
        byKey = try database.query("SELECT \(columns) FROM replica WHERE id = ?1\(database.forUpdate)")
        byPublic = try database.query("SELECT \(columns) FROM replica WHERE public = ?1\(database.forUpdate)")
        insert = try database.query(
            """
            INSERT INTO replica (public, inbox, attempt, nonce_current, nonce_issued, created, seen_at)
            VALUES (?1, ?2, 0, '', '', ?3, ?3) RETURNING id
            """)
        open = try database.query(
            """
            UPDATE replica SET attempt = ?2, nonce_issued = ?3, session = ?4, seen_at = ?5, nonce_current = ?6,
                suspect = nullif(suspect, ?7)
            WHERE id = ?1
            """)
        attempt = try database.query("UPDATE replica SET attempt = ?2, seen_at = ?3 WHERE id = ?1")
        firstFrame = try database.query(
            """
            UPDATE replica SET nonce_current = nonce_issued, seen_at = ?3 WHERE id = ?1 AND session = ?2 RETURNING 1
            """)
        acknowledge = try database.query(
            "UPDATE replica SET got = CASE WHEN got < ?2 THEN ?2 ELSE got END, seen_at = ?3 WHERE id = ?1")
        advance = try database.query(
            "UPDATE replica SET last_n = ?2, last_uid = ?3, failures = 0, suspect = NULL WHERE id = ?1")
        fail = try database.query("UPDATE replica SET failures = ?2, suspect = NULL WHERE id = ?1")
        forgetSuspects = try database.query(
            "UPDATE replica SET suspect = NULL WHERE suspect IS NOT NULL AND suspect = ?1")
        suspect = try database.query("UPDATE replica SET suspect = ?2 WHERE id = ?1")
        revoke = try database.query(
            """
            UPDATE replica SET revoked = ?3, session = NULL WHERE public = ?1 AND inbox = ?2 AND revoked IS NULL
            RETURNING id
            """)
        seed = try database.query("SELECT seed FROM project WHERE id = ?1")
        insertInbox = try database.query(
            "INSERT INTO inbox (project, public, kind, epoch) VALUES (?1, ?2, ?3, ?4) RETURNING id")
    }

    func replica(_ key: ReplicaKey) throws(HubStoreError) -> ReplicaRow? {
        try row(byKey, key.row)
    }

    func replica(_ id: ReplicaID) throws(HubStoreError) -> ReplicaRow? {
        try row(byPublic, id.bytes)
    }

    private func row<Value: Bindable>(_ query: Query, _ value: Value) throws(HubStoreError) -> ReplicaRow? {
        try query.first(value) { (row) throws(HubStoreError) -> ReplicaRow in
            guard case .replica(let id) = row.withBytes(1, { Author(stored: $0) }) else {
                throw HubStoreError(.corrupt, "a replica without an id")
            }
            return ReplicaRow(
                key: ReplicaKey(row: row.int64(0)), id: id, inbox: InboxKey(row: row.int64(2)), attempt: row.int64(3),
                nonceCurrent: row.text(4), nonceIssued: row.text(5), lastN: row.int64(6),
                lastUID: row.isNull(7) ? nil : row.bits(7), session: row.isNull(8) ? nil : row.bits(8),
                failures: row.int64(9), suspect: row.isNull(10) ? nil : row.bits(10), isRevoked: row.bool(11))
        }
    }
}
