import PealModel
import PealSQLite
import Testing

@testable import PealReplica

@Suite struct Pages {
    private func filled(_ folder: Folder, _ fill: (inout TestHub) -> Void) throws -> (Replica, TestHub) {
        var hub = TestHub()
        fill(&hub)
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        return (replica, hub)
    }

    @Test func `pages are stable while items come and go`() throws {
        let folder = Folder()
        var (replica, hub) = try filled(folder) { hub in for _ in 0..<20 { hub.publish() } }
        let first = try replica.page(DeliveredQuery(), limit: 5)
        #expect(first.items.map(\.number) == [20, 19, 18, 17, 16])
        for _ in 0..<3 { hub.publish() }
        hub.append(.removed(items: [hub.items[13], hub.items[17]], why: "retract"))
        try replica.pull(hub)
        let second = try replica.page(DeliveredQuery(), after: first.next, limit: 5)
        #expect(second.items.map(\.number) == [15, 13, 12, 11, 10])
        #expect(second.view.position == hub.head)
        let last = try replica.page(DeliveredQuery(), after: PageCursor(before: 4), limit: 5)
        #expect(last.items.map(\.number) == [3, 2, 1])
        #expect(last.next == nil)
        let exact = try replica.page(DeliveredQuery(), after: PageCursor(before: 4), limit: 3)
        #expect(exact.next == nil, "a page that ends exactly at the end is the last")
    }

    @Test func `silent and expired items are listed nowhere and can be asked for by id`() throws {
        let folder = Folder()
        let (replica, hub) = try filled(folder) { hub in
            hub.publish("plain")
            hub.publish("silent", silent: true)
            hub.publish("expired", expires: hub.now - 1)
            hub.publish("lasting", expires: hub.now + 1_000_000)
        }
        #expect(try replica.list().map(\.number) == [4, 1])
        #expect(try replica.counts() == Counts(total: 2, unread: 2, unseen: 2))
        #expect(try replica.item(hub.items[1])?.silent == true)
        #expect(try replica.item(number: 3)?.id == hub.items[2])
        #expect(try replica.item(number: 9) == nil)
    }

    @Test func `an item expires by the hub's clock, whatever this device's says`() throws {
        let folder = Folder()
        var hub = TestHub()
        hub.publish("lasting", expires: hub.now + 1_000)
        let clock = TestClock(wall: hub.now - 86_400_000)
        let replica = try folder.open(clock: clock)
        try replica.connect(hub)
        try replica.pull(hub)
        #expect(try replica.counts().total == 1)
        clock.advance(2_000)
        #expect(try replica.counts().total == 0)
        #expect(try replica.list().isEmpty)
    }

    @Test func `times bound a list`() throws {
        let folder = Folder()
        let (replica, hub) = try filled(folder) { hub in for _ in 0..<5 { hub.publish() } }
        let times = hub.items.map { hub.publishes[$0]!.time }
        let query = DeliveredQuery(since: times[1], until: times[3])
        #expect(try replica.list(query).map(\.number) == [3, 2])
        for read in [nil, true, false] {
            for query in [
                DeliveredQuery(categories: [], read: read), DeliveredQuery(topics: [], read: read),
                DeliveredQuery(interests: [], read: read), DeliveredQuery(interests: ["none's"], read: read),
                DeliveredQuery(read: read, text: "!"), DeliveredQuery(categories: [], read: read, archived: nil),
            ] {
                #expect(try replica.list(query).isEmpty, "one of none is none")
                #expect(try replica.counts(query) == Counts())
            }
        }
    }

