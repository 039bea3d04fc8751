/// Why some bytes are not the JSON that was expected. Holds an offset and a reason, never the bytes themselves.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, as a sentence without any of the input in it.
    public let reason: String
    /// The byte offset in the input at which it was noticed; 0 where it concerns a whole value.
    public let offset: Int

    /// An error at a byte offset.
    public init(_ reason: String, at offset: Int = 0) {
        self.reason = reason
        self.offset = offset
    }

    /// A sentence for a log; holds nothing of the input.
    public var description: String { "\(reason) (byte \(offset))" }
}

/// A validating pull scanner over one JSON text (RFC 8259), without allocation.
///
/// It refuses what a device must never meet: invalid UTF-8, lone surrogates, `\u0000` is allowed, control characters in
/// strings, depth over ``JSONScanner/maximumDepth``. Used by ``JSONObject``, ``JSON`` and the frame codec; not public,
/// because it borrows a pointer.
struct JSONScanner {
    /// Nesting that is accepted; deeper input is an error, so that recursion is bounded.
    static let maximumDepth = 64

    let bytes: UnsafeBufferPointer<UInt8>
    var index: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int = 0) {
        self.bytes = bytes
        self.index = index
    }

    @inline(__always)
    mutating func peek() -> UInt8 {
        index < bytes.count ? bytes[index] : 0
    }

    mutating func skipSpace() {
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            index += 1
        }
    }

    mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard index < bytes.count, bytes[index] == byte else {
            throw JSONError("expected '\(Character(UnicodeScalar(byte)))'", at: index)
        }
        index += 1
    }

    /// Skips one value that `depth` arrays and objects enclose, validating all of it, and returns its range.
    mutating func value(depth: Int = 0) throws(JSONError) -> Range<Int> {
        let start = index
        guard index < bytes.count else { throw JSONError("the text ends early", at: index) }
        switch bytes[index] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < Self.maximumDepth else { throw JSONError("nested too deeply", at: index) }
            if bytes[index] == UInt8(ascii: "{") { try members(depth: depth) } else { try elements(depth: depth) }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: try number()
        }
        return start..<index
    }

    private mutating func members(depth: Int) throws(JSONError) {
        index += 1
        skipSpace()
        if peek() == UInt8(ascii: "}") {
            index += 1
            return
        }
        while true {
            skipSpace()
            _ = try string()
            skipSpace()
            try expect(UInt8(ascii: ":"))
            skipSpace()
            _ = try value(depth: depth + 1)
            skipSpace()
            if peek() == UInt8(ascii: ",") {
                index += 1
                continue
            }
            try expect(UInt8(ascii: "}"))
            return
        }
    }

    private mutating func elements(depth: Int) throws(JSONError) {
        index += 1
        skipSpace()
        if peek() == UInt8(ascii: "]") {
            index += 1
            return
        }
        while true {
            skipSpace()
            _ = try value(depth: depth + 1)
            skipSpace()
            if peek() == UInt8(ascii: ",") {
                index += 1
                continue
            }
            try expect(UInt8(ascii: "]"))
            return
        }
    }

    private mutating func literal(_ text: StaticString) throws(JSONError) {
        let start = index
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count else { throw JSONError("not a JSON value", at: start) }
        for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] {
            throw JSONError("not a JSON value", at: start)
        }
        index += count
    }

    private mutating func digits() throws(JSONError) {
        let start = index
        while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 { index += 1 }
        guard index > start else { throw JSONError("not a JSON value", at: start) }
    }

    private mutating func number() throws(JSONError) {
        if peek() == UInt8(ascii: "-") { index += 1 }
        if peek() == UInt8(ascii: "0") {
            index += 1
        } else {
            try digits()
        }
        if peek() == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            index += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
    }

    /// Skips a string and returns the range between its quotes and whether it holds escapes.
    mutating func string() throws(JSONError) -> (content: Range<Int>, escaped: Bool) {
        try expect(UInt8(ascii: "\""))
        let start = index
        var escaped = false
        while true {
            index = EightBytes.plainEnd(of: bytes, from: index)
            guard index < bytes.count else { break }
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return (start..<(index - 1), escaped)
            case UInt8(ascii: "\\"):
                escaped = true
                try escape()
            case 0x20..<0x80:
                index += 1
            case 0x80...:
                try multibyte()
            default:
                throw JSONError("a control character in a string", at: index)
            }
        }
        throw JSONError("a string without an end", at: start)
    }

    private mutating func escape() throws(JSONError) {
        let start = index
        index += 1
        switch peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 1
        case UInt8(ascii: "u"):
            index += 1
            let unit = try hexUnit()
            if unit >= 0xD800, unit < 0xDC00 {
                guard peek() == UInt8(ascii: "\\"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "u")
                else { throw JSONError("a lone surrogate", at: start) }
                index += 2
                let low = try hexUnit()
                guard low >= 0xDC00, low < 0xE000 else { throw JSONError("a lone surrogate", at: start) }
            } else if unit >= 0xDC00, unit < 0xE000 {
                throw JSONError("a lone surrogate", at: start)
            }
        default:
            throw JSONError("an unknown escape", at: start)
        }
    }

    /// Reads four hexadecimal digits.
    mutating func hexUnit() throws(JSONError) -> UInt32 {
        guard index + 4 <= bytes.count else { throw JSONError("a cut escape", at: index) }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = hexDigit(bytes[index]) else { throw JSONError("an unknown escape", at: index) }
            unit = unit << 4 | UInt32(digit)
            index += 1
        }
        return unit
    }

    /// Validates one multi-byte UTF-8 sequence (RFC 3629: no overlong form, no surrogate, at most U+10FFFF).
    private mutating func multibyte() throws(JSONError) {
        let lead = bytes[index]
        let (count, low, high): (Int, UInt8, UInt8) =
            switch lead {
            case 0xC2...0xDF: (1, 0x80, 0xBF)
            case 0xE0: (2, 0xA0, 0xBF)
            case 0xE1...0xEC, 0xEE...0xEF: (2, 0x80, 0xBF)
            case 0xED: (2, 0x80, 0x9F)
            case 0xF0: (3, 0x90, 0xBF)
            case 0xF1...0xF3: (3, 0x80, 0xBF)
            case 0xF4: (3, 0x80, 0x8F)
            default: (0, 0, 0)
            }
        guard count > 0, index + count < bytes.count else { throw JSONError("not valid UTF-8", at: index) }
        guard bytes[index + 1] >= low, bytes[index + 1] <= high else { throw JSONError("not valid UTF-8", at: index) }
        for offset in 1...count where bytes[index + offset] & 0xC0 != 0x80 {
            throw JSONError("not valid UTF-8", at: index)
        }
        index += count + 1
    }
}

/// The value of an ASCII hexadecimal digit, or nil.
@inline(__always)
func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
}
