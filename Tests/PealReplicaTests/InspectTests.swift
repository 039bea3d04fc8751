import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// The views of an inspector: pages, plans, and what of two files differs.
@Suite struct InspectTests {
    private func reader(_ path: String, _ bench: Specimens) throws -> ReplicaReader {
        try ReplicaReader(inspecting: path, clock: bench.clock.clock)
    }

    @Test func `pages of every view hold each row once, whatever their size`() throws {
        let bench = try Specimens(items: 60)
        let reader = try reader(bench.still(), bench)
        func all<Row>(_ limit: Int, _ page: (Int64?, Int) -> InspectedPage<Row>) -> [Row] {
            var rows: [Row] = []
            var after: Int64?
            repeat {
                let found = page(after, limit)
                rows += found.rows
                after = found.next
            } while after != nil
            return rows
        }
        for limit in [1, 7, 1_000] {
            #expect(
                all(limit) { reader.inspectItems(after: $0, limit: $1) }.map(\.base.position)
                    == Array((2...61).reversed()))
            #expect(
                all(limit) { reader.inspectActs(.journal, after: $0, limit: $1) }
                    == reader.inspectActs(.journal, limit: 1_000).rows)
            #expect(
                all(limit) { reader.inspectActs(.outbox, after: $0, limit: $1) }
                    == reader.inspectActs(.outbox, limit: 1_000).rows)
            #expect(
                all(limit) { reader.inspectEntries(after: $0, limit: $1) }.map(\.position)
                    == reader.inspectEntries(limit: 1_000).rows.map(\.position))
        }
        #expect(reader.inspectActs(.dead).rows.map(\.name) == ["preference"])
        #expect(try reader.inspectMarks().map(\.mark.upTo) == [5])
    }

    @Test func `what is shown of an item is what a page of the list shows`() throws {
        let bench = try Specimens(items: 60)
        let reader = try reader(bench.still(), bench)
        for row in reader.inspectItems(limit: 1_000).rows {
            let item = try #require(try reader.item(row.id))
            #expect(
                item.read == row.shown.read && item.seen == row.shown.seen && item.archived == row.shown.archived,
                "item \(row.base.position)")
        }
    }

    @Test func `each view goes by a key, and sorts at most a page's worth of a small table`() throws {
        let bench = try Specimens(items: 12)
        let connection = bench.replica.connection
        func plan(_ sql: String) throws -> [String] { try connection.queryPlan(sql) }
        let items = try plan(Queries.inspectItemsSQL)
        #expect(
            items.filter { $0.hasPrefix("SEARCH") }.count == 3 && !items.contains { $0.contains("TEMP B-TREE") },
            "\(items)")
        let expected: [(InspectedAct.Place, String)] = [
            (.outbox, "INTEGER PRIMARY KEY (rowid>?)"), (.dead, "outbox_state (state=? AND rowid>?)"),
            (.journal, "INTEGER PRIMARY KEY (rowid<?)"),
        ]
        for (place, index) in expected {
            let lines = try plan(Queries.inspectActsSQL(place))
            #expect(lines.count == 1 && lines[0].contains(index), "\(lines)")
        }
        for source in Queries.entrySources {
            let lines = try plan(source.sql)
            switch source {
            case .items, .setAside, .staged:
                #expect(lines.count == 1 && lines[0].contains("INTEGER PRIMARY KEY (rowid<?)"), "\(lines)")
            // Tables of touched items, of 30 days, and of a few marks have no index by the entry.
            case .registers, .journal, .marks: #expect(lines[0].hasPrefix("SCAN"), "\(lines)")
            }
        }
    }

    // MARK: Two files

    /// Two devices of one inbox that have folded the same.
    private func pair() throws -> (Folder, TestHub, Replica, Replica, TestClock) {
        let folder = Folder()
        let clock = TestClock()
        var hub = TestHub()
        for number in 0..<10 { hub.publish("a title \(number)") }
        hub.other(.mark(.read, upTo: 3))
        let (a, b) = (try folder.open("a", clock: clock, seed: 1), try folder.open("b", clock: clock, seed: 2))
        for replica in [a, b] {
            try replica.connect(hub)
            try replica.pull(hub)
        }
        return (folder, hub, a, b, clock)
    }

    private func compare(_ folder: Folder, _ clock: TestClock) throws -> FileComparison {
        try ReplicaReader(inspecting: folder.file("a"), clock: clock.clock)
            .compare(to: ReplicaReader(inspecting: folder.file("b"), clock: clock.clock))
    }

    @Test func `two files that show the same do not differ`() throws {
        let (folder, _, a, b, clock) = try pair()
        let found = try compare(folder, clock)
        #expect(found.isEqual && found.differences.isEmpty && found.a.sum == found.b.sum)
        _ = (a, b)
    }

    @Test func `what an outbox holds is told from what a device has not folded, and that from a fault`() throws {
        var (folder, hub, a, b, clock) = try pair()
        try a.enqueue(.archive(items: [hub.items[9]], on: true))
        var found = try compare(folder, clock)
        #expect(found.totals == [.pending: 1])
        #expect(found.differences.map(\.fields) == [["archived"]] && found.differences[0].number == 10)

        hub.other(.read(items: [hub.items[5]], on: true, passive: false))
        hub.publish()
        hub.append(.removed(items: [hub.items[6]], why: "retract"))
        try b.pull(hub)
        found = try compare(folder, clock)
        #expect(found.totals == [.pending: 1, .behind: 3], "\(found.totals)")

        try a.pull(hub)
        try b.connection.execute("UPDATE item SET seen = 1 WHERE position = 8")
        found = try compare(folder, clock)
        #expect(found.totals == [.pending: 1, .diverged: 1])
        try b.connection.execute("DELETE FROM item WHERE position = 9")
        found = try compare(folder, clock)
        #expect(found.totals == [.pending: 1, .diverged: 2] && found.differences[1].fields == ["here"])
    }

    @Test func `preferences, interests and marks that differ are named, and why they do`() throws {
        var (folder, hub, a, b, clock) = try pair()
        hub.setCatalogue(required: false)
        for replica in [a, b] { try replica.pull(hub) }
        #expect(try compare(folder, clock).isEqual)
        try a.enqueue(.preference(category: "a", channel: "email", enabled: false))
        var found = try compare(folder, clock)
        #expect(found.rest.map(\.name) == [["a", "email"]] && found.rest.map(\.cause) == [.pending])
        #expect(found.rest[0].a == false && found.rest[0].b == nil && !found.isEqual && !found.isFaulty)
        hub.other(.preference(category: "a", channel: "push", enabled: true))
        hub.other(.mark(.archive, upTo: 2))
        try b.pull(hub)
        found = try compare(folder, clock)
        #expect(found.rest.map(\.cause) == [.behind, .pending, .behind])
        #expect(found.rest.map(\.name) == [["archive", "2"], ["a", "email"], ["a", "push"]] && !found.isFaulty)
        try a.pull(hub)
        #expect(try compare(folder, clock).rest.map(\.cause) == [.pending])
        try b.connection.execute("UPDATE preference SET value = 0 WHERE channel = 'push'")
        try b.connection.execute("DELETE FROM mark WHERE kind = 'seen'")
        found = try compare(folder, clock)
        #expect(found.isFaulty)
        #expect(found.rest.filter { $0.cause == .diverged }.map(\.kind) == [.mark, .preference])
    }

    @Test func `files of two inboxes are not compared`() throws {
        let (folder, _, a, b, clock) = try pair()
        try b.connection.execute("UPDATE replica SET inbox = 'another'")
        do {
            _ = try compare(folder, clock)
            Issue.record("they are compared")
        } catch let error as ReplicaError {
            #expect(error.code == .otherInbox)
        }
        _ = a
    }

    // MARK: The hub's list

    @Test func `a hub's list is compared item by item, where both stand at one position`() throws {
        let (_, hub, a, _, _) = try pair()
        let state = hub.state
        let standing = HubStanding(
            inbox: "inbox", epoch: hub.epoch, position: hub.head, chain: hub.chains[Int(hub.head)], sum: state.sum,
            chainAsked: hub.chains[Int(hub.head)], counts: Reference(state: state, hub: hub, now: hub.now).counts,
            time: hub.now)
        var list = HubItems(
            position: hub.head,
            items: hub.items.compactMap { id in
                let item = state.item(id)!
                return HubItems.Item(
                    number: item.position, read: state.marks.isRead(item), seen: state.marks.isSeen(item),
                    archived: state.marks.isArchived(item))
            }, above: 0)
        func check() throws -> Verification.Result? {
            try a.queries.verification(standing, list)["hubItems"]?.result
        }
        #expect(try check() == .passed)
        list.items[4].read = true
        list.items.removeLast()
        #expect(
            try check()
                == .failed(["item 5 is not read here, and read at the hub", "item 10 is here and not at the hub"]))
        list.items.append(HubItems.Item(number: 99, read: false, seen: false, archived: false))
        list.above = 5
        list.items.removeAll { $0.number <= 5 }
        #expect(
            try check() == .failed(["item 10 is here and not at the hub", "item 99 is at the hub and not here"]))
        list.position += 1
        #expect(try check() == .skipped("the file is at 11, the hub at 12"))
    }
}
