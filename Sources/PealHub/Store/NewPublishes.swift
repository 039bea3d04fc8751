#if PostgreSQL
    import PealModel
    import PealPostgres

    /// Publishes that the running transaction has made and not sent, and the numbers of the next ones.
    final class NewPublishes: WaitingRows {
        struct Row {
            var id: Int64
            var request: PublishRequest
            var matched: Int
            var pending: [UInt8]?
            var time: Milliseconds
        }

        /// Numbers that are taken at once. They name, and say nothing about order.
        private static let block = 128

        let table = "publish"
        private var rows: [Row] = []
        private var numbers: [Int64] = []
        private let insert: PostgresQuery
        private let next: Query

        init(_ session: PostgresSession) {
            insert = PostgresQuery(
                """
                INSERT INTO publish
                    (id, name, project, time, category, topic, silent, expires, matched, pending, expiring, collapse)
                SELECT id, name, project, time, category, topic, silent, nullif(expires, 0), matched, pending,
                    CASE WHEN expires = 0 THEN NULL ELSE 0 END, collapse
                FROM unnest(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                    AS v (id, name, project, time, category, topic, silent, expires, matched, pending, collapse)
                """, in: session)
            next = Query(
                PostgresQuery("SELECT nextval('publish_id_seq') FROM generate_series(1, ?1)", in: session))
            session.add(self)
        }

        /// A number that no other publish has.
        func number() throws(HubStoreError) -> Int64 {
            if numbers.isEmpty { numbers = try next.all(Int64(Self.block)) { $0.int64(0) }.reversed() }
            guard let number = numbers.popLast() else { throw HubStoreError(.failed, "no number for a publish") }
            return number
        }

        /// What a publish matched that was made in this transaction and not sent.
        func matched(_ name: String) -> Int? { rows.last { $0.request.name == name }?.matched }

        var count: Int { rows.count }
        func add(_ row: Row) { rows.append(row) }
        func truncate(to count: Int) { rows.removeSubrange(count...) }

        func flush(first count: Int) throws(HubStoreError) {
            guard count > 0 else { return }
            let chosen = rows[..<count]
            insert.reset()
            insert.parameters.add(chosen.map(\.id))
            insert.parameters.add(chosen.map { $0.request.name as String? })
            insert.parameters.add(chosen.map(\.request.project.row))
            insert.parameters.add(chosen.map(\.time))
            insert.parameters.add(chosen.map(\.request.body.category))
            insert.parameters.add(chosen.map(\.request.body.topic))
            insert.parameters.add(chosen.map { $0.request.body.silent ? 1 : 0 } as [Int64])
            insert.parameters.add(chosen.map { $0.request.body.expires ?? 0 })
            insert.parameters.add(chosen.map { Int64($0.matched) })
            insert.parameters.add(chosen.map(\.pending))
            insert.parameters.add(chosen.map(\.request.collapse))
            rows.removeFirst(count)
            try insert.send()
        }
    }

    extension PublishRequest.Recipient {
        /// The external id of one about whom nothing else is said.
        var plainID: String? {
            guard let id = identity.externalID, !id.isEmpty, identity.email == nil, profile == UserProfile() else {
                return nil
            }
            return id
        }
    }
#endif
