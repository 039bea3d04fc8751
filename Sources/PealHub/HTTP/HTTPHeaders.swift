/// Header fields in the order they came, looked up without regard to case.
///
/// A value; safe anywhere. A request's fields are bounded by the server's header limit.
package struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One field as it was sent.
    package struct Field: Sendable, Equatable {
        /// The name, in the sender's letters.
        package let name: String
        /// The value without surrounding white space.
        package let value: String
    }

    /// All fields, in order, repeated names included.
    package private(set) var fields: [Field]

    /// No fields.
    package init() { fields = [] }

    /// The given fields, in the order written.
    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of a name, or nil. The setter replaces every value of that name; nil removes them.
    package subscript(name: String) -> String? {
        get { fields.first { Self.sameName($0.name, name) }?.value }
        set {
            fields.removeAll { Self.sameName($0.name, name) }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// Every value of a name, in order.
    package func values(_ name: String) -> [String] {
        fields.filter { Self.sameName($0.name, name) }.map(\.value)
    }

    /// Adds a field, keeping others of the same name.
    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Whether two names differ at most in the case of ASCII letters.
    static func sameName(_ left: String, _ right: String) -> Bool {
        let left = left.utf8
        let right = right.utf8
        return left.count == right.count && zip(left, right).allSatisfy { lower($0) == lower($1) }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}
