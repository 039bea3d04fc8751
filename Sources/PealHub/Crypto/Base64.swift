/// Base 64 (RFC 4648), with the standard alphabet or the one for URLs.
package struct Base64: Sendable {
    private let digits: [UInt8]
    private let values: [UInt8]
    private let pads: Bool

    /// `+`, `/`, and padding with `=`; decoding requires the padding.
    package static let standard = Base64("+/", pads: true)
    /// `-`, `_`, no padding; decoding refuses padding.
    package static let url = Base64("-_", pads: false)

    private init(_ last: String, pads: Bool) {
        digits = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
        self.pads = pads
    }

    /// Bytes as text.
    package func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for index in 0..<3 { group = group << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
            for index in 0..<4 {
                if index <= count {
                    text.append(digits[Int(group >> UInt32(18 - 6 * index)) & 63])
                } else if pads {
                    text.append(UInt8(ascii: "="))
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Bytes of a text, or nil when it is anything but the one encoding of some bytes (no white space, no wrong padding,
    /// no stray bits), so that a signature has one spelling.
    package func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        if pads {
            guard digits.count.isMultiple(of: 4) else { return nil }
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value != 0xFF else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
                bits &= (1 << UInt32(bitCount)) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }
}
