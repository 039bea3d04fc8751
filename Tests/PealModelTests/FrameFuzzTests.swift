import PealModel
import Testing

/// Changes a frame's bytes: flips, cuts, repeats, moves, and tokens that matter to JSON.
private func mutate(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    let tokens = [
        "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "-", "0", "9223372036854775808", "-1", "1e9", "\\u0000",
        "\\ud800",
        "\"\"", "true", "[]", "{}", "\u{e9}", " ",
    ]
    var bytes = bytes
    for _ in 0...random.below(4) {
        guard !bytes.isEmpty else { return bytes }
        let at = random.below(bytes.count)
        let end = min(bytes.count, at + 1 + random.below(12))
        switch random.below(6) {
        case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.removeSubrange(at..<end)
        case 2: bytes.insert(contentsOf: bytes[at..<end], at: random.below(bytes.count))
        case 3: bytes.replaceSubrange(at..<end, with: random.pick(tokens).utf8)
        case 4: bytes.insert(contentsOf: random.pick(tokens).utf8, at: at)
        default: bytes[at] ^= 1 << UInt8(random.below(8))
        }
    }
    return bytes
}

/// Whether a push holds an operation that could not be understood; such a one is never encoded.
private func isMalformed(_ frame: UpFrame) -> Bool {
    let mutations: [Mutation]
    switch frame {
    case .push(let all): mutations = all
    case .suspect(let mutation): mutations = [mutation]
    default: return false
    }
    return mutations.contains { if case .malformed = $0.operation { true } else { false } }
}

private let golden = GoldenFrames.all.sorted { $0.key < $1.key }.map(\.value.bytes)

/// Every golden frame without one of its members.
private let incomplete = golden.flatMap { frame in
    ((try? JSON(frame[...])).map(Deletions.of) ?? []).map(\.value.bytes)
}

@Test func `a mutated frame is an error or a value that is encoded and decoded to itself`() throws {
    var values = 0
    for seed in 0..<10_000 as Range<UInt64> {
        var random = SplitMix64(seed: seed)
        var bytes = random.pick(random.chance(60) ? golden : incomplete)
        if random.chance(90) { bytes = mutate(bytes, &random) }
        if let frame = try? UpFrame(bytes[...]) {
            values += 1
            if !isMalformed(frame) { #expect(try UpFrame(frame.bytes[...]) == frame, "seed \(seed)") }
        }
        if let frame = try? DownFrame(bytes[...]) {
            values += 1
            #expect(try DownFrame(frame.bytes[...]) == frame, "seed \(seed)")
            if case .batch(let batch) = frame {
                for entry in batch.entries {
                    guard let entry = try? Entry(entry), case .act = entry.kind else { continue }
                    #expect(try Entry(entry.bytes[...]) == entry, "seed \(seed)")
                }
            }
        }
        if let value = try? JSON(bytes[...]) { #expect(try JSON(value.bytes[...]) == value, "seed \(seed)") }
    }
    // The mutations must not be so wild that only the error path is tried.
    #expect(values > 1_000 && values < 9_000)
}

@Test func `entries from anywhere fold without a trap`() {
    forEachSeed(0..<2_000) { random, _ in
        var state = InboxState(device: random.chance(30))
        for _ in 0..<10 {
            guard case .batch(let batch)? = try? DownFrame(mutate(random.pick(golden), &random)[...]) else { continue }
            for bytes in batch.entries { if let entry = try? Entry(bytes) { state.fold(entry) } }
        }
    }
}

@Test func `mutations from anywhere are resolved without a trap`() {
    forEachSeed(0..<2_000) { random, seed in
        var inbox = Inbox(device: random.chance(30))
        for number in 1...3 as ClosedRange<UInt64> { inbox.publish(GoldenFrames.id(number)) }
        for _ in 0..<10 {
            guard case .push(let mutations)? = try? UpFrame(mutate(random.pick(golden), &random)[...]) else { continue }
            for mutation in mutations {
                let act = Resolver.resolve(mutation, by: phone, in: inbox.state, now: inbox.now)
                #expect(act.itime <= inbox.now, "seed \(seed)")
                inbox.append(.act(act))
            }
        }
    }
}

@Test func `any sequence of frames and answers leaves both ends without a trap and the hub within its window`() {
    forEachSeed(0..<1_500) { random, seed in
        var hub = HubSession()
        var device = DeviceSession(seed: seed)
        for step in 0..<60 {
            let bytes = random.chance(60) ? random.pick(golden) : mutate(random.pick(golden), &random)
            let number = random.chance(90) ? Int64(random.below(60)) : Int64(bitPattern: random.next())
            stepHub(&hub, bytes, number, now: Milliseconds(step * 1_000), &random)
            stepDevice(&device, bytes, number, &random)
            #expect(hub.unacknowledged <= Int64(Limits.windowEntries) + 1, "seed \(seed)")
        }
    }
}

private func stepHub(
    _ hub: inout HubSession, _ bytes: [UInt8], _ number: Int64, now: Milliseconds, _ random: inout SplitMix64
) {
    switch random.below(10) {
    case 0: _ = hub.admitted(HubBench.welcome(random.chance(70) ? .resume : .snapshot, head: 40), at: 0, now: now)
    case 1: _ = hub.headMoved(to: number)
    case 2: _ = hub.committed([])
    case 3: _ = hub.tick(now: now)
    case 4, 5:
        if case .entries(let after, let count, let bytes) = hub.nextOutput() {
            hub.sent(to: after + Int64(1 + random.below(count)), bytes: random.below(bytes + 1), now: now)
        }
    default:
        do {
            for case .loadPage(let request) in hub.received(try UpFrame(bytes[...]), now: now) {
                _ = hub.loaded(HubBench.page(request.id ?? 40, at: 40, last: random.chance(50)))
            }
        } catch {
            if random.chance(10) { _ = hub.received(error) }
        }
    }
}

private func stepDevice(_ device: inout DeviceSession, _ bytes: [UInt8], _ number: Int64, _ random: inout SplitMix64) {
    switch random.below(15) {
    case 0: _ = device.start()
    case 1: _ = device.opened()
    case 2: _ = device.greeted(attempt: 12)
    case 3: _ = device.welcomed(at: number, outbox: random.chance(50), repair: random.chance(20))
    case 4: _ = device.fired(random.pick(DeviceSession.Timer.allCases))
    case 5: _ = device.applied(to: number, settledThrough: number, swapped: random.chance(30))
    case 6: _ = device.staged(to: number, last: random.chance(50), swapped: random.chance(50))
    case 7: _ = device.pushed(last: random.chance(50) ? number : nil)
    case 8: _ = device.networkChanged()
    case 9: _ = device.closed(CloseCode(rawValue: 4_000 + UInt16(random.below(300))), "")
    case 10: _ = device.outboxChanged()
    case 11: _ = device.diverged()
    default:
        if let frame = try? DownFrame(bytes[...]) { _ = device.received(frame, bytes: bytes.count) }
    }
}
