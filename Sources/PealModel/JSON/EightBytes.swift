/// Passes over the plain part of a string eight bytes at a time: most of a frame is the text of its items.
enum EightBytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// The index of the first byte from `index` on that is a quote, a backslash, a control character or no ASCII; the number of bytes where
    /// there is none.
    @inline(__always)
    static func plainEnd(of bytes: UnsafeBufferPointer<UInt8>, from index: Int) -> Int {
        find(in: bytes, from: index, word: { quotesAndEscapes($0) | below(0x20, $0) | ($0 & tops) }) {
            isQuoteOrEscape($0) || $0 < 0x20 || $0 >= 0x80
        }
    }

    /// The index of the first quote or backslash from `index` on; the number of bytes where there is none.
    @inline(__always)
    static func quoteOrEscape(in bytes: UnsafeBufferPointer<UInt8>, from index: Int) -> Int {
        find(in: bytes, from: index, word: quotesAndEscapes, byte: isQuoteOrEscape)
    }

    /// `word` marks the top bit of what is sought; above the lowest mark there may be wrong ones.
    @inline(__always)
    private static func find(
        in bytes: UnsafeBufferPointer<UInt8>, from start: Int, word: (UInt64) -> UInt64, byte: (UInt8) -> Bool
    ) -> Int {
        var index = start
        let raw = UnsafeRawBufferPointer(bytes)
        while index + 8 <= bytes.count {
            let found = word(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            if found != 0 { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < bytes.count, !byte(bytes[index]) { index += 1 }
        return index
    }

    @inline(__always)
    private static func isQuoteOrEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    @inline(__always)
    private static func quotesAndEscapes(_ word: UInt64) -> UInt64 {
        below(1, word ^ (ones &* 0x22)) | below(1, word ^ (ones &* 0x5C))
    }

    /// Marks bytes below a limit of at most 0x80.
    @inline(__always)
    private static func below(_ limit: UInt64, _ word: UInt64) -> UInt64 { (word &- ones &* limit) & ~word & tops }
}
