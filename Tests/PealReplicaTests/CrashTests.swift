import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// A crash is a copy of the files as they are, without a checkpoint: what a process leaves that was killed.
@Suite struct Crashes {
    @Test func `an act is durable when enqueue returns`() throws {
        let folder = Folder()
        var hub = TestHub()
        hub.publish()
        let replica = try folder.open()
        try replica.connect(hub)
        try replica.pull(hub)
        let uid = try replica.enqueue(.read(items: [hub.items[0]], on: true, passive: false))
        folder.copy("replica", to: "copy")
        let copy = try folder.open("copy")
        #expect(try copy.outbox().map(\.id) == [uid])
        #expect(try copy.item(hub.items[0])?.read == true)
    }

    @Test func `a number that went out is never given to another act`() throws {
        let folder = Folder()
        let hub = TestHub()
        let replica = try folder.open()
        try replica.connect(hub)
        let first = try replica.enqueue(.mark(.read, upTo: 0))
        let push = try #require(try replica.nextPush())
        folder.copy("replica", to: "copy")
        let copy = try folder.open("copy", seed: 9)
        try copy.connect(hub)
        try copy.enqueue(.mark(.seen, upTo: 0))
        let again = try #require(try copy.nextPush())
        #expect(push.mutations.map(\.n) == [1])
        #expect(again.mutations.map(\.n) == [1, 2])
        #expect(again.mutations[0].uid == first)
    }

    @Test(arguments: 0..<4) func `cursor and data are of one moment at every point`(seed: Int) throws {
        var random = Seeded(UInt64(seed) + 77)
        let folder = Folder()
        var hub = TestHub()
        let replica = try folder.open()
        try replica.connect(hub)
        for _ in 0..<25 {
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                if random.chance(60) || hub.items.isEmpty {
                    hub.publish()
                } else {
                    hub.other(
                        .read(
                            items: [hub.items.randomElement(using: &random)!], on: random.chance(50), passive: false))
                }
            }
            try replica.pull(hub)
            folder.copy("replica", to: "copy")
            let copy = try folder.open("copy")
            let position = try copy.cursor().position
            #expect(position == hub.head)
            let reference = Reference(state: hub.states[Int(position)], hub: hub, now: hub.synced)
            #expect(try reference.difference(to: copy) == nil, "seed \(seed)")
        }
    }

    @Test func `a full disk leaves cursor and data where they were, and room lets it go on`() throws {
        let folder = Folder()
        var hub = TestHub()
        let replica = try folder.open(maximumPages: 60)
        try replica.connect(hub)
        for _ in 0..<10 { hub.publish(content: String(repeating: "x", count: 500)) }
        try replica.pull(hub)
        for _ in 0..<400 { hub.publish(content: String(repeating: "x", count: 2_000)) }
        let error = #expect(throws: ReplicaError.self) { try replica.pull(hub) }
        #expect(error?.code == .full)
        #expect(try replica.cursor().position == 10)
        #expect(try replica.counts().total == 10)
        try replica.connection.execute("PRAGMA max_page_count = 100000")
        try replica.pull(hub)
        #expect(try replica.counts().total == 410)
        #expect(try replica.inspect(integrity: true).problems == [])
    }

    @Test func `a full disk refuses an act and says so`() throws {
        let folder = Folder()
        let replica = try folder.open(maximumPages: 40)
        var error: ReplicaError?
        for _ in 0..<2_000 where error == nil {
            do {
                try replica.enqueue(.track(item: ItemID(high: 1, low: 1), event: "opened", data: nil))
            } catch let refused {
                error = refused
            }
        }
        #expect(error?.code == .full)
        let kept = try replica.outbox().count
        try replica.connection.execute("PRAGMA max_page_count = 100000")
        try replica.enqueue(.track(item: ItemID(high: 1, low: 1), event: "opened", data: nil))
        #expect(try replica.outbox().count == kept + 1)
    }
}
