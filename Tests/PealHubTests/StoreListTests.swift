import PealModel
import Testing

@testable import PealHub

@Suite struct StoreListTests {
    private func hub(_ kind: StoreKind, items: Int) throws -> (StoreFixture, InboxKey, [ItemID]) {
        let hub = try StoreFixture(kind)
        var ids: [ItemID] = []
        for number in 0..<items {
            hub.now += 1_000
            ids.append(
                try hub.item(
                    for: "anna",
                    body: ItemBody(
                        title: "\(number)", category: ["news", "offers", nil][number % 3],
                        topic: number < 2 ? "order:1" : nil, sent: hub.now)))
        }
        let inbox = try #require(try hub.reader.user(UserIdentity(externalID: "anna"), in: hub.project.key)).inbox
        return (hub, inbox, ids)
    }

    private func act(_ hub: StoreFixture, _ inbox: InboxKey, _ operation: PealModel.Operation) throws {
        hub.now += 1_000
        let uid = hub.random.next()
        _ = try hub.commit { (store) throws(HubStoreError) in
            try store.act(operation, uid: uid, observed: nil, in: inbox, now: hub.now)
        }
    }

    private func titles(_ page: ListPage) -> [String?] { page.items.map(\.body.title) }

    @Test(arguments: StoreKind.all)
    func `pages go from the newest to the oldest, by number and by position`(_ kind: StoreKind) throws {
        let (hub, inbox, _) = try hub(kind, items: 5)
        func page(_ start: ListQuery.Start) throws -> ListPage {
            try hub.reader.list(ListQuery(perPage: 2, start: start, now: hub.now), of: inbox)
        }
        let first = try page(.page(1))
        #expect(titles(first) == ["4", "3"] && first.total == 5 && first.unread == 5 && first.head == 5)
        #expect(titles(try page(.page(3))) == ["0"])
        #expect(titles(try page(.page(4))) == [])
        #expect(titles(try page(.page(.max))) == [])
        #expect(first.next == 4)
        _ = try hub.item(for: "anna")
        let second = try page(.below(4))
        #expect(titles(second) == ["2", "1"] && second.total == 6)
        let last = try page(.below(try #require(second.next)))
        #expect(titles(last) == ["0"] && last.next == nil)
    }

    @Test(arguments: StoreKind.all)
    func `counts follow the filter`(_ kind: StoreKind) throws {
        let (hub, inbox, ids) = try hub(kind, items: 6)
        try act(hub, inbox, .read(items: [ids[0], ids[1]], on: true, passive: false))
        try act(hub, inbox, .archive(items: [ids[3]], on: true))
        try act(hub, inbox, .seen(items: [ids[4]]))
        func list(_ query: ListQuery) throws -> ListPage { try hub.reader.list(query, of: inbox) }
        let news = try list(ListQuery(categories: ["news"], now: hub.now))
        #expect(titles(news) == ["3", "0"] && news.total == 2 && news.unread == 1 && news.unseen == 1)
        #expect(titles(try list(ListQuery(topics: ["order:1", "x"], now: hub.now))) == ["1", "0"])
        let unread = try list(ListQuery(read: false, archived: false, now: hub.now))
        #expect(titles(unread) == ["5", "4", "2"] && unread.unread == 3 && unread.unseen == 2)
        #expect(titles(try list(ListQuery(seen: false, now: hub.now))) == ["5", "3", "2"])
        #expect(titles(try list(ListQuery(categories: [], now: hub.now))) == [])
    }

    @Test(arguments: StoreKind.all)
    func `silent, expired and deleted items are neither listed nor counted`(_ kind: StoreKind) throws {
        let (hub, inbox, ids) = try hub(kind, items: 2)
        _ = try hub.item(for: "anna", body: ItemBody(title: nil, sent: hub.now, silent: true))
        let brief = try hub.item(for: "anna", body: ItemBody(title: "brief", sent: hub.now, expires: hub.now + 10))
        try act(hub, inbox, .delete(items: [ids[0]]))
        let page = try hub.reader.list(ListQuery(now: hub.now), of: inbox)
        #expect(titles(page) == ["1"] && page.total == 1 && page.unread == 1 && page.unseen == 1)
        #expect(try hub.reader.item(ids[0], of: inbox, now: hub.now) == nil)
        #expect(try hub.reader.item(brief, of: inbox, now: hub.now) == nil)
        #expect(try hub.reader.item(brief, of: inbox, now: 0) != nil)
    }

    @Test(arguments: StoreKind.all)
    func `reading twice keeps the first time, by act and by mark in any order`(_ kind: StoreKind) throws {
        let (hub, inbox, ids) = try hub(kind, items: 2)
        func readAt(_ id: ItemID) throws -> Milliseconds? {
            try hub.reader.item(id, of: inbox, now: hub.now)?.readAt
        }
        try act(hub, inbox, .read(items: [ids[0]], on: true, passive: false))
        let first = hub.now
        try act(hub, inbox, .read(items: [ids[0]], on: true, passive: false))
        try act(hub, inbox, .mark(.read, upTo: 2))
        let marked = hub.now
        try act(hub, inbox, .mark(.read, upTo: 3))
        try act(hub, inbox, .read(items: [ids[1]], on: true, passive: false))
        #expect(try readAt(ids[0]) == first)
        #expect(try readAt(ids[1]) == marked)
        try act(hub, inbox, .read(items: ids, on: false, passive: false))
        #expect(try readAt(ids[0]) == nil)
        let unread = try hub.reader.item(ids[1], of: inbox, now: hub.now)
        #expect(unread?.readAt == nil && unread?.seenAt == marked)
        try act(hub, inbox, .mark(.read, upTo: hub.reader.log(of: inbox).head))
        #expect(try readAt(ids[1]) == hub.now)
    }

    @Test(arguments: StoreKind.all)
    func `archiving and its taking back keep their times`(_ kind: StoreKind) throws {
        let (hub, inbox, ids) = try hub(kind, items: 1)
        try act(hub, inbox, .archive(items: ids, on: true))
        let first = hub.now
        try act(hub, inbox, .archive(items: ids, on: true))
        #expect(try hub.reader.item(ids[0], of: inbox, now: hub.now)?.archivedAt == first)
        try act(hub, inbox, .archive(items: ids, on: false))
        #expect(try hub.reader.item(ids[0], of: inbox, now: hub.now)?.archivedAt == nil)
        try act(hub, inbox, .mark(.archive, upTo: 4))
        #expect(try hub.reader.item(ids[0], of: inbox, now: hub.now)?.archivedAt == hub.now)
    }

    @Test(arguments: StoreKind.all)
    func `an id of another inbox, or one that is nearly right, is unknown`(_ kind: StoreKind) throws {
        let (hub, inbox, ids) = try hub(kind, items: 1)
        let other = try hub.item(for: "berta")
        #expect(try hub.reader.item(other, of: inbox, now: hub.now) == nil)
        for near in [
            ItemID(high: ids[0].high, low: ids[0].low ^ 1), ItemID(high: ids[0].high ^ 0x10000, low: ids[0].low),
            ItemID(high: ids[0].high ^ 0x8000, low: ids[0].low), ItemID(high: .max, low: .max),
        ] {
            #expect(try hub.reader.item(near, of: inbox, now: hub.now) == nil)
            try act(hub, inbox, .delete(items: [near]))
        }
        #expect(try hub.reader.list(ListQuery(now: hub.now), of: inbox).total == 1)
    }

    @Test(arguments: StoreKind.all)
    func `a snapshot in pages holds what one page holds`(_ kind: StoreKind) throws {
        let (hub, inbox, ids) = try hub(kind, items: 23)
        try act(hub, inbox, .read(items: Array(ids[3..<9]), on: true, passive: true))
        try act(hub, inbox, .delete(items: [ids[22], ids[10], ids[0]]))
        let whole = try hub.reader.snapshotPage(of: inbox, id: nil, below: nil, maxRows: 500, maxBytes: 200_000)
        #expect(whole.last && whole.rows.count == 20 && whole.rest != nil && whole.after == 0)
        var rows: [SnapshotRow] = []
        var below: Position?
        var pages = 0
        while true {
            let page = try hub.reader.snapshotPage(of: inbox, id: whole.id, below: below, maxRows: 500, maxBytes: 1_000)
            #expect((page.rest != nil) == (below == nil))
            #expect(!page.rows.isEmpty || page.last)
            rows += page.rows
            pages += 1
            if page.last { break }
            below = page.after
        }
        #expect(rows == whole.rows)
        #expect(pages > 4)
    }

    @Test(arguments: [false, true], [false, true])
    func `a row takes no more of its page than the page counts for it`(_ acted: Bool, _ withFact: Bool) throws {
        var row = SnapshotRow(
            id: ItemID(time: 1, counter: 2, random: 3), publish: "pubid-1", time: JSONObject.largestInt,
            body: Array(#"{"sent":1}"#.utf8)[...], state: ItemState(position: JSONObject.largestInt))
        let replica = try #require(Author(String(repeating: "f", count: 32)))
        let register = Register(
            value: false, passive: false, since: .max >> 10, rank: .max >> 10, itime: -(.max >> 10), author: replica,
            uid: .max)
        row.state.seen = true
        if acted { (row.state.read, row.state.archived) = (register, register) }
        if withFact { row.facts = [Fact(event: "dismissed", time: .max >> 10, data: Array(#"{"a":1}"#.utf8)[...])] }
        var writer = JSONWriter()
        row.write(to: &writer)
        // The comma to the next row, too.
        #expect(writer.bytes.count + 1 <= row.wireSize)
        #expect(row.wireSize < writer.bytes.count + 100)
    }
}
