/// The items of a query string in order, decoded as a form: `+` is a space, `%2B` a plus.
package struct HTTPQuery: Sendable, Equatable {
    /// One `name=value`; a name without `=` has an empty value.
    package struct Item: Sendable, Equatable {
        /// The decoded name, `[]` included when it was sent.
        package let name: String
        /// The decoded value.
        package let value: String
    }

    /// All items, in order.
    package let items: [Item]

    /// Takes the text after `?` apart at `&`. Throws when an escape in it cannot be decoded.
    init(_ text: ArraySlice<UInt8>) throws(HTTPTarget.Refusal) {
        var items: [Item] = []
        for part in text.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            items.append(
                Item(
                    name: try HTTPTarget.percentDecoded(part[..<equals], plusIsSpace: true),
                    value: try HTTPTarget.percentDecoded(part[equals...].dropFirst(), plusIsSpace: true)))
        }
        self.items = items
    }

    /// The first value of a name, or nil.
    package subscript(name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    /// Every value given as `name=…` or `name[]=…`, in order.
    package func values(_ name: String) -> [String] {
        items.filter { $0.name == name || $0.name == name + "[]" }.map(\.value)
    }
}
