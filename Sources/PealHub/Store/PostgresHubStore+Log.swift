#if PostgreSQL
    package import PealModel
    import PealPostgres

    /// The statements that append to logs and look into them.
    final class PostgresLogQueries {
        let moveHeads: Query
        let insertTemplate: Query
        let entryChain: Query
        let emptyEntry: Query
        let lock: Query

        init(_ database: StoreDatabase) throws(HubStoreError) {
            moveHeads = try database.query(
                """
                UPDATE inbox b SET head = v.head, chain = v.chain, sum = v.sum
                FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bigint[]) AS v (id, head, chain, sum) WHERE b.id = v.id
                """)
            insertTemplate = try database.query("INSERT INTO template (bytes) VALUES (?1) RETURNING id")
            entryChain = try database.query("SELECT chain FROM entry WHERE inbox = ?1 AND position = ?2")
            emptyEntry = try database.query(
                "UPDATE entry SET bytes = NULL, template = NULL WHERE inbox = ?1 AND position = ?2")
            // In the order of the keys, so that two who lock several never wait for each other.
            lock = try database.query(
                "SELECT \(InboxRow.columns) FROM inbox b WHERE b.id = ANY (?1) ORDER BY b.id FOR UPDATE")
        }
    }

    /// Entries that the running transaction has appended and not sent.
    final class NewEntries: WaitingRows {
        struct Row {
            var inbox: Int64
            var position: Int64
            var publish: Int64
            var salt: Int64
            var time: Int64
            var chain: Int64
            var bytes: [UInt8]?
            /// 0 for none.
            var template: Int64
        }

        let table = "entry"
        private var rows: [Row] = []
        private let insert: PostgresQuery

        init(_ session: PostgresSession) {
            insert = PostgresQuery(
                """
                INSERT INTO entry (inbox, position, counter, publish, salt, time, chain, bytes, template)
                SELECT inbox, position, position, publish, salt, time, chain, bytes, nullif(template, 0)
                FROM unnest(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                    AS v (inbox, position, publish, salt, time, chain, bytes, template)
                """, in: session)
            session.add(self)
        }

        var count: Int { rows.count }
        func add(_ row: Row) { rows.append(row) }
        func truncate(to count: Int) { rows.removeSubrange(count...) }

        func flush(first count: Int) throws(HubStoreError) {
            guard count > 0 else { return }
            let chosen = rows[..<count]
            insert.reset()
            for column in [\Row.inbox, \.position, \.publish, \.salt, \.time, \.chain] {
                insert.parameters.add(chosen.map { $0[keyPath: column] })
            }
            insert.parameters.add(chosen.map(\.bytes))
            insert.parameters.add(chosen.map(\.template))
            rows.removeFirst(count)
            try insert.send()
        }
    }

    extension PostgresHubStore {
        package func enter(_ bytes: [UInt8], to tail: inout LogTail, time: Milliseconds) throws(HubStoreError) {
            enter(bytes, to: &tail, publish: 0, salt: 0, time: time)
        }

        func enter(
            _ bytes: [UInt8], to tail: inout LogTail, publish: Int64, salt: UInt64, time: Milliseconds
        ) {
            tail.head += 1
            tail.chain = hasher.link(after: tail.chain, entry: bytes[...])
            newEntries.add(
                NewEntries.Row(
                    inbox: tail.inbox.row, position: tail.head, publish: publish, salt: Int64(salt), time: time,
                    chain: Int64(bitPattern: tail.chain), bytes: bytes, template: 0))
        }

        package func moveHead(_ tail: LogTail) throws(HubStoreError) { held.move(tail) }

        /// Writes heads, chains and sums that moved.
        func writeHeads() throws(HubStoreError) {
            let rows = held.takeMoved()
            guard !rows.isEmpty else { return }
            try logQueries.moveHeads.run(
                Integers(rows.map(\.key.row)), Integers(rows.map(\.head)),
                Integers(rows.map { Int64(bitPattern: $0.chain) }), Integers(rows.map { Int64(bitPattern: $0.sum) }))
        }

        /// Locks inboxes and gives their rows, in the order of the keys. Those that are not there are left out.
        func lock(_ keys: some Sequence<InboxKey>) throws(HubStoreError) -> [InboxRow] {
            let keys = Set(keys).sorted()
            let wanted = keys.filter { held[$0] == nil }
            if !wanted.isEmpty {
                let rows = try logQueries.lock.all(Integers(wanted.map(\.row))) { (row) throws(HubStoreError) in
                    try InboxRow(row)
                }
                for row in rows { held.hold(row) }
            }
            return keys.compactMap { held[$0] }
        }

        package func chain(of inbox: InboxRow, at position: Position) throws(HubStoreError) -> UInt64? {
            if position == 0 { return 0 }
            if position == inbox.head { return inbox.chain }
            guard position > 0, position < inbox.head else { return nil }
            return try logQueries.entryChain.first(inbox.key.row, position) { $0.bits(0) }
        }

        package func emptyEntry(of item: StoredItem, in inbox: InboxKey) throws(HubStoreError) {
            try logQueries.emptyEntry.run(inbox.row, item.state.position)
        }

        package func end(_ inbox: InboxKey) throws(HubStoreError) {
            try userQueries.endInbox.run(inbox.row)
            guard var row = held[inbox] else { return }
            row.kind = .deleted
            held.hold(row)
        }

        package func setCatalogue(_ version: Int64, in inbox: InboxKey) throws(HubStoreError) {
            try userQueries.moveCatalogue.run(inbox.row, version)
            guard var row = held[inbox] else { return }
            row.catalogue = version
            held.hold(row)
        }

        package func prepare(_ mutations: [Mutation], in view: StoreInboxView) throws(HubStoreError) {}
    }
#endif
