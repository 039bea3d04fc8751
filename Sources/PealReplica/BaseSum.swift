internal import PealModel
internal import PealSQLite

/// The additive sum of the base (docs/sync.md section 8), computed from its rows, and how many rows of each kind went in.
///
/// One pass over the item table and one over the registers, both in the order of their keys. A kind of row that joins the
/// sum is added here, to `Fold`, which keeps the sum between two of these, and to `InboxSum`.
struct BaseSum: Equatable {
    var sum: UInt64 = 0
    var items: Int64 = 0
    var registers: Int64 = 0
    var marks: Int64 = 0
    var interests: Int64 = 0
    var preferences: Int64 = 0
    var facts: Int64 = 0

    init(_ connection: Connection) throws(SQLiteError) {
        try addItems(connection)
        try connection.statement("SELECT kind, up_to, version FROM mark") { (query) throws(SQLiteError) in
            while try query.step() {
                guard let kind = MarkKind(rawValue: query.text(0)) else { continue }
                sum &+= InboxSum.mark(kind, Mark(upTo: query.int64(1), version: query.int64(2)))
                marks += 1
            }
        }
        try addRest(connection)
    }

    /// That of what an inbox holds beside items and marks.
    static func rest(_ connection: Connection) throws(SQLiteError) -> BaseSum {
        var sum = BaseSum()
        try sum.addRest(connection)
        return sum
    }

    private init() {}

    private mutating func addRest(_ connection: Connection) throws(SQLiteError) {
        try connection.statement("SELECT name FROM interest WHERE base = 1") { (query) throws(SQLiteError) in
            while try query.step() {
                sum &+= InboxSum.interest(query.text(0))
                interests += 1
            }
        }
        try connection.statement("SELECT category, channel, cell FROM preference WHERE cell IS NOT NULL") {
            (query) throws(SQLiteError) in
            while try query.step() {
                let key = PreferenceKey(category: query.text(0), channel: query.text(1))
                // A cell that cannot be read has no hash, so that the sum cannot agree.
                if let cell = try? PreferenceCell(JSONObject(query.blob(2)[...])) {
                    sum &+= InboxSum.preference(key, cell)
                }
                preferences += 1
            }
        }
        try connection.statement("SELECT position, event, time FROM fact") { (query) throws(SQLiteError) in
            while try query.step() {
                sum &+= InboxSum.fact(Fact(event: query.text(1), time: query.int64(2)), at: query.int64(0))
                facts += 1
            }
        }
    }

    private mutating func addItems(_ connection: Connection) throws(SQLiteError) {
        var registers = try RegisterRows(connection)
        let query = try connection.prepare(
            "SELECT position, id, seen, read, read_rank, archived, archived_rank FROM item ORDER BY position")
        while try query.step() {
            let position = query.int64(0)
            sum &+= InboxSum.item(query.itemID(1), at: position)
            if query.bool(2) { sum &+= InboxSum.seen(at: position) }
            items += 1
            let read = try registers.register(position, field: 0, value: query.int64(3), rank: query.int64(4))
            let archived = try registers.register(position, field: 1, value: query.int64(5), rank: query.int64(6))
            sum &+= InboxSum.read(read, at: position) &+ InboxSum.archived(archived, at: position)
            self.registers += (read == nil ? 0 : 1) + (archived == nil ? 0 : 1)
        }
    }
}

/// The register table, read once beside the items.
private struct RegisterRows: ~Copyable {
    private let query: Statement
    /// Whether a row is at hand; nil before the first look.
    private var isOpen: Bool?

    init(_ connection: Connection) throws(SQLiteError) {
        query = try connection.prepare(
            "SELECT position, field, passive, since, itime, author, uid FROM register ORDER BY position, field")
    }

    /// The register of an item; positions and fields must ascend from call to call.
    ///
    /// A value without a rank, which nothing writes, makes a register too, so that the sum cannot agree.
    mutating func register(
        _ position: Position, field: Int64, value: Int64, rank: Int64
    ) throws(SQLiteError) -> Register? {
        guard value != 0 || rank != 0 else { return nil }
        if isOpen == nil { isOpen = try query.step() }
        while isOpen == true, (query.int64(0), query.int64(1)) < (position, field) { isOpen = try query.step() }
        guard isOpen == true, query.int64(0) == position, query.int64(1) == field else {
            return Register(
                value: value != 0, passive: false, since: 0, rank: rank, itime: 0, author: .api, uid: 0)
        }
        return Register(
            value: value != 0, passive: query.bool(2), since: query.int64(3), rank: rank, itime: query.int64(4),
            author: Author(query.text(5)) ?? .api, uid: query.bits(6))
    }
}
