import PealModel
import Testing

/// Random frames of every kind, with the ends of each range and texts that JSON must escape.
private struct Frames {
    var random: SplitMix64

    mutating func text() -> String {
        let scalars: [UInt32] = [
            0, 9, 0x1F, 0x22, 0x2F, 0x5C, 0x61, 0x7F, 0xE9, 0x301, 0x2028, 0xFFFD, 0x1F600, 0x10FFFF,
        ]
        var text = ""
        for _ in 0..<random.below(6) { text.unicodeScalars.append(UnicodeScalar(random.pick(scalars)) ?? "x") }
        return text
    }

    mutating func bits() -> UInt64 { random.chance(20) ? random.pick([0, 1, .max]) : random.next() }

    mutating func int() -> Int64 {
        random.chance(20)
            ? random.pick([0, 1, -1, JSONObject.largestInt, -JSONObject.largestInt])
            : (random.chance(50) ? 1 : -1) * Int64(random.next() >> UInt64(11 + random.below(53)))
    }

    /// A position, a number or a size: not negative.
    mutating func position() -> Int64 {
        random.chance(20)
            ? random.pick([0, 1, JSONObject.largestInt]) : Int64(random.next() >> UInt64(11 + random.below(53)))
    }

    mutating func maybe<T>(_ value: (inout Frames) -> T) -> T? { random.chance(50) ? value(&self) : nil }
    mutating func many<T>(_ value: (inout Frames) -> T) -> [T] { (0..<random.below(4)).map { _ in value(&self) } }

