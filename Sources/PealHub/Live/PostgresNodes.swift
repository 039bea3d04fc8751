#if PostgreSQL
    import PealModel
    import PealPostgres
    import PealSQLite
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #else
        import Darwin
    #endif

    /// Other hubs on the same PostgreSQL: notices by LISTEN and NOTIFY, each on a connection of its own, and looks.
    ///
    /// A notice goes after the commit that it is about and outside any transaction: within one, the server makes all who notify
    /// commit one after the other. Many go as one, some milliseconds later. A pooler that hands out connections by the transaction
    /// cannot listen: the address for that is one of its own.
    final class PostgresNodes: HubNodes, @unchecked Sendable {
        // `talk` belongs to `talking`, `hear` to `hearing`; the rest is Sendable.
        /// Milliseconds in which notices are gathered.
        static let gathering: Milliseconds = 5
        private static let channel = "peal"
        /// Milliseconds between attempts to listen.
        private static let retry: Int32 = 500

        private let talk: PostgresSession
        private let hear: PostgresSession
        private let talking = ConnectionExecutor(name: "peal-notify")
        private let hearing = ConnectionExecutor(name: "peal-listen")
        /// Tells this hub's notices from others'.
        private let run = Hexadecimal.encode(RandomBytes.make(8))
        private let waiting = Mutex(NodeNotice())
        private let isOver = Atomic(false)
        /// Written to when it is over.
        private let wake: (read: Int32, write: Int32)

        /// Connects to nothing yet.
        ///
        /// - Parameters:
        ///   - settings: for notices and looks.
        ///   - listening: for LISTEN.
        init(_ settings: PostgresSession.Settings, listening: PostgresSession.Settings) {
            talk = PostgresSession(settings, isReader: true)
            hear = PostgresSession(listening)
            var pair: [Int32] = [-1, -1]
            if pipe(&pair) == 0 { for end in pair { _ = fcntl(end, F_SETFD, FD_CLOEXEC) } }
            wake = (pair[0], pair[1])
        }

        deinit { for end in [wake.read, wake.write] where end >= 0 { close(end) } }

        func start(_ heard: @escaping @Sendable (NodeNotice) -> Void) {
            hearing.post { self.listen(heard) }
        }

        func stop() {
            isOver.store(true, ordering: .relaxed)
            _ = withUnsafePointer(to: 0 as UInt8) { write(wake.write, $0, 1) }
            hearing.stop()
            talking.post {
                self.send()
                self.talk.connection.close()
            }
            talking.stop()
        }

        // MARK: Listening

        private func listen(_ heard: (NodeNotice) -> Void) {
            while !isOver.load(ordering: .relaxed) {
                do {
                    if !hear.connection.isOpen {
                        try hear.connect()
                        // A pipeline's statements are one transaction until something ends it.
                        try hear.connection.run("BEGIN; LISTEN \(Self.channel); COMMIT")
                        // Whatever was told meanwhile was not heard.
                        heard(.everything)
                    }
                    waitUntilReadable(hear.connection.descriptor, -1)
                    var notice = NodeNotice()
                    for payload in try hear.connection.notifications() {
                        if let other = NodeNotice(payload, besides: run) { notice.merge(other) }
                    }
                    if !notice.isEmpty { heard(notice) }
                } catch {
                    hear.connection.close()
                    waitUntilReadable(nil, Self.retry)
                }
            }
            hear.connection.close()
        }

        private func waitUntilReadable(_ descriptor: Int32?, _ milliseconds: Int32) {
            var ends = [pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0)]
            if let descriptor { ends.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
            poll(&ends, nfds_t(ends.count), milliseconds)
        }

        // MARK: Telling

        func tell(_ notice: NodeNotice) {
            let isFirst = waiting.withLock { waiting in
                let isFirst = waiting.isEmpty
                waiting.merge(notice)
                return isFirst && !waiting.isEmpty
            }
            if isFirst { talking.post(afterMilliseconds: Self.gathering) { self.send() } }
        }

        private func send() {
            let notice = waiting.withLock { waiting in
                defer { waiting = NodeNotice() }
                return waiting
            }
            guard !notice.isEmpty else { return }
            do {
                try talk.connect()
                var parameters = PostgresParameters()
                parameters.add(notice.payload(from: run))
                try talk.connection.send(statement("BEGIN"), PostgresParameters())
                try talk.connection.send(statement("SELECT pg_notify('\(Self.channel)', $1)"), parameters)
                _ = try talk.connection.execute(statement("COMMIT"), PostgresParameters())
            } catch {
                // The others look before long.
                talk.connection.close()
            }
        }

        // MARK: Looking

        func look(
            _ inboxes: [InboxKey], _ replicas: [ReplicaKey],
            completion: @escaping @Sendable (Result<Standing, HubStoreError>) -> Void
        ) {
            talking.post {
                do throws(HubStoreError) {
                    completion(.success(try self.standing(inboxes, replicas)))
                } catch {
                    self.talk.rollback()
                    completion(.failure(error))
                }
            }
        }

        private func standing(
            _ inboxes: [InboxKey], _ replicas: [ReplicaKey]
        ) throws(HubStoreError) -> Standing {
            var standing = Standing()
            try talk.begin()
            let heads = try rows(
                "SELECT id, head, sum, kind FROM inbox WHERE id = ANY($1::bigint[])", inboxes.map(\.row))
            for row in 0..<heads.count {
                standing.inboxes[InboxKey(row: heads.int64(row, 0))] = Standing.Inbox(
                    head: heads.int64(row, 1), sum: UInt64(bitPattern: heads.int64(row, 2)),
                    isDeleted: heads.int64(row, 3) >= InboxRow.Kind.deleted.rawValue)
            }
            let sessions = try rows(
                "SELECT id, session, revoked IS NOT NULL FROM replica WHERE id = ANY($1::bigint[])",
                replicas.map(\.row))
            for row in 0..<sessions.count {
                standing.replicas[ReplicaKey(row: sessions.int64(row, 0))] = Standing.Replica(
                    session: sessions.isNull(row, 1) ? nil : UInt64(bitPattern: sessions.int64(row, 1)),
                    isRevoked: sessions.int64(row, 2) == 1)
            }
            try talk.endReading()
            return standing
        }

        private func rows(_ sql: String, _ keys: [Int64]) throws(HubStoreError) -> PostgresResult {
            var parameters = PostgresParameters()
            parameters.add(keys)
            return try talk.execute(statement(sql), parameters, isRead: true, about: [])
        }

        private func statement(_ sql: String) -> PostgresStatement {
            let found = statements[sql] ?? talk.connection.statement(sql)
            statements[sql] = found
            return found
        }

        private var statements: [String: PostgresStatement] = [:]
    }

    extension NodeNotice {
        /// As it is sent: who, `p` for projects, and the numbers of inboxes or `*` for all.
        func payload(from run: String) -> String {
            let names = isOfAll ? "*" : inboxes.sorted().map { String($0.row) }.joined(separator: ",")
            return "\(run) \(isOfProjects ? "p" : "-") \(names)"
        }

        /// Reads one that was sent; nil for one of our own, and everything for one that a later version may send.
        init?(_ payload: String, besides run: String) {
            let words = payload.split(separator: " ", omittingEmptySubsequences: false)
            guard words.first.map(String.init) != run else { return nil }
            self = .everything
            guard words.count == 3, ["p", "-"].contains(words[1]) else { return }
            let names = words[2].split(separator: ",")
            let keys = names.compactMap { Int64($0) }
            isOfProjects = words[1] == "p"
            guard keys.count == names.count else { return }
            isOfAll = false
            inboxes = Set(keys.map(InboxKey.init(row:)))
        }
    }
#endif
