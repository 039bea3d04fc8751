/// Reading of raw values that a scanner has already validated.
extension JSON {
    /// The integer that a raw value spells, or nil (a fraction, an exponent, another type, over 64 bits).
    public static func int(of value: RawJSON) -> Int64? {
        var index = value.startIndex
        let end = value.endIndex
        guard index < end else { return nil }
        let negative = value[index] == UInt8(ascii: "-")
        if negative { index += 1 }
        guard index < end else { return nil }
        var result: Int64 = 0
        while index < end {
            let byte = value[index]
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, high) = result.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte &- 0x30)
            let (sum, over) = product.addingReportingOverflow(negative ? -digit : digit)
            guard !high, !over else { return nil }
            result = sum
            index += 1
        }
        return result
    }

    /// The string that a raw value spells, or nil where it is no string.
    public static func string(of value: RawJSON) -> String? {
        guard value.count >= 2, value.first == UInt8(ascii: "\"") else { return nil }
        return unescape(value.dropFirst().dropLast())
    }

    /// The raw elements of an array, or nil where the value is no array.
    public static func elements(of value: RawJSON) -> [RawJSON]? {
        guard value.first == UInt8(ascii: "[") else { return nil }
        let base = value.startIndex
        return value.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer, at: 1)
            var elements: [RawJSON] = []
            scanner.skipSpace()
            while scanner.peek() != UInt8(ascii: "]") {
                scanner.skipSpace()
                guard let range = try? scanner.value() else { return nil }
                elements.append(value[(base + range.lowerBound)..<(base + range.upperBound)])
                scanner.skipSpace()
                if scanner.peek() == UInt8(ascii: ",") { scanner.index += 1 }
            }
            return elements
        }
    }

    /// Decodes the content between the quotes of a validated string.
    static func unescape(_ content: RawJSON) -> String {
        guard content.contains(UInt8(ascii: "\\")) else { return String(decoding: content, as: UTF8.self) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(content.count)
        content.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            while scanner.index < buffer.count {
                let byte = buffer[scanner.index]
                scanner.index += 1
                if byte == UInt8(ascii: "\\") {
                    appendEscape(&scanner, to: &decoded)
                } else {
                    decoded.append(byte)
                }
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func appendEscape(_ scanner: inout JSONScanner, to decoded: inout [UInt8]) {
        let byte = scanner.peek()
        scanner.index += 1
        switch byte {
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = (try? scanner.hexUnit()) ?? 0xFFFD
            if scalar >= 0xD800, scalar < 0xDC00 {
                scanner.index += 2
                let low = (try? scanner.hexUnit()) ?? 0xDC00
                scalar = 0x10000 + (scalar - 0xD800) << 10 + low & 0x3FF
            }
            decoded.append(contentsOf: String(UnicodeScalar(scalar) ?? "\u{FFFD}").utf8)
        default: decoded.append(byte)
        }
    }
}
