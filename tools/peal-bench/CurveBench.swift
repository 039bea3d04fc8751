import CPealBench
import Foundation
import PealHub
import PealModel
import PealReplica

/// How costs grow: one inbox that fills up, on a device and on a hub. What is done to an inbox must cost the same in a large one as in a
/// small one, and all of the entries together in proportion to their number.
enum CurveBench {
    private static let sizes = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]

    static func run(_ words: [String]) throws {
        let most = Int(words.first ?? "") ?? 1_000_000
        let sizes = sizes.filter { $0 <= most }
        try onDevice(sizes)
        try onHub(sizes)
    }

    private static func tellPoint(_ what: String, _ size: Int, _ value: Double, _ unit: String) {
        tell(
            "\(what), inbox of \(size): \(String(format: "%.1f", value)) \(unit)",
            [("bench", "curves"), ("what", what), ("items", size), (unit, value)])
    }

    /// Microseconds of CPU of each of so many, the median of five runs.
    private static func each(_ number: Int, _ body: (Int) throws -> Void) rethrows -> Double {
        var runs = Samples()
        for run in 0..<5 {
            let begin = cpuNow()
            for index in 0..<number { try body(run * number + index) }
            runs.values.append((cpuNow() - begin) * 1e6 / Double(number))
        }
        return runs.percentile(0.5)
    }

    private static func onDevice(_ sizes: [Int]) throws {
        let path = "/tmp/peal-bench.\(getpid())"
        defer { remove(path) }
        remove(path)
        let replica = try openReplica(path)
        let frames = Source(count: sizes.last ?? 0, rows: false).frames(of: 500)
        var (applied, folding, window) = (0, 0.0, (entries: 0, seconds: 0.0))
        for size in sizes {
            note("a device's inbox of \(size)")
            while applied < size {
                let begin = cpuNow()
                guard case .batch(let batch) = try DownFrame(frames[applied / 500][...]) else { fatalError() }
                _ = try replica.apply(batch)
                let used = cpuNow() - begin
                folding += used
                applied += batch.entries.count
                window = (window.entries + batch.entries.count, window.seconds + used)
            }
            tellPoint("all entries folded", size, folding, "s")
            tellPoint("an entry folded", size, window.seconds * 1e6 / Double(window.entries), "us")
            window = (0, 0)
            tellPoint(
                "first page of 50", size, try each(100) { _ in _ = try replica.page(DeliveredQuery(), limit: 50) }, "us"
            )
            tellPoint("counts", size, try each(100) { _ in _ = try replica.counts() }, "us")
            tellPoint(
                "an act and taking it back", size,
                try each(10) { index in
                    // Spread over the inbox.
                    let item = Source.id(1 + index * (size / 50))
                    let uid = try replica.enqueue(.read(items: [item], on: true, passive: false))
                    _ = try replica.undo(uid)
                }, "us")
        }
    }

    private static func onHub(_ sizes: [Int]) throws {
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try makeHub(in: directory).hub.stop()
        let store = try SQLiteHubStore(path: directory + "/hub.sqlite")
        try store.begin()
        guard let project = try store.projects().first?.key else { throw Failure("the hub has no project") }
        try store.commit()
        let start = Milliseconds(Date().timeIntervalSince1970 * 1_000)
        var (appended, appending, window) = (0, 0.0, (entries: 0, seconds: 0.0))
        for size in sizes {
            note("a hub's inbox of \(size)")
            while appended < size {
                let begin = cpuNow()
                try store.begin()
                for index in appended..<min(appended + 500, size) {
                    let time = start + Milliseconds(index / 1_000)
                    _ = try store.publish(
                        PublishRequest(
                            project: project, name: "pubid-\(index)", body: Source.body(index, sent: time),
                            recipients: [.init(identity: UserIdentity(externalID: "bench"))]), now: time)
                }
                try store.commit()
                let used = cpuNow() - begin
                let number = min(500, size - appended)
                appended += number
                appending += used
                window = (window.entries + number, window.seconds + used)
            }
            tellPoint("all publishes appended", size, appending, "s")
            tellPoint("a publish appended", size, window.seconds * 1e6 / Double(window.entries), "us")
            window = (0, 0)
        }
        try store.close()
    }
}
