#if PostgreSQL
    import PealModel
    import PealPostgres

    /// Reads what is committed, on a connection of its own; each call is one short transaction that sees one moment.
    ///
    /// Not Sendable: hand it to the one thread that uses it.
    final class PostgresHubReader: SQLHubReader {
        /// Entries that are asked for at once.
        static let chunk = 256

        let session: PostgresSession
        let database: StoreDatabase
        let queries: InboxQueries
        let readQueries: PostgresReadQueries
        let restQueries: RestQueries
        private let projectQueries: ProjectQueries
        let outcomeQueries: OutcomeQueries

        init(_ settings: PostgresSession.Settings) throws(HubStoreError) {
            session = PostgresSession(settings, isReader: true)
            database = StoreDatabase(session)
            queries = try InboxQueries(database)
            readQueries = try PostgresReadQueries(database)
            restQueries = try RestQueries(database)
            projectQueries = try ProjectQueries(database)
            outcomeQueries = try OutcomeQueries(database)
        }

        /// Runs a body in one transaction, or in the one that is open.
        func ask<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
            if session.isInTransaction { return try body() }
            // The database can have been started again since the last call: then the connection is found broken only now.
            let mayBeStale = session.connection.isOpen
            do throws(HubStoreError) {
                return try transaction(body)
            } catch {
                guard error.code == .unavailable, mayBeStale else { throw error }
            }
            return try transaction(body)
        }

        private func transaction<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
            do throws(HubStoreError) {
                try session.begin()
                let result = try body()
                try session.endReading()
                return result
            } catch {
                session.rollback()
                throw error
            }
        }

        func standing<R>(
            _ inbox: InboxKey, _ body: (InboxRow) throws(HubStoreError) -> R
        ) throws(HubStoreError) -> R {
            try ask { () throws(HubStoreError) in try body(try queries.inbox(inbox)) }
        }

        func log(of inbox: InboxKey) throws(HubStoreError) -> Admission.Log {
            try standing(inbox) { (row) throws(HubStoreError) in row.log }
        }

        func sum(of inbox: InboxKey) throws(HubStoreError) -> InboxAtHead {
            try standing(inbox) { (row) throws(HubStoreError) in
                InboxAtHead(epoch: row.epoch, head: row.head, chain: row.chain, sum: row.sum)
            }
        }

        func chain(of inbox: InboxKey, at position: Position) throws(HubStoreError) -> UInt64? {
            try standing(inbox) { (row) throws(HubStoreError) -> UInt64? in
                if position == 0 { return 0 }
                if position == row.head { return row.chain }
                guard position > 0, position < row.head else { return nil }
                return try readQueries.chain.first(inbox.row, position) { $0.bits(0) }
            }
        }

        func entries(
            of inbox: InboxKey, after position: Position, maxCount: Int, maxBytes: Int
        ) throws(HubStoreError) -> [LogEntry] {
            try standing(inbox) { (row) throws(HubStoreError) in
                guard position >= row.floor else {
                    throw HubStoreError(.belowFloor, "the log is trimmed up to \(row.floor)")
                }
                var gathered = GatheredEntries(after: position, maxCount: maxCount, maxBytes: maxBytes)
                var last = position
                var goesOn = last < row.head
                while goesOn {
                    var count = 0
                    let wanted = min(Self.chunk, max(maxCount - gathered.entries.count, 1))
                    try readQueries.entries.forEach(inbox.row, last, wanted) { (found) throws(HubStoreError) in
                        count += 1
                        last = found.int64(0)
                        goesOn = try gathered.add(
                            LogEntry(position: last, chain: found.bits(1), content: try Self.content(found, at: 2)))
                        return goesOn
                    }
                    goesOn = goesOn && count == wanted
                }
                return gathered.entries
            }
        }

        func inbox(_ id: String, in project: ProjectKey) throws(HubStoreError) -> InboxKey? {
            guard let publicID = PublicID.bytes(id) else { return nil }
            let row = try ask { () throws(HubStoreError) in try queries.inbox(public: publicID, in: project) }
            guard let row, row.kind != .deleted else { return nil }
            return row.key
        }

        func pendingPublishes() throws(HubStoreError) -> Int {
            try ask { () throws(HubStoreError) in try readQueries.countPending.first { $0.int(0) } ?? 0 }
        }

        func project(_ name: String) throws(HubStoreError) -> Project? {
            try ask { () throws(HubStoreError) in try projectQueries.named(name) }
        }

        func tenants() throws(HubStoreError) -> (projects: [Project], operatorHash: [UInt8]?) {
            try ask { () throws(HubStoreError) in
                (try projectQueries.all.all { Project($0) }, try projectQueries.operatorHash())
            }
        }

        func user(_ identity: UserIdentity, in project: ProjectKey) throws(HubStoreError) -> UserRecord? {
            try ask { () throws(HubStoreError) in
                try UserFinder(byExternalID: readQueries.userByExternalID, byEmail: readQueries.userByEmail)
                    .find(identity, in: project)
            }
        }

        func close() { session.connection.close() }
    }
#endif
