import PealHub
import PealModel

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Publishes as a file or standard input has them: JSON Lines, an array of objects, or one object. Never waits for what has not come yet.
struct PublishInput {
    /// One publish of it.
    struct Line: Sendable {
        /// From 1: the line's number, of an array the element's.
        var number: Int
        var content: Content
    }

    enum Content: Sendable {
        /// What is sent, under its key; the key may be the caller's.
        case publish(body: JSON, key: String?, digest: String)
        case bad(String, digest: String)
    }

    enum Next {
        case line(Line)
        /// Nothing has come yet.
        case wait
        case end
    }

    /// Longer than any publish can be.
    static let longest = 1 << 20
    /// An array, or one object over several lines, is read as a whole up to this size.
    static let largest = 256 << 20

    /// How a line is called.
    private(set) var word = "line"
    /// Bytes of the file; nil for a stream.
    let size: Int?
    /// Bytes that were given out.
    private(set) var taken = 0

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private var number = 0
    /// Of an array, or of one object.
    private var elements: ArraySlice<JSON>?
    private var hasBegun = false

    /// Opens a file; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` `badFile`.
    init(path: String) throws(CommandError) {
        descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError(code: .badFile, message: "The file \(Output.safe(path)) cannot be read.")
        }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    /// The next publish. Blank lines are passed over.
    ///
    /// - Throws: ``CommandError`` `badFile`: it cannot be read, or is an array that is none.
    mutating func next() throws(CommandError) -> Next {
        if !hasBegun {
            guard try begin() else { return .wait }
            hasBegun = true
        }
        if let element = elements?.popFirst() {
            number += 1
            taken = (size ?? 0) * number / (number + (elements?.count ?? 0))
            return .line(Line(number: number, content: Self.content(element, bytes: element.bytes[...])))
        }
        if elements != nil { return .end }
        while true {
            guard let line = try nextLine() else { return isAtEnd ? .end : .wait }
            number += 1
            let text = Self.trimmed(line)
            if text.isEmpty { continue }
            if text.count > Self.longest {
                let limit = "this line has more than \(Self.longest) bytes"
                return .line(Line(number: number, content: .bad(limit, digest: Self.digest(text))))
            }
            guard let json = try? JSON(text) else {
                return .line(Line(number: number, content: .bad("this is no JSON", digest: Self.digest(text))))
            }
            return .line(Line(number: number, content: Self.content(json, bytes: text)))
        }
    }

    private static func content(_ json: JSON, bytes: ArraySlice<UInt8>) -> Content {
        let digest = digest(bytes)
        guard let members = json.objectValue else { return .bad("this is no JSON object", digest: digest) }
        guard let given = json["key"] else { return .publish(body: json, key: nil, digest: digest) }
        guard let key = given.stringValue, (1...255).contains(key.unicodeScalars.count),
            key.unicodeScalars.allSatisfy({ !TerminalText.isControl($0) })
        else { return .bad("key: it has 1 to 255 characters, none of them a control character", digest: digest) }
        return .publish(body: .object(members.filter { $0.key != "key" }), key: key, digest: digest)
    }

    /// Of the content.
    private static func digest(_ bytes: ArraySlice<UInt8>) -> String {
        Hexadecimal.encode(SHA256.hash(Array(bytes)).prefix(16))
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        var text = line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
        text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }

    // MARK: Bytes

    /// Looks which of the forms it is; false where that cannot be told yet.
    private mutating func begin() throws(CommandError) -> Bool {
        while true {
            let text = Self.trimmed(buffer[start...])
            switch text.first {
            case nil where !isAtEnd: break
            case UInt8(ascii: "["):
                word = "element"
                guard try readAll() else { return false }
                guard let all = (try? JSON(Self.trimmed(buffer[start...])))?.arrayValue else {
                    throw CommandError(code: .badFile, message: "This begins like a JSON array and is none.")
                }
                elements = all[...]
                buffer = []
                return true
            case UInt8(ascii: "{"):
                guard let end = text.firstIndex(of: 0x0A) else {
                    if isAtEnd || text.count > Self.longest { return true }
                    break
                }
                if (try? JSON(Self.trimmed(text[..<end]))) != nil { return true }
                // One object over several lines, or a bad first line.
                guard try readAll() else { return false }
                if let json = try? JSON(Self.trimmed(buffer[start...])), json.objectValue != nil { elements = [json] }
                return true
            default: return true
            }
            guard try read() else { return false }
        }
    }

    private mutating func nextLine() throws(CommandError) -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                let line = buffer[start..<end]
                taken += end + 1 - start
                start = end + 1
                return line
            }
            if isAtEnd {
                guard start < buffer.count else { return nil }
                let line = buffer[start...]
                taken += line.count
                start = buffer.count
                return line
            }
            searched = buffer.count
            let before = start
            guard try read() else { return nil }
            searched -= before - start
        }
    }

    /// Everything up to the end; false where that has not come yet.
    private mutating func readAll() throws(CommandError) -> Bool {
        while !isAtEnd {
            guard buffer.count - start <= Self.largest else {
                throw CommandError(
                    code: .badFile,
                    message: "An array, or an object of several lines, has at most \(Self.largest) bytes.",
                    hint: "Give JSON Lines: one object a line.")
            }
            guard try read() else { return false }
        }
        return true
    }

    /// Takes what is there; false where nothing has come yet.
    private mutating func read() throws(CommandError) -> Bool {
        if isAtEnd { return true }
        var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&file, 1, 0) > 0 else { return false }
        if start > 0 {
            buffer.removeFirst(start)
            start = 0
        }
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = piece.withUnsafeMutableBytes { readBytes(descriptor, $0.baseAddress, $0.count) }
        if count < 0 {
            if errno == EINTR || errno == EAGAIN { return false }
            throw CommandError(
                code: .badFile, message: "The input cannot be read: \(String(cString: strerror(errno))).")
        }
        if count == 0 { isAtEnd = true } else { buffer += piece[..<count] }
        return true
    }
}

/// `read`, whose name a method has here.
func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
