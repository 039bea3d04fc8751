import PealModel

/// The recent entries of an inbox that somebody is connected to: contiguous, bounded, and only a shortcut. What it does not
/// hold is read from the log (ARCHITECTURE.md, "A reader is a cursor").
struct Ring {
    /// Entries that are kept.
    static let maximumEntries = 256
    /// Bytes that are kept.
    static let maximumBytes = 128 * 1024

    private var entries: [LogEntry] = []
    private var start = 0
    private var bytes = 0

    /// Adds the next entry; a gap forgets what came before.
    mutating func append(_ entry: LogEntry) {
        if let last = entries.last, last.position + 1 != entry.position { self = Ring() }
        entries.append(entry)
        bytes += entry.content.count
        while entries.count - start > 1, entries.count - start > Self.maximumEntries || bytes > Self.maximumBytes {
            bytes -= entries[start].content.count
            entries[start].content = EntryBytes([])
            start += 1
        }
        if start > Self.maximumEntries {
            entries.removeFirst(start)
            start = 0
        }
    }

    /// Drops the entries up to a position, where these are all.
    mutating func forget(through position: Position) {
        guard let last = entries.last, last.position <= position else { return }
        entries.removeAll(keepingCapacity: true)
        start = 0
        bytes = 0
    }

    /// The entries after a position, at most so many and so many bytes but at least one; nil where the ring does not reach
    /// back that far.
    func slice(after position: Position, count: Int, bytes limit: Int) -> ArraySlice<LogEntry>? {
        guard start < entries.count, entries[start].position <= position + 1 else { return nil }
        let first = start + Int(position + 1 - entries[start].position)
        guard first < entries.count else { return nil }
        var end = first
        var total = 0
        while end < entries.count, end - first < count {
            total += entries[end].content.count
            if end > first, total > limit { break }
            end += 1
        }
        return entries[first..<end]
    }
}
