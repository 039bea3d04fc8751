internal import PealModel
internal import PealSQLite

/// A snapshot that is being loaded, beside the base: rows at their pages' versions, and the log since the first page.
struct Stage {
    var id: UInt64
    var firstAt: Position
    var newestAt: Position
    var newestChain: UInt64
    var after: Position
    var isComplete: Bool
    var rows: Int64
    var epoch: UInt64
    var logPosition: Position
    var logChain: UInt64
    var hasInterests: Bool
    /// Its items, registers and marks go to the base itself, which was empty, and are shown as partial.
    var isPartial: Bool
    /// What the rows and marks that were added to the base add to its sum.
    private(set) var sum: UInt64 = 0
    private var tally = Tally()

    init(
        id: UInt64, firstAt: Position, newestAt: Position, newestChain: UInt64, after: Position, isComplete: Bool,
        rows: Int64,
        epoch: UInt64, logPosition: Position, logChain: UInt64, hasInterests: Bool, isPartial: Bool
    ) {
        self.id = id
        self.firstAt = firstAt
        self.newestAt = newestAt
        self.newestChain = newestChain
        self.after = after
        self.isComplete = isComplete
        self.rows = rows
        self.epoch = epoch
        self.logPosition = logPosition
        self.logChain = logChain
        self.hasInterests = hasInterests
        self.isPartial = isPartial
    }

    /// Every page is there, and the log has passed the newest one: before that the rows are not of one moment.
    var isReady: Bool { isComplete && logPosition >= newestAt }

    static func load(_ connection: Connection) throws(SQLiteError) -> Stage? {
        try connection.statement(
            """
            SELECT id, first_at, newest_at, newest_chain, after, complete, epoch, log_position, log_chain, interests, rows,
                partial
            FROM stage WHERE one = 1
            """
        ) { (row) throws(SQLiteError) -> Stage? in
            guard try row.step() else { return nil }
            return Stage(
                id: row.bits(0), firstAt: row.int64(1), newestAt: row.int64(2), newestChain: row.bits(3),
                after: row.int64(4), isComplete: row.bool(5), rows: row.int64(10), epoch: row.bits(6),
                logPosition: row.int64(7),
                logChain: row.bits(8), hasInterests: row.bool(9), isPartial: row.bool(11))
        }
    }

