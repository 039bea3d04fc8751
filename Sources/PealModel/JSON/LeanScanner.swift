/// Walks over compact JSON that is known to be valid; white space between tokens makes it give up.
struct LeanScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    @inline(__always)
    mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    /// Whether a byte is next.
    func peeks(_ byte: UInt8) -> Bool { index < bytes.count && bytes[index] == byte }

    mutating func take(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count else { return false }
        for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
        index += count
        return true
    }

    /// A member's name without escapes, and the colon.
    @inline(__always)
    mutating func key() -> Range<Int>? {
        guard let key = plainString(), !key.isEmpty, take(UInt8(ascii: ":")) else { return nil }
        return key
    }

    @inline(__always)
    func equal(_ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count where bytes[range.lowerBound + offset] != text.utf8Start[offset] { return false }
        return true
    }

    /// The content of a string without escapes.
    @inline(__always)
    mutating func plainString() -> Range<Int>? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = index
        index = EightBytes.quoteOrEscape(in: bytes, from: index)
        guard take(UInt8(ascii: "\"")) else { return nil }
        return start..<(index - 1)
    }

    /// An array of strings without escapes, brackets included; one that is empty takes the long way.
    mutating func plainStrings() -> Range<Int>? {
        let start = index
        guard take(UInt8(ascii: "[")) else { return nil }
        repeat {
            guard plainString() != nil else { return nil }
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? start..<index : nil
    }

    /// An integer of at most 15 digits, of which there are none that are too large.
    mutating func int() -> Int64? {
        let negative = take(UInt8(ascii: "-"))
        let start = index
        var value: Int64 = 0
        while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 {
            value = value &* 10 &+ Int64(bytes[index] &- 0x30)
            index += 1
        }
        guard index > start, index - start <= 15, index < bytes.count else { return nil }
        switch bytes[index] {
        case UInt8(ascii: ","), UInt8(ascii: "}"): return negative ? -value : value
        default: return nil
        }
    }

    /// The two halves of a UUID of 36 characters.
    func uuid(_ range: Range<Int>) -> (UInt64, UInt64)? {
        guard range.count == 36 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for offset in 0..<36 {
            let byte = bytes[range.lowerBound + offset]
            if offset == 8 || offset == 13 || offset == 18 || offset == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte &- 0x30
            case 0x61...0x66: digit = byte &- 0x57
            case 0x41...0x46: digit = byte &- 0x37
            default: return nil
            }
            if digits < 16 {
                halves.0 = halves.0 << 4 | UInt64(digit)
            } else {
                halves.1 = halves.1 << 4 | UInt64(digit)
            }
            digits += 1
        }
        return halves
    }

    /// Passes over one value of any kind; `null` answers false, because what it means is decided on the long way.
    mutating func skip() -> Bool {
        guard index < bytes.count else { return false }
        switch bytes[index] {
        case UInt8(ascii: "\""): return skipString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): return skipNested()
        case UInt8(ascii: "n"): return false
        default:
            while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != UInt8(ascii: "}") {
                index += 1
            }
            return true
        }
    }

    @inline(__always)
    private mutating func skipString() -> Bool {
        index += 1
        while true {
            index = EightBytes.quoteOrEscape(in: bytes, from: index)
            if take(UInt8(ascii: "\"")) { return true }
            guard index < bytes.count else { return false }
            index += 2
        }
    }

    private mutating func skipNested() -> Bool {
        var depth = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                guard skipString() else { return false }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 {
                    index += 1
                    return true
                }
            default: break
            }
            index += 1
        }
        return false
    }
}
