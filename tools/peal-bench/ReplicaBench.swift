import CPealBench
import Foundation
import PealHub
import PealModel
import PealReplica

/// What the replica's hot paths cost, beside C that does only SQLite's part of them.
enum ReplicaBench {
    private static let path = "/tmp/peal-bench.\(getpid())"

    /// Folded entries a second, from frame bytes to durable rows, and from frames that are decoded already; raw C and Python's sqlite3
    /// with the same rows, in turn.
    static func fold(_ words: [String]) throws {
        let schema = readFile(words.first ?? "schema/replica/v1.sql")
        let count = words.count > 1 ? Int(words[1]) ?? 200_000 : 200_000
        defer { remove(path) }
        let source = Source(count: count)
        let frames = source.frames(of: 500)
        note("entry \(source.entries[0].count) bytes, frame \(frames[0].count) bytes, \(count) entries")
        var (bytes, batches, rows, python, pythonRows) = (Samples(), Samples(), Samples(), Samples(), Samples())
        let file = path + ".frames"
        try Data(frames.joined(separator: [0x0A])).write(to: URL(fileURLWithPath: file))
        defer { unlink(file) }
        let total = Double(count)
        for round in 0..<5 {
            note("round \(round + 1) of 5")
            bytes.values.append(total / (try foldSeconds(path, frames)))
            batches.values.append(total / (try foldSeconds(path, batchesOf: frames)))
            remove(path)
            rows.values.append(total / baseline_insert(path, schema, source.rows, Int32(count), 500))
            remove(path)
            let found = try inPython(["tools/peal-bench/fold.py", path, words.first ?? "schema/replica/v1.sql", file])
            python.values.append(total / found[0])
            pythonRows.values.append(total / found[1])
        }
        for (name, ours, theirs, label) in [
            ("frame bytes", bytes, rows, "C"), ("decoded frames", batches, rows, "C"),
            ("frame bytes", bytes, python, "Python sqlite3 with json.loads"),
            ("decoded frames", batches, pythonRows, "Python sqlite3 with ready rows"),
        ] {
            tell(
                "\(name) to durable folded rows: \(Int(ours.percentile(0.5))) entries/s of CPU time, \(label) \(Int(theirs.percentile(0.5))), ratio \(ratios(ours, theirs).text)",
                [
                    ("bench", "fold"), ("from", name), ("peer", label), ("per_s", ours.values),
                    ("peer_per_s", theirs.values), ("ratio", ratios(ours, theirs).values),
                ])
        }
    }

    /// The numbers that a Python program prints in a line.
    private static func inPython(_ words: [String]) throws -> [Double] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3"] + words
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let found = text.split(separator: " ").compactMap {
            Double($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        guard process.terminationStatus == 0, found.count == 2 else { throw Failure("python3 said '\(text)'") }
        return found
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

    /// The first page of 50 unread items from 1,000 and from 1,000,000, and raw C with the same query: one that looks at the values, and one
    /// that copies them, as who shows them has to.
    static func page(_ words: [String]) throws {
        defer { remove(path) }
        var small = Samples()
        for size in words.isEmpty ? [1_000, 1_000_000] : words.compactMap(Int.init) {
            note("a replica of \(size) items")
            _ = try foldSeconds(path, Source(count: size, rows: false).frames(of: 500))
            let reader = try ReplicaReader(path: path)
            var (ours, looks, keeps) = (Samples(), Samples(), Samples())
            var checksum: Int64 = 0
            for round in 0...9 {
                let begin = cpuNow()
                for _ in 0..<1_000 {
                    let page = try reader.page(DeliveredQuery(read: false), limit: 50)
                    precondition(page.items.count == 50)
                }
                let used = (cpuNow() - begin) * 1_000
                let look = baseline_unread_page(path, 1_000, 0, &checksum) * 1_000
                let keep = baseline_unread_page(path, 1_000, 1, &checksum) * 1_000
                guard round > 0 else { continue }
                ours.values.append(used)
                looks.values.append(look)
                keeps.values.append(keep)
            }
            if small.values.isEmpty { small = ours }
            tell(
                "first page of 50 unread of \(size): \(ours.text) µs; C \(looks.text) µs, ours / its \(ratios(ours, looks).text); C that copies \(keeps.text) µs, \(ratios(ours, keeps).text); of the smallest inbox's \(ratios(ours, small).text)",
                [
                    ("bench", "page"), ("items", size), ("us", ours.values), ("c_us", looks.values),
                    ("c_copies_us", keeps.values), ("ratio", ratios(ours, looks).values),
                    ("ratio_copies", ratios(ours, keeps).values), ("ratio_small", ratios(ours, small).values),
                ])
            let counting = cpuNow()
            for _ in 0..<100 { _ = try reader.counts() }
            let counts = (cpuNow() - counting) * 1e4
            tell(
                "counts of \(size): \(String(format: "%.1f", counts)) µs",
                [("bench", "page-counts"), ("items", size), ("us", counts)])
        }
    }
}
