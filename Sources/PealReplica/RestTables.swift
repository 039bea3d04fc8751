internal import PealModel
internal import PealSQLite

/// Preference cells, catalogue and facts in a replica's file, for folding, overlay, stage and queries.
struct RestTables {
    let connection: Connection

    // MARK: Preferences

    /// The base's cell.
    func cell(_ key: PreferenceKey) throws(SQLiteError) -> PreferenceCell? {
        try connection.statement(
            "SELECT cell FROM preference WHERE category = ?1 AND channel = ?2 AND cell IS NOT NULL"
        ) {
            (query) throws(SQLiteError) -> PreferenceCell? in
            query.bind(1, key.category)
            query.bind(2, key.channel)
            guard try query.step() else { return nil }
            do throws(JSONError) {
                return try PreferenceCell(JSONObject(query.blob(0)[...]))
            } catch {
                throw SQLiteError(.corrupt, "a preference cannot be read: \(error.reason)")
            }
        }
    }

    func cellCount() throws(SQLiteError) -> Int {
        Int(try connection.int("SELECT count(*) FROM preference WHERE cell IS NOT NULL"))
    }

    func save(_ cell: PreferenceCell, _ key: PreferenceKey) throws(SQLiteError) {
        try connection.statement(
            """
            INSERT INTO preference (category, channel, value, cell) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (category, channel) DO UPDATE SET value = ?3, cell = ?4
            """
        ) { (upsert) throws(SQLiteError) in try bind(cell, key, upsert) }
    }

    func stage(_ cell: PreferenceCell, _ key: PreferenceKey) throws(SQLiteError) {
        try connection.statement(
            "INSERT OR REPLACE INTO stage_preference (category, channel, value, cell) VALUES (?1, ?2, ?3, ?4)"
        ) { (insert) throws(SQLiteError) in try bind(cell, key, insert) }
    }

    private func bind(
        _ cell: PreferenceCell, _ key: PreferenceKey, _ statement: borrowing Statement
    ) throws(SQLiteError) {
        var writer = JSONWriter()
        writer.beginObject()
        cell.writeMembers(to: &writer)
        writer.endObject()
        statement.bind(1, key.category)
        statement.bind(2, key.channel)
        statement.bind(3, cell.register.value)
        statement.bind(4, text: writer.bytes[...])
        try statement.run()
    }

    /// The value that is shown of each cell.
    func choices() throws(SQLiteError) -> [PreferenceKey: Bool] {
        try values("SELECT category, channel, coalesce(overlay, value) FROM preference")
    }

    /// What pending acts make of cells.
    func overlays() throws(SQLiteError) -> [PreferenceKey: Bool] {
        try values("SELECT category, channel, overlay FROM preference WHERE overlay IS NOT NULL")
    }

    private func values(_ sql: StaticString) throws(SQLiteError) -> [PreferenceKey: Bool] {
        try connection.statement(sql) { (query) throws(SQLiteError) in
            var values: [PreferenceKey: Bool] = [:]
            while try query.step() {
                values[PreferenceKey(category: query.text(0), channel: query.text(1))] = query.bool(2)
            }
            return values
        }
    }

    /// Writes what pending acts make of cells.
    ///
    /// - Returns: whether that is something else than before.
    func write(overlays: [PreferenceKey: Bool]) throws(SQLiteError) -> Bool {
        let before = try self.overlays()
        guard overlays != before else { return false }
        try connection.execute(
            "UPDATE preference SET overlay = NULL WHERE overlay IS NOT NULL; DELETE FROM preference WHERE cell IS NULL")
        for (key, value) in overlays {
            try connection.statement(
                """
                INSERT INTO preference (category, channel, overlay) VALUES (?1, ?2, ?3)
                ON CONFLICT (category, channel) DO UPDATE SET overlay = ?3
                """
            ) { (upsert) throws(SQLiteError) in
                upsert.bind(1, key.category)
                upsert.bind(2, key.channel)
                upsert.bind(3, value)
                try upsert.run()
            }
        }
        return true
    }

    // MARK: Catalogue

    func catalogue() throws(SQLiteError) -> Catalogue? {
        try connection.statement("SELECT body FROM catalogue WHERE one = 1") {
            (query) throws(SQLiteError) -> Catalogue? in
            guard try query.step() else { return nil }
            do throws(JSONError) {
                return try Catalogue(JSONObject(query.blob(0)[...]))
            } catch {
                throw SQLiteError(.corrupt, "the catalogue cannot be read: \(error.reason)")
            }
        }
    }

    func save(_ catalogue: Catalogue) throws(SQLiteError) {
        try connection.statement("INSERT OR REPLACE INTO catalogue (one, body) VALUES (1, ?1)") {
            (insert) throws(SQLiteError) in
            insert.bind(1, text: catalogue.bytes[...])
            try insert.run()
        }
    }

    func stage(_ catalogue: Catalogue) throws(SQLiteError) {
        try connection.statement("INSERT INTO stage_catalogue (body) VALUES (?1)") { (insert) throws(SQLiteError) in
            insert.bind(1, text: catalogue.bytes[...])
            try insert.run()
        }
    }

    // MARK: Facts

    func stage(_ fact: Fact, at position: Position) throws(SQLiteError) {
        try connection.statement(
            "INSERT OR REPLACE INTO stage_fact (position, event, time, data) VALUES (?1, ?2, ?3, ?4)"
        ) { (insert) throws(SQLiteError) in
            insert.bind(1, position)
            insert.bind(2, fact.event)
            insert.bind(3, fact.time)
            if let data = fact.data { insert.bind(4, text: data) } else { insert.bindNull(4) }
            try insert.run()
        }
    }

    /// The base's facts about an item, by the names of their events.
    func facts(at position: Position) throws(SQLiteError) -> [Fact] {
        try connection.statement("SELECT event, time, data FROM fact WHERE position = ?1") {
            (query) throws(SQLiteError) in
            query.bind(1, position)
            var facts: [Fact] = []
            while try query.step() {
                facts.append(
                    Fact(event: query.text(0), time: query.int64(1), data: query.optionalBlob(2).map { $0[...] }))
            }
            return facts
        }
    }

    /// Swaps in what was staged.
    static let merge = """
        UPDATE preference SET value = NULL, cell = NULL;
        INSERT INTO preference (category, channel, value, cell)
        SELECT category, channel, value, cell FROM stage_preference WHERE true
            ON CONFLICT (category, channel) DO UPDATE SET value = excluded.value, cell = excluded.cell;
        DELETE FROM preference WHERE cell IS NULL AND overlay IS NULL;
        DELETE FROM catalogue;
        INSERT INTO catalogue (one, body) SELECT 1, body FROM stage_catalogue;
        DELETE FROM fact;
        INSERT INTO fact (position, event, time, data) SELECT position, event, time, data FROM stage_fact
        """

    /// Empties the stage.
    static let clear = "DELETE FROM stage_preference; DELETE FROM stage_catalogue; DELETE FROM stage_fact"
}
