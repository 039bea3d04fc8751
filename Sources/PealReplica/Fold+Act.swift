internal import PealModel
internal import PealSQLite

/// The effects of acts on the base tables: what `InboxState.fold` says, in SQL.
extension Fold {
    mutating func fold(_ act: Act, at position: Position, time: Milliseconds) throws(SQLiteError) {
        if act.author == author, let n = act.n {
            found.settled.append((Settled(n: n, uid: act.uid, outcome: act.outcome), position))
            found.highestOwn = max(found.highestOwn, n)
        }
        switch act.effect {
        case .none: break
        case .read(let items, let on, let passive, let unseen, let alsoSeen):
            let unseen = Set(unseen)
            for id in items {
                try setRead(id, on: on, seen: on || !unseen.contains(id), passive: passive, act, at: position)
            }
            for id in alsoSeen { try setSeen(id, at: position) }
        case .seen(let items): for id in items { try setSeen(id, at: position) }
        case .archive(let items, let on): for id in items { try setArchived(id, on: on, act, at: position) }
        case .delete(let items): try delete(items, at: position)
        case .mark(let kind, let upTo, let except):
            try mark(kind, Mark(upTo: upTo, version: position))
            for id in except { try raise(kind, id, at: position) }
        case .interest(let name, let on): try setInterest(name, on: on)
        case .interests(let names):
            try connection.execute("UPDATE interest SET base = 0")
            for name in names { try setInterest(name, on: true) }
            found.interests = true
        case .preference(let key, let enabled): try choose(key, enabled, act, at: position)
        case .fact(let item, let event, let data):
            try add(Fact(event: event, time: time, data: data), about: item, at: position)
        case .token, .user: break
        case .end:
            try connection.execute("UPDATE interest SET base = 0")
            found.interests = true
        }
    }

    private mutating func choose(
        _ key: PreferenceKey, _ enabled: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        let tables = RestTables(connection: connection)
        let register = Register(
            value: enabled, passive: false, since: position, rank: position, itime: act.itime, author: act.author,
            uid: act.uid)
        var cell = PreferenceCell(register)
        if let known = try tables.cell(key) {
            cell = known
            cell.fold(register)
        }
        try tables.save(cell, key)
        found.preferences = true
    }

    /// The first of its kind stays.
    private mutating func add(_ fact: Fact, about id: ItemID, at position: Position) throws(SQLiteError) {
        let item = try connection.statement(
            """
            INSERT INTO fact (position, event, time, data)
            SELECT position, ?3, ?4, ?5 FROM item WHERE id = ?1 AND version < ?2 ON CONFLICT DO NOTHING
            RETURNING position
            """
        ) { (insert) throws(SQLiteError) -> Position? in
            insert.bind(1, id)
            insert.bind(2, position)
            insert.bind(3, fact.event)
            insert.bind(4, fact.time)
            if let data = fact.data { insert.bind(5, text: data) } else { insert.bindNull(5) }
            return try insert.first()
        }
        // The overlay holds no facts: nothing else has to follow.
        if let item { found.changed.append(item) }
    }

    private mutating func setRead(
        _ id: ItemID, on: Bool, seen: Bool, passive: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        let item = try connection.statement(
            """
            UPDATE item SET read = ?2, read_rank = ?3, seen = max(seen, ?4) WHERE id = ?1 AND version < ?3
            RETURNING position
            """
        ) { (update) throws(SQLiteError) -> Position? in
            update.bind(1, id)
            update.bind(2, on)
            update.bind(3, position)
            update.bind(4, seen)
            return try update.first()
        }
        guard let item else { return }
        changed(item)
        try setRegister(item, field: 0, passive: passive, act, at: position)
    }

    private mutating func setArchived(
        _ id: ItemID, on: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        let item = try connection.statement(
            """
            UPDATE item SET archived = ?2, archived_rank = ?3 WHERE id = ?1 AND version < ?3 RETURNING position
            """
        ) { (update) throws(SQLiteError) -> Position? in
            update.bind(1, id)
            update.bind(2, on)
            update.bind(3, position)
            return try update.first()
        }
        guard let item else { return }
        changed(item)
        try setRegister(item, field: 1, passive: false, act, at: position)
    }

