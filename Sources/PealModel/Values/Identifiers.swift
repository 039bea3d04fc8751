/// 64 bits that are written as 16 lower-case hexadecimal digits on the wire: `uid`, `epoch`, `chain`, `session`.
public enum Hex64 {
    /// The 16 digits.
    public static func text(_ value: UInt64) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Parses exactly 16 hexadecimal digits.
    public static func parse(_ text: some StringProtocol) -> UInt64? {
        parse(Array(text.utf8)[...])
    }

    static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            appendHex(UInt8(truncatingIfNeeded: value >> UInt64(shift)), to: &bytes)
        }
    }

    static func parse(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard digits.count == 16 else { return nil }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = hexDigit(byte) else { return nil }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}

/// The id of an item: a UUID that the hub issues, version 7, so that ids ascend with time (docs/sync.md section 2).
public struct ItemID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The first 8 bytes, big-endian: time in milliseconds (48 bits), version, 12 bits.
    public let high: UInt64
    /// The last 8 bytes, big-endian.
    public let low: UInt64

    /// An id of two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A version 7 UUID (RFC 9562 section 5.7) whose counter follows the time, so that ids made in order sort in order.
    ///
    /// - Parameters:
    ///   - time: milliseconds since 1970, 48 bits.
    ///   - counter: a number that ascends within the issuing process or store; its low 40 bits are used
    ///     (RFC 9562 section 6.2, method 1), and ``counter`` gives them back.
    ///   - random: its low 34 bits are used.
    public init(time: Int64, counter: UInt64, random: UInt64) {
        let counter = counter & 0xFF_FFFF_FFFF
        high = UInt64(bitPattern: time) << 16 | 0x7000 | counter >> 28
        low = 0x8000_0000_0000_0000 | (counter & 0xFFF_FFFF) << 34 | random & 0x3_FFFF_FFFF
    }

    /// The 40-bit counter that the id was made with.
    public var counter: UInt64 { (high & 0xFFF) << 28 | (low >> 34) & 0xFFF_FFFF }

    /// Parses the 36-character form, in either case.
    public init?(_ text: some StringProtocol) {
        self.init(utf8: Array(text.utf8)[...])
    }

    init?(utf8 text: ArraySlice<UInt8>) {
        guard text.count == 36 else { return nil }
        var digits = 0
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (offset, byte) in text.enumerated() {
            if offset == 8 || offset == 13 || offset == 18 || offset == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = hexDigit(byte) else { return nil }
            if digits < 16 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
            digits += 1
        }
        self.init(high: high, low: low)
    }

    /// The 16 bytes, big-endian, as stored.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for half in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
            }
        }
        return bytes
    }

    /// An id of 16 stored bytes, or nil for another length.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// The 36-character lower-case form.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the 36-character form to a frame that is being put together.
    public func append(to text: inout [UInt8]) {
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            let half = index < 8 ? high : low
            appendHex(UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index & 7))), to: &text)
        }
    }

    /// Ids sort by time.
    public static func < (left: ItemID, right: ItemID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// The id of one replica, 128 random bits made on the device and usable before any contact (docs/sync.md section 2).
public struct ReplicaID: Hashable, Sendable, CustomStringConvertible {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// An id of two random halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 32 hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 32, let high = Hex64.parse(digits[..<16]), let low = Hex64.parse(digits[16...]) else {
            return nil
        }
        self.init(high: high, low: low)
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String { Hex64.text(high) + Hex64.text(low) }
}

/// Who acted: a replica, or somebody through the hub's HTTP side. Authors are compared, never ordered (docs/sync.md section 4).
public enum Author: Hashable, Sendable, CustomStringConvertible {
    /// An act through HTTP.
    case api
    /// An act of a replica.
    case replica(ReplicaID)

    /// Parses `api` or 32 hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        if text == "api" {
            self = .api
        } else if let id = ReplicaID(text) {
            self = .replica(id)
        } else {
            return nil
        }
    }

    /// The form on the wire and in files.
    public var description: String {
        switch self {
        case .api: "api"
        case .replica(let id): id.description
        }
    }
}
