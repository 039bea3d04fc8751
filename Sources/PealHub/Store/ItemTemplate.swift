package import PealModel

/// The encoded entry of one publish, of which each inbox gets a copy with an item id of its own.
package struct ItemTemplate {
    /// The entry, with an id of zeros.
    let bytes: [UInt8]
    /// Where the id lies.
    let idOffset: Int

    /// Encodes the entry once. `body` is one JSON object.
    package init(time: Milliseconds, publish: String, body: [UInt8]) {
        let zero = ItemID(high: 0, low: 0)
        let encoded = Entry(time: time, kind: .item(id: zero, publish: publish, body: body[...])).bytes
        guard let template = ItemTemplate(encoded) else { preconditionFailure("an encoded item names its id") }
        self = template
    }

    /// One that was stored; nil where it names no id.
    init?(_ bytes: [UInt8]) {
        let pattern = Array("\"id\":\"".utf8)
        // The id's key is the first of its kind: only "kind" and "time" precede it, and neither holds a quoted id.
        guard let key = bytes.indices.first(where: { bytes[$0...].starts(with: pattern) }),
            key + pattern.count + EntryBytes.idCount <= bytes.count
        else { return nil }
        idOffset = key + pattern.count
        self.bytes = bytes
    }

    /// How long every entry of it is.
    package var count: Int { bytes.count }

    /// The entry of one item.
    package func entry(_ id: ItemID) -> EntryBytes { EntryBytes(self, id: id) }
}
