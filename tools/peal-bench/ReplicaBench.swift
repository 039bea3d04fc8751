import CPealBench
import PealModel
import PealReplica

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// CPU seconds of this thread.
private func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func remove(_ path: String) { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }

private func readFile(_ path: String) -> String {
    guard let file = fopen(path, "rb") else { fatalError("no \(path)") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
}

private struct Source {
    var entries: [[UInt8]] = []
    var rows: [baseline_row] = []

    init(count: Int) {
        let content = String(repeating: "Something happened that somebody should know about. ", count: 3)
        for index in 1...count {
            let time = 1_700_000_000_000 + Int64(index) * 10
            let id = ItemID(time: time, counter: UInt64(index), random: UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
            let body = ItemBody(
                title: "Order \(index) has shipped", content: content, category: "category-\(index % 5)",
                actionURL: "https://example.com/orders/\(index)",
                attributes: Array(#"{"order":\#(index),"priority":"high"}"#.utf8)[...], sent: time)
            entries.append(
                Entry(time: time, kind: .item(id: id, publish: "publish-\(index)", body: body.bytes[...])).bytes)
            rows.append(row(index, time, id, body))
        }
    }

    private func row(_ index: Int, _ time: Int64, _ id: ItemID, _ body: ItemBody) -> baseline_row {
        func keep(_ bytes: some Collection<UInt8>) -> (UnsafePointer<CChar>, Int32) {
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
            for (offset, byte) in bytes.enumerated() { copy[offset] = CChar(bitPattern: byte) }
            return (UnsafePointer(copy), Int32(bytes.count))
        }
        var row = baseline_row()
        row.position = Int64(index)
        row.time = time
        row.sent = time
        (row.publish, row.publish_count) = keep("publish-\(index)".utf8)
        (row.category, row.category_count) = keep("category-\(index % 5)".utf8)
        (row.body, row.body_count) = keep(body.bytes)
        withUnsafeMutableBytes(of: &row.id) { $0.copyBytes(from: id.bytes) }
        return row
    }

    func frames(of batch: Int) -> [[UInt8]] {
        stride(from: 0, to: entries.count, by: batch).map { first in
            let end = min(first + batch, entries.count)
            return DownFrame.batch(
                Batch(
                    session: 1, from: Int64(first), to: Int64(end), chain: UInt64(end),
                    entries: entries[first..<end].map { $0[...] })
            ).bytes
        }
    }
}

private func open(_ path: String) throws -> Replica {
    let replica = try Replica(path: path, identity: .user(externalID: "bench", email: nil), project: "bench")
    let hello = try replica.hello(proof: Proof())
    _ = try replica.welcomed(
        Welcome(
            session: 1, mode: .resume, epoch: 1, inbox: "bench", head: 0, lastN: 0, lastUID: nil, settled: [],
            attempt: hello.attempt, nonce: "n", secret: nil, time: 1_700_000_000_000, heartbeat: 30))
    return replica
}

private func foldSeconds(_ path: String, _ frames: [[UInt8]]) throws -> Double {
    remove(path)
    let replica = try open(path)
    let begin = now()
    for frame in frames {
        guard case .batch(let batch) = try DownFrame(frame[...]) else { fatalError("a batch was made above") }
        _ = try replica.apply(batch)
    }
    return now() - begin
}

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

        let begin = now()
        var decoded = 0
        for frame in frames { if case .batch(let batch) = try DownFrame(frame[...]) { decoded += batch.entries.count } }
        print("of that, frame decoding: \(((now() - begin) * 1e9 / Double(decoded)).rounded()) ns an entry")

    }

    /// The sum of 1,000,000 items computed from their rows, untouched and with every second one read.
    static func sum(_ words: [String]) throws {
        defer { remove(path) }
        let hashing = now()
        var total: UInt64 = 0
        for index in 0..<20_000_000 as Range<UInt64> {
            total &+= InboxSum.item(ItemID(high: index, low: total), at: Int64(index))
        }
        print("hash of an item's row: \(((now() - hashing) * 50 * 10).rounded() / 10) ns (\(total))")
        let size = 1_000_000
        let source = Source(count: size)
        _ = try foldSeconds(path, source.frames(of: 500))
        let replica = try Replica(path: path, identity: .user(externalID: "bench", email: nil), project: "bench")
        func measure(_ label: String) throws {
            var times: [Double] = []
            for _ in 0..<5 {
                let begin = now()
                let computed = try replica.computedSum()
                times.append((now() - begin) * 1_000)
                let kept = try replica.sum()
                precondition(computed == kept, "the kept sum is that of the rows")
            }
            print("sum of \(size) \(label): \(times.sorted()[2].rounded()) ms")
        }
        try measure("untouched items")
        var position = Int64(size)
        for first in stride(from: 0, to: size, by: 1_000) {
            let ids = (0..<500).map { index in
                let number = first + 2 * index + 1
                return ItemID(
                    time: 1_700_000_000_000 + Int64(number) * 10, counter: UInt64(number),
                    random: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
            }
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
                let begin = now()
                for _ in 0..<1_000 {
                    let page = try reader.page(DeliveredQuery(read: false), limit: 50)
                    precondition(page.items.count == 50)
                }
                ours.append((now() - begin) * 1_000)
                theirs.append(baseline_unread_page(path, 1_000, &checksum) * 1_000)
            }
            report("first page of 50 unread of \(size)", ours.sorted()[3], theirs.sorted()[3], "µs")
            let counting = now()
            let counts = try reader.counts()
            print("counts of \(size): \(counts), \(((now() - counting) * 1e6).rounded()) µs")
        }
    }
}
