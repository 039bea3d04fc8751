/// What the item table wants of an item entry, found in one pass without allocation and without validation.
///
/// The bytes come out of a frame that the codec has validated as JSON. Whatever is not plain (an escape in a column, an
/// unexpected shape) answers nil, and `Entry` and `ItemBody` take the long way and name what is wrong.
package struct LeanItem {
    package private(set) var time: Milliseconds = 0
    package private(set) var high: UInt64 = 0
    package private(set) var low: UInt64 = 0
    package private(set) var publish = 0..<0
    package private(set) var body = 0..<0
    package private(set) var sent: Milliseconds?
    package private(set) var type: Range<Int>?
    package private(set) var category: Range<Int>?
    package private(set) var topic: Range<Int>?
    package private(set) var interests: Range<Int>?
    package private(set) var expires: Milliseconds?
    package private(set) var silent = false

    /// Scans an item entry; nil for anything else.
    package init?(entry bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = LeanScanner(bytes)
        // The hub writes the kind first; another order takes the long way.
        guard scanner.take(#"{"kind":"item""#) else { return nil }
        var found: UInt8 = 0
        while scanner.take(UInt8(ascii: ",")) {
            guard let key = scanner.key() else { return nil }
            // Of two equal keys the first counts: that takes the long way too.
            if scanner.equal(key, "time") {
                guard found & 1 == 0, let value = scanner.int() else { return nil }
                time = value
                found |= 1
            } else if scanner.equal(key, "id") {
                guard found & 2 == 0, let value = scanner.plainString(), let id = scanner.uuid(value) else {
                    return nil
                }
                (high, low) = id
                found |= 2
            } else if scanner.equal(key, "publish") {
                guard found & 8 == 0, let value = scanner.plainString() else { return nil }
                publish = value
                found |= 8
            } else if scanner.equal(key, "body") {
                let start = scanner.index
                guard found & 4 == 0, members(&scanner) else { return nil }
                body = start..<scanner.index
                found |= 4
            } else {
                guard scanner.skip() else { return nil }
            }
        }
        guard scanner.take(UInt8(ascii: "}")), scanner.index == bytes.count, found & 7 == 7, sent != nil else {
            return nil
        }
    }

    /// Scans a body alone, as a snapshot row carries it.
    package init?(body bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = LeanScanner(bytes)
        guard members(&scanner), scanner.index == bytes.count, sent != nil else { return nil }
        body = 0..<bytes.count
    }

    private mutating func members(_ scanner: inout LeanScanner) -> Bool {
        guard scanner.take(UInt8(ascii: "{")) else { return false }
        if scanner.take(UInt8(ascii: "}")) { return true }
        repeat {
            guard let key = scanner.key() else { return false }
            switch (key.count, scanner.bytes[key.lowerBound]) {
            case (4, UInt8(ascii: "s")) where scanner.equal(key, "sent"):
                guard sent == nil, let value = scanner.int() else { return false }
                sent = value
            case (4, UInt8(ascii: "t")) where scanner.equal(key, "type"):
                guard type == nil, let value = scanner.plainString() else { return false }
                type = value
            case (8, UInt8(ascii: "c")) where scanner.equal(key, "category"):
                guard category == nil, let value = scanner.plainString() else { return false }
                category = value
            case (5, UInt8(ascii: "t")) where scanner.equal(key, "topic"):
                guard topic == nil, let value = scanner.plainString() else { return false }
                topic = value
            case (9, UInt8(ascii: "i")) where scanner.equal(key, "interests"):
                guard interests == nil, let value = scanner.plainStrings() else { return false }
                interests = value
            case (7, UInt8(ascii: "e")) where scanner.equal(key, "expires"):
                guard expires == nil, let value = scanner.int() else { return false }
                expires = value
            case (6, UInt8(ascii: "s")) where scanner.equal(key, "silent"):
                guard !silent, scanner.take("true") else { return false }
                silent = true
            case (5, UInt8(ascii: "t")), (5, UInt8(ascii: "m")), (7, UInt8(ascii: "c")), (9, UInt8(ascii: "a")):
                // Title, media, content, action URL: what is no text is wrong, and said so on the long way.
                guard scanner.peeks(UInt8(ascii: "\"")), scanner.skip() else { return false }
            default:
                guard scanner.skip() else { return false }
            }
        } while scanner.take(UInt8(ascii: ","))
        return scanner.take(UInt8(ascii: "}"))
    }
}
