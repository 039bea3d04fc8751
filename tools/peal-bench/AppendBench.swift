import CPealBench
import Foundation
import PealHub
import PealModel

/// Publishes to single users a second through the hub's store, so many to a commit as a group commit has, each commit durable; and C that
/// writes the rows which that leaves behind, in the same folder, in turn.
enum AppendBench {
    private static let users = 1_000

    static func run(_ words: [String]) throws {
        let schema = readFile(words.first ?? "schema/hub-sqlite/v1.sql")
        for (batch, count) in [(1, 1_000), (16, 16_000), (64, 64_000), (500, 100_000)] {
            var (ours, theirs, ourCPU, theirCPU) = (Samples(), Samples(), Samples(), Samples())
            for round in 0..<5 {
                note("\(batch) to a commit, round \(round + 1) of 5")
                let directory = try makeDirectory()
                defer { try? FileManager.default.removeItem(atPath: directory) }
                let found = try measure(directory, batch: batch, count: count)
                var (wall, cpu) = (0.0, 0.0)
                guard
                    baseline_append(
                        directory + "/raw.sqlite", schema, Int32(count), Int32(batch), Int32(users), Int32(found.size),
                        &wall, &cpu) == 1
                else { throw Failure("C could not write") }
                ours.values.append(Double(count) / found.wall)
                ourCPU.values.append(found.cpu * 1e6 / Double(count))
                theirs.values.append(Double(count) / wall)
                theirCPU.values.append(cpu * 1e6 / Double(count))
            }
            let ratio = ratios(ours, theirs)
            tell(
                "appends, \(batch) to a commit: \(Int(ours.percentile(0.5)))/s, C \(Int(theirs.percentile(0.5)))/s, ratio \(ratio.text); CPU an append \(ourCPU.text) µs, C \(theirCPU.text) µs, ratio of C's \(ratios(theirCPU, ourCPU).text)",
                [
                    ("bench", "append"), ("batch", batch), ("per_s", ours.values), ("c_per_s", theirs.values),
                    ("ratio", ratio.values), ("cpu_us", ourCPU.values), ("c_cpu_us", theirCPU.values),
                ])
        }
    }

    private static func measure(
        _ directory: String, batch: Int, count: Int
    ) throws -> (wall: Double, cpu: Double, size: Int) {
        try makeHub(in: directory).hub.stop()
        let store = try SQLiteHubStore(path: directory + "/hub.sqlite")
        try store.begin()
        guard let project = try store.projects().first?.key else { throw Failure("the hub has no project") }
        try store.commit()
        let start = Milliseconds(Date().timeIntervalSince1970 * 1_000)
        var size = 0
        func publish(_ index: Int) throws {
            let time = start + Milliseconds(index / 1_000)
            let result = try store.publish(
                PublishRequest(
                    project: project, name: "pubid-\(index)", body: Source.body(index, sent: time),
                    recipients: [.init(identity: UserIdentity(externalID: "user-\(index % users)"))]), now: time)
            if size == 0, let appended = result.appended.first { size = appended.content.count }
        }
        // Everybody has an inbox before the clock runs, as in C.
        try store.begin()
        for index in 0..<users { try publish(index) }
        try store.commit()
        let (wall, cpu) = (wallNow(), cpuNow())
        for first in stride(from: users, to: users + count, by: batch) {
            try store.begin()
            for index in first..<min(first + batch, users + count) { try publish(index) }
            try store.commit()
        }
        let result = (wallNow() - wall, cpuNow() - cpu, size == 0 ? 400 : size)
        try store.close()
        return result
    }
}
