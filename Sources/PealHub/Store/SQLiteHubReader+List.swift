import PealModel

extension SQLiteHubReader {
    /// Visits the items of an inbox that are not deleted, newest first, until the body answers false. Returns whether it
    /// came to the end.
    func walk(
        _ inbox: InboxKey, below position: Position, waiting: [DeferredIndex.Row],
        _ body: (WalkedItem) throws(HubStoreError) -> Bool
    ) throws(HubStoreError) -> Bool {
        func visit(_ row: Query) throws(HubStoreError) -> Bool {
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
        visit: (Query) throws(HubStoreError) -> Bool
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
            var pick = ListPick(query, marks, head: row.head)
            _ = try walk(inbox, below: .max, waiting: waiting) { found in
                pick.add(found)
                return true
            }
            let times = queries.times(of: inbox, marks)
            return try pick.page { (item) throws(HubStoreError) in
                try ListedItem(item, try entry(of: item, in: inbox), times)
            }
        }
    }

    func entry(of item: StoredItem, in inbox: InboxKey) throws(HubStoreError) -> ItemParts {
        let bytes = try readQueries.itemEntry.first(item.seq) { (row) throws(HubStoreError) in
            try Self.content(row, at: 0).array
        }
        return try ItemParts(bytes ?? [])
    }
}
