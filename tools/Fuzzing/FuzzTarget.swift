/// One thing that is fuzzed: bytes from anywhere become calls of the product, and what must hold is checked (docs/fuzzing.md).
///
/// A trap of the product is found by whoever runs it; what ``run`` gives is a law that does not hold.
package struct FuzzTarget: Sendable {
    /// A word for the command line.
    package let name: String
    /// Inputs that reach far, each by a name of its own.
    package let seeds: @Sendable () throws -> [(name: String, bytes: [UInt8])]
    /// Words that inputs are made of.
    package let dictionary: [String]
    /// How many mutated inputs the tests run: some seconds of a debug build.
    package let replays: Int
    /// Runs one input; a sentence where a law does not hold. Deterministic, but for names that the hub draws. One thread at a time.
    package let run: @Sendable ([UInt8]) -> String?

    /// Every target.
    package static let all: [FuzzTarget] = [.frames, .sessions, .http, .outbox]

    /// The target of a name.
    package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }

    /// The dictionary as libFuzzer reads it.
    package var dictionaryFile: String {
        dictionary.map { word in
            let escaped = word.utf8.map { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\" + String(UnicodeScalar(byte))
                case 0x20...0x7E: String(UnicodeScalar(byte))
                default: "\\x" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
                }
            }
            return "\"" + escaped.joined() + "\"\n"
        }.joined()
    }
}

/// Takes an input apart; what is missing reads as zeros.
struct FuzzInput {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// A number of so many bytes, the highest first.
    mutating func number(_ bytes: Int) -> UInt64 {
        var number: UInt64 = 0
        for _ in 0..<bytes { number = number << 8 | UInt64(byte()) }
        return number
    }

    mutating func index(below count: Int) -> Int { Int(byte()) % max(count, 1) }

    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let taken = rest.prefix(count)
        rest = rest.dropFirst(count)
        return taken
    }

    /// Numbers at which things break, and any other.
    mutating func strangeNumber() -> Int64 {
        let choice = byte()
        let strange: [Int64] = [
            0, 1, -1, 2, 3, .max, .min, .max - 1, .min + 1, 1 << 31, 1 << 32, 1 << 53, -(1 << 53), 1_700_000_000_000,
            499, 501,
        ]
        if Int(choice) < strange.count { return strange[Int(choice)] }
        return choice < 128 ? Int64(choice) - 16 : Int64(bitPattern: number(8))
    }

    /// Changes a few places of a text, as a broken peer or wire would.
    mutating func patched(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<(byte() & 3) {
            let kind = byte()
            guard !bytes.isEmpty else { return bytes }
            let at = Int(number(2)) % bytes.count
            switch kind & 7 {
            case 0: bytes[at] = byte()
            case 1: bytes.removeSubrange(at..<min(bytes.count, at + 1 + Int(byte() & 31)))
            case 2: bytes.insert(contentsOf: JSONWords.all[index(below: JSONWords.all.count)].utf8, at: at)
            case 3: bytes[at] ^= 1 << (byte() & 7)
            case 4: bytes.insert(contentsOf: take(Int(byte() & 31)), at: at)
            default: Self.replaceNumber(&bytes, from: at, with: strangeNumber())
            }
        }
        return bytes
    }

    /// The next run of digits becomes another number.
    private static func replaceNumber(_ bytes: inout [UInt8], from at: Int, with number: Int64) {
        let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        guard let start = bytes[at...].firstIndex(where: isDigit) else { return }
        let end = bytes[start...].firstIndex { !isDigit($0) } ?? bytes.endIndex
        bytes.replaceSubrange(start..<end, with: String(number).utf8)
    }
}

/// Words that matter to JSON.
enum JSONWords {
    static let all = [
        "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "true", "false", "-", "0", "-1", "1e9", "1E400", "0.5", "-0",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "\\u0000",
        "\\ud800", "\\udc00", "\"\"", "[]", "{}", "\u{e9}", "\u{FEFF}", "e\u{301}", " ", "\n", "\"type\":",
        "{\"\":0}", ",\"a\":null", "[[[[[[[[", "0000000000000000", "ffffffffffffffff",
    ]
}
