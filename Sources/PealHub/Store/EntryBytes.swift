import PealModel

/// The encoded bytes of an entry. The items of a wide fan-out share theirs, all but the id: a copy for each inbox would cost
/// more than everything else about it.
package struct EntryBytes: Equatable, Sendable {
    /// Characters of an item's id.
    static let idCount = 36

    private let shared: [UInt8]
    /// Where the id goes; negative where `shared` is all of it.
    private let idOffset: Int
    private let id: ItemID

    /// Bytes that are nobody else's.
    package init(_ bytes: [UInt8]) {
        shared = bytes
        idOffset = -1
        id = ItemID(high: 0, low: 0)
    }

    /// Those of a template, with an id of its own.
    init(_ template: ItemTemplate, id: ItemID) {
        shared = template.bytes
        idOffset = template.idOffset
        self.id = id
    }

    /// How many.
    package var count: Int { shared.count }

    /// The bytes; a copy where they are shared.
    package var array: [UInt8] {
        guard idOffset >= 0 else { return shared }
        return [UInt8](unsafeUninitializedCapacity: shared.count) { buffer, count in
            write(to: UnsafeMutableRawBufferPointer(buffer))
            count = shared.count
        }
    }

    /// Writes the bytes to memory that has room for ``count``.
    func write(to memory: UnsafeMutableRawBufferPointer) {
        shared.withUnsafeBytes { memory.copyMemory(from: $0) }
        if idOffset >= 0 { Self.write(id, to: memory, at: idOffset) }
    }

    /// Writes the 36 characters of an id.
    static func write(_ id: ItemID, to memory: UnsafeMutableRawBufferPointer, at offset: Int) {
        precondition(offset >= 0 && offset + idCount <= memory.count, "an id has 36 characters")
        let hexadecimal: StaticString = "0123456789abcdef"
        var index = offset
        for byte in 0..<16 {
            if byte == 4 || byte == 6 || byte == 8 || byte == 10 {
                memory[index] = UInt8(ascii: "-")
                index += 1
            }
            let half = byte < 8 ? id.high : id.low
            let value = Int(truncatingIfNeeded: half >> UInt64(56 - 8 * (byte & 7))) & 0xFF
            memory[index] = hexadecimal.utf8Start[value >> 4]
            memory[index + 1] = hexadecimal.utf8Start[value & 15]
            index += 2
        }
    }

    /// Whether the bytes are the same, shared or not.
    package static func == (left: EntryBytes, right: EntryBytes) -> Bool { left.array == right.array }
}
