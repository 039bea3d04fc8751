import PealModel
import PealSQLite
import Testing

@testable import PealReplica

@Suite struct Snapshots {
    private func filled(_ count: Int) -> TestHub {
        var hub = TestHub()
        for _ in 0..<count { hub.publish() }
        return hub
    }

    /// Loads a whole snapshot, as a hub sends it: pages first, then the log from the first page's `at`.
    private func load(
        _ replica: Replica, _ hub: inout TestHub, between: (inout TestHub) throws -> Void = { _ in }
    ) throws -> SwapReport? {
        let id = UInt64(hub.head)
        var first = true
        while true {
            let request = try replica.snapshotRequest()
            let staged = try replica.stage(
                hub.page(id: first ? id : request.id!, before: first ? .max : request.after!, limit: 6, first: first))
            if let swap = staged.swap { return swap }
            first = false
            if staged.last { break }
            try between(&hub)
        }
        return try replica.apply(hub.batch(from: Position(id))).swap
    }

    @Test func `a snapshot in one moment takes the place of the base with its last page`() throws {
        let folder = Folder()
        var hub = filled(15)
        let replica = try folder.open()
        try replica.connect(hub, mode: .snapshot)
        let report = try #require(try load(replica, &hub))
        #expect(report.after == 15)
        #expect(report.unexplainedCount == 0)
        #expect(try replica.cursor() == Cursor(epoch: 7, position: 15, chain: hub.chains[15]))
        let reference = Reference(state: hub.state, hub: hub, now: hub.synced)
        #expect(try reference.difference(to: replica) == nil)
        #expect(try replica.snapshotRequest() == SnapshotRequest())
    }

    @Test func `a search finds what is there while pages come, and what a swap brought`() throws {
        let folder = Folder()
        func search(_ replica: Replica) throws -> [Position] {
            try replica.list(DeliveredQuery(text: "titl")).map(\.number)
        }
        var hub = filled(15)
        // A first snapshot goes downwards into the base, page by page.
        let first = try folder.open()
        try first.connect(hub, mode: .snapshot)
        #expect(try search(first) == [])
        var shown: [Int] = []
        let report = try load(first, &hub) { (hub) throws in shown.append(try search(first).count) }
        #expect(report != nil && shown.count > 1 && shown == shown.sorted() && shown[0] > 0)
        #expect(try search(first) == Array((1...15).reversed()))
        // One that repairs may bring anything, in the middle too.
        let second = try folder.open("second")
        try second.connect(hub)
        _ = try second.apply(hub.batch(from: 0, to: 5))
        try second.connection.execute("DELETE FROM item WHERE position = 3")
        #expect(try search(second) == [5, 4, 2, 1])
        try second.connect(hub, mode: .snapshot)
        #expect(try load(second, &hub) != nil)
        #expect(try search(second) == Array((1...15).reversed()))
        #expect(try second.failedChecks().isEmpty)
    }

    @Test func `the app sees the old base until the swap, and nothing is pushed before`() throws {
        let folder = Folder()
        var hub = filled(15)
        let replica = try folder.open()
        try replica.connect(hub)
        _ = try replica.apply(hub.batch(from: 0, to: 5))
        try replica.enqueue(.mark(.read, upTo: 15))
        try replica.connect(hub, mode: .snapshot)
        let report = try load(replica, &hub) { (hub) throws in
            #expect(try replica.counts() == Counts(total: 5, unread: 0, unseen: 0))
            #expect(try replica.cursor().position == 5)
            #expect(try replica.nextPush() == nil)
            hub.publish()
        }
        #expect(report != nil)
        #expect(try replica.counts() == Counts(total: 17, unread: 12, unseen: 12))
        #expect(try replica.nextPush()?.mutations[0].operation == .mark(.read, upTo: 5))
    }

    @Test func `batches before the first page are not for the base`() throws {
        let folder = Folder()
        let hub = filled(15)
        let replica = try folder.open()
        try replica.connect(hub, mode: .ahead)
        #expect(try replica.apply(hub.batch(from: 0)).verdict == .ignored)
        #expect(try replica.cursor().position == 0)
    }

    @Test func `an interrupted snapshot resumes where it was, and starts over with a new first page`() throws {
        let folder = Folder()
        let hub = filled(15)
        do {
            let replica = try folder.open()
            try replica.connect(hub, mode: .snapshot)
            let staged = try replica.stage(hub.page(id: 15, limit: 6, first: true))
            #expect(staged.rows == 6)
            #expect(staged.position == 15)
            #expect(!staged.last)
        }
        let replica = try folder.open()
        #expect(try replica.inspect().staged == 6)
        let check = try replica.connect(hub, mode: .snapshot)
        #expect(check.position == 15)
        let request = try replica.snapshotRequest()
        #expect(request == SnapshotRequest(id: 15, after: 10, at: 15, chain: hub.chains[15]))
        let over = try replica.stage(hub.page(id: 15, limit: 3, first: true))
        #expect(over.rows == 3)
        let rest = try replica.stage(hub.page(id: 15, before: 13, limit: 20, first: false))
        #expect(rest.swap?.after == 15)
    }

