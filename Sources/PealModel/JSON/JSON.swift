/// A decoded JSON value, for bodies whose shape an app or a publisher chooses. Frames and entries use ``JSONObject``.
public enum JSON: Equatable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number as it was written, so that nothing is lost on the way through.
    case number(String)
    /// A string.
    case string(String)
    /// An array.
    case array([JSON])
    /// The members in the order of the text; the first of two equal keys counts.
    case object([(key: String, value: JSON)])

    /// JSON compares strings by code points (RFC 8259 section 8.3), Swift by canonical equivalence.
    private static func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

    /// Whether two values are equal; the order of members counts, as it does on the wire.
    public static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): same(a, b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a.elementsEqual(b) { same($0.key, $1.key) && $0.value == $1.value }
        default: false
        }
    }

    /// Decodes exactly one JSON text.
    ///
    /// - Throws: ``JSONError`` for anything but RFC 8259 in valid UTF-8, nested 64 deep at most, without lone surrogates.
    public init(_ bytes: RawJSON) throws(JSONError) {
        var failure: JSONError?
        var range = 0..<0
        bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONError) {
                var scanner = JSONScanner(buffer)
                scanner.skipSpace()
                range = try scanner.value()
                scanner.skipSpace()
                guard scanner.index == buffer.count else { throw JSONError("more after the value", at: scanner.index) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        let base = bytes.startIndex
        self = try JSON.build(bytes[(base + range.lowerBound)..<(base + range.upperBound)])
    }

    /// Builds a value from bytes that a scanner has validated.
    private static func build(_ value: RawJSON) throws(JSONError) -> JSON {
        switch value.first {
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "\""): return .string(string(of: value) ?? "")
        case UInt8(ascii: "["):
            var values: [JSON] = []
            for element in elements(of: value) ?? [] { values.append(try build(element)) }
            return .array(values)
        case UInt8(ascii: "{"):
            let object = try JSONObject(value)
            var members: [(key: String, value: JSON)] = []
            // By code units: Swift's own equality of strings would drop a key that only looks like another.
            var known = Set<[UInt8]>()
            for (key, raw) in object.rawMembers where known.insert(Array(key.utf8)).inserted {
                members.append((key, try build(raw)))
            }
            return .object(members)
        default: return .number(String(decoding: value, as: UTF8.self))
        }
    }

    /// The member of an object, or nil.
    public subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { Self.same($0.key, key) }?.value
    }

    /// The string, or nil for another kind of value.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The boolean, or nil for another kind of value.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The integer, or nil for another kind of value, a fraction, or one over 64 bits.
    public var intValue: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    /// The elements, or nil for another kind of value.
    public var arrayValue: [JSON]? {
        if case .array(let values) = self { values } else { nil }
    }

    /// The members, or nil for another kind of value.
    public var objectValue: [(key: String, value: JSON)]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The encoded text, compact.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}
