import PealModel
import PealSQLite
import Testing

@testable import PealReplica

private let day: Milliseconds = 86_400_000

/// A replica that has folded a few entries, and its hub.
private struct Pair {
    let folder = Folder()
    let clock = TestClock()
    var hub = TestHub()
    var replica: Replica

    init() throws {
        replica = try folder.open(clock: clock)
        for _ in 0..<8 { hub.publish() }
        hub.other(.read(items: [hub.items[1]], on: true, passive: false))
        hub.other(.archive(items: [hub.items[2]], on: true))
        hub.other(.mark(.read, upTo: 3))
        try replica.connect(hub)
        try replica.pull(hub)
    }

    /// One more entry, folded.
    mutating func next() throws -> Applied {
        hub.publish()
        hub.now = max(hub.now, clock.wall)
        return try replica.pull(hub)
    }

    /// What another program or a bad disk does to the file.
    func edit(_ sql: String) throws { try replica.connection.execute(sql) }

    /// A row that was never folded: the kept sum does not have it either.
    func miss(_ position: Position) throws {
        try edit("DELETE FROM item WHERE position = \(position)")
        try edit("UPDATE replica SET sum = \(Int64(bitPattern: replica.computedSum()))")
    }

    /// Loads the snapshot that repairs, as the session does.
    @discardableResult
    func repair() throws -> Staged {
        let check = try replica.connect(hub)
        #expect(check.repair)
        return try replica.stage(hub.page(id: UInt64(hub.head), limit: 100, first: true))
    }
}

@Suite struct DivergenceTests {
    @Test(arguments: [
        "UPDATE item SET read = 1 WHERE position = 5", "UPDATE item SET seen = 1 WHERE position = 5",
        "UPDATE item SET archived = 1, archived_rank = 2 WHERE position = 5", "DELETE FROM item WHERE position = 4",
        "UPDATE item SET position = 99 WHERE position = 4", "UPDATE item SET id = zeroblob(16) WHERE position = 4",
        "UPDATE item SET read_rank = 8 WHERE position = 2", "DELETE FROM register WHERE position = 3",
        "UPDATE register SET since = since - 1", "UPDATE register SET author = '11111111111111111111111111111111'",
        "UPDATE register SET itime = 0", "UPDATE register SET uid = uid + 1", "UPDATE register SET passive = 1",
        "DELETE FROM mark WHERE kind = 'seen'", "UPDATE mark SET up_to = 2 WHERE kind = 'read'",
        "INSERT INTO interest (name, base) VALUES ('x', 1)",
    ])
    func `a row that was edited in the file is found within a day, reported once, and repaired by one snapshot`(
        _ sql: String
    ) throws {
        var pair = try Pair()
        try pair.edit(sql)
        #expect(try pair.next().divergence == nil, "the kept sum does not see it")
        pair.clock.advance(day)
        let found = try #require(try pair.next().divergence)
        #expect(found.position == pair.hub.head)
        #expect(found.theirs == pair.hub.state.sum)
        #expect(found.kept == found.theirs)
        #expect(found.computed != found.theirs)
        #expect(!found.isMended)
        #expect(try pair.next().divergence == nil, "it is reported once")

        let repaired = try pair.repair()
        #expect(repaired.swap != nil)
        #expect(repaired.divergence == nil)
        #expect(try pair.replica.sumDifference(to: pair.hub) == nil)
        let reference = Reference(state: pair.hub.state, hub: pair.hub, now: pair.clock.wall)
        #expect(try reference.difference(to: pair.replica) == nil)
        #expect(try pair.replica.connect(pair.hub).repair == false)
        pair.clock.advance(day)
        #expect(try pair.next().divergence == nil)
    }

    @Test func `rows that are not what was folded are found at a welcome too, once a day, without a word of the hub`()
        throws
    {
        var pair = try Pair()
        try pair.edit("DELETE FROM item WHERE position = 4")
        #expect(try pair.replica.connect(pair.hub).divergence == nil)
        pair.clock.advance(day)
        let check = try pair.replica.connect(pair.hub)
        let found = try #require(check.divergence)
        #expect(check.repair)
        #expect(found.theirs == nil && found.kept == pair.hub.state.sum && found.computed != found.kept)
        #expect(found.description.hasPrefix("the rows of this replica are not what it folded at 11: kept here "))
        #expect(found.description.hasSuffix("a snapshot repairs it"))
        let again = try pair.replica.connect(pair.hub)
        #expect(again.divergence == nil && again.repair, "reported once, and still wanted")
        _ = try pair.repair()
        #expect(try pair.replica.connect(pair.hub).repair == false)
        #expect(try pair.replica.sumDifference(to: pair.hub) == nil)
        #expect(try pair.next().divergence == nil)
    }

