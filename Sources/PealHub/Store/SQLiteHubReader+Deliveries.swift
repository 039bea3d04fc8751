import PealModel

extension SQLiteHubReader {
    func deliveries(
        of publish: String, in project: ProjectKey, after number: Int64, limit: Int, now: Milliseconds
    ) throws(HubStoreError) -> DeliveryPage {
        let span = try readQueries.span.first(publish, project.row) { row in
            (id: row.int64(0), first: row.int64(1), last: row.int64(2))
        }
        var page = DeliveryPage(deliveries: [], next: nil)
        guard let span, span.last > 0 else { return page }
        var found: [(inbox: InboxKey, position: Position, item: ItemID)] = []
        var last = max(number, span.first - 1)
        var looks = 0
        try readQueries.items.forEach(last, span.last, DeliveryPage.looks) { row in
            guard found.count < limit else { return false }
            last = row.int64(0)
            looks += 1
            if row.int64(1) == span.id {
                let item = ItemID(time: row.int64(4), counter: UInt64(last), random: row.bits(5))
                found.append((InboxKey(row: row.int64(2)), row.int64(3), item))
            }
            return true
        }
        if last < span.last, found.count == limit || looks == DeliveryPage.looks { page.next = last }
        for (inbox, position, item) in found {
            if let delivery = try delivery(of: item, at: position, publish: span.id, in: inbox, now: now) {
                page.deliveries.append(delivery)
            }
        }
        return page
    }
}
