package import PealModel

/// The encoded entry of one publish, of which each inbox gets a copy with an item id of its own.
package struct ItemTemplate {
    /// When the entries are appended.
    package let time: Milliseconds
    private let bytes: [UInt8]
    private let idOffset: Int

    /// Encodes the entry once. `body` is one JSON object.
    package init(time: Milliseconds, publish: String, body: [UInt8]) {
        self.time = time
        let zero = ItemID(high: 0, low: 0)
        let bytes = Entry(time: time, kind: .item(id: zero, publish: publish, body: body[...])).bytes
        let pattern = Array("\"id\":\"".utf8)
        // The id's key is the first of its kind: only "kind" and "time" precede it, and neither holds a quoted id.
        let key = bytes.indices.first { bytes[$0...].starts(with: pattern) }
        guard let key else { preconditionFailure("an encoded item names its id") }
        idOffset = key + pattern.count
        self.bytes = bytes
    }

    /// How long every entry of it is.
    package var count: Int { bytes.count }

    /// The entry of one item.
    package func entry(_ id: ItemID) -> [UInt8] {
        let hexadecimal: StaticString = "0123456789abcdef"
        return [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
            _ = buffer.initialize(from: bytes)
            count = bytes.count
            var index = idOffset
            for byte in 0..<16 {
                if byte == 4 || byte == 6 || byte == 8 || byte == 10 { index += 1 }
                let half = byte < 8 ? id.high : id.low
                let value = Int(truncatingIfNeeded: half >> UInt64(56 - 8 * (byte & 7))) & 0xFF
                buffer[index] = hexadecimal.utf8Start[value >> 4]
                buffer[index + 1] = hexadecimal.utf8Start[value & 15]
                index += 2
            }
        }
    }
}
