internal import PealModel
internal import PealSQLite

/// What pending acts make of the base: each is resolved with the hub's own rule and folded over the base, in the order of
/// the acts, at positions that do not exist yet. So what is shown is what the hub will decide if nothing interferes.
///
/// Only touched items are held; marks reach the others through `pendingRead` and its siblings.
final class Overlay {
    /// For which base and which outbox it was computed.
    struct Key: Equatable {
        var cursor: Cursor
        var generation: Int64
    }

    /// The overlay columns of one item.
    struct Columns: Equatable {
        var read: Bool?
        var seen: Bool?
        var archived: Bool?
        var deleted: Bool?

        var isEmpty: Bool { self == Columns() }
    }

    private let connection: Connection
    private let author: Author
    let isDevice: Bool
    var key: Key
    private(set) var head: Position
    private(set) var marks: Marks
    private let baseMarks: Marks
    private var items: [ItemID: ItemState] = [:]
    private(set) var missing: Set<ItemID> = []
    private var base: [ItemID: ItemState] = [:]
    private var names: Set<String>?
    private var touchesInterests = false
    private let tables: RestTables
    private var cells: [PreferenceKey: PreferenceCell] = [:]
    /// The values of the base's cells that acts have touched; nil where there is none.
    private var chosen: [PreferenceKey: Bool?] = [:]
    private var known: Catalogue??
    private var written: [Position: Columns]
    /// Whose columns may have changed since they were written; nil for all, those of an overlay before this one included.
    private var dirty: Set<ItemID>?
    private(set) var pendingRead: Position = 0
    private(set) var pendingSeen: Position = 0
    private(set) var pendingArchive: Position = 0

    /// An overlay without acts over the base as it stands.
    init(_ connection: Connection, _ state: ReplicaState, isDevice: Bool) throws(SQLiteError) {
        self.connection = connection
        tables = RestTables(connection: connection)
        self.isDevice = isDevice
        author = state.author
        key = Key(cursor: state.cursor, generation: state.generation)
        // Acts come after everything that a partial base holds already.
        head = max(state.cursor.position, try Stage.partialReach(connection))
        baseMarks = try Marks(connection)
        marks = baseMarks
        written = try Self.columns(connection)
    }

    private static func columns(_ connection: Connection) throws(SQLiteError) -> [Position: Columns] {
        try connection.statement(
            "SELECT position, o_read, o_seen, o_archived, o_deleted FROM item INDEXED BY item_overlaid WHERE overlaid = 1"
        ) { (query) throws(SQLiteError) in
            var found: [Position: Columns] = [:]
            while try query.step() {
                found[query.int64(0)] = Columns(
                    read: query.optionalBool(1), seen: query.optionalBool(2), archived: query.optionalBool(3),
                    deleted: query.optionalBool(4))
            }
            return found
        }
    }

    /// The base has only gained items that no act names.
    func advance(to cursor: Cursor) {
        key.cursor = cursor
        head = max(head, cursor.position)
    }

    // MARK: Acts

    /// Puts one more act over it.
    func add(_ mutation: Mutation, now: Milliseconds) throws(SQLiteError) {
        switch mutation.operation {
        case .mark(let kind, _): try loadLoose(kind)
        case .interest, .interests, .end: _ = try interests()
        default: break
        }
        let act = try Resolver.resolve(mutation, by: author, in: self, now: now, isProven: true)
        head += 1
        fold(act)
        if case .mark = mutation.operation {
            dirty = nil
        } else {
            dirty?.formUnion(mutation.operation.items)
        }
    }

    private func fold(_ act: Act) {
        func register(_ on: Bool, passive: Bool = false) -> Register {
            Register(
                value: on, passive: passive, since: head, rank: head, itime: act.itime, author: author, uid: act.uid)
        }
        switch act.effect {
        case .none: break
        case .read(let ids, let on, let passive, let unseen, let alsoSeen):
            let unseen = Set(unseen)
            for id in ids {
                items[id]?.read = register(on, passive: passive)
                if on || !unseen.contains(id) { items[id]?.seen = true }
            }
            for id in alsoSeen { items[id]?.seen = true }
        case .seen(let ids): for id in ids { items[id]?.seen = true }
        case .archive(let ids, let on): for id in ids { items[id]?.archived = register(on) }
        case .delete(let ids): for id in ids { items[id]?.deleted = true }
        case .mark(let kind, let upTo, let except):
            marks.add(kind, Mark(upTo: upTo, version: head, author: author))
            reach(kind, upTo)
            for id in except {
                if kind == .read { items[id]?.read?.rank = head }
                if kind == .archive { items[id]?.archived?.rank = head }
            }
        case .interest(let name, let on):
            touchesInterests = true
            if on { names?.insert(name) } else { names?.remove(name) }
        case .interests(let all):
            touchesInterests = true
            names = Set(all)
        case .preference(let key, let enabled):
            if cells[key]?.fold(register(enabled)) == nil { cells[key] = PreferenceCell(register(enabled)) }
        case .fact, .token, .user: break
        case .end:
            touchesInterests = true
            names = []
        }
    }

