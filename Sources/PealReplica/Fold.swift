internal import PealModel
internal import PealSQLite

/// Folds entries into the base tables, inside a writing transaction of the replica (docs/sync.md sections 1 and 5).
///
/// Rows know the version up to which entries are in them, so that the log can be folded over a snapshot whose pages are
/// younger than some of its entries.
struct Fold {
    let connection: Connection
    let author: Author
    /// The additive sum of the base (docs/sync.md section 8), which every change of a row takes along.
    var sum: UInt64
    /// What folding has found, for the transaction around it.
    var found = Found()

    struct Found {
        var inserted: [Position] = []
        var changed: [Position] = []
        var deleted: [Position] = []
        var marks = false
        var interests = false
        var preferences = false
        /// Own mutations that entries have decided.
        var settled: [(act: Settled, position: Position)] = []
        /// An entry carries this replica's id and a number that it has not given out.
        var highestOwn: Int64 = 0
        var quarantined: [Position] = []
        /// An item that this device has let go is unread again.
        var returned = false
        /// The hub's time of the last entry.
        var time: Milliseconds = 0
        /// Acts or removals were folded: the overlay may have to follow.
        var touchesItems = false
        /// The ids of new items, kept only where the overlay waits for one.
        var newIDs: [ItemID] = []
    }

    private var tally = Tally()
    /// Acts wait for items that are not there yet.
    var keepsNewIDs = false

    /// - Parameter state: of the replica, as of the base that is folded over.
    init(_ connection: Connection, _ state: ReplicaState) {
        self.connection = connection
        author = state.author
        sum = state.sum
    }

    static let insertItem: StaticString = """
        INSERT INTO item (position, id, publish, time, sent, type, category, topic, interests, expires, silent, version,
            body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?12, ?9, ?10, ?1, ?11) ON CONFLICT DO NOTHING
        """

    /// Folds entries that follow each other; `first` is the position of the first.
    mutating func entries(_ entries: ArraySlice<RawJSON>, first: Position) throws(SQLiteError) {
        // One lookup of the hot statement for the whole batch.
        try connection.statement(Self.insertItem) { (insert) throws(SQLiteError) in
            var position = first
            for entry in entries {
                try fold(entry, at: position, insert)
                position += 1
            }
        }
        try tally.write(connection)
    }

    private mutating func fold(
        _ entry: RawJSON, at position: Position, _ insert: borrowing Statement
    ) throws(SQLiteError) {
        if let lean = entry.withUnsafeBufferPointer({ LeanItem(entry: $0) }) {
            bind(lean, entry, at: position, to: insert)
            found.time = lean.time
            let id = ItemID(high: lean.high, low: lean.low)
            if keepsNewIDs { found.newIDs.append(id) }
            let base = entry.startIndex
            let category = lean.category.map { entry[(base + $0.lowerBound)..<(base + $0.upperBound)] }
            return try finishInsert(insert, id, entry, at: position, category: category ?? [], silent: lean.silent)
        }
        let decoded: Entry
        do throws(JSONError) {
            decoded = try Entry(entry)
        } catch {
            return try quarantine(entry, at: position, reason: error.description)
        }
        found.time = decoded.time
        switch decoded.kind {
        case .item(let id, let publish, let body):
            let item: ItemBody
            do throws(JSONError) {
                item = try ItemBody(JSONObject(body))
                bind(item, id: id, publish: publish, time: decoded.time, raw: body, at: position, to: insert)
            } catch {
                return try quarantine(entry, at: position, reason: error.description)
            }
            if keepsNewIDs { found.newIDs.append(id) }
            let category = item.category.map { Array($0.utf8) } ?? []
            try finishInsert(insert, id, entry, at: position, category: category[...], silent: item.silent)
        case .removed(let items, _): try delete(items, at: position)
        case .act(let act): try fold(act, at: position, time: decoded.time)
        case .catalogue(let catalogue):
            try RestTables(connection: connection).save(catalogue)
            found.preferences = true
        case .unknown: try keep(entry, at: position, reason: nil)  // Folded after an upgrade.
        }
    }

