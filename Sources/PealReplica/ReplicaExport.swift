internal import PealModel
internal import PealSQLite

/// Everything that a replica's file holds of its inbox, line by line as JSON, of one state however long it takes. A read-only connection of its
/// own; not Sendable, every call blocks.
package final class ReplicaExport {
    private enum Part {
        case head, items(before: Position), preferences, outbox, end, over
    }

    private let queries: Queries
    private let pageItems: Int
    private var part = Part.head
    private var items: Int64 = 0

    /// Opens a file, and begins with the state that it has now. Blocking.
    ///
    /// - Parameters:
    ///   - path: the replica's file.
    ///   - pageItems: items that ``next()`` gives at most, at least 1.
    ///   - clock: tells what has expired.
    /// - Throws: ``ReplicaError``: `cantOpen` where there is none, `notAReplica`.
    package init(path: String, pageItems: Int = 200, clock: ReplicaClock = .system) throws(ReplicaError) {
        precondition(pageItems > 0, "a page has items")
        self.pageItems = pageItems
        queries = try ReplicaReader(path: path, clock: clock).queries
        do throws(SQLiteError) {
            // The transaction is never committed: it goes with the connection.
            try queries.connection.execute("BEGIN DEFERRED")
            _ = try queries.frame()
        } catch {
            throw ReplicaError(error)
        }
    }

    /// The next lines, without line ends; empty after the last. Blocking.
    ///
    /// - Throws: ``ReplicaError``: `corrupt` and whatever else reading a file can bring.
    package func next() throws(ReplicaError) -> [[UInt8]] {
        while true {
            var lines: [[UInt8]] = []
            switch part {
            case .head:
                lines = [try head()]
                part = .items(before: .max)
            case .items(let before):
                let page = try queries.read { () throws(SQLiteError) in
                    try queries.allItems(before: before, limit: pageItems)
                }
                for item in page { lines.append(try line(item)) }
                items += Int64(page.count)
                part = page.last.map { .items(before: $0.number) } ?? .preferences
            case .preferences:
                lines = try queries.read(queries.preferences).map(line)
                part = .outbox
            case .outbox:
                lines = try queries.read(queries.outbox).map(line)
                part = .end
            case .end:
                lines = [
                    object("end") { $0.member("items", items) }
                ]
                part = .over
            case .over: return []
            }
            if !lines.isEmpty { return lines }
        }
    }

    private func object(_ kind: String, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("kind", kind)
        body(&writer)
        writer.endObject()
        return writer.bytes
    }

    private func head() throws(ReplicaError) -> [UInt8] {
        let state = try queries.read { () throws(SQLiteError) in try ReplicaState.loadOrFail(queries.connection) }
        let isPartial = try queries.read(queries.frame).isPartial
        return object("export") { writer in
            writer.member("version", 1 as Int64)
            writer.member("identity", raw: Array(state.identity.utf8)[...])
            writer.member("project", state.project)
            writer.member("inbox", state.inbox)
            writer.member("position", state.cursor.position)
            writer.member("time", state.time)
            writer.member("partial", isPartial)
        }
    }

    private func line(_ item: DeliveredItem) throws(ReplicaError) -> [UInt8] {
        let facts = try queries.read { () throws(SQLiteError) in try queries.facts(of: item.id) }
        return object("item") { writer in
            writer.member("id", item.id)
            writer.member("number", item.number)
            writer.member("publish", item.publish)
            writer.member("time", item.time)
            writer.member("read", item.read)
            writer.member("seen", item.seen)
            writer.member("archived", item.archived)
            writer.member("silent", item.silent)
            writer.member("expires", item.expires)
            writer.member("body", raw: item.body)
            writer.key("facts")
            writer.beginArray()
            for fact in facts {
                writer.beginObject()
                writer.member("event", fact.event)
                writer.member("time", fact.time)
                writer.member("data", raw: fact.data)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    private func line(_ preference: Preference) -> [UInt8] {
        object("preference") { writer in
            writer.member("category", preference.key.category)
            writer.member("channel", preference.key.channel)
            writer.member("enabled", preference.enabled)
        }
    }

    private func line(_ act: OutboxItem) -> [UInt8] {
        object("act") { writer in
            writer.member("uid", Hex64.text(act.id))
            writer.member("time", act.acted)
            writer.member("waits", act.state != .dead)
            if let operation = act.operation {
                writer.key("op")
                operation.write(to: &writer)
            }
            if let outcome = act.outcome {
                writer.key("outcome")
                outcome.write(to: &writer)
            }
        }
    }
}

extension Queries {
    /// Every item below a position that has a body, silent, expired and archived ones too, the newest first.
    func allItems(before: Position, limit: Int) throws(SQLiteError) -> [DeliveredItem] {
        let query = try connection.prepare(Self.allItemsSQL)
        bindFrame(try frame(), query)
        query.bind(5, before)
        query.bind(6, Int64(limit))
        var found: [DeliveredItem] = []
        while try query.step() { found.append(Self.item(query)) }
        return found
    }

    static let allItemsSQL = """
        SELECT \(itemColumns) FROM item WHERE position < ?5 AND o_deleted IS NULL AND body <> ''
        ORDER BY position DESC LIMIT ?6
        """
}