    private func reach(_ kind: MarkKind, _ upTo: Position) {
        switch kind {
        case .read:
            pendingRead = max(pendingRead, upTo)
            pendingSeen = max(pendingSeen, upTo)
        case .seen: pendingSeen = max(pendingSeen, upTo)
        case .archive: pendingArchive = max(pendingArchive, upTo)
        }
    }

    // MARK: Base

    /// Loads the single choices that a mark could meet, so that each of them gets its own overlay.
    private func loadLoose(_ kind: MarkKind) throws(SQLiteError) {
        let index = kind == .read ? "item_loose_unread" : "item_loose_unarchived"
        let condition =
            kind == .read
            ? "((read_rank > 0 AND read = 0) OR o_read IS 0)"
            : "((archived_rank > 0 AND archived = 0) OR o_archived IS 0)"
        guard kind != .seen else { return }
        let query = try connection.prepare("SELECT id FROM item INDEXED BY \(index) WHERE \(condition)")
        var ids: [ItemID] = []
        while try query.step() { ids.append(query.itemID(0)) }
        for id in ids { _ = try item(id) }
    }

    // MARK: Writing

    /// Brings the overlay columns of the file to what was computed.
    ///
    /// - Returns: the positions whose columns changed, and whether interests and preferences did.
    func writeBack() throws(SQLiteError) -> (positions: [Position], interests: Bool, preferences: Bool) {
        var changed: [Position] = []
        if let dirty {
            for id in dirty { try write(id, &changed) }
        } else {
            // What an earlier overlay said of items that no act touches any more.
            var stale = written
            for state in items.values { stale[state.position] = nil }
            for position in stale.keys.sorted() {
                try write(Columns(), at: position)
                changed.append(position)
            }
            for id in items.keys { try write(id, &changed) }
        }
        dirty = []
        var overlays: [PreferenceKey: Bool] = [:]
        for (key, cell) in cells where chosen[key] != .some(cell.register.value) { overlays[key] = cell.register.value }
        return (changed.sorted(), try writeInterests(), try tables.write(overlays: overlays))
    }

    /// Where the file shows something else than what was computed; nothing is written.
    func stale() throws(SQLiteError) -> (positions: [Position], interests: Bool) {
        var wanted: [Position: Columns] = [:]
        for (id, state) in items {
            guard let before = base[id] else { continue }
            let columns = columns(state, over: before)
            if !columns.isEmpty { wanted[state.position] = columns }
        }
        let positions = Set(wanted.keys).union(written.keys).filter { wanted[$0] != written[$0] }
        let names = isDevice ? try interests() : []
        return (positions.sorted(), names != (try Self.shownInterests(connection)))
    }

    private func write(_ id: ItemID, _ changed: inout [Position]) throws(SQLiteError) {
        guard let state = items[id], let before = base[id] else { return }
        let columns = columns(state, over: before)
        guard columns != written[state.position] ?? Columns() else { return }
        try write(columns, at: state.position)
        changed.append(state.position)
    }

    /// NULL where base and marks show the same by themselves (see `Queries`).
    private func columns(_ state: ItemState, over before: ItemState) -> Columns {
        func alone(_ kind: MarkKind, _ register: Register?, _ pending: Position) -> Bool {
            if register == nil, state.position <= pending { return true }
            return baseMarks.value(kind, register, at: state.position)
        }
        var columns = Columns()
        let read = marks.isRead(state)
        if read != alone(.read, before.read, pendingRead) { columns.read = read }
        let archived = marks.isArchived(state)
        if archived != alone(.archive, before.archived, pendingArchive) { columns.archived = archived }
        if marks.isSeen(state), !baseMarks.isSeen(before), state.position > pendingSeen { columns.seen = true }
        if state.deleted { columns.deleted = true }
        return columns
    }

    private func write(_ columns: Columns, at position: Position) throws(SQLiteError) {
        written[position] = columns.isEmpty ? nil : columns
        try connection.statement(
            """
            UPDATE item SET overlaid = ?2, o_read = ?3, o_seen = ?4, o_archived = ?5, o_deleted = ?6
            WHERE position = ?1
            """
        ) { (update) throws(SQLiteError) in
            update.bind(1, position)
            update.bind(2, !columns.isEmpty)
            update.bind(3, columns.read)
            update.bind(4, columns.seen)
            update.bind(5, columns.archived)
            update.bind(6, columns.deleted)
            try update.run()
        }
    }