    @Test func `a welcome that resumes drops what was staged`() throws {
        let folder = Folder()
        let hub = filled(15)
        let replica = try folder.open()
        try replica.connect(hub, mode: .snapshot)
        _ = try replica.stage(hub.page(id: 15, limit: 6, first: true))
        try replica.connect(hub, mode: .resume)
        #expect(try replica.inspect().staged == nil)
        try replica.pull(hub)
        #expect(try replica.counts().total == 15)
    }

    @Test(arguments: seeds(25)) func `snapshot and log together are the fold of the log`(seed: Int) throws {
        var random = Seeded(UInt64(seed) + 1_000)
        var hub = TestHub(device: random.chance(30))
        let folder = Folder()
        let clock = TestClock()
        var replica = try folder.open(
            identity: hub.device ? .device(id: nil) : alice, clock: clock, seed: UInt64(seed))
        func happen(_ hub: inout TestHub) {
            if random.chance(8), !hub.device { return hub.setCatalogue(enabled: random.chance(50)) }
            let target = hub.items.randomElement(using: &random)
            guard let target, random.chance(70) else {
                hub.publish()
                return
            }
            let observed = random.chance(50) ? hub.head : Position.random(in: 0...hub.head, using: &random)
            let on = random.chance(50)
            let operations: [PealModel.Operation] = [
                .read(items: [target], on: on, passive: random.chance(30)), .archive(items: [target], on: on),
                .seen(items: [target]), .delete(items: [target]), .mark(.read, upTo: hub.head),
                .mark(.archive, upTo: hub.head / 2),
                .interest(name: "x\(Int.random(in: 0..<3, using: &random))", on: on),
                .preference(category: "a", channel: on ? "email" : "push", enabled: random.chance(50)),
                .track(item: target, event: on ? "opened" : "clicked", data: nil),
            ]
            hub.other(
                operations.randomElement(using: &random)!, observed: observed,
                author: random.chance(50) ? .api : .replica(ReplicaID(high: 4, low: 4)), uid: random.next())
        }
        for _ in 0..<30 { happen(&hub) }
        let known = random.chance(35) ? 0 : Position.random(in: 0...hub.head, using: &random)
        try replica.connect(hub)
        if known > 0 { _ = try replica.apply(hub.batch(from: 0, to: known)) }
        for _ in 0..<10 { happen(&hub) }
        if random.chance(60), let item = hub.items.randomElement(using: &random) {
            try replica.enqueue(.read(items: [item], on: random.chance(50), passive: false))
            try replica.enqueue(.track(item: item, event: "opened", data: nil))
            if !hub.device {
                try replica.enqueue(.preference(category: "a", channel: "email", enabled: random.chance(50)))
            }
            if random.chance(50), let push = try replica.nextPush() {
                for mutation in push.mutations { hub.process(mutation, by: try replica.replicaID()) }
            }
        }
        func settled() -> [Settled] { Array(hub.outcomes.values) }
        try replica.connect(hub, mode: .snapshot, settled: settled())
        let start = hub.head
        var after = Position.max
        var last = false
        var report: SwapReport?
        while !last {
            let page = hub.page(
                id: UInt64(start), before: after, limit: Int.random(in: 1...9, using: &random), first: after == .max)
            let staged = try replica.stage(page)
            #expect(staged.divergence == nil, "seed \(seed)")
            #expect(try replica.failedChecks() == [], "seed \(seed)")
            (last, after, report) = (page.last, page.after, staged.swap)
            for _ in 0..<Int.random(in: 0...3, using: &random) { happen(&hub) }
            if report == nil, random.chance(25) {
                replica = try folder.open(
                    identity: hub.device ? .device(id: nil) : alice, clock: clock, seed: random.next())
                try replica.connect(hub, mode: .snapshot, settled: settled())
            }
        }
        var from = start
        while report == nil || from < hub.head {
            let to = Position.random(in: (from + 1)...max(hub.head, from + 1), using: &random)
            let applied = try replica.apply(hub.batch(from: from, to: to))
            if let swap = applied.swap { report = swap }
            #expect(applied.divergence == nil, "seed \(seed)")
            from = to
        }
        #expect(report?.unexplained == [], "seed \(seed)")
        #expect(try replica.cursor().position == hub.head)
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty, "seed \(seed)")
        let reference = Reference(state: hub.state, hub: hub, now: hub.synced)
        #expect(try reference.difference(to: replica) == nil, "seed \(seed)")
        #expect(try replica.sumDifference(to: hub) == nil, "seed \(seed)")
        #expect(try replica.failedChecks() == [], "seed \(seed)")
        #expect(try replica.inspect(integrity: true).problems == [])
    }

    @Test func `differences that no entry explains are reported`() throws {
        let folder = Folder()
        var hub = filled(10)
        hub.other(.read(items: [hub.items[0]], on: true, passive: false))
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        try replica.connection.execute(
            """
            DELETE FROM item WHERE position = 5;
            UPDATE item SET seen = 1 WHERE position = 6;
            UPDATE register SET uid = uid + 1
            """)
        try replica.connect(hub, mode: .snapshot)
        let report = try #require(try load(replica, &hub))
        #expect(report.unexplainedCount == 3)
        #expect(report.unexplained.count == 3)
        #expect(report.unexplained.contains { $0.contains("5") })
        let reference = Reference(state: hub.state, hub: hub, now: hub.synced)
        #expect(try reference.difference(to: replica) == nil, "and mended")
    }

    @Test func `after a hub went back, acts that it lost arrive, as of what both had in common`() throws {
        let folder = Folder()
        var hub = filled(5)
        let replica = try folder.open()
        let id = try replica.replicaID()
        try replica.connect(hub)
        try replica.pull(hub)
        try replica.enqueue(.seen(items: [hub.items[0]]))
        try replica.push(to: &hub)
        try replica.pull(hub)
        let backup = hub
        let lost = hub.publish("lost")
        let kept = hub.items[1]
        try replica.pull(hub)
        let uid = try replica.enqueue(.read(items: [kept], on: true, passive: false))
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        try replica.enqueue(.mark(.seen, upTo: 8))
        _ = try replica.nextPush()

        // The hub is restored, and goes on otherwise.
        hub = backup
        hub.now += 60_000
        hub.publish("another")
        let check = try replica.connect(hub, mode: .ahead)
        #expect(check.fork == nil)
        let report = try #require(try load(replica, &hub))
        #expect(report.ahead)
        #expect(report.common == 5)
        #expect(try replica.item(lost) == nil)
        #expect(try replica.item(kept)?.read == true, "the lost act shows again")
        let push = try #require(try replica.nextPush())
        #expect(push.mutations.map(\.n) == [2, 3])
        #expect(push.mutations[0].uid == uid)
        #expect(push.mutations.allSatisfy { $0.observed == 5 })
        #expect(push.mutations[1].operation == .mark(.seen, upTo: 5))
        for mutation in push.mutations { #expect(hub.process(mutation, by: id)?.code == .applied) }
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        let reference = Reference(state: hub.state, hub: hub, now: hub.synced)
        #expect(try reference.difference(to: replica) == nil)
    }

    @Test func `acts that the hub lost are dropped where its operator says so, others are sent`() throws {
        let folder = Folder()
        var hub = filled(5)
        let replica = try folder.open()
        let id = try replica.replicaID()
        try replica.connect(hub)
        try replica.pull(hub)
        let backup = hub
        try replica.enqueue(.read(items: [hub.items[1]], on: true, passive: false))
        try replica.push(to: &hub)
        try replica.pull(hub)
        try replica.enqueue(.seen(items: [hub.items[2]]))
        _ = try replica.nextPush()

        hub = backup
        hub.publish("another")
        try replica.connect(hub, mode: .ahead, reoffer: false)
        let report = try #require(try load(replica, &hub))
        #expect(report.lostActs == 1)
        #expect(!report.reoffered)
        #expect(try replica.item(hub.items[1])?.read == false, "the backup's state")
        let push = try #require(try replica.nextPush())
        #expect(push.mutations.map(\.operation.name) == ["seen"])
        #expect(push.mutations.map(\.n) == [1], "the numbers go on from the hub's")
        for mutation in push.mutations { #expect(hub.process(mutation, by: id)?.code == .applied) }
        try replica.pull(hub)
        #expect(try replica.outbox().isEmpty)
        // Not even a fork brings them back.
        try replica.fork()
        #expect(try replica.outbox().map(\.operation?.name) == ["seen"])
        let reference = Reference(state: hub.state, hub: hub, now: hub.synced)
        #expect(try reference.difference(to: replica) == nil)
    }

    @Test func `acts made while a snapshot loads are as of the complete base`() throws {
        let folder = Folder()
        var hub = filled(12)
        let replica = try folder.open()
        try replica.connect(hub)
        _ = try replica.apply(hub.batch(from: 0, to: 4))
        try replica.connect(hub, mode: .snapshot)
        _ = try load(replica, &hub) { (_) throws in
            if try replica.outbox().isEmpty {
                try replica.enqueue(.mark(.read, upTo: 12), observed: ViewPosition(position: 12, time: 0))
            }
        }
        #expect(try replica.nextPush()?.mutations[0].observed == 4)
    }

    // MARK: The first one

    @Test func `the pages of a first snapshot are shown as they come, as partial until the swap`() throws {
        let folder = Folder()
        var hub = filled(15)
        hub.other(.mark(.read, upTo: 9))
        hub.other(.read(items: [hub.items[3]], on: false, passive: false))
        let replica = try folder.open()
        try replica.connect(hub, mode: .snapshot)
        #expect(try !replica.counts().isPartial)
        var changes: [Change] = []
        replica.onCommit = { changes.append($0) }
        let first = try replica.stage(hub.page(id: 17, limit: 7, first: true))
        #expect(first.swap == nil)
        #expect(changes.map(\.everything) == [true])
        let page = try replica.page(DeliveredQuery(), limit: 10)
        #expect(page.items.map(\.number) == [15, 14, 13, 12, 11, 10, 9])
        #expect(page.items.map(\.read) == [false, false, false, false, false, false, true])
        #expect(page.isPartial && page.next == nil)
        #expect(page.view.position == 0, "acts are as of the complete base, which is none")
        #expect(try replica.counts() == Counts(total: 7, unread: 6, unseen: 6, isPartial: true))
        #expect(try replica.cursor().position == 0)
        #expect(try replica.failedChecks() == [])

        // The hub goes on meanwhile: what was staged is not of one moment.
        hub.other(.archive(items: [hub.items[14]], on: true))
        let last = try replica.stage(hub.page(id: 17, before: 9, limit: 20, first: false))
        #expect(last.swap == nil)
        #expect(try replica.counts().isPartial)
        let applied = try replica.apply(hub.batch(from: 17))
        #expect(applied.swap?.after == 15)
        #expect(applied.divergence == nil)
        #expect(try !replica.page(DeliveredQuery(), limit: 10).isPartial)
        #expect(try Reference(state: hub.state, hub: hub, now: hub.synced).difference(to: replica) == nil)
        #expect(try replica.sumDifference(to: hub) == nil)
        #expect(try replica.failedChecks() == [])
    }

    @Test func `a partial base outlives the process, and goes where its snapshot starts over or is not wanted`() throws
    {
        let folder = Folder()
        let hub = filled(15)
        _ = try folder.open().connect(hub, mode: .snapshot)
        for isResumed in [false, true] {
            do {
                let replica = try folder.open()
                try replica.connect(hub, mode: .snapshot)
                _ = try replica.stage(hub.page(id: 15, limit: 6, first: true))
            }
            let replica = try folder.open()
            #expect(try replica.counts() == Counts(total: 6, unread: 6, unseen: 6, isPartial: true))
            if isResumed {
                try replica.connect(hub, mode: .resume)
                #expect(try replica.counts() == Counts())
                #expect(try replica.sum() == 0)
                try replica.pull(hub)
            } else {
                try replica.connect(hub, mode: .snapshot)
                _ = try replica.stage(hub.page(id: 15, limit: 2, first: true))
                #expect(try replica.counts() == Counts(total: 2, unread: 2, unseen: 2, isPartial: true))
            }
            #expect(try replica.failedChecks() == [])
        }
        let replica = try folder.open()
        #expect(try replica.sumDifference(to: hub) == nil)
        #expect(try replica.counts() == Counts(total: 15, unread: 15, unseen: 15))
    }

    @Test func `an act on what is partly there shows at once, and one on what comes later when it comes`() throws {
        let folder = Folder()
        var hub = filled(15)
        hub.other(.mark(.read, upTo: 15))
        let replica = try folder.open()
        try replica.connect(hub, mode: .snapshot)
        _ = try replica.stage(hub.page(id: 16, limit: 6, first: true))
        try replica.enqueue(.read(items: [hub.items[12]], on: false, passive: false))
        try replica.enqueue(.archive(items: [hub.items[2]], on: true))
        #expect(try replica.item(hub.items[12])?.read == false, "a choice of now stands over the mark")
        #expect(try replica.nextPush() == nil)
        _ = try replica.stage(hub.page(id: 16, before: 10, limit: 5, first: false))
        #expect(try replica.item(hub.items[2]) == nil)
        #expect(try replica.failedChecks() == [])
        _ = try replica.stage(hub.page(id: 16, before: 5, limit: 20, first: false))
        #expect(try replica.item(hub.items[2])?.archived == true)
        #expect(try replica.item(hub.items[12])?.read == false)
        #expect(try replica.counts() == Counts(total: 14, unread: 1, unseen: 0))
        #expect(try replica.failedChecks() == [])
        try replica.push(to: &hub)
        try replica.pull(hub)
        #expect(try Reference(state: hub.state, hub: hub, now: hub.synced).difference(to: replica) == nil)
    }
}
