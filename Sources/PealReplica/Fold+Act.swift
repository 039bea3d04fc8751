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
        case .interests(let names): try replaceInterests(names)
        case .preference(let key, let enabled): try choose(key, enabled, act, at: position)
        case .fact(let item, let event, let data):
            try add(Fact(event: event, time: time, data: data), about: item, at: position)
        case .token, .user: break
        case .end: try replaceInterests([])
        }
    }

    private mutating func choose(
        _ key: PreferenceKey, _ enabled: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        let tables = RestTables(connection: connection)
        let register = register(enabled, passive: false, act, at: position)
        var cell = PreferenceCell(register)
        if let known = try tables.cell(key) {
            cell = known
            cell.fold(register)
            sum &-= InboxSum.preference(key, known)
        }
        sum &+= InboxSum.preference(key, cell)
        try tables.save(cell, key)
        found.preferences = true
    }

    // MARK: Facts

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
        guard let item else { return }
        sum &+= InboxSum.fact(fact, at: item)
        // The overlay holds no facts: nothing else has to follow.
        found.changed.append(item)
    }

    private mutating func deleteFacts(at position: Position) throws(SQLiteError) {
        try connection.statement("DELETE FROM fact WHERE position = ?1 RETURNING event, time") {
            (delete) throws(SQLiteError) in
            delete.bind(1, position)
            while try delete.step() {
                sum &-= InboxSum.fact(Fact(event: delete.text(0), time: delete.int64(1)), at: position)
            }
        }
    }

    // MARK: Items

    /// Loads an item that an entry changes, unless the entry is in it already.
    private func load(_ id: ItemID, at position: Position) throws(SQLiteError) -> ItemState? {
        try ItemState.base(id, before: position, connection)
    }

    private func register(_ on: Bool, passive: Bool, _ act: Act, at position: Position) -> Register {
        Register(
            value: on, passive: passive, since: position, rank: position, itime: act.itime, author: act.author,
            uid: act.uid)
    }

    private mutating func setRead(
        _ id: ItemID, on: Bool, seen: Bool, passive: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        guard let before = try load(id, at: position) else { return }
        var item = before
        item.read = register(on, passive: passive, act, at: position)
        if seen { item.seen = true }
        try save(item, of: id, over: before)
        try setRegister(item.position, field: 0, passive: passive, act, at: position)
        if !on, !found.returned { found.returned = try isLetGo(item.position) }
    }

    private func isLetGo(_ position: Position) throws(SQLiteError) -> Bool {
        try connection.statement("SELECT 1 FROM item WHERE position = ?1 AND body = ''") {
            (query) throws(SQLiteError) in
            query.bind(1, position)
            return try query.step()
        }
    }

    private mutating func setArchived(
        _ id: ItemID, on: Bool, _ act: Act, at position: Position
    ) throws(SQLiteError) {
        guard let before = try load(id, at: position) else { return }
        var item = before
        item.archived = register(on, passive: false, act, at: position)
        try save(item, of: id, over: before)
        try setRegister(item.position, field: 1, passive: false, act, at: position)
    }

    private mutating func setSeen(_ id: ItemID, at position: Position) throws(SQLiteError) {
        guard let before = try load(id, at: position), !before.seen else { return }
        var item = before
        item.seen = true
        try save(item, of: id, over: before)
    }

    /// Writes an item's own columns, and takes the sum along.
    private mutating func save(_ item: ItemState, of id: ItemID, over before: ItemState) throws(SQLiteError) {
        sum = sum &- InboxSum.of(id, before) &+ InboxSum.of(id, item)
        try connection.statement(
            "UPDATE item SET read = ?2, read_rank = ?3, seen = ?4, archived = ?5, archived_rank = ?6 WHERE position = ?1"
        ) { (update) throws(SQLiteError) in
            update.bind(1, item.position)
            update.bind(2, item.read?.value ?? false)
            update.bind(3, item.read?.rank ?? 0)
            update.bind(4, item.seen)
            update.bind(5, item.archived?.value ?? false)
            update.bind(6, item.archived?.rank ?? 0)
            try update.run()
        }
        found.changed.append(item.position)
        found.touchesItems = true
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

    mutating func delete(_ items: [ItemID], at position: Position) throws(SQLiteError) {
        found.touchesItems = true
        for id in items {
            guard let item = try load(id, at: position) else { continue }
            sum &-= InboxSum.of(id, item)
            found.deleted.append(item.position)
            try connection.statement("DELETE FROM item WHERE position = ?1") { (delete) throws(SQLiteError) in
                delete.bind(1, item.position)
                try delete.run()
            }
            try connection.statement("DELETE FROM register WHERE position = ?1") { (delete) throws(SQLiteError) in
                delete.bind(1, item.position)
                try delete.run()
            }
            try deleteFacts(at: item.position)
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

    private mutating func add(_ mark: Mark, to kind: MarkKind) throws(SQLiteError) {
        let dominated = try connection.statement(
            "SELECT 1 FROM mark WHERE kind = ?1 AND up_to >= ?2 AND version >= ?3"
        ) { (query) throws(SQLiteError) in
            query.bind(1, kind.rawValue)
            query.bind(2, mark.upTo)
            query.bind(3, mark.version)
            return try query.step()
        }
        guard !dominated else { return }
        try connection.statement(
            "DELETE FROM mark WHERE kind = ?1 AND up_to <= ?2 AND version <= ?3 RETURNING up_to, version"
        ) { (delete) throws(SQLiteError) in
            delete.bind(1, kind.rawValue)
            delete.bind(2, mark.upTo)
            delete.bind(3, mark.version)
            while try delete.step() {
                sum &-= InboxSum.mark(kind, Mark(upTo: delete.int64(0), version: delete.int64(1)))
            }
        }
        sum &+= InboxSum.mark(kind, mark)
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
        guard kind != .seen, let before = try load(id, at: position) else { return }
        var item = before
        if kind == .read { item.read?.rank = position } else { item.archived?.rank = position }
        if item != before { try save(item, of: id, over: before) }
    }

    // MARK: Interests

    private mutating func setInterest(_ name: String, on: Bool) throws(SQLiteError) {
        found.interests = true
        let before = try connection.statement("SELECT base FROM interest WHERE name = ?1") {
            (query) throws(SQLiteError) in
            query.bind(1, name)
            return try query.step() && query.bool(0)
        }
        guard before != on else { return }
        let hash = InboxSum.interest(name)
        sum = on ? sum &+ hash : sum &- hash
        try connection.statement(
            "INSERT INTO interest (name, base) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET base = ?2"
        ) { (upsert) throws(SQLiteError) in
            upsert.bind(1, name)
            upsert.bind(2, on)
            try upsert.run()
        }
    }

    private mutating func replaceInterests(_ names: [String]) throws(SQLiteError) {
        found.interests = true
        let before = try connection.statement("SELECT name FROM interest WHERE base = 1") {
            (query) throws(SQLiteError) in
            var names: Set<String> = []
            while try query.step() { names.insert(query.text(0)) }
            return names
        }
        let wanted = Set(names)
        for name in before.subtracting(wanted) { try setInterest(name, on: false) }
        for name in wanted.subtracting(before) { try setInterest(name, on: true) }
    }
}
