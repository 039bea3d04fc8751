import PealModel

/// One item on the way down an inbox.
struct WalkedItem {
    var item: StoredItem
    var isSilent: Bool
    var expires: Milliseconds?
    var category: String?
    var topic: String?

    init(_ row: Query) {
        item = StoredItem(row, at: 6, seq: row.int64(1), position: row.int64(0))
        isSilent = row.bool(2)
        expires = row.optionalInt64(3)
        category = row.optionalText(4)
        topic = row.optionalText(5)
    }
}

/// A page of a list that is being picked from an inbox's items, newest first.
struct ListPick {
    private let query: ListQuery
    private let marks: Marks
    private var counts: ListPage
    private var chosen: [WalkedItem] = []

    init(_ query: ListQuery, _ marks: Marks, head: Position) {
        self.query = query
        self.marks = marks
        counts = ListPage(items: [], total: 0, unread: 0, unseen: 0, next: nil, head: head)
    }

    /// Takes the next item, where it matches.
    mutating func add(_ found: WalkedItem) {
        guard query.takes(found, marks) else { return }
        counts.total += 1
        if !marks.isRead(found.item.state) { counts.unread += 1 }
        if !marks.isSeen(found.item.state) { counts.unseen += 1 }
        guard query.isPast(found, number: counts.total) else { return }
        if chosen.count < query.perPage {
            chosen.append(found)
        } else {
            counts.next = chosen.last?.item.state.position
        }
    }

    /// The page, once every item was taken.
    func page(_ listed: (StoredItem) throws(HubStoreError) -> ListedItem) throws(HubStoreError) -> ListPage {
        var page = counts
        for found in chosen { page.items.append(try listed(found.item)) }
        return page
    }
}

/// The parts of an item's entry.
struct ItemParts {
    let id: ItemID
    let publish: String
    let time: Milliseconds
    let body: RawJSON

    init(_ bytes: [UInt8]) throws(HubStoreError) {
        // The hub wrote these bytes itself: one pass finds the parts.
        if let lean = bytes.withUnsafeBufferPointer({ LeanItem(entry: $0) }) {
            id = ItemID(high: lean.high, low: lean.low)
            publish = String(decoding: bytes[lean.publish], as: UTF8.self)
            time = lean.time
            body = bytes[lean.body]
            return
        }
        let entry: Entry
        do throws(JSONError) {
            entry = try Entry(bytes[...])
        } catch {
            throw HubStoreError(.corrupt, "an entry cannot be read: \(error.reason)", underlying: error)
        }
        guard case .item(let id, let publish, let body) = entry.kind else {
            throw HubStoreError(.corrupt, "an entry is not the item that the log says")
        }
        (self.id, self.publish, time, self.body) = (id, publish, entry.time, body)
    }
}

extension ListedItem {
    /// An item with what is true of it now.
    init(_ item: StoredItem, _ entry: ItemParts, _ times: ItemTimes) throws(HubStoreError) {
        let body: ItemBody
        do throws(JSONError) {
            body = try ItemBody(JSONObject(entry.body))
        } catch {
            throw HubStoreError(.corrupt, "an item's body cannot be read: \(error.reason)", underlying: error)
        }
        self.init(
            id: entry.id, position: item.state.position, publish: entry.publish, time: entry.time, body: body,
            readAt: try times.readAt(item), seenAt: try times.seenAt(item), archivedAt: try times.archivedAt(item))
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
