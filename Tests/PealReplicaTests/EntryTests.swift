import PealModel
import PealSQLite
import Testing

@testable import PealReplica

@Suite struct Entries {
    private func started(_ hub: TestHub) throws -> (Folder, Replica) {
        let folder = Folder()
        let replica = try folder.open()
        try replica.connect(hub)
        return (folder, replica)
    }

    @Test func `an entry of an unknown kind is kept and the cursor moves`() throws {
        var hub = TestHub()
        hub.publish()
        hub.append(bytes: Array(#"{"kind":"weather","time":5,"sky":"blue"}"#.utf8))
        hub.publish()
        let (folder, replica) = try started(hub)
        let applied = try replica.pull(hub)
        #expect(applied.position == 3)
        #expect(applied.quarantined.isEmpty)
        #expect(try replica.inspect().unknown == 1)
        #expect(try replica.counts().total == 2)
        _ = folder
    }

    @Test(arguments: [
        "garbage", "{}", #"{"kind":"item","time":1,"id":"nonsense","publish":"p","body":{"sent":1}}"#,
        #"{"kind":"item","time":1,"id":"01890a5d-ac96-774b-bcce-b302099a8057","publish":"p","body":{"title":"no time"}}"#,
        #"{"kind":"act","time":1,"by":"nobody"}"#, #"{"kind":"item"}"#, "", #"{"kind":"item""#,
    ]) func `an entry that cannot be decoded is set aside and does not loop`(bytes: String) throws {
        var hub = TestHub()
        hub.append(bytes: Array(bytes.utf8))
        hub.publish()
        let (folder, replica) = try started(hub)
        let applied = try replica.pull(hub)
        #expect(applied.verdict == .folded)
        #expect(applied.quarantined == [1])
        #expect(applied.position == 2)
        #expect(try replica.inspect().quarantined.map(\.position) == [1])
        #expect(try replica.counts().total == 1)
        _ = folder
    }

    @Test func `an act of ours with an effect that is not understood settles all the same`() throws {
        var hub = TestHub()
        hub.publish()
        let (folder, replica) = try started(hub)
        try replica.pull(hub)
        let id = try replica.replicaID()
        let uid = try replica.enqueue(.read(items: hub.items, on: true, passive: false))
        _ = try replica.nextPush()
        hub.append(
            bytes: Array(
                """
                {"kind":"act","time":9,"by":"\(id)","n":1,"uid":"\(Hex64.text(uid))","itime":9,\
                "outcome":{"code":"applied"},"effect":{"set":"new"}}
                """.utf8))
        let applied = try replica.pull(hub)
        #expect(applied.quarantined.isEmpty)
        #expect(try replica.inspect().unknown == 1)
        #expect(applied.settledThrough == 1)
        #expect(try replica.outbox().isEmpty)
        _ = folder
    }

    @Test func `an item id that comes twice is set aside, and the first stays`() throws {
        var hub = TestHub()
        let id = hub.publish("first")
        let body = ItemBody(title: "second", sent: 1)
        hub.append(.item(id: id, publish: "p", body: body.bytes[...]))
        let (folder, replica) = try started(hub)
        #expect(try replica.pull(hub).quarantined == [2])
        #expect(try replica.item(id)?.number == 1)
        _ = folder
    }

    @Test func `a gap folds nothing, a repeat is ignored, an overlap folds what is new`() throws {
        var hub = TestHub()
        for _ in 0..<6 { hub.publish() }
        let (folder, replica) = try started(hub)
        #expect(try replica.apply(hub.batch(from: 1, to: 3)).verdict == .gap)
        #expect(try replica.counts().total == 0)
        #expect(try replica.apply(hub.batch(from: 0, to: 3)).entries == 3)
        #expect(try replica.apply(hub.batch(from: 0, to: 3)).verdict == .ignored)
        #expect(try replica.apply(hub.batch(from: 1, to: 2)).verdict == .ignored)
        let overlap = try replica.apply(hub.batch(from: 1, to: 6))
        #expect(overlap.entries == 3)
        #expect(try replica.cursor() == Cursor(epoch: 7, position: 6, chain: hub.chains[6]))
        _ = folder
    }

    @Test func `the quick way reads an item as the long way does, or leaves it`() throws {
        var random = Seeded(5)
        let texts = ["plain", "", "with \"quotes\"", "back\\slash", "ünïcödé 🎉", "new\nline", "{[,:]}", "sent\":1,\""]
        var quick = 0
        for round in 0..<3_000 {
            func text() -> String? { random.chance(60) ? texts.randomElement(using: &random)! : nil }
            let attributes = #"{"sent":"\#(round)","nested":{"a":[1,{"type":"x"}],"b":null},"silent":true}"#
            let item = ItemBody(
                title: text(), content: text(), type: text() ?? "message", media: text(), category: text(),
                topic: text(), interests: (0..<Int.random(in: 0...2, using: &random)).compactMap { _ in text() },
                actionURL: text(), attributes: random.chance(50) ? Array(attributes.utf8)[...] : nil,
                sent: Int64.random(in: 0...2_000_000_000_000, using: &random),
                expires: random.chance(30) ? Int64.random(in: -5...5, using: &random) : nil, silent: random.chance(20))
            let id = ItemID(high: random.next(), low: random.next())
            let bytes = Entry(time: 4, kind: .item(id: id, publish: "p", body: item.bytes[...])).bytes
            let lean = bytes.withUnsafeBufferPointer { LeanItem(entry: $0) }
            guard let lean else { continue }
            quick += 1
            func string(_ range: Range<Int>?) -> String? { range.map { String(decoding: bytes[$0], as: UTF8.self) } }
            #expect(ItemID(high: lean.high, low: lean.low) == id)
            #expect(lean.time == 4)
            #expect(string(lean.interests) == item.interestsText)
            #expect(Array(bytes[lean.body]) == item.bytes)
            #expect(lean.sent == item.sent)
            #expect(lean.expires == item.expires)
            #expect(lean.silent == item.silent)
            #expect(string(lean.type) ?? "message" == item.type)
            #expect(string(lean.category) == item.category)
            #expect(string(lean.topic) == item.topic)
        }
        #expect(quick > 600)
    }

    @Test(arguments: [
        #""time":1,"time":2,"id":"$","publish":"p","body":{"sent":1}"#,
        #""time":1,"id":"$","id":"00000000-0000-0000-0000-000000000000","publish":"p","body":{"sent":1}"#,
        #""time":1,"id":"$","publish":"p","publish":"q","body":{"sent":1}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"sent":2}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"type":"a","type":"b"}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"category":"a","category":"b"}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"topic":"a","topic":"b"}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"expires":3,"expires":4}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"title":7}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"content":{}}"#,
        #""time":1,"id":"$","publish":"p","body":{"sent":1,"actionURL":false}"#,
        #""time":9007199254740992,"id":"$","publish":"p","body":{"sent":1}"#,
    ])
    func `what counts once, or is of the wrong type, takes the long way`(members: String) {
        let id = "00000000-0000-7000-8000-000000000001"
        let bytes = Array("{\"kind\":\"item\",\(members.replacing("$", with: id))}".utf8)
        #expect(bytes.withUnsafeBufferPointer { LeanItem(entry: $0) == nil })
    }

    @Test func `cut and scrambled entries never trap the quick way`() {
        var random = Seeded(11)
        let id = ItemID(high: 1, low: 2)
        let item = ItemBody(title: "a \"title\"", category: "c", sent: 5, expires: 7, silent: true)
        let whole = Entry(time: 4, kind: .item(id: id, publish: "p", body: item.bytes[...])).bytes
        for round in 0..<20_000 {
            var bytes = whole
            if round % 2 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.withUnsafeBufferPointer { buffer in
                guard let lean = LeanItem(entry: buffer) else { return }
                #expect(lean.body.upperBound <= buffer.count)
                #expect(lean.publish.upperBound <= buffer.count)
            }
        }
    }
}
