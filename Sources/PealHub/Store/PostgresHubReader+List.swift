#if PostgreSQL
    import PealModel

    extension PostgresHubReader {
        /// Rows that are asked for at once on the way down an inbox, at first and at most: most who ask want few.
        private static let steps = 64...1_024

        /// Visits the rows of a statement, whose first column is the position, newest first, until the body answers false. Returns whether
        /// it came to the end.
        private func descend(
            _ inbox: InboxKey, below position: Position, first: Int, _ query: Query,
            _ visit: (Query) throws(HubStoreError) -> Bool
        ) throws(HubStoreError) -> Bool {
            var below = position
            var wanted = first
            while true {
                var count = 0
                var goesOn = true
                try query.forEach(inbox.row, below, wanted) { (row) throws(HubStoreError) in
                    count += 1
                    below = row.int64(0)
                    goesOn = try visit(row)
                    return goesOn
                }
                guard goesOn else { return false }
                guard count == wanted else { return true }
                wanted = min(4 * wanted, Self.steps.upperBound)
            }
        }

        func list(_ query: ListQuery, of inbox: InboxKey) throws(HubStoreError) -> ListPage {
            precondition((1...100).contains(query.perPage), "a page has 1 to 100 items")
            return try standing(inbox) { (row) throws(HubStoreError) in
                let marks = try queries.marks(of: inbox)
                var pick = ListPick(query, marks, head: row.head)
                _ = try descend(inbox, below: .max, first: Self.steps.lowerBound, readQueries.walk) { row in
                    let found = WalkedItem(row)
                    if !found.item.state.deleted { pick.add(found) }
                    return true
                }
                let times = queries.times(of: inbox, marks)
                return try pick.page { (item) throws(HubStoreError) in
                    try ListedItem(item, try entry(of: item, in: inbox), times)
                }
            }
        }

        func entry(of item: StoredItem, in inbox: InboxKey) throws(HubStoreError) -> ItemParts {
            let bytes = try readQueries.itemEntry.first(inbox.row, item.state.position) { (row) throws(HubStoreError) in
                try Self.content(row, at: 0).array
            }
            return try ItemParts(bytes ?? [])
        }

        func snapshotPage(
            of inbox: InboxKey, id: UInt64?, below: Position?, maxRows: Int, maxBytes: Int
        ) throws(HubStoreError) -> Page {
            try standing(inbox) { (row) throws(HubStoreError) in
                let rest = below == nil ? try rest(of: row) : nil
                var page = Page(
                    id: id ?? UInt64(row.head), at: row.head, chain: row.chain, rows: [], after: below ?? row.head + 1,
                    last: false, rest: rest)
                var bytes = rest?.size ?? 0
                let hasFacts = try restQueries.hasFacts(in: inbox)
                let first = min(maxRows, 2 * Self.steps.lowerBound) + 1
                page.last = try descend(inbox, below: below ?? .max, first: first, readQueries.rows) {
                    (found) throws(HubStoreError) in
                    guard let row = try snapshotRow(found, of: inbox, hasFacts: hasFacts) else { return true }
                    let size = row.wireSize
                    guard page.rows.isEmpty || (page.rows.count < maxRows && bytes + size <= maxBytes) else {
                        return false
                    }
                    bytes += size
                    page.after = row.state.position
                    page.rows.append(row)
                    return true
                }
                if page.last {
                    page.after = 0
                    page.sum = row.sum
                }
                return page
            }
        }

        func deliveries(
            of publish: String, in project: ProjectKey, after number: Int64, limit: Int, now: Milliseconds
        ) throws(HubStoreError) -> DeliveryPage {
            try ask { () throws(HubStoreError) in
                var page = DeliveryPage(deliveries: [], next: nil)
                guard let key = try readQueries.publishKey.first(publish, project.row, read: { $0.int64(0) }) else {
                    return page
                }
                let found = try readQueries.deliveries.all(key, number, limit) { row in
                    (
                        inbox: InboxKey(row: row.int64(0)), position: row.int64(1),
                        item: ItemID(time: row.int64(2), counter: UInt64(row.int64(3)), random: row.bits(4))
                    )
                }
                for (inbox, position, item) in found {
                    if let delivery = try delivery(of: item, at: position, publish: key, in: inbox, now: now) {
                        page.deliveries.append(delivery)
                    }
                }
                if found.count == limit { page.next = found.last?.inbox.row }
                return page
            }
        }
    }
#endif
