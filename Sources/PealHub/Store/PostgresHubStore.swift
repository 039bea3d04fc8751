#if PostgreSQL
    package import PealModel
    import PealPostgres

    /// The hub's store on PostgreSQL. Several nodes may have one each on the same database: who appends to a log locks the row of its inbox,
    /// so positions and chains have the order of the commits. docs/postgresql.md tells what an operator has to know.
    ///
    /// Of a log's place nothing is kept here beyond a transaction. Not Sendable: it belongs to the executor that made it.
    package final class PostgresHubStore: SQLHubStore {
        /// Appends to so many inboxes at once share the bytes of their entries.
        static let wideAppend = 64

        let session: PostgresSession
        let database: StoreDatabase
        let settings: PostgresSession.Settings
        let held = HeldInboxes()
        let newEntries: NewEntries
        let newPublishes: NewPublishes
        /// What was asked for the publishes of the group.
        var expected = ExpectedPublishes()
        package let inboxes: InboxQueries
        package let rest: RestQueries
        package let actQueries: ActQueries
        package let projectQueries: ProjectQueries
        package let userQueries: UserQueries
        package let sessionQueries: SessionQueries
        package let scheduleQueries: ScheduleQueries
        package let webhookQueries: WebhookQueries
        package let broadcastQueries: BroadcastQueries
        package let deliveryQueries: DeliveryQueries
        package let upkeepQueries: UpkeepQueries
        let logQueries: PostgresLogQueries
        let publishQueries: PostgresPublishQueries
        let trimQueries: PostgresTrimQueries

        /// Makes the chain (docs/sync.md section 2).
        var hasher = SHA256Hasher()
        package var random: any RandomNumberGenerator
        package let run: UInt64
        package let retention: Retention
        /// How far trimming has come.
        var trimRound = TrimRound()
        private var trimBefore: TrimRound?
        /// Matching inboxes above which a publish becomes a durable job.
        package var wideFrom = HubStoreLimits.wideFrom
        package var fault: ((Mutation) throws(HubStoreError) -> Void)?

        /// Connects, and makes the tables or brings them to this version. Blocking.
        ///
        /// - Parameters:
        ///   - address: a libpq address; see docs/postgresql.md.
        ///   - retention: how long the logs are kept.
        ///   - random: must be fit for secrets, but in tests.
        /// - Throws: `failed` for what is no address or a right that is missing, `unavailable`, `readOnly`, `corrupt` for tables of a later version.
        package convenience init(
            address: String, retention: Retention = Retention(),
            random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        ) throws(HubStoreError) {
            try self.init(
                PostgresSession.Settings(address: address), retention: retention, random: random)
        }

        init(
            _ settings: PostgresSession.Settings, retention: Retention, random: any RandomNumberGenerator
        ) throws(HubStoreError) {
            self.settings = settings
            self.retention = retention
            self.random = random
            run = self.random.next()
            session = PostgresSession(settings)
            try session.connect()
            try PostgresMigrator.hub.migrate(session.connection)
            database = StoreDatabase(session)
            newEntries = NewEntries(session)
            newPublishes = NewPublishes(session)
            inboxes = try InboxQueries(database, held: held)
            rest = try RestQueries(database)
            actQueries = try ActQueries(database)
            projectQueries = try ProjectQueries(database, locks: true)
            userQueries = try UserQueries(database)
            sessionQueries = try SessionQueries(database)
            scheduleQueries = try ScheduleQueries(database)
            webhookQueries = try WebhookQueries(database)
            broadcastQueries = try BroadcastQueries(database)
            deliveryQueries = try DeliveryQueries(database)
            upkeepQueries = try UpkeepQueries(database)
            logQueries = try PostgresLogQueries(database)
            publishQueries = try PostgresPublishQueries(database)
            trimQueries = try PostgresTrimQueries(database)
        }

        // MARK: Group commit

        package func begin() throws(HubStoreError) {
            try session.begin()
            trimBefore = trimRound
        }

        package func commit() throws(HubStoreError) {
            do throws(HubStoreError) {
                try writeHeads()
                try session.commit()
            } catch {
                rollback()
                throw error
            }
            trimBefore = nil
            held.removeAll()
            expected = ExpectedPublishes()
        }

        package func rollback() {
            // What was trimmed is there again, so its inboxes come again in this round.
            if let trimBefore { trimRound = trimBefore }
            trimBefore = nil
            held.removeAll()
            expected = ExpectedPublishes()
            session.rollback()
        }

        package func savepoint<R>(_ body: () throws(HubStoreError) -> R) throws(HubStoreError) -> R {
            let mark = held.mark
            do throws(HubStoreError) {
                return try session.savepoint(body)
            } catch {
                held.undo(to: mark)
                throw error
            }
        }

        package func makeReader() throws(HubStoreError) -> any HubReader { try PostgresHubReader(settings) }

        package func close() throws(HubStoreError) {
            defer { session.connection.close() }
            try begin()
            do throws(HubStoreError) {
                // A run that ends in order has ended over nothing.
                try sessionQueries.forgetSuspects.run(run)
            } catch {
                rollback()
                throw error
            }
            try commit()
        }
    }
#endif
