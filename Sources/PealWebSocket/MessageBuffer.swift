internal import CPealWebSocket

/// The bytes of one message that is being put together for a socket. Reused: warm, a message costs no allocation.
public struct MessageBuffer: ~Copyable {
    /// What one that had to grow shrinks to again.
    private static let kept = 512 * 1024

    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    /// Bytes that were appended.
    public private(set) var count = 0
    private let padding = pws_padding()

    init(capacity: Int = 4_096) {
        self.capacity = capacity
        base = .allocate(byteCount: capacity + padding, alignment: 16)
    }

    deinit { base.deallocate() }

    /// Appends bytes.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        if count + bytes.count > capacity { resize(to: max(capacity * 2, count + bytes.count)) }
        (base + padding + count).copyMemory(from: start, byteCount: bytes.count)
        count += bytes.count
    }

    /// Appends so many bytes, which `write` puts into the memory that it gets.
    public mutating func append(count added: Int, by write: (UnsafeMutableRawBufferPointer) -> Void) {
        if count + added > capacity { resize(to: max(capacity * 2, count + added)) }
        write(UnsafeMutableRawBufferPointer(start: base + padding + count, count: added))
        count += added
    }

    /// Appends bytes.
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Appends bytes.
    public mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Appends the UTF-8 of a literal.
    public mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func resize(to size: Int) {
        let grown = UnsafeMutableRawPointer.allocate(byteCount: size + padding, alignment: 16)
        (grown + padding).copyMemory(from: base + padding, byteCount: count)
        base.deallocate()
        base = grown
        capacity = size
    }

    mutating func clear() {
        count = 0
        if capacity > Self.kept { resize(to: 4_096) }
    }

    /// Sends what was appended; false where the connection is lost.
    mutating func write(to connection: OpaquePointer) -> Bool {
        pws_write(connection, (base + padding).assumingMemoryBound(to: UInt8.self), count)
    }
}