    @Test func `each page comes from its index`() throws {
        let folder = Folder()
        let (replica, hub) = try filled(folder) { hub in
            for _ in 0..<5 { hub.publish(category: "a", topic: "t", interests: ["x"]) }
            hub.other(.mark(.read, upTo: 3))
            hub.other(.mark(.archive, upTo: 1))
        }
        #expect(hub.head == 7)
        let expected: [(DeliveredQuery, [String])] = [
            (DeliveredQuery(read: false), ["item_unread", "item_loose_unread"]),
            (DeliveredQuery(seen: false), ["item_unseen"]),
            (DeliveredQuery(categories: ["a"]), ["item_category", "item_loose_unarchived"]),
            (DeliveredQuery(topics: ["t"]), ["item_topic", "item_loose_unarchived"]),
            (DeliveredQuery(interests: ["x"]), ["item_interests", "item_loose_unarchived"]),
            (DeliveredQuery(archived: true), ["item_archived", "PRIMARY KEY"]),
            (DeliveredQuery(), ["PRIMARY KEY", "item_loose_unarchived"]),
        ]
        for (query, indexes) in expected {
            for isUpward in [false, true] {
                let plan = try replica.queries.plans(query, isUpward: isUpward)
                let leading = plan.filter { $0.hasPrefix("SEARCH item") || $0.hasPrefix("SCAN item") }
                #expect(leading.count == indexes.count, "\(plan)")
                for (line, index) in zip(leading, indexes) { #expect(line.contains(index), "\(plan)") }
                #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN item") }, "\(plan)")
            }
        }
    }

    @Test func `a page upward holds what lies just above, over every branch`() throws {
        let folder = Folder()
        let (replica, hub) = try filled(folder) { hub in
            for number in 0..<40 { hub.publish(category: number % 3 == 0 ? "a" : nil) }
            hub.other(.mark(.read, upTo: 20))
            hub.other(.read(items: [hub.items[4], hub.items[11]], on: false, passive: false))
            hub.other(.archive(items: [hub.items[7], hub.items[30]], on: true))
        }
        let queries = [
            DeliveredQuery(), DeliveredQuery(read: false), DeliveredQuery(read: true), DeliveredQuery(archived: true),
            DeliveredQuery(archived: nil), DeliveredQuery(categories: ["a"]),
        ]
        for query in queries {
            let all = try replica.page(query, after: nil, limit: 1_000).items
            for position in 0...hub.head {
                let wanted = all.filter { $0.number > position }
                let page = try replica.page(query, above: position, limit: 5)
                #expect(page.items == wanted.suffix(5))
                #expect(page.hasMore == (wanted.count > 5))
                let down = try replica.page(query, after: PageCursor(before: position), limit: 5)
                #expect(down.items == Array(all.filter { $0.number < position }.prefix(5)))
            }
        }
        let all = try replica.connection.queryPlan(Queries.allItemsSQL)
        #expect(all.first?.hasPrefix("SEARCH item USING INTEGER PRIMARY KEY (rowid<?)") == true, "\(all)")
        #expect(!all.contains { $0.contains("TEMP B-TREE") }, "\(all)")
    }

    @Test func `upwards each piece holds what the query has, in order, and no piece looks at much`() throws {
        let folder = Folder()
        var (replica, hub) = try filled(folder) { hub in
            for number in 1...9 {
                hub.publish(category: number % 3 == 0 ? "c" : nil, interests: ["x"], silent: number == 4)
            }
            hub.other(.mark(.read, upTo: 5))
        }
        func all(_ query: DeliveredQuery, above: Position = 0, limit: Int = 2) throws -> [Position] {
            var found: [Position] = []
            var position = above
            while true {
                let run = try replica.items(query, above: position, limit: limit)
                #expect(run.items.count <= limit)
                found += run.items.map(\.number)
                #expect(run.head == hub.head && !run.isPartial)
                if run.upTo >= run.head { return found }
                #expect(run.upTo > position)
                position = run.upTo
            }
        }
        #expect(try all(DeliveredQuery(archived: nil)) == [1, 2, 3, 5, 6, 7, 8, 9])
        #expect(try all(DeliveredQuery(archived: nil), above: 7) == [8, 9])
        #expect(try all(DeliveredQuery(archived: nil), above: 99).isEmpty)
        #expect(try all(DeliveredQuery(categories: ["c"])) == [3, 6, 9])
        #expect(try all(DeliveredQuery(read: true, archived: nil)) == [1, 2, 3, 5])
        #expect(try all(DeliveredQuery(read: false, archived: nil)) == [6, 7, 8, 9])
        #expect(try all(DeliveredQuery(interests: ["x"]), limit: 5) == [1, 2, 3, 5, 6, 7, 8, 9])
        #expect(try all(DeliveredQuery(interests: ["y"])).isEmpty)
        hub.append(.removed(items: [hub.items[7]], why: "retract"))
        try replica.pull(hub)
        #expect(try all(DeliveredQuery(archived: nil), above: 6) == [7, 9])
        for query in [
            DeliveredQuery(archived: nil), DeliveredQuery(categories: ["c"]), DeliveredQuery(topics: ["t"]),
            DeliveredQuery(interests: ["x"]), DeliveredQuery(read: false), DeliveredQuery(seen: false),
        ] {
            let plan = try replica.queries.planUpwards(query)
            #expect(plan.first == "SEARCH item USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "\(plan)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        }
    }

    @Test func `a publish's copy is found by times, and what comes before the sending is not walked`() throws {
        let folder = Folder()
        let replica = try folder.open()
        let plan = try replica.connection.queryPlan("\(Queries.copySQL)")
        let searches = plan.filter { $0.contains("item USING") }
        #expect(searches.count == 2, "\(plan)")
        #expect(
            searches.allSatisfy { $0.contains("SEARCH item USING INDEX sqlite_autoindex_item_1 (id>? AND id<?)") },
            "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }

    @Test func `which texts of interests there are is found by steps of the index`() throws {
        let folder = Folder()
        var steps: [Int] = []
        for size in [30, 999] {
            var hub = TestHub()
            for number in 0..<size { hub.publish(interests: [["x"], ["x", "y"], ["y"]][number % 3]) }
            let replica = try folder.open("inbox\(size)")
            try replica.connect(hub)
            try replica.pull(hub)
            let plan = try replica.connection.queryPlan("\(Queries.interestTexts)")
            #expect(!plan.contains { $0.hasPrefix("SCAN item") }, "\(plan)")
            let before = replica.connection.stepCount
            let page = try replica.page(DeliveredQuery(interests: ["x"]), after: nil, limit: 4)
            #expect(page.items.map { $0.number % 3 } == [2, 1, 2, 1])
            let none = DeliveredQuery(interests: ["\"x", "", "X"])
            #expect(try replica.page(none, after: nil, limit: 4).items.isEmpty)
            let query = try replica.read { () throws(SQLiteError) in
                try replica.queries.normal(DeliveredQuery(interests: ["x"]))
            }
            #expect(query.interests == [#"["x","y"]"#, #"["x"]"#])
            steps.append(replica.connection.stepCount - before)
        }
        #expect(steps[0] == steps[1])
    }

    @Test func `counts come from their index alone`() throws {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in
            for _ in 0..<5 { hub.publish() }
            hub.other(.mark(.read, upTo: 3))
        }
        for query in [DeliveredQuery(read: false), DeliveredQuery(seen: false)] {
            let plan = try replica.queries.plans(query, count: true)
            #expect(plan.first?.contains("COVERING INDEX") == true, "\(plan)")
        }
    }

    @Test func `a mark over a large inbox is constant work, here and when it comes back`() throws {
        let folder = Folder()
        var steps: [[Int]] = []
        for size in [50, 1_000] {
            var hub = TestHub()
            for _ in 0..<size { hub.publish() }
            let replica = try folder.open("inbox\(size)")
            try replica.connect(hub)
            try replica.pull(hub)
            var counts: [Int] = []
            var last = replica.connection.stepCount
            func lap() {
                counts.append(replica.connection.stepCount - last)
                last = replica.connection.stepCount
            }
            try replica.enqueue(.mark(.read, upTo: hub.head))
            lap()
            #expect(try replica.counts().unread == 0)
            lap()
            try replica.push(to: &hub)
            lap()
            try replica.pull(hub)
            lap()
            #expect(try replica.page(DeliveredQuery(read: false), limit: 50).items.isEmpty)
            lap()
            steps.append(counts)
        }
        #expect(steps[0] == steps[1])
    }
}
