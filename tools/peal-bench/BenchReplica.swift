import CPealBench
import PealHub
import PealModel
import PealReplica

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// CPU seconds of this thread.
func cpuNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func remove(_ path: String) { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }

func readFile(_ path: String) -> String {
    guard let file = fopen(path, "rb") else { fatalError("no \(path)") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
}

/// Items of about 440 bytes, as the log has them and, for C, as rows.
struct Source {
    var entries: [[UInt8]] = []
    var rows: [baseline_row] = []

    static func id(_ index: Int) -> ItemID {
        ItemID(
            time: 1_700_000_000_000 + Int64(index) * 10, counter: UInt64(index),
            random: UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
    }

    static func body(_ index: Int, sent: Milliseconds) -> ItemBody {
        ItemBody(
            title: "Order \(index) has shipped",
            content: String(repeating: "Something happened that somebody should know about. ", count: 3),
            category: "category-\(index % 5)", actionURL: "https://example.com/orders/\(index)",
            attributes: Array(#"{"order":\#(index),"priority":"high"}"#.utf8)[...], sent: sent)
    }

    init(count: Int, rows wantsRows: Bool = true) {
        entries.reserveCapacity(count)
        for index in 1...count {
            let time = 1_700_000_000_000 + Int64(index) * 10
            let id = Self.id(index)
            let body = Self.body(index, sent: time)
            entries.append(
                Entry(time: time, kind: .item(id: id, publish: "publish-\(index)", body: body.bytes[...])).bytes)
            if wantsRows { rows.append(row(index, time, id, body)) }
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

    /// The pages of a snapshot of all items, as the hub fills them; `read` gives every one a register.
    func pages(read: Bool = false) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var page = page(rest: Page.Rest())
        var size = 0
        for index in stride(from: entries.count, through: 1, by: -1) {
            let time = 1_700_000_000_000 + Int64(index) * 10
            var state = ItemState(position: Position(index))
            if read {
                state.read = Register(
                    value: true, passive: false, since: Position(entries.count), rank: Position(entries.count),
                    itime: time,
                    author: .api, uid: UInt64(index))
                state.seen = true
            }
            let row = SnapshotRow(
                id: Self.id(index), publish: "publish-\(index)", time: time,
                body: Self.body(index, sent: time).bytes[...],
                state: state)
            let bytes = row.wireSize
            if !page.rows.isEmpty, page.rows.count == Limits.pageRows || size + bytes > Limits.frameDown - 8_192 {
                frames.append(DownFrame.page(page).bytes)
                page = self.page(rest: nil)
                size = 0
            }
            page.rows.append(row)
            page.after = Position(index)
            size += bytes
        }
        page.after = 0
        page.last = true
        frames.append(DownFrame.page(page).bytes)
        return frames
    }

    private func page(rest: Page.Rest?) -> Page {
        let head = Position(entries.count)
        return Page(id: UInt64(head), at: head, chain: UInt64(head), rows: [], after: head + 1, last: false, rest: rest)
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

func openReplica(_ path: String, _ mode: Admission.Mode = .resume, head: Position = 0) throws -> Replica {
    let replica = try Replica(path: path, identity: .user(externalID: "bench", email: nil), project: "bench")
    let hello = try replica.hello(proof: Proof())
    _ = try replica.welcomed(
        Welcome(
            session: 1, mode: mode, epoch: 1, inbox: "bench", head: head, lastN: 0, lastUID: nil, settled: [],
            attempt: hello.attempt, nonce: "n", secret: nil, time: 1_700_000_000_000, heartbeat: 30))
    return replica
}

func foldSeconds(_ path: String, _ frames: [[UInt8]]) throws -> Double {
    remove(path)
    let replica = try openReplica(path)
    let begin = cpuNow()
    for frame in frames {
        guard case .batch(let batch) = try DownFrame(frame[...]) else { fatalError("a batch was made above") }
        _ = try replica.apply(batch)
    }
    return cpuNow() - begin
}

/// The same, of frames that are decoded already.
func foldSeconds(_ path: String, batchesOf frames: [[UInt8]]) throws -> Double {
    remove(path)
    let batches = try frames.map { frame in
        guard case .batch(let batch) = try DownFrame(frame[...]) else { fatalError("a batch was made above") }
        return batch
    }
    let replica = try openReplica(path)
    let begin = cpuNow()
    for batch in batches { _ = try replica.apply(batch) }
    return cpuNow() - begin
}