    private func bind(
        _ lean: LeanItem, _ entry: RawJSON, at position: Position, to insert: borrowing Statement
    ) {
        let base = entry.startIndex
        insert.bind(3, text: entry[(base + lean.publish.lowerBound)..<(base + lean.publish.upperBound)])
        bind(6, lean.type, entry, to: insert)
        if lean.type == nil { insert.bind(6, Self.message) }
        bind(7, lean.category, entry, to: insert)
        bind(8, lean.topic, entry, to: insert)
        bind(12, lean.interests, entry, to: insert)
        insert.bind(11, text: entry[(base + lean.body.lowerBound)..<(base + lean.body.upperBound)])
        insert.bind(1, position)
        insert.bind(2, ItemID(high: lean.high, low: lean.low))
        insert.bind(4, lean.time)
        insert.bind(5, lean.sent ?? 0)
        insert.bind(9, lean.expires)
        insert.bind(10, lean.silent)
    }

    private func bind(_ index: Int32, _ range: Range<Int>?, _ entry: RawJSON, to insert: borrowing Statement) {
        guard let range else { return insert.bindNull(index) }
        let base = entry.startIndex
        insert.bind(index, text: entry[(base + range.lowerBound)..<(base + range.upperBound)])
    }

    private static let message = "message"

    private func bind(
        _ item: ItemBody, id: ItemID, publish: String, time: Milliseconds, raw: RawJSON, at position: Position,
        to insert: borrowing Statement
    ) {
        insert.bind(1, position)
        insert.bind(2, id)
        insert.bind(3, publish)
        insert.bind(4, time)
        insert.bind(5, item.sent)
        insert.bind(6, item.type)
        insert.bind(7, item.category)
        insert.bind(8, item.topic)
        insert.bind(12, item.interestsText)
        insert.bind(9, item.expires)
        insert.bind(10, item.silent)
        insert.bind(11, text: raw)
    }

    private mutating func finishInsert(
        _ insert: borrowing Statement, _ id: ItemID, _ entry: RawJSON, at position: Position,
        category: ArraySlice<UInt8>, silent: Bool
    ) throws(SQLiteError) {
        try insert.run()
        if connection.changes == 1 {
            try tally.add(
                position, category: category, silent: silent, read: false, seen: false, archived: false, connection)
            sum &+= InboxSum.item(id, at: position)
            found.inserted.append(position)
        } else if try !exists(position) {
            try quarantine(entry, at: position, reason: "an item with this id is there already")
        }
    }

    private func exists(_ position: Position) throws(SQLiteError) -> Bool {
        try connection.statement("SELECT 1 FROM item WHERE position = ?1") { (query) throws(SQLiteError) in
            query.bind(1, position)
            return try query.step()
        }
    }

    // MARK: What cannot be folded

    private mutating func quarantine(_ entry: RawJSON, at position: Position, reason: String) throws(SQLiteError) {
        found.quarantined.append(position)
        try keep(entry, at: position, reason: reason)
    }

    private static func outcome(of entry: RawJSON, by author: Author) throws(JSONError) -> Settled? {
        let object = try JSONObject(entry)
        guard try object.string("kind") == "act", try object.string("by") == author.description,
            let uid = try object.string("uid").flatMap({ Hex64.parse($0) }), let n = try object.int("n"),
            let outcome = try object.object("outcome")
        else { return nil }
        return Settled(n: n, uid: uid, outcome: try Outcome(outcome))
    }

    private mutating func keep(_ entry: RawJSON, at position: Position, reason: String?) throws(SQLiteError) {
        // An act of ours whose effect is not understood here has an outcome all the same.
        if let act = try? Self.outcome(of: entry, by: author) {
            found.settled.append((act, position))
            found.highestOwn = max(found.highestOwn, act.n)
        }
        try connection.statement("INSERT OR REPLACE INTO raw (position, bytes, reason) VALUES (?1, ?2, ?3)") {
            (insert) throws(SQLiteError) in
            insert.bind(1, position)
            insert.bind(2, entry)
            insert.bind(3, reason)
            try insert.run()
        }
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

    /// Binds the 16 bytes of an item's id.
    @inline(__always)
    func bind(_ index: Int32, _ id: ItemID) {
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { bind(index, $0) }
    }

    /// The item id in a column of 16 bytes.
    func itemID(_ index: Int32) -> ItemID { withBytes(index) { ItemID(bytes: $0) } ?? ItemID(high: 0, low: 0) }
}
