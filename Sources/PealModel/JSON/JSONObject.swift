/// The bytes of one JSON value, sharing the storage of the message that it came in.
public typealias RawJSON = ArraySlice<UInt8>

/// One JSON object, split into its members and validated as a whole, whose values stay raw bytes until they are asked for.
///
/// Every frame, entry and row is read through it: one pass over the bytes and one allocation. A member that occurs twice
/// counts once, the first. Values are decoded on access; a member of the wrong type is an error that names it.
public struct JSONObject: Sendable {
    private struct Member {
        var keyStart: Int32
        var keyEnd: Int32
        var start: Int32
        var end: Int32
    }

    /// The bytes of the whole object, as they were given (surrounding white space left out).
    public let raw: RawJSON
    private var members: [Member] = []

    /// Splits an object.
    ///
    /// - Throws: ``JSONError`` where the bytes are not exactly one JSON object in valid UTF-8, nested 64 deep at most.
    public init(_ bytes: RawJSON) throws(JSONError) {
        precondition(bytes.endIndex <= Int(Int32.max), "a JSON text of 2 GiB is past every limit of Peal")
        let base = bytes.startIndex
        var parsed: [Member] = []
        parsed.reserveCapacity(12)
        var range = 0..<0
        var failure: JSONError?
        bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONError) {
                range = try Self.split(buffer, base: base, into: &parsed)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        members = parsed
        raw = bytes[(base + range.lowerBound)..<(base + range.upperBound)]
    }

    private static func split(
        _ buffer: UnsafeBufferPointer<UInt8>, base: Int, into members: inout [Member]
    ) throws(JSONError) -> Range<Int> {
        var scanner = JSONScanner(buffer)
        scanner.skipSpace()
        let start = scanner.index
        try scanner.expect(UInt8(ascii: "{"))
        scanner.skipSpace()
        if scanner.peek() == UInt8(ascii: "}") {
            scanner.index += 1
        } else {
            while true {
                scanner.skipSpace()
                let (key, _) = try scanner.string()
                scanner.skipSpace()
                try scanner.expect(UInt8(ascii: ":"))
                scanner.skipSpace()
                let value = try scanner.value(depth: 1)
                members.append(
                    Member(
                        keyStart: Int32(base + key.lowerBound), keyEnd: Int32(base + key.upperBound),
                        start: Int32(base + value.lowerBound), end: Int32(base + value.upperBound)))
                scanner.skipSpace()
                if scanner.peek() == UInt8(ascii: ",") {
                    scanner.index += 1
                    continue
                }
                try scanner.expect(UInt8(ascii: "}"))
                break
            }
        }
        let end = scanner.index
        scanner.skipSpace()
        guard scanner.index == buffer.count else { throw JSONError("more after the value", at: scanner.index) }
        return start..<end
    }

    /// The raw bytes of a member, or nil where it is absent or `null`.
    public func raw(_ key: StaticString) -> RawJSON? {
        raw.withUnsafeBufferPointer { buffer in
            let base = raw.startIndex
            let count = key.utf8CodeUnitCount
            for member in members where Int(member.keyEnd - member.keyStart) == count {
                let start = Int(member.keyStart) - base
                var same = true
                for offset in 0..<count where buffer[start + offset] != key.utf8Start[offset] {
                    same = false
                    break
                }
                guard same else { continue }
                // `null` counts as absent: no field of Peal means anything by it.
                if buffer[Int(member.start) - base] == UInt8(ascii: "n") { return nil }
                return raw[Int(member.start)..<Int(member.end)]
            }
            return nil
        }
    }

    /// A string member, or nil where it is absent.
    public func string(_ key: StaticString) throws(JSONError) -> String? {
        guard let value = raw(key) else { return nil }
        guard let string = JSON.string(of: value) else { throw JSONError("'\(key)' is not a string") }
        return string
    }

    /// The largest whole number that a member may have, either way: 2⁵³ − 1, which every JSON reader takes for what it is, and of
    /// which sums and thousandfolds still are numbers (docs/sync.md section 6).
    public static let largestInt: Int64 = 1 << 53 - 1

    /// An integer member, or nil where it is absent. At most ``largestInt``, either way.
    public func int(_ key: StaticString) throws(JSONError) -> Int64? {
        guard let value = raw(key) else { return nil }
        guard let int = JSON.int(of: value), (-Self.largestInt...Self.largestInt).contains(int) else {
            throw JSONError("'\(key)' is no whole number of 53 bits")
        }
        return int
    }

    /// A boolean member, or nil where it is absent.
    public func bool(_ key: StaticString) throws(JSONError) -> Bool? {
        guard let value = raw(key) else { return nil }
        switch value.first {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw JSONError("'\(key)' is neither true nor false")
        }
    }

    /// An object member, or nil where it is absent.
    public func object(_ key: StaticString) throws(JSONError) -> JSONObject? {
        guard let value = raw(key) else { return nil }
        guard value.first == UInt8(ascii: "{") else { throw JSONError("'\(key)' is not an object") }
        return try JSONObject(value)
    }

    /// The raw elements of an array member, or nil where it is absent.
    public func array(_ key: StaticString) throws(JSONError) -> [RawJSON]? {
        guard let value = raw(key) else { return nil }
        guard let elements = JSON.elements(of: value) else { throw JSONError("'\(key)' is not an array") }
        return elements
    }

    /// The elements of an array member of strings, or nil where it is absent.
    public func strings(_ key: StaticString) throws(JSONError) -> [String]? {
        guard let elements = try array(key) else { return nil }
        var strings: [String] = []
        for element in elements {
            guard let string = JSON.string(of: element) else {
                throw JSONError("an element of '\(key)' is not a string")
            }
            strings.append(string)
        }
        return strings
    }

    /// A member that must be there.
    public func required<T>(_ key: StaticString, _ value: T?) throws(JSONError) -> T {
        guard let value else { throw JSONError("'\(key)' is missing") }
        return value
    }

    /// The decoded keys in the order of the text.
    public var keys: [String] {
        members.map { JSON.unescape(raw[Int($0.keyStart)..<Int($0.keyEnd)]) }
    }

    /// Every member with its decoded key and raw value, `null` included, in the order of the text.
    public var rawMembers: [(key: String, value: RawJSON)] {
        members.map {
            (JSON.unescape(raw[Int($0.keyStart)..<Int($0.keyEnd)]), raw[Int($0.start)..<Int($0.end)])
        }
    }
}
