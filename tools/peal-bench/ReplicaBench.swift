import CPealBench
import PealModel
import PealReplica

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

private func report(_ label: String, _ ours: Double, _ theirs: Double, _ unit: String) {
    let ratio = (theirs / ours * 100).rounded() / 100
    print("\(label): \(ours.rounded()) \(unit), C \(theirs.rounded()) \(unit), ratio \(ratio)")
}

/// What the replica's hot paths cost, beside C that does only SQLite's part of them.
enum ReplicaBench {
    private static let path = "/tmp/peal-bench.\(getpid())"

    /// Folded entries a second, from frame bytes to durable rows, and raw C UPSERT of the same rows in the same run.
    static func fold(_ words: [String]) throws {
        let schema = readFile(words.first ?? "schema/replica/v1.sql")
        let count = 200_000
        defer { remove(path) }
        let source = Source(count: count)
        let frames = source.frames(of: 500)
        print("entry \(source.entries[0].count) bytes, frame \(frames[0].count) bytes, \(count) entries")
        var folds: [Double] = []
        var inserts: [Double] = []
        for _ in 0..<5 {
            folds.append(try foldSeconds(path, frames))
            remove(path)
            inserts.append(baseline_insert(path, schema, source.rows, Int32(count), 500))
        }
        let fold = Double(count) / folds.sorted()[2]
        let insert = Double(count) / inserts.sorted()[2]
        print(
            "fold \(fold.rounded()) entries/s, C \(insert.rounded()) rows/s, ratio \((fold / insert * 100).rounded() / 100)"
        )

        let begin = cpuNow()
        var decoded = 0
        for frame in frames { if case .batch(let batch) = try DownFrame(frame[...]) { decoded += batch.entries.count } }
        print("of that, frame decoding: \(((cpuNow() - begin) * 1e9 / Double(decoded)).rounded()) ns an entry")

    }

    /// The sum of 1,000,000 items computed from their rows, untouched and with every second one read.
    static func sum(_ words: [String]) throws {
        defer { remove(path) }
        let hashing = cpuNow()
        var total: UInt64 = 0
        for index in 0..<20_000_000 as Range<UInt64> {
            total &+= InboxSum.item(ItemID(high: index, low: total), at: Int64(index))
        }
        print("hash of an item's row: \(((cpuNow() - hashing) * 50 * 10).rounded() / 10) ns (\(total))")
        let size = 1_000_000
        let source = Source(count: size)
        _ = try foldSeconds(path, source.frames(of: 500))
        let replica = try Replica(path: path, identity: .user(externalID: "bench", email: nil), project: "bench")
        func measure(_ label: String) throws {
            var times: [Double] = []
            for _ in 0..<5 {
                let begin = cpuNow()
                let computed = try replica.computedSum()
                times.append((cpuNow() - begin) * 1_000)
                let kept = try replica.sum()
                precondition(computed == kept, "the kept sum is that of the rows")
            }
            print("sum of \(size) \(label): \(times.sorted()[2].rounded()) ms")
        }
        try measure("untouched items")
        var position = Int64(size)
        for first in stride(from: 0, to: size, by: 1_000) {
            let ids = (0..<500).map { Source.id(first + 2 * $0 + 1) }
            let act = Act(
                author: .api, n: nil, uid: UInt64(position), itime: 1, outcome: .applied,
                effect: .read(items: ids, on: true, passive: false, unseen: []))
            _ = try replica.apply(
                Batch(
                    session: 1, from: position, to: position + 1, chain: 1,
                    entries: [Entry(time: 1, kind: .act(act)).bytes[...]]))
            position += 1
        }
        try measure("items, half of them read")
    }

    /// A replica of the user `bench` at a path, with so many items; for measures of other programs.
    static func fill(_ words: [String]) throws {
        guard words.count == 2, let size = Int(words[1]), size > 0 else { fatalError("usage: fill PATH ITEMS") }
        _ = try foldSeconds(words[0], Source(count: size, rows: false).frames(of: 500))
    }

    /// The first page of 50 unread items from 1,000 and from 1,000,000, and raw C with the same query.
    static func page(_ words: [String]) throws {
        defer { remove(path) }
        for size in [1_000, 1_000_000] {
            let source = Source(count: size)
            _ = try foldSeconds(path, source.frames(of: 500))
            let reader = try ReplicaReader(path: path)
            var ours: [Double] = []
            var theirs: [Double] = []
            var checksum: Int64 = 0
            for _ in 0..<7 {
                let begin = cpuNow()
                for _ in 0..<1_000 {
                    let page = try reader.page(DeliveredQuery(read: false), limit: 50)
                    precondition(page.items.count == 50)
                }
                ours.append((cpuNow() - begin) * 1_000)
                theirs.append(baseline_unread_page(path, 1_000, &checksum) * 1_000)
            }
            report("first page of 50 unread of \(size)", ours.sorted()[3], theirs.sorted()[3], "µs")
            let counting = cpuNow()
            let counts = try reader.counts()
            print("counts of \(size): \(counts), \(((cpuNow() - counting) * 1e6).rounded()) µs")
        }
    }
}