    private func writeInterests() throws(SQLiteError) -> Bool {
        let before = try Self.shownInterests(connection)
        guard touchesInterests, let names else {
            let stale = try connection.int("SELECT count(*) FROM interest WHERE overlay IS NOT NULL") > 0
            guard stale else { return false }
            try connection.execute(
                "UPDATE interest SET overlay = NULL; DELETE FROM interest WHERE base = 0")
            return try Self.shownInterests(connection) != before
        }
        guard names != before else { return false }
        for name in before.subtracting(names) {
            try run("DELETE FROM interest WHERE name = ?1 AND base = 0", name)
            try run("UPDATE interest SET overlay = 0 WHERE name = ?1", name)
        }
        for name in names.subtracting(before) {
            try run(
                """
                INSERT INTO interest (name, base, overlay) VALUES (?1, 0, 1)
                ON CONFLICT (name) DO UPDATE SET overlay = CASE base WHEN 1 THEN NULL ELSE 1 END
                """, name)
        }
        try connection.execute("DELETE FROM interest WHERE base = 0 AND overlay IS NOT 1")
        return true
    }

    private func run(_ sql: StaticString, _ name: String) throws(SQLiteError) {
        try connection.statement(sql) { (change) throws(SQLiteError) in
            change.bind(1, name)
            try change.run()
        }
    }

    static func shownInterests(_ connection: Connection) throws(SQLiteError) -> Set<String> {
        try connection.statement("SELECT name FROM interest WHERE coalesce(overlay, base) = 1") {
            (query) throws(SQLiteError) in
            var names: Set<String> = []
            while try query.step() { names.insert(query.text(0)) }
            return names
        }
    }
}

extension Overlay: InboxView {
    func item(_ id: ItemID) throws(SQLiteError) -> ItemState? {
        if let known = items[id] { return known }
        if missing.contains(id) { return nil }
        guard let state = try ItemState.base(id, connection) else {
            missing.insert(id)
            return nil
        }
        items[id] = state
        base[id] = state
        return state
    }

    func sent(_ uid: UInt64, by author: Author) throws(SQLiteError) -> Bool {
        guard author == self.author else { return false }
        return try connection.statement(
            "SELECT 1 FROM outbox WHERE uid = ?1 UNION ALL SELECT 1 FROM journal WHERE uid = ?1"
        ) { (query) throws(SQLiteError) in
            query.bind(1, bits: uid)
            return try query.step()
        }
    }

    func opposed(
        to kind: MarkKind, upTo: Position, since observed: Position
    ) throws(SQLiteError) -> [(id: ItemID, register: Register)] {
        guard kind != .seen else { return [] }
        return items.compactMap { id, state in
            guard !state.deleted, state.position <= upTo,
                let register = kind == .read ? state.read : state.archived, !register.value, register.since > observed
            else { return nil }
            return (id, register)
        }.sorted { $0.id < $1.id }
    }

    func cell(_ key: PreferenceKey) throws(SQLiteError) -> PreferenceCell? {
        if chosen[key] == nil {
            cells[key] = try tables.cell(key)
            chosen[key] = .some(cells[key]?.register.value)
        }
        return cells[key]
    }

    func cellCount() throws(SQLiteError) -> Int {
        try tables.cellCount() + chosen.count { $0.value == nil && cells[$0.key] != nil }
    }

    func catalogue() throws(SQLiteError) -> Catalogue? {
        if let known { return known }
        let found = try tables.catalogue()
        known = .some(found)
        return found
    }

    /// Facts have no overlay: queries add what waits in the outbox.
    func hasFact(_ event: String, of item: ItemID) throws(SQLiteError) -> Bool { false }

    func interests() throws(SQLiteError) -> Set<String>? {
        guard isDevice else { return nil }
        if let names { return names }
        let loaded = try connection.statement("SELECT name FROM interest WHERE base = 1") {
            (query) throws(SQLiteError) in
            var names: Set<String> = []
            while try query.step() { names.insert(query.text(0)) }
            return names
        }
        names = loaded
        return loaded
    }
}

extension Marks {
    /// The base's marks.
    init(_ connection: Connection) throws(SQLiteError) {
        self.init()
        self = try connection.statement("SELECT kind, up_to, version FROM mark") { (query) throws(SQLiteError) in
            var marks = Marks()
            while try query.step() {
                guard let kind = MarkKind(rawValue: query.text(0)) else { continue }
                marks[kind].add(Mark(upTo: query.int64(1), version: query.int64(2)))
            }
            return marks
        }
    }
}
