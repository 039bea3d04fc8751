import PealModel
import PealSQLite

/// One item on the way down an inbox.
struct WalkedItem {
    var item: StoredItem
    var isSilent: Bool
    var expires: Milliseconds?
    var category: String?
    var topic: String?

    init(_ row: borrowing Statement) {
        item = StoredItem(row, at: 6, seq: row.int64(1), position: row.int64(0))
        isSilent = row.bool(2)
        expires = row.optionalInt64(3)
        category = row.optionalText(4)
        topic = row.optionalText(5)
    }
}

extension SQLiteHubReader {
    /// Visits the items of an inbox that are not deleted, newest first, until the body answers false. Returns whether it
    /// came to the end.
    func walk(
        _ inbox: InboxKey, below position: Position, waiting: [DeferredIndex.Row],
        _ body: (WalkedItem) throws(HubStoreError) -> Bool
    ) throws(HubStoreError) -> Bool {
        func visit(_ row: borrowing Statement) throws(HubStoreError) -> Bool {
            let found = WalkedItem(row)
            return found.item.state.deleted ? true : try body(found)
        }
        return try merge(
            inbox, below: position, waiting: waiting, readQueries.walk,
            one: { (waiting) throws(HubStoreError) in
                try readQueries.walkOne.first(
                    inbox.row, waiting.position, waiting.seq, waiting.publish, read: visit)
            }, visit: visit)
    }

    /// Visits the rows of `indexed`, whose first column is the position, and those that `log` does not hold yet in between, newest
    /// first, until a visit answers false.
    func merge(
        _ inbox: InboxKey, below position: Position, waiting: [DeferredIndex.Row], _ indexed: Query,
        one: (DeferredIndex.Row) throws(HubStoreError) -> Bool?,
        visit: (borrowing Statement) throws(HubStoreError) -> Bool
    ) throws(HubStoreError) -> Bool {
        var waiting = waiting.filter { $0.publish > 0 && $0.position < position }[...]
        func visitWaiting(above position: Position) throws(HubStoreError) -> Bool {
            while let last = waiting.last, last.position > position {
                waiting.removeLast()
                guard try one(last) ?? true else { return false }
            }
            return true
        }
        var goesOn = true
        try indexed.forEach(inbox.row, position) { (row) throws(HubStoreError) in
            goesOn = try visitWaiting(above: row.int64(0)) ? visit(row) : false
            return goesOn
        }
        guard goesOn else { return false }
        return try visitWaiting(above: 0)
    }

    func list(_ query: ListQuery, of inbox: InboxKey) throws(HubStoreError) -> ListPage {
        precondition((1...100).contains(query.perPage), "a page has 1 to 100 items")
        return try read(inbox) { (row, waiting) throws(HubStoreError) in
            let marks = try queries.marks(of: inbox)
            var page = ListPage(items: [], total: 0, unread: 0, unseen: 0, next: nil, head: row.head)
            var chosen: [WalkedItem] = []
            _ = try walk(inbox, below: .max, waiting: waiting) { found in
                guard query.takes(found, marks) else { return true }
                page.total += 1
                if !marks.isRead(found.item.state) { page.unread += 1 }
                if !marks.isSeen(found.item.state) { page.unseen += 1 }
                guard query.isPast(found, number: page.total) else { return true }
                if chosen.count < query.perPage {
                    chosen.append(found)
                } else {
                    page.next = chosen.last?.item.state.position
                }
                return true
            }
            let times = queries.times(of: inbox, marks)
            for found in chosen { page.items.append(try listed(found.item, times)) }
            return page
        }
    }

    func item(_ id: ItemID, of inbox: InboxKey, now: Milliseconds) throws(HubStoreError) -> ListedItem? {
        try read(inbox) { (_, _) throws(HubStoreError) in
            guard let item = try queries.item(id, in: inbox), !item.state.deleted else { return nil }
            let listed = try listed(item, queries.times(of: inbox, try queries.marks(of: inbox)))
            if let expires = listed.body.expires, expires <= now { return nil }
            return listed
        }
    }

    /// Reads the bytes of an item and adds what is true of it.
    private func listed(_ item: StoredItem, _ times: ItemTimes) throws(HubStoreError) -> ListedItem {
        let entry = try itemEntry(item.seq)
        let body: ItemBody
        do throws(JSONError) {
            body = try ItemBody(JSONObject(entry.body))
        } catch {
            throw HubStoreError(.corrupt, "an item's body cannot be read: \(error.reason)", underlying: error)
        }
        return ListedItem(
            id: entry.id, position: item.state.position, publish: entry.publish, time: entry.time, body: body,
            readAt: try times.readAt(item), seenAt: try times.seenAt(item), archivedAt: try times.archivedAt(item))
    }

    /// The parts of an item's entry.
    func itemEntry(
        _ seq: Int64
    ) throws(HubStoreError) -> (id: ItemID, publish: String, time: Milliseconds, body: RawJSON) {
        let bytes = try readQueries.itemEntry.first(seq) { (row) throws(HubStoreError) in
            try Self.content(row, at: 0).array
        }
        return try Self.parts(bytes ?? [])
    }

    static func parts(
        _ bytes: [UInt8]
    ) throws(HubStoreError) -> (id: ItemID, publish: String, time: Milliseconds, body: RawJSON) {
        // The hub wrote these bytes itself: one pass finds the parts.
        if let lean = bytes.withUnsafeBufferPointer({ LeanItem(entry: $0) }) {
            return (
                ItemID(high: lean.high, low: lean.low), String(decoding: bytes[lean.publish], as: UTF8.self), lean.time,
                bytes[lean.body]
            )
        }
        do throws(JSONError) {
            let entry = try Entry(bytes[...])
            if case .item(let id, let publish, let body) = entry.kind { return (id, publish, entry.time, body) }
        } catch {
            throw HubStoreError(.corrupt, "an entry cannot be read: \(error.reason)", underlying: error)
        }
        throw HubStoreError(.corrupt, "an entry is not the item that the log says")
    }
}

extension ListQuery {
    fileprivate func takes(_ found: WalkedItem, _ marks: Marks) -> Bool {
        if found.isSilent { return false }
        if let expires = found.expires, expires <= now { return false }
        if let read, marks.isRead(found.item.state) != read { return false }
        if let seen, marks.isSeen(found.item.state) != seen { return false }
        if let archived, marks.isArchived(found.item.state) != archived { return false }
        if let categories, !(found.category.map(categories.contains) ?? false) { return false }
        if let topics, !(found.topic.map(topics.contains) ?? false) { return false }
        return true
    }

    /// Whether the page has begun at the so-manieth match.
    fileprivate func isPast(_ found: WalkedItem, number: Int) -> Bool {
        switch start {
        case .page(let page): (number - 1) / perPage >= page - 1
        case .below(let position): found.item.state.position < position
        }
    }
}
