/// A value that is shared until it is changed: copying a box costs one reference count, however large the value.
struct Box<Value: Sendable>: Sendable {
    private final class Storage: @unchecked Sendable {
        // Changed only while one box holds it.
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    /// The value; changing it copies it first where another box shares it.
    var value: Value {
        get { storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}

/// A list that only grows at its end and whose copies stay cheap: a change after a copy copies one chunk.
struct Chunks<Element: Sendable>: Sendable {
    private static var size: Int { 32 }
    private var chunks: [[Element]] = []
    private(set) var count = 0

    subscript(index: Int) -> Element {
        get { chunks[index / Self.size][index % Self.size] }
        _modify { yield &chunks[index / Self.size][index % Self.size] }
    }

    mutating func append(_ element: Element) {
        if count.isMultiple(of: Self.size) { chunks.append([]) }
        chunks[chunks.count - 1].append(element)
        count += 1
    }
}