    private func setRegister(
        _ item: Position, field: Int64, passive: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        try connection.statement(
            """
            INSERT OR REPLACE INTO register (position, field, passive, since, itime, author, uid)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, item)
            insert.bind(2, field)
            insert.bind(3, passive)
            insert.bind(4, position)
            insert.bind(5, act.itime)
            insert.bind(6, act.author.description)
            insert.bind(7, bits: act.uid)
            try insert.run()
        }
    }

    private mutating func setSeen(_ id: ItemID, at position: Position) throws(SQLiteError) {
        let item = try connection.statement(
            "UPDATE item SET seen = 1 WHERE id = ?1 AND version < ?2 RETURNING position"
        ) { (update) throws(SQLiteError) -> Position? in
            update.bind(1, id)
            update.bind(2, position)
            return try update.first()
        }
        if let item { changed(item) }
    }

    mutating func delete(_ items: [ItemID], at position: Position) throws(SQLiteError) {
        found.touchesItems = true
        for id in items {
            let item = try connection.statement(
                "DELETE FROM item WHERE id = ?1 AND version < ?2 RETURNING position"
            ) { (delete) throws(SQLiteError) -> Position? in
                delete.bind(1, id)
                delete.bind(2, position)
                return try delete.first()
            }
            guard let item else { continue }
            found.deleted.append(item)
            try connection.statement("DELETE FROM register WHERE position = ?1") { (delete) throws(SQLiteError) in
                delete.bind(1, item)
                try delete.run()
            }
            try connection.statement("DELETE FROM fact WHERE position = ?1") { (delete) throws(SQLiteError) in
                delete.bind(1, item)
                try delete.run()
            }
        }
    }

    // MARK: Marks

    /// Adds a mark to its frontier: constant time, whatever it covers.
    mutating func mark(_ kind: MarkKind, _ mark: Mark) throws(SQLiteError) {
        found.marks = true
        found.touchesItems = true
        try add(mark, to: kind)
        if kind == .read { try add(mark, to: .seen) }
    }

    private func add(_ mark: Mark, to kind: MarkKind) throws(SQLiteError) {
        let dominated = try connection.statement(
            "SELECT 1 FROM mark WHERE kind = ?1 AND up_to >= ?2 AND version >= ?3"
        ) { (query) throws(SQLiteError) in
            query.bind(1, kind.rawValue)
            query.bind(2, mark.upTo)
            query.bind(3, mark.version)
            return try query.step()
        }
        guard !dominated else { return }
        try connection.statement("DELETE FROM mark WHERE kind = ?1 AND up_to <= ?2 AND version <= ?3") {
            (delete) throws(SQLiteError) in
            delete.bind(1, kind.rawValue)
            delete.bind(2, mark.upTo)
            delete.bind(3, mark.version)
            try delete.run()
        }
        try connection.statement("INSERT OR REPLACE INTO mark (kind, up_to, version) VALUES (?1, ?2, ?3)") {
            (insert) throws(SQLiteError) in
            insert.bind(1, kind.rawValue)
            insert.bind(2, mark.upTo)
            insert.bind(3, mark.version)
            try insert.run()
        }
    }

    /// An excepted register stands as of the mark; its `since` stays.
    private mutating func raise(_ kind: MarkKind, _ id: ItemID, at position: Position) throws(SQLiteError) {
        let sql: StaticString
        switch kind {
        case .read:
            sql = """
                UPDATE item SET read_rank = ?2 WHERE id = ?1 AND version < ?2 AND read_rank > 0 RETURNING position
                """
        case .archive:
            sql = """
                UPDATE item SET archived_rank = ?2 WHERE id = ?1 AND version < ?2 AND archived_rank > 0
                RETURNING position
                """
        case .seen: return
        }
        let item = try connection.statement(sql) { (update) throws(SQLiteError) -> Position? in
            update.bind(1, id)
            update.bind(2, position)
            return try update.first()
        }
        if let item { changed(item) }
    }

    // MARK: Interests

    private mutating func setInterest(_ name: String, on: Bool) throws(SQLiteError) {
        found.interests = true
        try connection.statement(
            "INSERT INTO interest (name, base) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET base = ?2"
        ) { (upsert) throws(SQLiteError) in
            upsert.bind(1, name)
            upsert.bind(2, on)
            try upsert.run()
        }
    }

    private mutating func changed(_ item: Position) {
        found.changed.append(item)
        found.touchesItems = true
    }
}

extension Statement {
    /// The first column of the first row, after which the statement has run to its end.
    func first() throws(SQLiteError) -> Int64? {
        guard try step() else { return nil }
        let value = int64(0)
        while try step() {}
        return value
    }
}
