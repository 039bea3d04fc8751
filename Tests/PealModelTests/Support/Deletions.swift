import PealModel

/// All ways to take one member out of a JSON value.
enum Deletions {
    /// The JSON pointer of each member of each object in a value, and the value without it.
    static func of(_ value: JSON) -> [(pointer: String, value: JSON)] {
        var all: [(pointer: String, value: JSON)] = []
        switch value {
        case .object(let members):
            for index in members.indices {
                let (key, member) = members[index]
                var changed = members
                changed.remove(at: index)
                all.append(("/\(key)", .object(changed)))
                for inner in of(member) {
                    changed = members
                    changed[index].value = inner.value
                    all.append(("/\(key)\(inner.pointer)", .object(changed)))
                }
            }
        case .array(let elements):
            for index in elements.indices {
                for inner in of(elements[index]) {
                    var changed = elements
                    changed[index] = inner.value
                    all.append(("/\(index)\(inner.pointer)", .array(changed)))
                }
            }
        default: break
        }
        return all
    }
}