    mutating func item() -> ItemID { ItemID(high: bits(), low: bits()) }
    mutating func replica() -> ReplicaID { ReplicaID(high: bits(), low: bits()) }
    mutating func author() -> Author { random.chance(30) ? .api : .replica(replica()) }
    mutating func json() -> RawJSON {
        raw(random.pick([#"{"a":"é\n"}"#, "[]", "false", "-1.5e3", #""\ud83d\ude00""#, "true", #"{"b":{"c":[1,2]}}"#]))
    }
    mutating func object() -> RawJSON {
        raw(random.pick([#"{"title":"t","sent":1}"#, "{}", #"{"x":[1,{"y":null}]}"#]))
    }

    mutating func operation() -> PealModel.Operation {
        switch random.below(13) {
        case 0: .read(items: many { $0.item() }, on: random.chance(50), passive: random.chance(50))
        case 1: .seen(items: many { $0.item() })
        case 2: .archive(items: many { $0.item() }, on: random.chance(50))
        case 3: .delete(items: many { $0.item() })
        case 4: .mark(random.pick(MarkKind.allCases), upTo: int())
        case 5: .preference(category: text(), channel: text(), enabled: random.chance(50))
        case 6: .track(item: item(), event: text(), data: maybe { $0.json() })
        case 7: .interest(name: text(), on: random.chance(50))
        case 8: .interests(replace: many { $0.text() })
        case 9: .token(text(), platform: maybe { $0.text() })
        case 10: .user(id: maybe { $0.text() }, proof: maybe { $0.text() })
        case 11: .end
        default: .void(reason: text())
        }
    }

    mutating func mutation() -> Mutation {
        Mutation(
            n: max(1, position()), uid: bits(), observed: int(), observedTime: int(),
            moment: random.chance(50) ? .age(int()) : .wall(int()), operation: operation())
    }

    mutating func outcome() -> Outcome {
        let codes = ["applied", "noop", "superseded", "gone", "duplicate", "denied", "poison", "void", "aLaterWord"]
        return Outcome(
            Outcome.Code(rawValue: random.pick(codes)), author: maybe { $0.author() }, position: maybe { $0.int() },
            reason: maybe { $0.text() })
    }

    mutating func settled() -> Settled { Settled(n: int(), uid: bits(), outcome: outcome()) }

    mutating func hello() -> Hello {
        let inbox: InboxIdentity =
            random.chance(50)
            ? .device(id: maybe { $0.text() })
            : .user(externalID: maybe { $0.text() }, email: maybe { $0.text() })
        let proof = Proof(
            hmac: maybe { $0.text() }, token: maybe { $0.text() }, secret: maybe { $0.text() },
            replica: maybe { $0.replica() })
        let low = position()
        return Hello(
            version: int(), project: text(), inbox: inbox, replica: replica(), proof: proof, attempt: position(),
            nonce: text(), cursor: Cursor(epoch: maybe { $0.bits() }, position: position(), chain: bits()),
            outbox: low...max(low, position()), windowEntries: position(), windowBytes: position())
    }

    mutating func up() -> UpFrame {
        switch random.below(9) {
        case 0: .hello(hello())
        case 1: .got(to: position())
        case 2, 3: .push(many { $0.mutation() })
        case 4: .suspect(mutation())
        case 5:
            .snapshot(
                SnapshotRequest(
                    id: maybe { $0.bits() }, after: maybe { $0.position() }, at: maybe { $0.position() },
                    chain: maybe { $0.bits() }))
        case 6: .token(text())
        case 7: random.chance(50) ? .ping : .pong
        default: .bye
        }
    }

    mutating func welcome() -> Welcome {
        Welcome(
            session: bits(), mode: random.pick([.resume, .snapshot, .ahead, .forked]), epoch: bits(), inbox: text(),
            head: position(), lastN: position(), lastUID: maybe { $0.bits() }, settled: many { $0.settled() },
            attempt: position(), nonce: text(), secret: maybe { $0.text() }, time: int(), heartbeat: position(),
            reoffer: random.chance(50))
    }

    mutating func batch() -> Batch {
        let (count, from) = (1 + random.below(3), position() >> 1)
        let entries = (0..<count).map { _ in object() }
        return Batch(
            session: bits(), from: from, to: from + Int64(count), chain: bits(), entries: entries,
            sum: maybe { $0.bits() })
    }

    mutating func down() -> DownFrame {
        switch random.below(11) {
        case 0: .welcome(welcome())
        case 1, 2: .batch(batch())
        case 3: .settled(many { $0.settled() }, at: position())
        case 4: .busy(retryAfter: position())
        case 5: .renew(in: position())
        case 6: .renewed(expires: int())
        case 7:
            { low in .drain(low: low, high: max(low, position())) }(position())
        case 8: random.chance(50) ? .ping : .pong
        case 9: .error(code: text(), retry: random.chance(50), message: text(), last: maybe { $0.position() })
        default: .welcome(welcome())
        }
    }
}

@Test func `a frame of a replica is decoded to itself, and has one encoding`() throws {
    var kinds: Set<String> = []
    for seed in 0..<4_000 as Range<UInt64> {
        var frames = Frames(random: SplitMix64(seed: seed))
        let frame = frames.up()
        do {
            let decoded = try UpFrame(frame.bytes[...])
            #expect(decoded == frame, "seed \(seed)")
            #expect(decoded.bytes == frame.bytes, "seed \(seed)")
            kinds.insert(String(describing: frame).prefix { $0.isLetter }.description)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }
    #expect(kinds.count == 9)
}

@Test func `a frame of the hub is decoded to itself, and has one encoding`() throws {
    var kinds: Set<String> = []
    for seed in 0..<4_000 as Range<UInt64> {
        var frames = Frames(random: SplitMix64(seed: seed))
        let frame = frames.down()
        do {
            let decoded = try DownFrame(frame.bytes[...])
            #expect(decoded == frame, "seed \(seed)")
            #expect(decoded.bytes == frame.bytes, "seed \(seed)")
            kinds.insert(String(describing: frame).prefix { $0.isLetter }.description)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }
    #expect(kinds.count == 10)
}

@Test func `a page of any inbox is decoded to itself, and has one encoding`() throws {
    for seed in 0..<200 as Range<UInt64> {
        var acts = RandomActs(seed: seed)
        for _ in 0..<60 { _ = acts.step() }
        let state = acts.inbox.state
        let rows = state.items.filter { !$0.value.deleted }.sorted { $0.value.position > $1.value.position }.map {
            SnapshotRow(
                id: $0.key, publish: "p", time: 1, body: state.bodies[$0.key] ?? [], state: $0.value,
                facts: state.facts[$0.key] ?? [])
        }
        let page = Page(
            id: 1, at: state.head, chain: acts.random.next(), rows: rows, after: 0, last: acts.random.chance(50),
            rest: Page.Rest(
                marks: state.marks, interests: nil, preferences: state.cells, catalogue: state.currentCatalogue),
            sum: state.sum)
        let bytes = DownFrame.page(page).bytes
        let decoded = try DownFrame(bytes[...])
        #expect(decoded == .page(page), "seed \(seed)")
        #expect(decoded.bytes == bytes, "seed \(seed)")
    }
}
