import PealModel

/// Dense entries within two limits.
struct GatheredEntries {
    private(set) var entries: [LogEntry] = []
    private var position: Position
    private var bytes = 0
    private let maxCount: Int
    private let maxBytes: Int

    init(after position: Position, maxCount: Int, maxBytes: Int) {
        self.position = position
        self.maxCount = maxCount
        self.maxBytes = maxBytes
    }

    /// At least one entry is always given, or a large one could never be delivered.
    var isFull: Bool { !entries.isEmpty && (entries.count >= maxCount || bytes >= maxBytes) }

    /// Takes the next entry; false where a limit ends it.
    mutating func add(_ entry: LogEntry) throws(HubStoreError) -> Bool {
        guard entry.position == position + 1 else { throw HubStoreError(.corrupt, "the log has a gap") }
        guard entries.isEmpty || (entries.count < maxCount && bytes + entry.content.count <= maxBytes) else {
            return false
        }
        entries.append(entry)
        position = entry.position
        bytes += entry.content.count
        return !isFull
    }
}
