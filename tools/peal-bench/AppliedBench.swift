import Foundation
import Peal
import PealModel
import PealReplica
import Synchronization

/// Whole devices of the `applied` bench: replicas on real files, which tell when an item was committed. A publish carries `@t=` and the
/// nanoseconds of the monotonic clock at which it began, so that the publisher can be another process.
enum AppliedBench {
    private final class Times: Sendable {
        private let values = Mutex<[Double]>([])
        func add(_ milliseconds: Double) { values.withLock { $0.append(milliseconds) } }
        var count: Int { values.withLock { $0.count } }
        func take() -> Samples { values.withLock { Samples(values: exchange(&$0)) } }

        private func exchange(_ values: inout [Double]) -> [Double] {
            defer { values = [] }
            return values
        }
    }

    /// Arguments: the hub's HTTP port, the project's key, devices, and a user for each (`own`) or a user's name for all. Says `ready`; a
    /// line `wait N` is answered by the percentiles of the next N items.
    static func run(_ words: [String]) async throws {
        guard words.count == 4, let devices = Int(words[2]) else { throw Failure("PORT KEY DEVICES USER") }
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let times = Times()
        var inboxes: [Inbox] = []
        for index in 0..<devices {
            let client = try PealClient(
                hub: "http://127.0.0.1:\(words[0])", apiKey: words[1], directory: directory + "/\(index)")
            let inbox = try await client.user(externalID: words[3] == "own" ? "u\(index)" : words[3])
            watch(inbox, times)
            await inbox.connect()
            while !(await inbox.isSettled) { try await Task.sleep(for: .milliseconds(1)) }
            inboxes.append(inbox)
        }
        print("ready")
        while let line = readLine() {
            let wanted = Int(line.split(separator: " ").last ?? "") ?? 0
            let deadline = wallNow() + 60
            while times.count < wanted {
                guard wallNow() < deadline else {
                    throw Failure("\(times.count) items of \(wanted) came in a minute")
                }
                try await Task.sleep(for: .milliseconds(5))
            }
            let found = times.take()
            print(
                String(
                    format: #"{"count":%d,"p50":%.3f,"p90":%.3f,"p99":%.3f,"max":%.3f}"#, found.values.count,
                    found.percentile(0.5), found.percentile(0.9), found.percentile(0.99), found.values.max() ?? 0))
        }
        for inbox in inboxes { await inbox.close() }
    }

    private static func watch(_ inbox: Inbox, _ times: Times) {
        let changes = inbox.changes
        Task {
            for await change in changes where !change.inserted.isEmpty {
                // The commit is before this; reading the items is not part of it.
                let now = wallNow()
                for position in change.inserted {
                    guard let item = try? await inbox.item(number: position), let began = began(item.body) else {
                        continue
                    }
                    times.add((now - began) * 1_000)
                }
            }
        }
    }

    /// Seconds, of what stands behind `@t=`.
    private static func began(_ body: ArraySlice<UInt8>) -> Double? {
        let text = String(decoding: body, as: UTF8.self)
        guard let mark = text.range(of: "@t=") else { return nil }
        return Double(text[mark.upperBound...].prefix(20)).map { $0 / 1e9 }
    }
}