    @Test func `a fold that goes wrong is found with the next sum`() throws {
        var pair = try Pair()
        pair.hub.append(
            bytes: Entry(time: pair.hub.now, kind: .unknown("new")).bytes,
            .removed(items: [pair.hub.items[0]], why: "retract"))
        try pair.replica.pull(pair.hub)
        try pair.edit("DELETE FROM raw")
        let found = try #require(try pair.next().divergence)
        #expect(found.kept == found.computed)
        #expect(found.items == 9)
        #expect(found.registers == 2 && found.marks == 2 && found.interests == 0)
        #expect(try pair.repair().swap?.after == 8)
        #expect(try pair.replica.sumDifference(to: pair.hub) == nil)
    }

    @Test func `a replica that has set entries aside compares nothing`() throws {
        var pair = try Pair()
        pair.hub.append(
            bytes: Array(#"{"kind":"later","time":1}"#.utf8), .removed(items: [pair.hub.items[0]], why: "x"))
        try pair.replica.pull(pair.hub)
        pair.clock.advance(2 * day)
        #expect(try pair.next().divergence == nil)
        #expect(try pair.replica.inspect().unknown == 1)
    }

    @Test func `one cause is reported once a day, also by another process, and another cause not within the hour`()
        throws
    {
        var pair = try Pair()
        try pair.miss(4)
        #expect(try pair.next().divergence != nil)
        try pair.repair()
        pair.replica = try pair.folder.open(clock: pair.clock)
        try pair.replica.connect(pair.hub)
        try pair.miss(4)
        pair.clock.advance(day - 1)
        #expect(try pair.next().divergence == nil)
        pair.clock.advance(1)
        #expect(try pair.next().divergence != nil)

        try pair.repair()
        try pair.miss(5)
        #expect(try pair.next().divergence == nil, "another cause, at once")
        pair.clock.advance(3_600_000)
        #expect(try pair.next().divergence != nil, "an hour later it may be news")
    }

    @Test func `while a repair is wanted or under way nothing more is reported`() throws {
        var pair = try Pair()
        try pair.miss(4)
        #expect(try pair.next().divergence != nil)
        try pair.miss(5)
        pair.clock.advance(2 * day)
        #expect(try pair.next().divergence == nil)
        let check = try pair.replica.connect(pair.hub)
        #expect(check.repair)
        #expect(check.divergence == nil)
        #expect(try pair.next().divergence == nil)
        #expect(try pair.repair().divergence == nil)
        #expect(try pair.replica.sumDifference(to: pair.hub) == nil)
    }

    @Test func `a kept sum that is wrong over right rows is mended without a snapshot`() throws {
        var pair = try Pair()
        try pair.edit("UPDATE replica SET sum = sum + 1")
        let found = try #require(try pair.next().divergence)
        #expect(found.isMended)
        #expect(try pair.replica.sumDifference(to: pair.hub) == nil)
        #expect(try pair.replica.connect(pair.hub).repair == false)
        #expect(try pair.next().divergence == nil)
    }

    @Test func `a repair that was interrupted goes on in the next session`() throws {
        var pair = try Pair()
        try pair.edit("DELETE FROM item WHERE position = 4")
        pair.clock.advance(day)
        #expect(try pair.next().divergence != nil)
        #expect(try pair.replica.connect(pair.hub).repair)
        let id = UInt64(pair.hub.head)
        _ = try pair.replica.stage(pair.hub.page(id: id, limit: 4, first: true))
        pair.hub.publish()
        pair.replica = try pair.folder.open(clock: pair.clock)
        let check = try pair.replica.connect(pair.hub)
        #expect(check.repair)
        #expect(check.position == Position(id))
        // The hub goes on from the cursor at once; what the stage has already is nothing new to it.
        let early = try pair.replica.apply(pair.hub.batch(from: Position(id)))
        #expect(early.verdict == .staged)
        let request = try pair.replica.snapshotRequest()
        #expect(request.id == id)
        let staged = try pair.replica.stage(
            pair.hub.page(id: id, at: Position(id), before: request.after!, limit: 100, first: false))
        #expect(staged.swap != nil)
        #expect(try pair.replica.cursor().position == pair.hub.head)
        #expect(try pair.replica.sumDifference(to: pair.hub) == nil)
        #expect(try pair.replica.connect(pair.hub).repair == false)
    }

    @Test func `a report names positions, sums and numbers of rows, and nothing else`() throws {
        var pair = try Pair()
        try pair.edit("DELETE FROM item WHERE position = 4")
        pair.clock.advance(day)
        let found = try #require(try pair.next().divergence)
        #expect(
            found.description == """
                this replica differs from the hub at 12: the hub's sum \(Hex64.text(found.theirs ?? 0)), kept here \
                \(Hex64.text(found.kept)), of the rows \(Hex64.text(found.computed)), of 8 items, 2 registers, 2 marks, \
                0 interests; a snapshot repairs it
                """)
    }
}
