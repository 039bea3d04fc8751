import Foundation
import PealModel
import PealReplica

/// Reads a file that other processes write, as fast as it is told to; every read's time counts, and no read may fail.
struct ViewLoop {
    private static let limit = 50
    private let options: Options
    private let control: Control

    init(_ options: Options, _ control: Control) {
        self.options = options
        self.control = control
    }

    func run() async throws {
        var random = SplitMix64(seed: options.seed)
        // Until there is one.
        while !FileManager.default.fileExists(atPath: options.path) { try await Task.sleep(for: .milliseconds(5)) }
        var reader: ReplicaReader?
        var times: [Int64] = []
        var count = 0
        var told = now()
        while !control.isQuiet {
            // Every so often as a viewer that has just been started.
            if count % 16 == 0 { reader = nil }
            count += 1
            let start = now()
            do throws(ReplicaError) {
                let opened = if let reader { reader } else { try ReplicaReader(path: options.path) }
                reader = opened
                try read(opened, &random, start, tells: start - told > 200_000)
            } catch {
                // A file that is being made is none yet.
                if count == 1, error.code == .notAReplica || error.code == .cantOpen {
                    count = 0
                    continue
                }
                Lines.write("error", ["t": now()], ["text": "\(error)"])
            }
            times.append(now() - start)
            if start - told > 200_000 {
                tell(times)
                times = []
                told = start
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...2 * options.pause, using: &random)))
        }
        tell(times)
    }

    private func read(
        _ reader: ReplicaReader, _ random: inout SplitMix64, _ start: Int64, tells: Bool
    ) throws(ReplicaError) {
        if Int.random(in: 0..<4, using: &random) == 0 { _ = try reader.counts() }
        let page = try reader.page(DeliveredQuery(archived: nil), limit: Self.limit)
        guard tells else { return }
        let end = now()
        let asked: Lines.Numbers = ["t0": start, "t": end, "before": 0, "limit": Int64(Self.limit)]
        Lines.write("read", asked, page: page)
    }

    /// Microseconds that reads took: how many, and the longest.
    private func tell(_ times: [Int64]) {
        let slow = times.count { $0 > 10_000 }
        Lines.write(
            "viewer",
            [
                "t": now(), "reads": Int64(times.count), "longest": times.max() ?? 0, "over10ms": Int64(slow),
            ])
    }
}

/// Everything that a file shows, as one read.
func dump(_ path: String) throws {
    let reader = try ReplicaReader(path: path)
    var after: PageCursor?
    repeat {
        let page = try reader.page(DeliveredQuery(archived: nil), after: after, limit: 1_000)
        Lines.write("dump", [:], page: page)
        after = page.next
    } while after != nil
}
