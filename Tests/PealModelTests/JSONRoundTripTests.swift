import PealModel
import Testing

private struct Values {
    var random: SplitMix64

    mutating func text() -> String {
        let scalars: [UInt32] = [
            0, 8, 9, 10, 0x1F, 0x20, 0x22, 0x2F, 0x5C, 0x61, 0x7F, 0xE9, 0x301, 0x20AC, 0xFFFD, 0x1F600,
        ]
        var text = ""
        for _ in 0..<random.below(8) {
            let scalar = random.chance(70) ? random.pick(scalars) : UInt32(random.below(0x110000))
            text.unicodeScalars.append(UnicodeScalar(scalar) ?? "x")
        }
        return text
    }

    mutating func value(_ depth: Int) -> JSON {
        switch random.below(depth > 0 ? 7 : 5) {
        case 0: .null
        case 1: .bool(random.chance(50))
        case 2: .number(String(Int64(bitPattern: random.next() >> UInt64(random.below(64)))))
        case 3: .number("\(random.below(100)).\(random.below(100))e\(random.pick(["", "+", "-"]))\(random.below(999))")
        case 4: .string(text())
        case 5: .array((0..<random.below(5)).map { _ in value(depth - 1) })
        default: .object((0..<random.below(5)).map { ("\($0)" + text(), value(depth - 1)) })
        }
    }
}

@Test func `what is written is read as the same value, and written again as the same bytes`() throws {
    for seed in 0..<3_000 as Range<UInt64> {
        var values = Values(random: SplitMix64(seed: seed))
        let value = values.value(5)
        let bytes = value.bytes
        let decoded = try JSON(bytes[...])
        #expect(decoded == value, "seed \(seed)")
        #expect(decoded.bytes == bytes, "seed \(seed)")
    }
}

@Test func `white space between the tokens changes nothing`() throws {
    for seed in 0..<500 as Range<UInt64> {
        var values = Values(random: SplitMix64(seed: seed))
        let value = values.value(4)
        var spaced: [UInt8] = []
        var inString = false
        var escaped = false
        for byte in value.bytes {
            let structural = !inString && [0x2C, 0x3A, 0x5B, 0x5D, 0x7B, 0x7D].contains(byte)
            if structural { spaced.append(values.random.pick([0x20, 0x09, 0x0A, 0x0D])) }
            spaced.append(byte)
            if structural { spaced.append(values.random.pick([0x20, 0x09, 0x0A, 0x0D])) }
            if byte == 0x22, !escaped { inString.toggle() }
            escaped = byte == 0x5C && !escaped
        }
        #expect(try JSON(spaced[...]) == value, "seed \(seed)")
    }
}

@Test func `a cut text is never a value of the whole`() {
    for seed in 0..<300 as Range<UInt64> {
        var values = Values(random: SplitMix64(seed: seed))
        let bytes = JSON.array([values.value(4)]).bytes
        for length in 0..<bytes.count { #expect((try? JSON(bytes[..<length])) == nil, "seed \(seed), \(length)") }
    }
}

@Test func `ids and 64-bit words are read in either case, written in lower case, and have one length`() {
    forEachSeed(0..<300) { random, seed in
        let id = ItemID(high: random.next(), low: random.next())
        #expect(ItemID(id.description) == id, "seed \(seed)")
        #expect(ItemID(id.description.uppercased()) == id, "seed \(seed)")
        #expect(id.description == id.description.lowercased() && id.description.count == 36, "seed \(seed)")
        #expect(id.bytes.withUnsafeBytes { ItemID(bytes: $0) } == id, "seed \(seed)")
        #expect(ItemID(String(id.description.dropLast())) == nil && ItemID(id.description + "0") == nil)
        let replica = ReplicaID(high: random.next(), low: random.next())
        #expect(ReplicaID(replica.description) == replica, "seed \(seed)")
        #expect(Author(Author.replica(replica).description) == .replica(replica), "seed \(seed)")
        let word = random.next() >> UInt64(random.below(64))
        #expect(Hex64.parse(Hex64.text(word)) == word && Hex64.text(word).count == 16, "seed \(seed)")
    }
    #expect(Author("api") == .api)
    #expect(Author("API") == nil)
    #expect(Hex64.parse("000000000000000g") == nil)
    #expect(Hex64.parse("+00000000000000a") == nil)
    #expect(ItemID("01900000-0000-7000-8000_000000000001") == nil)
}

@Test func `ids that are made in order sort in order, and give their counter back`() {
    forEachSeed(0..<200) { random, seed in
        let time = Int64(random.below(1 << 47))
        let counter = random.next() & 0xFF_FFFF_FFFE
        let one = ItemID(time: time, counter: counter, random: random.next())
        let next = ItemID(time: time, counter: counter + 1, random: random.next())
        let later = ItemID(time: time + 1, counter: 0, random: random.next())
        #expect(one < next && next < later, "seed \(seed)")
        #expect(one.counter == counter, "seed \(seed)")
        #expect(one.description.dropFirst(14).first == "7", "seed \(seed)")
        #expect("89ab".contains(one.description.dropFirst(19).first!), "seed \(seed)")
    }
}