    func save(_ connection: Connection) throws(SQLiteError) {
        try connection.statement(
            """
            INSERT OR REPLACE INTO stage (one, id, first_at, newest_at, newest_chain, after, complete, epoch, log_position,
                log_chain, interests, rows, partial)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            """
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, bits: id)
            insert.bind(2, firstAt)
            insert.bind(3, newestAt)
            insert.bind(4, bits: newestChain)
            insert.bind(5, after)
            insert.bind(6, isComplete)
            insert.bind(7, bits: epoch)
            insert.bind(8, logPosition)
            insert.bind(9, bits: logChain)
            insert.bind(10, hasInterests)
            insert.bind(11, rows)
            insert.bind(12, isPartial)
            try insert.run()
        }
    }

    /// How far into the log the base reaches, where it is partial: beyond the cursor, which is 0. Else 0.
    static func partialReach(_ connection: Connection) throws(SQLiteError) -> Position {
        try connection.statement("SELECT newest_at FROM stage WHERE one = 1 AND partial = 1") {
            (query) throws(SQLiteError) in try query.step() ? query.int64(0) : 0
        }
    }

    static func clear(_ connection: Connection) throws(SQLiteError) {
        try connection.execute(
            """
            DELETE FROM stage; DELETE FROM stage_item; DELETE FROM stage_register; DELETE FROM stage_mark;
            DELETE FROM stage_interest; DELETE FROM stage_log
            """)
        try connection.execute(RestTables.clear)
    }

    // MARK: Parts

    /// Keeps entries of the log for the swap.
    mutating func append(
        _ entries: ArraySlice<RawJSON>, to position: Position, chain: UInt64, _ connection: Connection
    ) throws(SQLiteError) {
        try connection.statement("INSERT OR REPLACE INTO stage_log (position, bytes) VALUES (?1, ?2)") {
            (insert) throws(SQLiteError) in
            var next = logPosition + 1
            for entry in entries {
                insert.bind(1, next)
                insert.bind(2, entry)
                try insert.run()
                next += 1
            }
        }
        logPosition = position
        logChain = chain
        try save(connection)
    }

    mutating func add(_ rest: Page.Rest, _ connection: Connection) throws(SQLiteError) {
        for kind in MarkKind.allCases {
            for mark in rest.marks[kind].marks {
                try connection.statement(
                    isPartial
                        ? "INSERT OR REPLACE INTO mark (kind, up_to, version) VALUES (?1, ?2, ?3)"
                        : "INSERT INTO stage_mark (kind, up_to, version) VALUES (?1, ?2, ?3)"
                ) { (insert) throws(SQLiteError) in
                    insert.bind(1, kind.rawValue)
                    insert.bind(2, mark.upTo)
                    insert.bind(3, mark.version)
                    try insert.run()
                }
                if isPartial { sum &+= InboxSum.mark(kind, mark) }
            }
        }
        let tables = RestTables(connection: connection)
        for (key, cell) in rest.preferences { try tables.stage(cell, key) }
        if let catalogue = rest.catalogue { try tables.stage(catalogue) }
        for name in rest.interests ?? [] {
            try connection.statement("INSERT OR IGNORE INTO stage_interest (name) VALUES (?1)") {
                (insert) throws(SQLiteError) in
                insert.bind(1, name)
                try insert.run()
            }
        }
    }

    private static let stageItem: StaticString = """
        INSERT OR REPLACE INTO stage_item (position, id, publish, time, sent, type, category, topic, interests, expires,
            silent, body, version, read, read_rank, seen, archived, archived_rank)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?18, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
        """
    private static let showItem: StaticString = """
        INSERT INTO item (position, id, publish, time, sent, type, category, topic, interests, expires,
            silent, body, version, read, read_rank, seen, archived, archived_rank)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?18, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) ON CONFLICT DO NOTHING
        """

    /// Adds the rows of a page.
    ///
    /// - Returns: those whose bodies cannot be decoded.
    mutating func add(_ page: Page, _ connection: Connection) throws(SQLiteError) -> [SnapshotRow] {
        var undecodable: [SnapshotRow] = []
        try connection.statement(isPartial ? Self.showItem : Self.stageItem) { (insert) throws(SQLiteError) in
            // Upwards, as trees like it.
            for row in page.rows.reversed() {
                if try !add(row, at: page.at, insert, connection) { undecodable.append(row) }
            }
        }
        try tally.write(connection)
        return undecodable
    }

    private mutating func add(
        _ row: SnapshotRow, at version: Position, _ insert: borrowing Statement, _ connection: Connection
    ) throws(SQLiteError) -> Bool {
        let lean = row.body.withUnsafeBufferPointer { LeanItem(body: $0) }
        let category: ArraySlice<UInt8>
        let isSilent: Bool
        if let lean {
            let base = row.body.startIndex
            category = lean.category.map { row.body[(base + $0.lowerBound)..<(base + $0.upperBound)] } ?? []
            isSilent = lean.silent
            Self.bind(lean, row.body, to: insert)
        } else {
            do throws(JSONError) {
                let decoded = try ItemBody(JSONObject(row.body))
                category = decoded.category.map { Array($0.utf8)[...] } ?? []
                isSilent = decoded.silent
                Self.bind(decoded, to: insert)
            } catch {
                return false
            }
        }
        Self.bind(row, at: version, to: insert)
        try insert.run()
        let isNew = connection.changes == 1
        rows += 1
        for fact in row.facts {
            try RestTables(connection: connection).stage(fact, at: row.state.position)
        }
        if isPartial {
            guard isNew else { return true }
            sum &+= InboxSum.of(row.id, row.state)
            try tally.add(
                row.state.position, category: category, silent: isSilent, read: row.state.read?.value ?? false,
                seen: row.state.seen, archived: row.state.archived?.value ?? false, connection)
        }
        if let register = row.state.read { try add(register, row.state.position, field: 0, connection) }
        if let register = row.state.archived { try add(register, row.state.position, field: 1, connection) }
        return true
    }

    private static func bind(_ row: SnapshotRow, at version: Position, to insert: borrowing Statement) {
        insert.bind(1, row.state.position)
        insert.bind(2, row.id)
        insert.bind(3, row.publish)
        insert.bind(4, row.time)
        insert.bind(11, text: row.body)
        insert.bind(12, version)
        insert.bind(13, row.state.read?.value ?? false)
        insert.bind(14, row.state.read?.rank ?? 0)
        insert.bind(15, row.state.seen)
        insert.bind(16, row.state.archived?.value ?? false)
        insert.bind(17, row.state.archived?.rank ?? 0)
    }

    private static func bind(_ item: LeanItem, _ body: RawJSON, to insert: borrowing Statement) {
        func bind(_ index: Int32, _ range: Range<Int>?) {
            guard let range else { return insert.bindNull(index) }
            insert.bind(index, text: body[(body.startIndex + range.lowerBound)..<(body.startIndex + range.upperBound)])
        }
        insert.bind(5, item.sent)
        bind(6, item.type)
        if item.type == nil { insert.bind(6, "message") }
        bind(7, item.category)
        bind(8, item.topic)
        bind(18, item.interests)
        insert.bind(9, item.expires)
        insert.bind(10, item.silent)
    }

    private static func bind(_ item: ItemBody, to insert: borrowing Statement) {
        insert.bind(5, item.sent)
        insert.bind(6, item.type)
        insert.bind(7, item.category)
        insert.bind(8, item.topic)
        insert.bind(18, item.interestsText)
        insert.bind(9, item.expires)
        insert.bind(10, item.silent)
    }

    private func add(
        _ register: Register, _ position: Position, field: Int64, _ connection: Connection
    ) throws(SQLiteError) {
        try connection.statement(
            isPartial
                ? """
                INSERT OR REPLACE INTO register (position, field, passive, since, itime, author, uid)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """
                : """
                INSERT OR REPLACE INTO stage_register (position, field, passive, since, itime, author, uid)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, position)
            insert.bind(2, field)
            insert.bind(3, register.passive)
            insert.bind(4, register.since)
            insert.bind(5, register.itime)
            insert.bind(6, register.author.description)
            insert.bind(7, bits: register.uid)
            try insert.run()
        }
    }
}
