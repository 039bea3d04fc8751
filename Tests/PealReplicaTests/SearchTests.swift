import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// Searching titles and contents.
@Suite struct SearchTests {
    private func filled(_ folder: Folder, _ fill: (inout TestHub) -> Void) throws -> (Replica, TestHub) {
        var hub = TestHub()
        fill(&hub)
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        return (replica, hub)
    }

    private func found(_ text: String, _ replica: Replica) throws -> [Position] {
        try replica.list(DeliveredQuery(text: text)).map(\.number)
    }

    @Test func `words are found in title and content, all of them, whatever their case and their diacritics`() throws {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in
            hub.publish("Your Parcel", content: "is at the door")
            hub.publish("100% off")
            hub.publish("plain", content: "a_b \\ \"quoted\" ÜNÏCODE, e\u{301}tude")
        }
        #expect(try found("parcel", replica) == [1])
        #expect(try found("DOOR your", replica) == [1])
        #expect(try found("your window", replica) == [])
        #expect(try found("100", replica) == [2])
        #expect(try found("unicode", replica) == [3])
        #expect(try found("\u{c9}tude", replica) == [3])
        #expect(try found("a b", replica) == [3])
        // The last word is one that is still being typed, the others are whole.
        #expect(try found("par", replica) == [1])
        #expect(try found("par door", replica) == [])
        #expect(try found("at the do", replica) == [1])
        // A member's name is no content.
        #expect(try found("title", replica) == [])
        #expect(try found("silent", replica) == [])
    }

    @Test func `an item whose body is damaged is not found, and the others are`() throws {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in for _ in 0..<3 { hub.publish("parcel") } }
        try replica.connection.execute("UPDATE item SET body = '{\"title\":' WHERE position = 2")
        #expect(try found("parcel", replica) == [3, 1])
    }

    @Test func `whatever somebody types is only text`() throws {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in
            hub.publish("near or not and title", content: "\"quoted\" * ^ : - + ( ) { }")
            hub.publish("other")
        }
        for blank in ["", " ", "\t\n\u{a0}"] { #expect(try found(blank, replica) == [2, 1]) }
        for signs in ["\"", "*", "%", "_", "''", "(", "-- ", "\u{0}", "🔕", "\u{301}"] {
            #expect(try found(signs, replica).isEmpty, "\(signs)")
        }
        for text in [
            "NEAR", "NEAR(near not", "OR", "AND not", "title:", "-near", "^near", "\"near", "near*",
            "'near'; DROP TABLE item",
        ] {
            let wanted: [Position] = text.contains("DROP") ? [] : [1]
            #expect(try found(text, replica) == wanted, "\(text)")
        }
        #expect(try found(String(repeating: "a", count: 10_000), replica).isEmpty)
        #expect(try found(String(repeating: "near ", count: 2_000), replica) == [1])
        #expect(try found(String(repeating: "\"(* ", count: 2_500), replica).isEmpty)
    }

    @Test func `a search is a query like any other: filters, pages, counts, one item`() throws {
        let folder = Folder()
        let (replica, hub) = try filled(folder) { hub in
            for number in 1...30 {
                hub.publish(
                    number % 3 == 0 ? "apple \(number)" : "pear \(number)", category: number % 2 == 0 ? "a" : nil)
            }
            hub.other(.mark(.read, upTo: 12))
            hub.other(.mark(.archive, upTo: 3))
        }
        let apples = Array(stride(from: Position(30), through: 6, by: -3))
        #expect(try found("apple", replica) == apples)
        #expect(try replica.list(DeliveredQuery(read: false, text: "apple")).map(\.number) == apples.filter { $0 > 12 })
        #expect(try replica.list(DeliveredQuery(archived: true, text: "apple")).map(\.number) == [3])
        #expect(
            try replica.list(DeliveredQuery(categories: ["a"], text: "APPLE")).map(\.number)
                == apples.filter { $0 % 2 == 0 })
        #expect(try replica.counts(DeliveredQuery(text: "apple")) == Counts(total: 9, unread: 6, unseen: 6))
        #expect(try replica.counts(DeliveredQuery(categories: ["a"], read: false, text: "apple")).total == 3)
        #expect(try replica.item(number: 9, matching: DeliveredQuery(text: "apple"))?.number == 9)
        #expect(try replica.item(number: 10, matching: DeliveredQuery(text: "apple")) == nil)
        #expect(hub.head == 32)
    }

    @Test func `what comes, goes, and is swapped in is found as it is`() throws {
        let folder = Folder()
        var (replica, hub) = try filled(folder) { hub in for number in 1...5 { hub.publish("word \(number)") } }
        #expect(try found("word", replica) == [5, 4, 3, 2, 1])
        hub.publish("word 6")
        hub.append(.removed(items: [hub.items[1]], why: "retract"))
        try replica.pull(hub)
        #expect(try found("word", replica) == [6, 5, 4, 3, 1])
        try replica.enqueue(.delete(items: [hub.items[4]]))
        #expect(try found("word", replica) == [6, 4, 3, 1])
        #expect(try replica.failedChecks().isEmpty)
        // The index may go at any time.
        try replica.connection.execute("DROP TABLE words_0")
        #expect(try found("word 3", replica) == [3])
        // Who only reads finds what the index has, once it has everything.
        let reader = try ReplicaReader(path: replica.path, clock: TestClock().clock)
        let query = DeliveredQuery(text: "word")
        #expect(try reader.page(query).items.map(\.number) == [6, 4, 3, 1])
        hub.publish("word 8")
        try replica.pull(hub)
        let error = #expect(throws: ReplicaError.self) { try reader.page(query) }
        #expect(error?.code == .readOnly)
        #expect(try found("word", replica) == [8, 6, 4, 3, 1])
        #expect(try reader.counts(query).total == 5)
    }

    @Test func `nothing of searching is in a file in which nobody searches`()
        throws
    {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in for number in 1...5 { hub.publish("word \(number)") } }
        func tables() throws -> Int64 {
            try replica.connection.int("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'word%'")
        }
        _ = try replica.list(DeliveredQuery(text: "  "))
        _ = try replica.list(DeliveredQuery(text: "%"))
        #expect(try tables() == 0)
        #expect(try found("word", replica).count == 5)
        #expect(try tables() > 2)
    }

    @Test func `a snapshot that is swapped in takes the index away, and one that is half of dead items is made anew`()
        throws
    {
        let folder = Folder()
        let (replica, hub) = try filled(folder) { hub in for number in 1...2_100 { hub.publish("word \(number)") } }
        #expect(try replica.counts(DeliveredQuery(text: "word")).total == 2_100)
        let index = WordIndex(replica.connection)
        func indexed() throws -> Int64 { try replica.connection.int("SELECT sum(items) FROM word_index") }
        var later = hub
        later.append(.removed(items: Array(hub.items[0..<1_500]), why: "retract"))
        later.publish("word last")
        try replica.pull(later)
        #expect(try indexed() == 2_100)
        #expect(try replica.counts(DeliveredQuery(text: "word")).total == 601)
        #expect(try indexed() == 601)
        try replica.connection.transaction { () throws(SQLiteError) in try index.drop() }
        #expect(try replica.counts(DeliveredQuery(text: "last")).total == 1)
    }

    @Test func `a search comes from the index of words, in order, and a filled index is filled no more`() throws {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in
            for number in 1...50 { hub.publish("word \(number)", category: "a") }
            hub.other(.mark(.read, upTo: 3))
        }
        #expect(try found("word", replica).count == 50)
        for query in [
            DeliveredQuery(text: "wo"), DeliveredQuery(read: false, text: "word 5"),
            DeliveredQuery(categories: ["a"], seen: false, text: "word"), DeliveredQuery(archived: nil, text: "a"),
        ] {
            for isCount in [false, true] {
                let plan = try replica.queries.plans(query, count: isCount)
                #expect(plan.first?.hasPrefix("SCAN words VIRTUAL TABLE INDEX") == true, "\(plan)")
                #expect(plan.contains { $0.contains("SEARCH item USING INTEGER PRIMARY KEY") }, "\(plan)")
                #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0.hasPrefix("SCAN item") }, "\(plan)")
            }
        }
        let before = replica.connection.stepCount
        _ = try replica.page(DeliveredQuery(text: "word"), limit: 1)
        #expect(replica.connection.stepCount - before < 15)
        let version = try ReplicaReader(path: replica.path).dataVersion()
        _ = try replica.page(DeliveredQuery(text: "word"), limit: 1)
        #expect(try ReplicaReader(path: replica.path).dataVersion() == version)
    }

    @Test func `an index is filled from the newest on, in parts, and what it has is found meanwhile`() throws {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in hub.publish("word 1") }
        try multiply(replica, 2...4_500)
        let query = DeliveredQuery(text: "wor")
        func indexed() throws -> (found: [Position], isComplete: Bool) {
            let read = try replica.consistentlyIndexed { () throws(ReplicaError) in try replica.page(query, limit: 3) }
            return (read.result.items.map(\.number), read.isComplete)
        }
        #expect(try indexed() == ([], false))
        #expect(try !replica.fillWords())
        #expect(try indexed() == ([4_500, 4_499, 4_498], false))
        let oldest = try replica.consistentlyIndexed { () throws(ReplicaError) in
            try replica.page(query, above: 0, limit: 1).items.map(\.number)
        }
        #expect(oldest.result == [405])
        // What comes meanwhile is taken in first.
        try multiply(replica, 4_501...4_501)
        #expect(try !replica.fillWords())
        #expect(try indexed() == ([4_501, 4_500, 4_499], false))
        while try !replica.fillWords() {}
        #expect(try indexed() == ([4_501, 4_500, 4_499], true))
        #expect(try replica.counts(query).total == 4_501)
        #expect(try replica.counts(DeliveredQuery(text: "word 17")).total == 111)
    }

    /// Items like the first one, with numbers and words of their own.
    private func multiply(_ replica: Replica, _ numbers: ClosedRange<Int>) throws {
        let row = try replica.connection.prepare("SELECT name FROM pragma_table_info('item')")
        var names: [String] = []
        while try row.step() { names.append(row.text(0)) }
        let values = names.map { name in
            ["position": "i", "id": "randomblob(16)", "body": "replace(body, 'word 1', 'word ' || i)"][name] ?? name
        }
        try replica.connection.execute(
            """
            WITH RECURSIVE numbers(i) AS
                (SELECT \(numbers.lowerBound) UNION ALL SELECT i + 1 FROM numbers WHERE i < \(numbers.upperBound))
            INSERT INTO item (\(names.joined(separator: ", "))) SELECT \(values.joined(separator: ", "))
            FROM item, numbers WHERE position = 1
            """)
    }

    @Test
    func `parts are searched one after the other, downwards and upwards, and where one is gone they are made anew`()
        throws
    {
        let folder = Folder()
        let (replica, _) = try filled(folder) { hub in for number in 1...40 { hub.publish("word \(number)") } }
        // As if there had been as many entries between them as fill a part.
        let gap = WordIndex.partPositions / 10
        try replica.connection.execute("UPDATE item SET position = -position")
        try replica.connection.execute("UPDATE item SET position = -position * \(gap)")
        let all = (1...40).reversed().map { Position($0) * gap }
        let query = DeliveredQuery(text: "word")
        #expect(try replica.list(query).map(\.number) == all)
        #expect(try replica.connection.int("SELECT count(*) FROM word_index") == 4)
        #expect(try replica.counts(query).total == 40)
        for limit in [1, 7, 39] {
            var found: [Position] = []
            var after: PageCursor?
            repeat {
                let page = try replica.page(query, after: after, limit: limit)
                found += page.items.map(\.number)
                after = page.next
            } while after != nil
            #expect(found == all)
            var upwards: [Position] = []
            while true {
                let page = try replica.page(query, above: upwards.last ?? 0, limit: limit)
                upwards += page.items.map(\.number).reversed()
                guard page.hasMore else { break }
            }
            #expect(upwards == all.reversed())
        }
        #expect(try replica.item(number: 20 * gap, matching: query)?.number == 20 * gap)
        #expect(try replica.item(number: 20 * gap + 1, matching: query) == nil)
        try replica.connection.execute("DROP TABLE words_2")
        #expect(try !replica.consistentlyIndexed { () throws(ReplicaError) in 0 }.isComplete)
        while try !replica.fillWords() {}
        #expect(try replica.counts(query).total == 40)
    }

    /// What the rule says, by the simplest means.
    private func matches(_ text: String, _ item: String) -> Bool {
        func words(_ text: String) -> [String] {
            let plain = text.lowercased().decomposed.filter { !("\u{300}"..."\u{36f}").contains($0) }
            return plain.split { !$0.properties.isAlphabetic && $0.properties.numericType == nil }.map {
                String(String.UnicodeScalarView($0))
            }
        }
        if text.allSatisfy(\.isWhitespace) { return true }
        let wanted = words(text)
        guard let last = wanted.last else { return false }
        let there = words(item)
        return wanted.dropLast().allSatisfy { there.contains($0) } && there.contains { $0.hasPrefix(last) }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6])
    func `any search finds what a naive one finds`(_ seed: UInt64) throws {
        var random = Seeded(seed)
        let syllables = ["a", "ab", "be", "\u{c9}", "e\u{301}", "\u{fc}", "Bo", "1", "42", "NEAR", "or", "not"]
        let signs = [" ", " ", "  ", "-", "\"", "*", "'", "(", ":", ".", "\u{a0}", "%", "\\"]
        func text(_ parts: Int) -> String {
            (0..<parts).map { _ in
                Int.random(in: 0..<3, using: &random) == 0
                    ? signs.randomElement(using: &random)! : syllables.randomElement(using: &random)!
            }.joined()
        }
        let folder = Folder()
        var hub = TestHub()
        let replica = try folder.open()
        try replica.connect(hub)
        var items: [String] = []
        for round in 0..<4 {
            for _ in 0..<25 {
                let (title, content) = (
                    text(.random(in: 1...6, using: &random)), text(.random(in: 0...8, using: &random))
                )
                items.append(title + "|" + content)
                hub.publish(title, content: content)
            }
            try replica.pull(hub)
            for _ in 0..<40 {
                let wanted = text(.random(in: 0...4, using: &random))
                let naive = items.indices.reversed().filter { matches(wanted, items[$0]) }.map { Position($0 + 1) }
                #expect(try found(wanted, replica) == naive, "seed \(seed), round \(round), '\(wanted)'")
            }
        }
    }
}

extension String {
    /// Letters and marks apart, of the few letters that the test has.
    fileprivate var decomposed: [Unicode.Scalar] {
        unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
            switch scalar {
            case "\u{e9}": ["e", "\u{301}"]
            case "\u{fc}": ["u", "\u{308}"]
            default: [scalar]
            }
        }
    }
}
