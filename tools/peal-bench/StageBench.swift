import PealModel
import PealReplica

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a snapshot costs the device alone, without a hub and a socket: from the bytes of pages to durable rows.
enum StageBench {
    private static let path = "/tmp/peal-bench.\(getpid())"

    /// - Parameter words: how many items; `empty` for the empty base only.
    static func run(_ words: [String]) throws {
        defer { remove(path) }
        let count = words.compactMap(Int.init).first ?? 100_000
        let source = Source(count: count, rows: false)
        let plain = source.pages()
        var decoding = Samples()
        for _ in 0..<5 {
            let begin = cpuNow()
            for frame in plain { _ = try DownFrame(frame[...]) }
            decoding.values.append((cpuNow() - begin) * 1e6 / Double(count))
        }
        let bytes = plain.reduce(0) { $0 + $1.count } / count
        print("\(count) items, \(plain.count) pages, \(bytes) bytes an item; decoding \(decoding.text) µs an item")
        try measure("into an empty base, shown as it comes", count, plain, base: nil)
        if words.contains("empty") { return }
        let frames = source.frames(of: 500)
        try measure("into a base that holds the same", count, plain, base: frames)
        try measure(
            "into a base where none is read, and all are in the snapshot", count, source.pages(read: true), base: frames
        )
        try measure(
            "into a base that holds nothing of it but its oldest item", count, plain,
            base: source.frames(of: 1).prefix(1).map { $0 })
        print("load \(load())")
    }

    /// Stages pages in a fresh file; `base` is folded before, and makes the last page's transaction a merge.
    private static func measure(_ label: String, _ count: Int, _ pages: [[UInt8]], base: [[UInt8]]?) throws {
        var all = Samples()
        var wall = Samples()
        var swap = Samples()
        for _ in 0..<5 {
            remove(path)
            if let base { _ = try foldSeconds(path, base) }
            let replica = try openReplica(path, .snapshot, head: Position(count))
            let began = wallNow()
            let begin = cpuNow()
            for frame in pages {
                guard case .page(let page) = try DownFrame(frame[...]) else { fatalError("a page was made above") }
                let asked = wallNow()
                let staged = try replica.stage(page)
                if page.last {
                    precondition(staged.swap != nil, "nothing happens meanwhile")
                    swap.values.append((wallNow() - asked) * 1_000)
                }
            }
            all.values.append((cpuNow() - begin) * 1e6 / Double(count))
            wall.values.append(wallNow() - began)
        }
        print(
            "\(label): CPU \(all.text) µs an item, \(wall.text) s; its last transaction, which swaps, \(swap.text) ms"
        )
    }
}
